//! Results are there whole or not at all: after kills at any moment, on full disks, beyond limits.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use iostrata_core::record::{Change, Entry, Reader};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Pid, Signal, kill_process};

use crate::place::{Outcome, Place, enlarged, entries, is_root, run, with_own_mounts};
use crate::seeded::Seeded;

const OLD: &str = "an older result\n";

/// A result of trace that takes a while to read and to write.
fn large_result(place: &Place) -> PathBuf {
    let small = place.path("small.json");
    let mut command = place.iostrata("trace --backend ptrace -o");
    command
        .arg(&small)
        .args(["--", "/bin/sh", "-c", "echo x > f; /bin/rm f"]);
    run(command).expect(0);
    let path = place.path("large.json");
    fs::write(&path, enlarged(&fs::read(&small).unwrap())).unwrap();
    path
}

fn quiet(mut command: Command) -> Command {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_full_disk_leaves_an_old_page_and_an_old_result() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    let input = large_result(&place);
    with_own_mounts(|| {
        let options = c"size=64k";
        mount("none", place.dir(), "tmpfs", MountFlags::empty(), options).unwrap();
        for (name, arguments) in [
            ("page", "report --html page"),
            ("metrics", "report --prometheus metrics"),
        ] {
            let path = place.dir().join(name);
            fs::write(&path, OLD).unwrap();
            // Nearly all of it, so that metrics do not fit either.
            fs::write(place.dir().join("fill"), vec![7; 48 << 10]).unwrap();
            let mut command = place.iostrata(arguments);
            command.arg(&input);
            let outcome = run(command).expect(3);
            outcome.says(&["No space left on device"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), OLD);
            fs::remove_file(place.dir().join("fill")).unwrap();
            assert_eq!(entries(&place.dir()), [path.as_path()]);
            fs::remove_file(path).unwrap();
        }
    });
}

/// As the shell's `ulimit` sets it.
fn limited(place: &Place, limit: &str, arguments: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(format!("ulimit {limit}; exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_iostrata"))
        .args(arguments.split_whitespace())
        .current_dir(place.dir())
        .stdin(Stdio::null());
    command
}

#[test]
fn limits_are_told_and_leave_what_was_there() {
    let place = Place::new();
    let input = large_result(&place);
    let input = input.to_str().unwrap();
    let path = place.dir().join("out");
    for (limit, arguments, says) in [
        (
            "-f 1",
            format!("report {input} --html out"),
            "File too large",
        ),
        (
            "-f 1",
            format!("report {input} --prometheus out"),
            "File too large",
        ),
        ("-f 1", "doctor --json out".to_owned(), "File too large"),
        (
            "-f 1",
            "trace --backend ptrace -o out -- /bin/true".to_owned(),
            "File too large",
        ),
        (
            "-n 6",
            format!("report {input} --html out"),
            "Too many open files",
        ),
        (
            "-n 8",
            "trace --backend ptrace -o out -- /bin/true".to_owned(),
            "error: ",
        ),
    ] {
        fs::write(&path, OLD).unwrap();
        let outcome = run(limited(&place, limit, &arguments));
        assert!(
            outcome.code.is_some_and(|code| code != 0),
            "{limit} {arguments}"
        );
        outcome.says(&[says]);
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            OLD,
            "{limit} {arguments}"
        );
        assert_eq!(
            entries(&place.dir()),
            [path.as_path()],
            "{limit} {arguments}"
        );
    }
    for arguments in [
        format!("report {input} --csv tables"),
        "lab --quick --fs host --mode flush --size 1 --count 20 --json new".to_owned(),
    ] {
        let outcome = run(limited(&place, "-n 8", &arguments));
        assert!(outcome.code.is_some_and(|code| code != 0), "{arguments}");
        outcome.says(&["error: ", "Too many open files"]);
        assert_eq!(entries(&place.dir()), [path.as_path()], "{arguments}");
    }
}

#[test]
fn every_signal_that_can_be_caught_ends_in_order() {
    let place = Place::new();
    // Nobody writes to it, so that the command waits.
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        place.path("input"),
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    let path = place.dir().join("out");
    fs::write(&path, OLD).unwrap();
    for (signal, name) in [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::TERM, "SIGTERM"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::XCPU, "SIGXCPU"),
    ] {
        let mut command = place.iostrata("report --html out");
        command.arg(place.path("input")).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        // A signal between the handler's installation and its registration is lost (signal-hook): the
        // thread that waits for signals starts after both.
        let threads = format!("/proc/{}/task", child.id());
        crate::place::until("no signal is caught", || {
            let threads = fs::read_dir(&threads).ok()?;
            threads.map_while(Result::ok).find(|thread| {
                fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name == "signals\n")
            })
        });
        kill_process(Pid::from_child(&child), signal).unwrap();
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        assert_eq!(
            outcome.code,
            Some(128 + signal.as_raw()),
            "{name}: {}",
            outcome.stderr
        );
        outcome.says(&[&format!("interrupted by {name}")]);
        assert_eq!(fs::read_to_string(&path).unwrap(), OLD);
        assert_eq!(entries(&place.dir()), [path.as_path()]);
    }
}

#[test]
fn what_is_read_is_not_written_over() {
    let place = Place::new();
    let input = large_result(&place);
    let before = fs::read(&input).unwrap();
    let other = place.path("other.json");
    fs::hard_link(&input, &other).unwrap();
    let (input, other) = (input.to_str().unwrap(), other.to_str().unwrap());
    for arguments in [
        format!("report {input} --html {other}"),
        format!("report {input} --prometheus {input}"),
        format!("compare {input} {input} --json {other}"),
        format!("cache show {input} --json {other}"),
        "trace -o new --html ./new -- /bin/touch ran".to_owned(),
        "trace -o new --record new -- /bin/touch ran".to_owned(),
        "lab --quick --json new --html ./new".to_owned(),
    ] {
        let outcome = run(place.iostrata(&arguments));
        assert_eq!(outcome.code, Some(2), "{arguments}: {}", outcome.stderr);
        assert_eq!(fs::read(input).unwrap(), before, "{arguments}");
        place.assert_nothing_left();
    }
}

#[test]
fn what_cannot_be_replaced_is_written_to() {
    let place = Place::new();
    let read = |path: &Path| {
        let mut text = String::new();
        File::open(path).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    let outcome = run(place.iostrata("doctor --json /dev/stdout")).expect(0);
    assert!(outcome.stdout.starts_with('{'), "{}", outcome.stdout);
    run(place.iostrata("doctor --json /dev/null")).expect(0);
    let fifo = place.path("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).unwrap();
    thread::scope(|scope| {
        let reader = scope.spawn(|| read(&fifo));
        let mut command = place.iostrata("doctor --json");
        command.arg(&fifo);
        run(command).expect(0);
        assert!(reader.join().unwrap().ends_with("}\n"));
    });
    // A file that standard output goes to is the shell's, and keeps its identity.
    let path = place.path("stdout");
    let mut command = place.iostrata("doctor --json /dev/stdout");
    command.stdout(File::create(&path).unwrap());
    assert!(command.status().unwrap().success());
    assert!(read(&path).starts_with('{'));
    place.assert_nothing_left();
}

#[test]
fn a_link_of_another_in_a_sticky_directory_is_not_followed() {
    if !is_root("links of another user") {
        return;
    }
    let place = Place::new();
    let input = large_result(&place);
    let (sticky, secret) = (place.path("sticky"), place.path("secret"));
    fs::create_dir(&sticky).unwrap();
    fs::set_permissions(&sticky, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::write(&secret, OLD).unwrap();
    let link = sticky.join("out");
    symlink(&secret, &link).unwrap();
    lchown(&link, Some(65_534), Some(65_534)).unwrap();
    for option in ["--prometheus", "--html", "--csv"] {
        let mut command = place.iostrata("report");
        command.arg(&input).arg(option).arg(&link);
        let outcome = run(command).expect(3);
        outcome.says(&["is a symbolic link of user 65534"]);
        assert_eq!(fs::read_to_string(&secret).unwrap(), OLD, "{option}");
        assert_eq!(entries(&sticky), [link.as_path()], "{option}");
    }
}

/// Each option that writes a file, with a command that has it.
const OUTPUTS: [&str; 9] = [
    "trace --no-save --backend ptrace -o OUT -- /bin/true",
    "doctor --json OUT",
    "crash --dir . --json OUT -- /bin/true",
    "report IN --html OUT",
    "report IN --perfetto OUT",
    "report IN --folded OUT",
    "report IN --markdown=OUT",
    "report IN --prometheus OUT",
    "cache show IN --json OUT",
];

#[test]
fn a_fifo_that_is_not_read_or_of_another_is_refused() {
    if !is_root("FIFOs of another user") {
        return;
    }
    let place = Place::new();
    let input = large_result(&place);
    let fifo = place.path("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).unwrap();
    let refused = |arguments: &str, why: &str| {
        let arguments = arguments.replace("OUT", fifo.to_str().unwrap());
        let arguments = arguments.replace("IN", input.to_str().unwrap());
        let outcome = run(place.iostrata(&arguments));
        let is_refusal = matches!(outcome.code, Some(3 | 125));
        assert!(
            is_refusal,
            "{arguments}: {:?} {}",
            outcome.code, outcome.stderr
        );
        outcome.says(&[why]);
    };
    refused(OUTPUTS[1], "nothing has it open for reading");
    lchown(&fifo, Some(65_534), Some(65_534)).unwrap();
    // Its owner waits for the result of root.
    let reader = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    let reader = rustix::fs::open(&fifo, reader, rustix::fs::Mode::empty()).unwrap();
    for arguments in OUTPUTS {
        refused(arguments, "it is a FIFO of user 65534");
    }
    let mut read = Vec::new();
    File::from(reader).read_to_end(&mut read).unwrap();
    assert_eq!(read, b"");
}

#[test]
fn a_directory_of_another_is_refused() {
    if !is_root("directories of another user") {
        return;
    }
    let place = Place::new();
    let input = large_result(&place);
    let log = place.path("log");
    let mut trace = place.iostrata("trace --no-save --record");
    trace.arg(&log).args(["--", "/bin/true"]);
    run(trace).expect(0);
    let (owned, theirs) = (place.path("owned"), place.path("theirs"));
    fs::create_dir(&theirs).unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).unwrap();
    fs::create_dir(&owned).unwrap();
    symlink(&owned, place.path("link")).unwrap();
    for name in ["theirs", "link"] {
        lchown(place.path(name), Some(65_534), Some(65_534)).unwrap();
    }
    for (name, why) in [
        ("theirs", "it is a directory of user 65534"),
        ("link", "it is a symbolic link of user 65534"),
    ] {
        for arguments in [
            "report IN --csv OUT",
            "report IN --parquet OUT",
            "rebuild LOG OUT",
            "crash --dir . --keep OUT -- /bin/true",
        ] {
            let out = place.path(name);
            let arguments = arguments.replace("OUT", out.to_str().unwrap());
            let arguments = arguments.replace("IN", input.to_str().unwrap());
            let arguments = arguments.replace("LOG", log.to_str().unwrap());
            run(place.iostrata(&arguments)).expect(3).says(&[why]);
        }
        assert_eq!(entries(&owned), [] as [PathBuf; 0]);
    }
    let nobody_reads = "crash --dir . --record OUT/new -- /bin/true";
    let out = nobody_reads.replace("OUT", place.path("link").to_str().unwrap());
    run(place.iostrata(&out))
        .expect(3)
        .says(&["link on the way to it"]);
}

#[test]
fn a_log_is_its_owners_alone_whatever_the_umask() {
    if !is_root("eBPF") {
        return;
    }
    let place = Place::new();
    let log = place.path("log");
    for umask in [0o000, 0o077, 0o777] {
        let mut command = place.iostrata("trace --record");
        command.arg(&log).args(["--", "/bin/true"]);
        let mut shell = Command::new("/bin/sh");
        shell
            .arg("-c")
            .arg(format!("umask {umask:03o}; exec \"$0\" \"$@\""))
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(place.dir())
            .process_group(0);
        let outcome = run(shell).expect(0);
        outcome.says(&["complete"]);
        let mode = fs::metadata(&log).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "umask {umask:o}");
        fs::remove_file(&log).unwrap();
    }
    // None is left of a program that cannot be run.
    let mut command = place.iostrata("trace --record");
    command.arg(&log).args(["--", "/no/such/program"]);
    run(command).expect(127);
    assert!(!log.exists());
}

/// By ptrace anybody may.
#[test]
fn reads_are_recorded_by_ptrace() {
    let place = Place::new();
    let (log, file) = (place.path("log"), place.path("file"));
    fs::write(&file, [7; 1234]).unwrap();
    let mut command = place.iostrata("trace --backend ptrace --record-reads --record");
    command.arg(&log).args(["--", "/bin/cat"]).arg(&file);
    let outcome = run(command).expect(0);
    outcome.says(&["incomplete: pages of mapped files that were read"]);
    let mut reader = Reader::new(File::open(&log).unwrap()).unwrap();
    let mut reads = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Entry::Operation(operation) = entry
            && let Change::Read { offset, bytes, .. } = operation.change
        {
            reads.push((offset, bytes));
        }
    }
    assert!(reads.ends_with(&[(0, 1234), (1234, 0)]), "{reads:?}");
}

#[test]
fn a_recording_that_is_killed_can_be_read_up_to_there() {
    if !is_root("eBPF") {
        return;
    }
    let place = Place::new();
    let log = place.path("log");
    let mut seeded = Seeded::new(7, "", 0);
    for _ in 0..5 {
        let mut command = place.iostrata("trace --record");
        command.arg(&log).args([
            "--",
            "/bin/sh",
            "-c",
            "i=0; while [ $i -lt 3000 ]; do echo $i > f; i=$((i+1)); done",
        ]);
        let mut child = quiet(command).spawn().unwrap();
        crate::place::until("nothing is recorded", || {
            fs::metadata(&log).ok().filter(|log| log.len() > 0)
        });
        thread::sleep(Duration::from_millis(seeded.below(300)));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(9));
        let mut command = place.iostrata("report --csv");
        command.arg(place.path("tables")).arg(&log);
        run(command).expect(4).says(&["the operation log"]);
        fs::remove_file(&log).unwrap();
    }
    // What the killed recorder leaves behind ends by itself.
    place.assert_kernel_is_clean();
}

#[test]
fn a_machine_without_proc_is_told_to_mount_it() {
    if !is_root("mounts of its own") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        unmount("/proc", UnmountFlags::DETACH).unwrap();
        for arguments in [
            "top --once",
            "doctor",
            "lab --quick",
            "crash --dir . -- /bin/true",
            "trace -- /bin/true",
        ] {
            let outcome = run(place.iostrata(arguments));
            assert!(matches!(outcome.code, Some(3 | 125)), "{arguments}");
            outcome.says(&["/proc", "mount -t proc proc /proc"]);
        }
    });
}
