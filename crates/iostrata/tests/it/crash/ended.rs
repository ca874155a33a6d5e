//! Crash is ended before it is done: what was found is kept, and nothing is left.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::OFlags;
use rustix::process::Signal;
use serde_json::Value;

use super::Case;
use crate::place::{Place, entries, is_root, run, until};
use crate::running::Running;

/// Many states, none of which is looked at quickly.
const MANY: &str = "for one in 1 2 3 4 5 6 7 8; do echo $one > f$one; mv f$one f; done; echo saved";

/// Interrupts it once its only checker has told enough, by a FIFO that everybody may write to: that changes no file
/// system.
pub(super) fn interrupted(
    more: &[&str],
    check: &str,
    program: &str,
    is_enough: fn(&str) -> bool,
) -> (Value, String) {
    let case = Case::new("f", "old");
    let saved = case.place.path("crash.json");
    let fifo = case.place.path("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    fs::set_permissions(&fifo, fs::Permissions::from_mode(0o666)).unwrap();
    let mut options = File::options();
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
    // Open for writing, too: nothing waits for this test.
    let options = options.read(true).write(true).custom_flags(nonblocking);
    let mut told = options.open(&fifo).unwrap();
    let check = format!("exec 3> {}; {check}", fifo.display());
    let options = [
        "--jobs",
        "1",
        "--check",
        &check,
        "--json",
        saved.to_str().unwrap(),
    ];
    let running = Running::start(
        &case.place,
        "crash",
        case.command(&[more, &options].concat(), program),
    );
    let mut text = Vec::new();
    until("too little is checked", || {
        // It ends where there is no more yet.
        told.read_to_end(&mut text).unwrap_err();
        is_enough(&String::from_utf8_lossy(&text)).then_some(())
    });
    running.signal(Signal::INT);
    let outcome = running.finish().expect(130);
    outcome.says(&["interrupted by SIGINT: the result holds what was found until then"]);
    case.place.assert_nothing_left();
    let result = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    (result, outcome.stdout)
}

#[test]
fn what_was_found_is_kept() {
    let check = "echo look >&3; [ -s f ] || { echo empty >&3; echo empty; exit 1; }; sleep 0.1";
    // The next look begins when the answer is there.
    let (result, text) = interrupted(&[], check, MANY, |told| told.contains("empty\nlook"));
    assert_eq!(result["verdict"], "failing");
    assert_eq!(result["interrupted_by"], "SIGINT");
    assert_eq!(result["fix"], Value::Null);
    assert!(
        result["fix_unknown_because"]
            .as_str()
            .unwrap_or_default()
            .contains("ended before")
    );
    assert!(text.contains("A crash can break this"), "{text}");
    assert!(text.contains("ended by SIGINT"), "{text}");
}

#[test]
fn nothing_found_is_not_clean() {
    // Two of the looks are at both ends.
    let (result, text) = interrupted(&[], "echo look >&3; sleep 0.1", MANY, |told| {
        told.matches("look").count() > 4
    });
    assert_eq!(result["verdict"], "partial");
    assert!(text.contains("Clean so far: none of "), "{text}");
    let flowed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "breaks anything; ext4, xfs and btrfs were not explored; SIGINT ended the exploration before the rest.";
    assert!(flowed.contains(said), "{text}");
}

#[test]
fn ctrl_c_while_the_program_runs_ends_the_program() {
    // From the keyboard, and for iostrata alone.
    ended_while_it_runs(|running| running.signal_group(Signal::INT));
    ended_while_it_runs(|running| running.signal(Signal::INT));
}

/// What it would have done is in no state, also where it says that all is well.
#[test]
fn a_program_that_ends_well_after_ctrl_c_is_not_clean() {
    let case = Case::new("f", "old");
    let [saved, record] = ["crash.json", "record"].map(|name| case.place.path(name));
    let options = [
        "--record",
        record.to_str().unwrap(),
        "--json",
        saved.to_str().unwrap(),
    ];
    let script = "trap 'exit 0' INT; : > g; sync .; echo started; while :; do sleep 0.01; done";
    let command = case.command(&[&options[..], &["--check", "true"]].concat(), script);
    let running = Running::start(&case.place, "crash", command);
    let printed = case.place.path("crash.stdout");
    until("the program does not run", || {
        let text = fs::read_to_string(&printed).ok();
        text.filter(|text| text.contains("started"))
    });
    running.signal(Signal::INT);
    let outcome = running.finish().expect(3);
    let flowed: Vec<&str> = outcome.stdout.split_whitespace().collect();
    let said = "breaks anything; SIGINT ended the program before its end.";
    assert!(flowed.join(" ").contains(said), "{}", outcome.stdout);
    let result: Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    assert_eq!(result["verdict"], "partial");
    assert_eq!(result["interrupted_by"], "SIGINT");
    let again = ["--check", "true", "--from", record.to_str().unwrap()];
    assert_eq!(case.explored(&again, 3)["verdict"], "incomplete");
    case.place.assert_nothing_left();
}

fn ended_while_it_runs(send: fn(&Running)) {
    let case = Case::new("f", "old");
    let saved = case.place.path("crash.json");
    let options = ["--json", saved.to_str().unwrap()];
    let script = "echo new > f; echo started; exec sleep 600";
    let mut command = case.command(&options, script);
    command.process_group(0);
    let running = Running::start(&case.place, "crash", command);
    let printed = case.place.path("crash.stdout");
    until("the program does not run", || {
        let text = fs::read_to_string(&printed).ok();
        text.filter(|text| text.contains("started"))
    });
    send(&running);
    let outcome = running.finish().expect(1);
    outcome.says(&["what it did until then is explored"]);
    let result: Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    assert_eq!(result["verdict"], "failing");
    assert_eq!(result["interrupted_by"], "SIGINT");
    case.place.assert_nothing_left();
}

/// The file of the copy that the program writes to.
fn written(place: &Place) -> Option<PathBuf> {
    let scratch = entries(&place.path("home")).into_iter();
    let mut files = scratch.map(|scratch| scratch.join("work/f"));
    files.find(|file| fs::metadata(file).is_ok_and(|file| file.len() > 20))
}

fn killed(place: &Place, mut command: Command) {
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command
        .arg("--dir")
        .arg(place.dir())
        .args(["--", "/bin/sh", "-c"]);
    // One of its processes leaves session and group.
    command.arg("setsid sh -c 'while :; do echo line; sleep 0.01; done >> f' & wait");
    let running = Running::start(place, "crash", command);
    until("the program writes nothing", || written(place));
    running.signal(Signal::KILL);
    assert_eq!(running.finish().signal, Some(9));
    place.assert_kernel_is_clean();
    until("files are left", || {
        let left = entries(&place.path("home")).into_iter();
        let own = left.filter(|path| path.to_string_lossy().contains(".iostrata-"));
        (own.count() == 0).then_some(())
    });
}

#[test]
fn the_program_of_a_killed_crash_is_ended() {
    let place = Place::new();
    killed(&place, place.iostrata("crash"));
    let place = Place::new();
    killed(&place, place.iostrata_of_nobody("crash"));
}

#[test]
fn a_directory_that_cannot_be_read_is_told_in_one_line() {
    if !is_root("files that another user may not read") {
        return;
    }
    let case = Case::new("f", "old");
    fs::write(case.dir.join("g"), "old").unwrap();
    for name in ["f", "g"] {
        let nobody_may = fs::Permissions::from_mode(0o000);
        fs::set_permissions(case.dir.join(name), nobody_may).unwrap();
    }
    let mut command = case.place.iostrata_of_nobody("crash --dir");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.arg(&case.dir).args(["--", "true"]);
    let outcome = run(command).expect(3);
    outcome.says(&[
        "for reading: Permission denied (and 1 more line); give --dir a directory that this user can read whole",
    ]);
    assert_eq!(outcome.stderr.lines().count(), 1);
}
