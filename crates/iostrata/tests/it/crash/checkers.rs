//! Checkers that misbehave where a state is broken: each is bounded, and reported.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::{Case, NEW, has, kinds};
use crate::place::{NOBODY, entries, is_root, run, until};
use crate::running::Running;

/// Runs a checker that does something when the file is empty.
fn misbehaving(case: &Case, what: &str, options: &[&str]) -> Value {
    let check = format!("[ -s f ] || {{ {what}; }}");
    let options = [options, &["--model", "xfs", "--check", &check]].concat();
    case.crash(&options, "echo new > f", 1)
}

fn message(result: &Value) -> &str {
    result["findings"][0]["message"].as_str().unwrap()
}

#[test]
fn one_that_hangs_crashes_or_leaves_processes() {
    let case = Case::new("f", "old");
    let hangs = misbehaving(&case, "sleep 1000", &["--check-timeout", "0.5"]);
    assert_eq!(message(&hangs), "the checker took more than 0.5 s");
    let crashes = misbehaving(&case, "kill -SEGV $$", &[]);
    assert_eq!(message(&crashes), "the checker was ended by signal 11");
    // The shell tells of it, with a number that differs from state to state.
    let crashes = misbehaving(&case, "sh -c 'kill -BUS $$'; exit $?", &[]);
    let said = "a command of the checker was ended by signal 7";
    assert_eq!(message(&crashes), said);
    let forks = "for one in $(seq 100); do setsid sleep 1000 & done; echo forked; exit 1";
    assert_eq!(message(&misbehaving(&case, forks, &[])), "forked");
    let names = misbehaving(&case, "echo no rows in $PWD/f; exit 1", &["--jobs", "3"]);
    assert_eq!(message(&names), "no rows in DIR/f");
    let silent = misbehaving(&case, "exit 7", &[]);
    assert_eq!(message(&silent), "the checker exited with 7");
    case.place.assert_nothing_left();
    assert_eq!(
        entries(&case.place.path("home")),
        [] as [std::path::PathBuf; 0]
    );
}

#[test]
fn one_that_writes_beside_the_copy_is_told_where_it_may() {
    let case = Case::new("f", "old");
    let beside = case.place.path("beside");
    let check = format!("echo x > {}", beside.display());
    let mut command = case.command(&["--check", &check], "echo new > f");
    command.env("COLUMNS", "1000");
    let said = run(command).expect(2).stderr;
    for words in [
        "Read-only file system",
        "it can write there and to TMPDIR, HOME, /tmp and /dev/shm of its own",
    ] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!beside.exists());
}

#[test]
fn one_beside_the_stages_is_there() {
    let case = Case::new("f", "old");
    for directory in ["/tmp", "/var/tmp"] {
        let here = tempfile::tempdir_in(directory).unwrap();
        let check = here.path().join("check.sh");
        fs::write(&check, "[ -e f ]").unwrap();
        let mut command = case.command(&["--check", &format!("sh {}", check.display())], "sync f");
        command.current_dir(&here).env("TMPDIR", here.path());
        run(command).expect(0);
        assert_eq!(entries(here.path()), [check]);
    }
}

/// The program and the checker run in the copy.
#[test]
fn a_path_from_here_is_told_by_its_absolute_one() {
    let case = Case::new("f", "old");
    let here = case.place.dir();
    fs::write(here.join("own.sh"), "exit 3").unwrap();
    let wanted = format!(
        "has no ./own.sh: for the one here, write {}/own.sh",
        here.display()
    );
    let says = |mut command: Command, code| {
        command.env("COLUMNS", "1000").current_dir(&here);
        let said = run(command).expect(code).stderr;
        assert!(said.contains(&wanted), "{said}");
    };
    let check = case.command(&["--check", "sh ./own.sh"], "echo new > f");
    says(check, 2);
    // It made one of this name itself, and failed for another reason.
    let mut made = case.bare();
    made.arg(&case.dir).current_dir(&here);
    made.args(["--", "/bin/sh", "-c", "echo > own.sh; exit 3", "own.sh"]);
    assert!(!run(made).expect(1).stderr.contains("for the one here"));
    for (words, code) in [(&["/bin/sh", "./own.sh"][..], 3), (&["./own.sh"], 127)] {
        let mut command = case.bare();
        command.arg(&case.dir).arg("--").args(words);
        says(command, code);
    }
}

#[test]
fn one_in_python_is_told_by_its_exception() {
    let case = Case::new("f", "old");
    let raises = "python3 -c 'assert False, 3 * \"torn \"'";
    let result = misbehaving(&case, raises, &[]);
    assert_eq!(message(&result), "AssertionError: torn torn torn");
}

#[test]
fn one_that_fills_the_disk_or_deletes_everything() {
    if !is_root("a tmpfs of its own for a checker") {
        return;
    }
    let case = Case::new("f", "old");
    let fills = "head -c 900000000 /dev/zero > large; echo never; exit 1";
    assert_eq!(
        message(&misbehaving(&case, fills, &[])),
        "the checker filled the 256 MiB that it has"
    );
    let precious = case.place.path("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "mine").unwrap();
    let (own, other) = (case.dir.display(), precious.display());
    let deletes = format!("rm -rf {own} {other} \"$IOSTRATA_DIR\"/* \"$TMPDIR\"; exit 1");
    let result = misbehaving(&case, &deletes, &[]);
    let said = message(&result);
    assert!(said.ends_with("Read-only file system"), "{said}");
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(case.dir.join("f")).unwrap(), "old");
    let result = misbehaving(&case, "echo x; exit 1", &[]);
    assert_eq!(result["check_kept_in"], "room");
}

/// The next use of its directory begins with an empty one, whatever it has made of the last.
#[test]
fn one_that_leaves_what_is_hard_to_remove() {
    let deep = "python3 -c 'import os\nfor one in range(30000): os.mkdir(\"d\"); os.chdir(\"d\")'";
    let leaves = [
        deep,
        "mkdir -p a/b; chmod 0 a",
        "cd ..; rm -rf said printed tree/f; ln -s /etc/passwd said; ln -s /etc/passwd printed",
        "cd ..; rm -rf said tree; mkfifo said; chmod 0 .",
    ];
    let users = is_root("another user").then_some(User::Other(1000));
    for user in users.into_iter().chain([User::Own]) {
        for what in leaves {
            let case = Case::new("f", "old");
            run(user.crash(&case, &format!("({what}) 2>/dev/null; echo left; exit 1"))).expect(1);
            let result = fs::read(case.place.dir().join("user.json")).unwrap();
            let result: Value = serde_json::from_slice(&result).unwrap();
            assert_eq!(message(&result), "left", "{user:?} {what}");
            assert_eq!(
                entries(&case.place.path("home")),
                [] as [std::path::PathBuf; 0]
            );
        }
    }
}

#[test]
fn one_that_calls_the_network() {
    let case = Case::new("f", "old");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let calls = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo called || echo refused; exit 1"
    );
    assert_eq!(message(&misbehaving(&case, &calls, &[])), "refused");
}

/// A user who starts iostrata.
#[derive(Debug, Clone, Copy)]
pub(super) enum User {
    Own,
    /// Without privileges.
    Other(u32),
    /// One who may make no user namespaces.
    Confined,
}

impl User {
    /// [`NOBODY`] is also who everybody is in a user namespace without a map (`overflowuid`, `user_namespaces(7)`).
    pub(super) const UNPRIVILEGED: [Self; 4] = [
        Self::Other(1000),
        Self::Other(12_345),
        Self::Other(NOBODY),
        Self::Confined,
    ];

    /// `crash` with a checker that does something when the file is empty.
    fn crash(self, case: &Case, what: &str) -> Command {
        self.checked(case, ["--check", &format!("[ -s f ] || {{ {what}; }}")])
    }

    pub(super) fn checked(self, case: &Case, check: [&str; 2]) -> Command {
        let mut command = match self {
            Self::Own => case.place.iostrata("crash --dir"),
            Self::Other(user) => case.place.iostrata_of(user, "crash --dir"),
            Self::Confined => case.place.iostrata_of_nobody("crash --dir"),
        };
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.arg(&case.dir).args(["--model", "xfs"]).args(check);
        command
            .args(["--check-timeout", "30", "--json"])
            .arg(case.place.dir().join("user.json"));
        command.args(["--", "/bin/sh", "-c", "echo new > f"]);
        match self {
            Self::Confined => confined(&command),
            Self::Own | Self::Other(_) => command,
        }
    }
}

/// The same in a user namespace in which there can be no others, without capabilities.
fn confined(inner: &Command) -> Command {
    let limit = "echo 0 > /proc/sys/user/max_user_namespaces && \
                 exec setpriv --ambient-caps=-all --inh-caps=-all -- \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-current-user", "--keep-caps", "--"]);
    command.args(["/bin/sh", "-c", limit, "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.current_dir(inner.get_current_dir().unwrap());
    command.env_clear();
    for (name, value) in inner.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.uid(NOBODY).gid(NOBODY);
    command
}

#[test]
fn one_of_an_unprivileged_user_is_bounded_too() {
    if !is_root("another user") {
        return;
    }
    for user in User::UNPRIVILEGED {
        let forks = "for one in $(seq 20); do sleep 1000 & done; echo forked; exit 1";
        for (does, says) in [
            (forks, "forked"),
            ("kill -SEGV $$", "the checker was ended by signal 11"),
            (
                "kill -KILL 0; sleep 1000",
                "the checker was ended by signal 9",
            ),
            ("ulimit -f; exit 1", "2097152"),
            // A closed directory of its own, in which iostrata was started.
            ("cat \"$IOSTRATA_OWN\"; exit 1", "own"),
        ] {
            let case = Case::new("f", "old");
            let mut command = user.crash(&case, does);
            let own = case.place.path("home/own");
            fs::write(&own, "own").unwrap();
            for (path, mode) in [(own.clone(), 0o644), (case.place.path("home"), 0o700)] {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
            command.env("IOSTRATA_OWN", own);
            let said = run(command).expect(1).stdout;
            let result = fs::read(case.place.dir().join("user.json")).unwrap();
            let result: Value = serde_json::from_slice(&result).unwrap();
            assert_eq!(message(&result), says, "{user:?}");
            let (kept_in, is_told) = match user {
                User::Confined => ("process-group", true),
                _ => ("user-namespace", false),
            };
            assert_eq!(result["check_kept_in"], kept_in, "{user:?}");
            let told = said.contains("kept in a process group only");
            assert_eq!(told, is_told, "{said}");
            case.place.assert_kernel_is_clean();
        }
    }
}

/// Checkers of a case that run, and wait for a long time.
pub(super) fn sleeping(case: &Case) -> usize {
    let own = format!("TMPDIR={}", case.place.path("").display());
    let is_one = |process: &Path| {
        let read = |name| fs::read(process.join(name)).unwrap_or_default();
        let environment = String::from_utf8_lossy(&read("environ")).into_owned();
        read("cmdline") == b"sleep\x001000\0" && environment.contains(&own)
    };
    let processes = entries(Path::new("/proc")).into_iter();
    processes.filter(|process| is_one(process)).count()
}

#[test]
fn those_of_a_killed_crash_end_with_it() {
    let others = is_root("another user").then_some(User::UNPRIVILEGED);
    for user in others.into_iter().flatten().chain([User::Own]) {
        let case = Case::new("f", "old");
        let command = user.crash(&case, "sleep 1000 & sleep 1000");
        let running = Running::start(&case.place, "crash", command);
        until("no checker runs", || (sleeping(&case) >= 2).then_some(()));
        running.signal(Signal::KILL);
        assert_eq!(running.finish().signal, Some(9), "{user:?}");
        case.place.assert_kernel_is_clean();
    }
}

#[test]
fn how_many_run_side_by_side_changes_nothing() {
    let case = Case::new("f", "old");
    let check = "[ -s f ] || { echo empty; exit 1; }; grep -q ^o f || [ $(tail -c 1 f) = n ] || \
                 { echo torn; exit 1; }; ! grep -q saved \"$IOSTRATA_STDOUT\" || [ $(wc -c < f) = 6000 ] \
                 || { echo lost; exit 1; }";
    let script = format!("{NEW} > t; mv t f; echo saved");
    let directory = case.place.path("recording");
    let record = ["--record", directory.to_str().unwrap(), "--check", check];
    let alone = case.crash(&[&record[..], &["--jobs", "1"]].concat(), &script, 1);
    assert!(
        has(&alone, "ordering", "empty", "xfs"),
        "{:?}",
        kinds(&alone)
    );
    for jobs in ["2", "5"] {
        let beside = case.explored(
            &[
                "--from",
                directory.to_str().unwrap(),
                "--check",
                check,
                "--jobs",
                jobs,
            ],
            1,
        );
        assert_eq!(alone["findings"], beside["findings"]);
        assert_eq!(alone["fix"], beside["fix"]);
    }
}
