//! A process of iostrata is killed: nobody stays stopped. Kills at random moments are in
//! `tests/attack`.

use std::fs;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::marked::{Marked, Process};
use crate::wait::until;

/// Copies, at each of which it is stopped, for some seconds.
const STOPPED: &str = "touch begun; for copy in $(seq 150); do cp /bin/true copy; done; touch done";

fn guard(marked: &Marked, but: Option<i32>) -> i32 {
    until(|| {
        let own = marked.processes();
        let is_guard = |it: &&Process| it.is_iostrata && it.session == it.pid;
        let mut guards = own.iter().filter(is_guard).map(|it| it.pid);
        guards.find(|pid| Some(*pid) != but).ok_or(own)
    })
}

#[test]
fn the_guard_of_a_recording_is_replaced_and_does_its_work() {
    let marked = Marked::new();
    let mut command = marked.command_of(&["--record", "LOG"], "/bin/sh");
    command.args(["-c", STOPPED]).stderr(Stdio::null());
    let mut iostrata = command.spawn().unwrap();
    let first = guard(&marked, None);
    kill_process(Pid::from_raw(first).unwrap(), Signal::KILL).unwrap();
    guard(&marked, Some(first));
    until(|| fs::metadata(marked.path("work/copy")));
    assert!(!marked.is_done(), "too late");
    iostrata.kill().unwrap();
    iostrata.wait().unwrap();
    marked.assert_all_end("without iostrata and its first guard");
    assert!(marked.is_done());
}
