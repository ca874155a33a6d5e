//! Ctrl-C and its relatives at several moments.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::ioctl_fionread;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::place::{Place, entries, is_root, run, script, until};
use crate::running::Running;

const SIGNALS: [(Signal, i32, &str); 3] = [
    (Signal::INT, 130, "SIGINT"),
    (Signal::TERM, 143, "SIGTERM"),
    (Signal::HUP, 129, "SIGHUP"),
];

/// Far more than a test waits for.
const ENDLESS: &str = "lab --fs host --mode fsync --size 1 --count 1000000";

/// Has `name` found first in PATH, as a program that says that it was started and then sleeps.
fn sleeping_tool(place: &Place, name: &str, command: &mut Command) -> PathBuf {
    let (tools, started) = (place.path("tools"), place.path("started"));
    fs::create_dir(&tools).unwrap();
    let text = format!(
        "[ \"$1\" = -V ] && exit\necho > '{}'; exec /bin/sleep 600",
        started.display()
    );
    script(&tools.join(name), &text);
    command.env("PATH", tools);
    started
}

#[test]
fn while_a_file_system_is_made() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let mut command =
        place.iostrata("lab buffering --quick --fs host,ext4,xfs --json ../result.json");
    let started = sleeping_tool(&place, "mkfs.xfs", &mut command);
    let running = Running::start(&place, "run", command);
    until("mkfs is not run", || started.exists().then_some(()));
    running.signal(Signal::INT);
    let outcome = running.finish().expect(130);
    assert_eq!(
        outcome.stderr,
        "interrupted by SIGINT before the first row was complete: there is nothing to show\n"
    );
    assert_eq!(outcome.stdout, "");
    assert!(!place.path("result.json").exists());
    place.assert_nothing_left();
}

#[test]
fn while_a_case_is_timed() {
    for (signal, code, name) in SIGNALS {
        let place = Place::new();
        let running = Running::start(&place, "run", place.iostrata(ENDLESS));
        running.workload("host", "fsync-1");
        running.signal(signal);
        let outcome = running.finish().expect(code);
        outcome.says(&[&format!(
            "interrupted by {name} before the first row was complete"
        )]);
        assert_eq!(outcome.stdout, "");
        place.assert_nothing_left();
    }
}

#[test]
fn after_rows_were_finished() {
    if !is_root("observing a language runtime, after all rows,") {
        return;
    }
    let place = Place::new();
    let options = "lab --quick --fs host,ext4 --mode flush,fsync --size 1 --count 50";
    let mut command = place.iostrata(options);
    command.args(["--json", "../result.json"]);
    let started = sleeping_tool(&place, "python3", &mut command);
    let mut running = Running::start(&place, "run", command);
    until("the runtime is not run", || started.exists().then_some(()));
    // Impatience must not cut the removal short.
    while !running.has_ended() {
        running.signal(Signal::TERM);
        thread::sleep(Duration::from_millis(1));
    }
    let outcome = running.finish().expect(143);
    outcome.says(&["interrupted by SIGTERM: the result holds the completed rows"]);
    assert!(
        outcome.stdout.contains("interrupted after 4 of 4 rows"),
        "{}",
        outcome.stdout
    );
    let saved = fs::read_to_string(place.path("result.json")).unwrap();
    let result: Value = serde_json::from_str(&saved).unwrap();
    let experiment = &result["experiments"][0];
    assert_eq!(experiment["method"]["interrupted"], true);
    assert_eq!(experiment["rows"].as_array().unwrap().len(), 4);
    place.assert_nothing_left();
}

#[test]
fn while_files_are_copied_and_initialised() {
    let place = Place::new();
    let mut command = place.iostrata("crash --dir . -- true");
    let started = sleeping_tool(&place, "cp", &mut command);
    let copying = Running::start(&place, "copying", command);
    until("cp is not run", || started.exists().then_some(()));
    copying.signal(Signal::INT);
    copying.finish().expect(130);
    place.assert_nothing_left();

    let place = Place::new();
    let started = place.path("started");
    let init = format!("trap '' INT; echo > {}; sleep 600; :", started.display());
    let mut command = place.iostrata("crash --dir .");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.args(["--init", &init, "--", "true"]);
    let initialising = Running::start(&place, "initialising", command);
    until("--init is not run", || started.exists().then_some(()));
    initialising.signal(Signal::INT);
    initialising.finish().expect(130);
    place.assert_nothing_left();
}

/// A mount of a server that answers nothing, until it is dropped: then calls that wait fail.
struct Silent<'p> {
    at: PathBuf,
    server: Option<File>,
    _place: &'p Place,
}

impl<'p> Silent<'p> {
    fn mounted(place: &'p Place) -> Self {
        let at = place.path("silent");
        fs::create_dir(&at).unwrap();
        let server = File::options().read(true).write(true).open("/dev/fuse");
        let server = server.unwrap();
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0",
            server.as_raw_fd()
        );
        let options = CString::new(options).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("silent", &at, "fuse.silent", flags, options.as_c_str()).unwrap();
        Self {
            at,
            server: Some(server),
            _place: place,
        }
    }

    fn ends(&mut self) {
        drop(self.server.take());
    }
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        self.ends();
        unmount(&self.at, UnmountFlags::DETACH).unwrap();
    }
}

/// Whether one of its threads waits for the server. State `D` alone is not it: that is also a program that is read from
/// the disk. A request waits for the answer to the first one of all, which says what the server can (`fuse_get_req()`,
/// fs/fuse/dev.c).
fn waits(running: &Running<'_>) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", running.pid())).unwrap();
    tasks.flatten().any(|task| {
        let waits_in = fs::read_to_string(task.path().join("wchan")).unwrap_or_default();
        waits_in == "fuse_get_req"
    })
}

#[test]
fn a_directory_that_never_answers_keeps_nobody() {
    if !is_root("mounting FUSE") {
        return;
    }
    let place = Place::new();
    let silent = Silent::mounted(&place);
    let mut command = place.iostrata("lab --quick --dir");
    command.arg(&silent.at);
    let running = Running::start(&place, "run", command);
    until("it does not come to the directory", || {
        waits(&running).then_some(())
    });
    running.signal(Signal::INT);
    assert_eq!(running.finish().signal, Some(2));
}

#[test]
fn a_wait_that_no_signal_ends_is_named() {
    if !is_root("mounting FUSE") {
        return;
    }
    let place = Place::new();
    let mut silent = Silent::mounted(&place);
    let mut command = place.iostrata("cache show --cross");
    command.arg(silent.at.parent().unwrap());
    let running = Running::start(&place, "run", command);
    until("it does not come to the mount", || {
        waits(&running).then_some(())
    });
    running.signal(Signal::INT);
    let named = until("nobody says what it waits for", || {
        let said = fs::read_to_string(place.path("run.stderr")).ok()?;
        said.contains("no signal ends").then_some(said)
    });
    silent.ends();
    running.finish().expect(130);
    assert!(
        named.starts_with("waiting for ") && named.contains("(2) of "),
        "{named}"
    );
}

/// Traces a program that goes on at Ctrl-C, which is pressed until iostrata is back.
fn ctrl_c_twice(backend: &str) {
    let place = Place::new();
    let mut command = place.iostrata("trace --no-save --calls --backend");
    command.args([backend, "--", "/bin/sh", "-c"]);
    command.arg("trap '' INT; echo $$; exec /bin/sleep 600");
    command.process_group(0);
    let running = Running::start(&place, "trace", command);
    let program = until("the program does not run", || {
        let printed = fs::read_to_string(place.path("trace.stdout")).ok()?;
        Pid::from_raw(printed.strip_suffix('\n')?.parse().ok()?)
    });
    running.signal_group(Signal::INT);
    until("nobody says how to end it", || {
        let said = fs::read_to_string(place.path("trace.stderr")).ok()?;
        said.contains("keeps running after Ctrl-C; once more")
            .then_some(())
    });
    running.signal_group(Signal::INT);
    let outcome = running.finish();
    // The program keeps running without iostrata too.
    let ended = kill_process(program, Signal::KILL);
    outcome.expect(130).says(&["execve"]);
    ended.unwrap();
    place.assert_nothing_left();
}

#[test]
fn a_program_that_ignores_it_runs_on_after_the_second() {
    ctrl_c_twice("ptrace");
    if is_root("eBPF") {
        ctrl_c_twice("ebpf");
    }
}

/// The result goes to a pipe that nobody reads.
#[test]
fn after_the_observation_nothing_is_waited_for() {
    let place = Place::new();
    for number in 0..400 {
        fs::write(place.dir().join(format!("file-{number}")), "text\n").unwrap();
    }
    let path = place.path("result");
    mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let pipe = File::options().read(true).write(true).open(&path).unwrap();
    let mut command = place.iostrata("trace --no-save --backend ptrace -o ../result");
    command.args(["--", "/bin/sh", "-c"]);
    command.arg("for file in *; do read line < $file; done");
    let running = Running::start(&place, "run", command);
    until("the pipe is not full", || {
        (ioctl_fionread(&pipe).unwrap() >= 1 << 16).then_some(())
    });
    running.signal(Signal::INT);
    let outcome = running.finish().expect(130);
    outcome.says(&["interrupted by SIGINT"]);
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let place = Place::new();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_iostrata"))
        .args("lab --fs host --mode fsync --size 1 --count 1000000".split(' '))
        .env_clear()
        .env("HOME", place.path("home"))
        .current_dir(place.dir());
    let mut running = Running::start(&place, "run", command);
    running.workload("host", "fsync-1");
    running.signal(Signal::HUP);
    running.signal(Signal::HUP);
    assert!(!running.has_ended());
    running.signal(Signal::TERM);
    running.finish().expect(143);
    place.assert_nothing_left();
}

/// Kills a lab with images and all, and its guard before it if that is so asked.
fn killed_outright(place: &Place, with_guard: bool) {
    let options = ENDLESS.replace("host", "host,ext4,xfs,btrfs");
    let running = Running::start(place, "run", place.iostrata(&options));
    running.any_workload();
    // The first process may be one that ends at once; until there is one that stays.
    until("two processes and their mounts were not seen", || {
        (place.in_use().1 >= 5).then_some(())
    });
    assert_eq!(place.in_use().0, 3);
    if with_guard {
        kill_process(running.guard(), Signal::KILL).unwrap();
    }
    running.signal(Signal::KILL);
    assert_eq!(running.finish().signal, Some(9));
    place.assert_kernel_is_clean();
}

#[test]
fn killed_outright_nothing_stays() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    killed_outright(&place, false);
    until("the scratch directory stays", || {
        entries(&place.dir()).is_empty().then_some(())
    });
    place.assert_nothing_left();
}

#[test]
fn killed_with_its_guard_only_the_scratch_directory_stays_for_the_next_run() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    killed_outright(&place, true);
    let left = entries(&place.dir());
    assert_eq!(left.len(), 1, "{left:?}");
    for image in ["ext4", "xfs", "btrfs"] {
        assert!(entries(&left[0].join(image)).is_empty(), "{image}");
    }
    run(place.iostrata("lab --quick --fs host --mode flush --size 1 --count 20")).expect(0);
    place.assert_nothing_left();
}
