//! A process of iostrata is killed at a random moment: nobody stays stopped or traced, and a run
//! that says it went well has the right figures.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::marked::{Marked, Process};

/// Rounds; 40 where nobody says otherwise.
const ROUNDS: &str = "IOSTRATA_KILL_ROUNDS";

const WAYS: [&[&str]; 4] = [
    &[],
    &["--record", "LOG"],
    &["--backend", "ptrace"],
    &["--backend", "ptrace", "--every-call"],
];

/// Which process of iostrata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// The one that was started.
    Seen,
    /// The one that traces behind it.
    Behind,
    /// The one that waits for the end of the others.
    Waiting,
}

/// xorshift64.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The processes that may be killed: not one that is about to become the program.
fn victims(marked: &Marked, seen: i32, filtered: bool) -> Vec<(Role, i32)> {
    let own = marked.processes();
    let role = |process: &Process| {
        let is_child = process.parent == seen;
        match process {
            _ if !process.is_iostrata => None,
            _ if process.pid == seen => Some(Role::Seen),
            _ if process.session == process.pid || process.descriptors == 1 => Some(Role::Waiting),
            _ if filtered && is_child => Some(Role::Behind),
            _ => None,
        }
    };
    let mut found: Vec<_> = own
        .iter()
        .filter_map(|process| Some((role(process)?, process.pid)))
        .collect();
    found.sort_unstable();
    found
}

/// Until a random moment: of the start in one of four rounds, else of the program.
fn wait(marked: &Marked, child: &mut Child, state: &mut u64) {
    if random(state).is_multiple_of(4) {
        return sleep(Duration::from_millis(random(state) % 500));
    }
    while !marked.has_begun() && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_micros(200));
    }
    let longest_us = if random(state).is_multiple_of(2) {
        30_000
    } else {
        400_000
    };
    sleep(Duration::from_micros(random(state) % longest_us));
}

/// Kills one at a random moment; `None` when the run was over before.
fn kill_one(marked: &Marked, child: &mut Child, filtered: bool, state: &mut u64) -> Option<Role> {
    wait(marked, child, state);
    let seen = i32::try_from(child.id()).unwrap();
    let victims = victims(marked, seen, filtered);
    let chosen = usize::try_from(random(state)).unwrap();
    let (role, pid) = *victims.get(chosen.checked_rem(victims.len())?)?;
    let pid = Pid::from_raw(pid).unwrap();
    kill_process(pid, Signal::KILL).ok()?;
    Some(role)
}

fn round(number: u64, state: &mut u64) -> (Option<Role>, Option<i32>) {
    let options = WAYS[usize::try_from(number).unwrap() % WAYS.len()];
    let filtered = options == WAYS[2];
    let marked = Marked::new();
    let mut command = marked.command(options);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let killed = kill_one(&marked, &mut child, filtered, state);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let what = format!("round {number}, {options:?}, killed {killed:?}: {text}");
    marked.assert_all_end(&what);
    // Behind a filter a program cannot go on without its tracer.
    if killed != Some(Role::Behind) {
        assert!(marked.is_done() || !marked.has_begun(), "{what}");
    }
    let result = marked.result();
    match output.status.code() {
        Some(0) => {
            assert!(marked.is_done(), "{what}");
            marked.assert_right(&result.expect("it was saved"), &what);
        }
        Some(125) => assert!(text.contains("error: "), "{what}"),
        Some(code) => panic!("{code}: {what}"),
        None => assert_eq!(killed, Some(Role::Seen), "{what}"),
    }
    (killed, output.status.code())
}

/// Copies, at each of which it is stopped, for some seconds.
const STOPPED: &str = "touch begun; for copy in $(seq 150); do cp /bin/true copy; done; touch done";

fn guard(marked: &Marked, but: Option<i32>) -> i32 {
    let begun = Instant::now();
    loop {
        let own = marked.processes();
        let is_guard = |it: &&Process| it.is_iostrata && it.session == it.pid;
        let mut guards = own.iter().filter(is_guard).map(|it| it.pid);
        if let Some(pid) = guards.find(|pid| Some(*pid) != but) {
            return pid;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{own:?}");
        sleep(Duration::from_millis(2));
    }
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
    while !marked.has_begun() {
        sleep(Duration::from_millis(1));
    }
    sleep(Duration::from_millis(100));
    assert!(!marked.is_done(), "too late");
    iostrata.kill().unwrap();
    iostrata.wait().unwrap();
    marked.assert_all_end("without iostrata and its first guard");
    assert!(marked.is_done());
}

#[test]
fn an_adopted_program_outlives_whoever_observes_it() {
    let mut state = u64::from(std::process::id()) | 1 << 40;
    for round in 0..6 {
        let marked = Marked::new();
        let backend = ["ptrace", "ebpf"][round % 2];
        let mut program = marked.alone(150_000).spawn().unwrap();
        while !marked.has_begun() {
            sleep(Duration::from_millis(1));
        }
        let mut adopt = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        adopt.args(["trace", "--backend", backend, "-p"]);
        adopt
            .arg(program.id().to_string())
            .stderr(Stdio::null())
            .stdout(Stdio::null());
        let mut iostrata = adopt.spawn().unwrap();
        sleep(Duration::from_millis(random(&mut state) % 900));
        iostrata.kill().unwrap();
        iostrata.wait().unwrap();
        assert!(program.wait().unwrap().success(), "round {round}");
        marked.assert_all_end("an adopted program");
        assert!(marked.is_done(), "round {round}");
    }
}

#[test]
fn at_random_moments() {
    let rounds = std::env::var(ROUNDS).map_or(40, |rounds| rounds.parse().unwrap());
    let mut state = u64::from(std::process::id()) | 1 << 40;
    eprintln!("state {state}");
    let mut ends = std::collections::BTreeMap::new();
    for number in 0..rounds {
        let end = round(number, &mut state);
        *ends.entry((number % 4, end)).or_insert(0) += 1;
    }
    for (end, count) in ends {
        eprintln!("{count} times {end:?}");
    }
}
