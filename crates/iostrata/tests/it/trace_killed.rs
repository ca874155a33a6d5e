//! iostrata is killed while it traces: the program goes on.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::place::{Place, until};
use crate::running::Running;

/// Writes 200 lines in some seconds, by a program of its own for each pause.
const PROGRAM: &str = "for line in $(seq 200); do echo $line; sleep 0.01; done >> \"$0\"";

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
