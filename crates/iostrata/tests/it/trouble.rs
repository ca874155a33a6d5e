//! What goes wrong in the middle of a run.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::mount::{MountFlags, mount};
use rustix::process::{Signal, kill_process};

use crate::place::{Outcome, Place, entries, is_root, with_own_mounts};
use crate::running::Running;

/// Far more than a test waits for.
const ENDLESS: &str = "lab --fs host --mode fsync --size 1 --count 1000000";

#[test]
fn a_disk_that_fills_up() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    let fill = place.dir().join("fill");
    with_own_mounts(|| {
        let options = c"size=64m";
        mount("none", place.dir(), "tmpfs", MountFlags::empty(), options).unwrap();
        // Every run needs 20 MiB, and there are hundreds of them.
        let options = "lab --thorough --fs host --mode flush,fsync --size 1MiB --count 20";
        let mut running = Running::start(&place, "run", place.iostrata(options));
        running.workload("host", "flush-1048576");
        let mut file = File::create(&fill).unwrap();
        let block = vec![7; 1 << 16];
        while !running.has_ended() {
            if file.write_all(&block).is_err() {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let outcome = running.finish().expect(3);
        outcome.says(&[
            "error: timing f",
            " 1 MiB on host: ",
            "No space left on device",
        ]);
        outcome.says(&["free space there, choose another directory"]);
        assert_eq!(outcome.stdout, "");
        assert_eq!(entries(&place.dir()), [fill.as_path()]);
    });
    place.assert_nothing_left();
}

#[test]
fn a_workload_that_is_killed() {
    let place = Place::new();
    let running = Running::start(&place, "run", place.iostrata(ENDLESS));
    kill_process(running.workload("host", "fsync-1"), Signal::KILL).unwrap();
    let outcome = running.finish().expect(3);
    outcome.says(&[
        "error: timing fsync 1 B on host: the workload process was killed by signal 9 (SIGKILL)",
    ]);
    assert_eq!(outcome.stdout, "");
    place.assert_nothing_left();
}

#[test]
fn a_workload_that_is_killed_on_an_image() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let options = ENDLESS.replace("host", "ext4,xfs");
    let running = Running::start(&place, "run", place.iostrata(&options));
    // In its own mount namespace the file is not seen from here: any workload will do.
    kill_process(running.any_workload(), Signal::KILL).unwrap();
    running.finish().expect(3).says(&["killed by signal 9"]);
    place.assert_nothing_left();
}

/// Of a user who may have as many processes and threads, and has no others.
fn with_threads(place: &Place, most: u32) -> Outcome {
    // Makes the place that user's.
    drop(place.iostrata_of_nobody(""));
    let usual = place.iostrata("");
    let mut command = Command::new("/usr/bin/prlimit");
    command.arg(format!("--nproc={most}:{most}"));
    let user = "/usr/bin/setpriv --reuid 54323 --regid 54323 --clear-groups";
    command.args(user.split(' ')).arg(place.path("iostrata"));
    command.args("lab sync --quick --fs host --writers 4".split(' '));
    for own in [place.dir(), place.path("home")] {
        chown(own, Some(54_323), Some(54_323)).unwrap();
    }
    let environment = usual
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    command.env_clear().envs(environment);
    command.current_dir(place.dir()).stdin(Stdio::null());
    Running::start(place, "limited", command).finish()
}

#[test]
fn writers_that_cannot_all_be_started_are_not_waited_for() {
    if !is_root("becoming a user without other processes") {
        return;
    }
    let mut told = 0;
    for most in 3..9 {
        let place = Place::new();
        let outcome = with_threads(&place, most);
        if outcome
            .stderr
            .contains("cannot start a thread for each writer")
        {
            told += 1;
            outcome.expect(3);
        }
        place.assert_nothing_left();
    }
    assert!(
        told > 0,
        "no number of threads is enough for some of the writers"
    );
}

#[test]
fn with_few_descriptors_nothing_is_left() {
    for most in 6..26 {
        let place = Place::new();
        let options = "lab --quick --fs host --mode flush --size 1 --count 20 --json -";
        let usual = place.iostrata(options);
        let mut command = Command::new("/usr/bin/prlimit");
        command.arg(format!("--nofile={most}:{most}"));
        command.arg(usual.get_program()).args(usual.get_args());
        command.env_clear().current_dir(place.dir());
        command.env("HOME", place.path("home")).stdin(Stdio::null());
        let outcome = Running::start(&place, "limited", command).finish();
        assert!(
            matches!(outcome.code, Some(0 | 3)),
            "{most}: {}",
            outcome.stderr
        );
        place.assert_nothing_left();
    }
}
