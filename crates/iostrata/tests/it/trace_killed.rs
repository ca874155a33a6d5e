//! iostrata is killed while it traces: the program keeps running.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use iostrata_lab::scratch::ImageKind;
use rustix::process::Signal;

use crate::cache::with_images;
use crate::place::{Place, entries, is_root, until};
use crate::running::Running;

/// Writes 200 lines in some seconds, by a program of its own for each pause.
const PROGRAM: &str = "for line in $(seq 200); do echo $line; sleep 0.01; done >> \"$0\"";

/// Has a saving that can be measured.
const SYNCED: &str = "import os
log = os.open('log', os.O_WRONLY | os.O_CREAT)
for record in range(500):
    os.write(log, b'x' * 100)
    os.fsync(log)";

fn lines(text: &str) -> Vec<usize> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn the_program_of_a_killed_iostrata_makes_all_its_calls() {
    for extra in [&[][..], &["--every-call"][..]] {
        let place = Place::new();
        let file = place.path("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        command
            .args(["trace", "--backend", "ptrace"])
            .args(extra)
            .args(["--", "/bin/sh", "-c", PROGRAM])
            .arg(&file);
        let iostrata = Running::start(&place, "killed", command);
        let written = || fs::read_to_string(&file).unwrap_or_default();
        until("it writes nothing", || {
            (written().lines().count() > 5).then_some(())
        });
        iostrata.signal(Signal::KILL);
        let outcome = iostrata.finish();
        assert_eq!(outcome.signal, Some(9));
        assert!(
            written().lines().count() < 200,
            "it was killed in the middle"
        );
        until("the program does not end", || {
            (written().lines().count() == 200).then_some(())
        });
        assert_eq!(lines(&written()), (1..=200).collect::<Vec<_>>());
    }
}

#[test]
fn the_programs_code_is_passed_on_through_both_processes() {
    let place = Place::new();
    for (program, code) in [("exit 7", 7), ("kill -KILL $$", 137)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        command
            .args(["trace", "--backend", "ptrace", "--", "/bin/sh", "-c"])
            .arg(program);
        let outcome = Running::start(&place, "code", command).finish();
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("/bin/sh"), "{}", outcome.stderr);
    }
}

/// On btrfs a file without a name is synced for nothing, so what is measured there has one.
#[test]
fn what_is_measured_with_a_name_is_removed_when_iostrata_is_killed() {
    if !is_root("mounting an image") {
        return;
    }
    let place = Place::new();
    with_images(&place, &[ImageKind::Btrfs], |prepared| {
        let dir = prepared.images()[0].path();
        let measured = || {
            let is_there = |path: &PathBuf| path.join("replay").exists();
            entries(dir).into_iter().find(is_there)
        };
        // A busy machine may take so long elsewhere that the syncs are no finding.
        let mut said = Vec::new();
        let iostrata = loop {
            let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
            command.current_dir(dir).args(["trace", "--"]);
            command.args(["python3", "-c", SYNCED]);
            let mut iostrata = Running::start(&place, "killed", command);
            let is_measured = until("it goes on for ever", || {
                let is_measured = measured().is_some();
                (is_measured || iostrata.has_ended()).then_some(is_measured)
            });
            if is_measured {
                break iostrata;
            }
            said.push(iostrata.finish().stdout);
            assert!(said.len() < 10, "nothing is measured: {said:#?}");
        };
        iostrata.signal(Signal::KILL);
        assert_eq!(iostrata.finish().signal, Some(9));
        until("what was measured stays", || {
            (entries(dir) == [dir.join("log")]).then_some(())
        });
    });
}
