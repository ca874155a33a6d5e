//! Processes that are made while iostrata begins to observe, and its end with theirs.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use iostrata_core::gap::{Gap, Reason};
use iostrata_core::trace::TraceResult;
use rustix::process::{Pid, Signal, kill_process};

use crate::attached::Group;
use crate::traced::{place, workload};
use crate::wait::until;

/// The next one where iostrata had not begun before one was over, as on a busy machine.
const STORMS_MS: [&str; 3] = ["3000", "12000", "48000"];

/// Killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Running {
    /// Its status, when it has ended by itself.
    #[track_caller]
    fn ended(&mut self) -> ExitStatus {
        until(|| self.0.try_wait().unwrap().ok_or("it goes on"))
    }
}

/// A child of the storm: its number, and when it was made and had ended.
struct Born {
    number: u32,
    made_ns: u64,
    ended_ns: u64,
}

/// How iostrata learns of the storm.
#[derive(Debug, Clone, Copy)]
enum By {
    Pid,
    /// The storm is made in it.
    Cgroup,
}

/// Lets the storm rage and iostrata adopt it, which must begin before the storm is over. Returns what
/// both say.
fn storm(backend: &str, by: By, more: &[&str]) -> (Vec<Born>, TraceResult) {
    let seen = STORMS_MS
        .iter()
        .find_map(|ms| one_storm(ms, backend, by, more));
    seen.unwrap()
}

fn one_storm(ms: &str, backend: &str, by: By, more: &[&str]) -> Option<(Vec<Born>, TraceResult)> {
    let dir = place();
    let rows = dir.path().join("rows");
    let group = match by {
        By::Pid => None,
        By::Cgroup => Some(Group::new("iostrata-storm-NUMBER").unwrap()),
    };
    let mut command = match &group {
        None => Command::new(workload("storm")),
        Some(group) => {
            let mut into = Command::new(workload("into"));
            into.arg(group.path()).arg(workload("storm"));
            into
        }
    };
    command.arg(ms).args(more).current_dir(dir.path());
    let mut storm = Running(
        command
            .stdout(File::create(&rows).unwrap())
            .spawn()
            .unwrap(),
    );
    let saved = dir.path().join("result.json");
    let said = dir.path().join("said");
    let mut trace = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    trace.args(["trace", "--no-measure", "--backend", backend, "--json"]);
    trace.arg(&saved);
    match &group {
        None => trace.args(["-p", &storm.0.id().to_string()]),
        Some(group) => trace.args(["--cgroup", group.path()]),
    };
    trace
        .stdout(Stdio::null())
        .stderr(File::create(&said).unwrap());
    let mut trace = Running(trace.spawn().unwrap());
    storm.ended();
    drop(group);
    let status = trace.ended();
    let said = std::fs::read_to_string(&said).unwrap();
    if !status.success() {
        let is_over = ["has ended", "No such process"]
            .iter()
            .any(|over| said.contains(over));
        assert!(is_over, "{backend} {more:?}: {said}");
        return None;
    }
    let text = std::fs::read_to_string(&saved).unwrap();
    let rows = std::fs::read_to_string(&rows).unwrap();
    let made = rows.lines().map(|row| {
        let mut fields = row.split(' ').map(|field| field.parse().unwrap());
        let mut next = || fields.next().unwrap();
        Born {
            number: u32::try_from(next()).unwrap(),
            made_ns: next(),
            ended_ns: next(),
        }
    });
    let (made, result): (Vec<Born>, TraceResult) =
        (made.collect(), serde_json::from_str(&text).unwrap());
    let is_after = |child: &Born| child.made_ns >= result.started_ns;
    (made.iter().filter(|child| is_after(child)).count() > 10).then_some((made, result))
}

/// Each child has written what it says, its end was reported, and no law is broken.
#[track_caller]
fn is_whole(made: &[Born], result: &TraceResult, words: &str) {
    assert_eq!(result.lost_events, 0, "{words}: {:?}", result.missing);
    let is_unreported = |gap: &Gap| matches!(gap.why, Reason::ExitUnreported(_));
    let unreported: Vec<_> = result
        .missing
        .iter()
        .filter(|gap| is_unreported(gap))
        .collect();
    assert!(unreported.is_empty(), "{words}: {unreported:?}");
    let broken: Vec<_> = result.audit.iter().filter(|law| !law.holds).collect();
    assert!(broken.is_empty(), "{words}: {broken:?}");
    let mut written: BTreeMap<u32, u64> = BTreeMap::new();
    for task in &result.tasks {
        *written.entry(task.process).or_default() += task.written_bytes;
    }
    let begun_ns = result.started_ns;
    // Numbers are used again within one storm.
    let mut expected: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for child in made.iter().filter(|child| child.ended_ns >= begun_ns) {
        let (least, most) = expected.entry(child.number).or_default();
        *least += 3 * u64::from(child.made_ns >= begun_ns);
        *most += 3;
    }
    for (number, (least, most)) in expected {
        let seen = written.get(&number);
        let is_right = seen.is_some_and(|seen| (least..=most).contains(seen));
        assert!(is_right, "{words}: {number} {least} {most} {seen:?}");
    }
}

#[test]
fn every_child_that_ends_after_the_beginning_is_seen() {
    for backend in ["ebpf", "ptrace"] {
        for more in [&[][..], &["with a child that nobody waits for"]] {
            for _ in 0..3 {
                let (made, result) = storm(backend, By::Pid, more);
                is_whole(&made, &result, &format!("{backend} {more:?}"));
            }
        }
    }
}

/// Also one whose parent has ended: its cgroup tells that it belongs to the others.
#[test]
fn every_child_in_a_cgroup_is_seen() {
    // Says why not, where there can be no cgroup.
    if Group::new("iostrata-storm-NUMBER").is_none() {
        return;
    }
    for _ in 0..3 {
        let (made, result) = storm("ebpf", By::Cgroup, &[]);
        is_whole(&made, &result, "in a cgroup");
    }
}

/// What is forked into the cgroup after the end is not of the tree, and so not missed.
#[test]
fn what_is_forked_after_the_end_is_not_missed() {
    let Some(group) = Group::new("iostrata-storm-NUMBER") else {
        return;
    };
    for _ in 0..5 {
        let dir = place();
        let mut into = Command::new(workload("into"));
        into.arg(group.path()).arg(workload("storm")).arg("3000");
        into.current_dir(dir.path()).stdout(Stdio::null());
        let mut storm = Running(into.spawn().unwrap());
        let saved = dir.path().join("result.json");
        let mut trace = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        trace.args(["trace", "--no-measure", "--for", "500ms", "--cgroup"]);
        trace.arg(group.path()).arg("--json").arg(&saved);
        let output = trace.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        storm.ended();
        let text = std::fs::read_to_string(&saved).unwrap();
        is_whole(&[], &serde_json::from_str(&text).unwrap(), "in a cgroup");
    }
}

/// The observation ends as asked, and with what was seen until then.
#[test]
fn it_ends_when_it_is_to() {
    for backend in ["ebpf", "ptrace"] {
        for (options, signal) in [(&["--for", "500ms"][..], None), (&[], Some(Signal::INT))] {
            let dir = place();
            let mut command = Command::new(workload("storm"));
            command.args(["60000", "with a child that nobody waits for"]);
            let command = command.current_dir(dir.path()).stdout(Stdio::null());
            let storm = Running(command.spawn().unwrap());
            let saved = dir.path().join("result.json");
            let mut trace = Command::new(env!("CARGO_BIN_EXE_iostrata"));
            trace.args(["trace", "--no-measure", "--backend", backend, "--json"]);
            trace.arg(&saved).args(["-p", &storm.0.id().to_string()]);
            trace
                .args(options)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let mut trace = Running(trace.spawn().unwrap());
            if let Some(signal) = signal {
                std::thread::sleep(Duration::from_secs(5));
                let pid = Pid::from_raw(trace.0.id().cast_signed()).unwrap();
                kill_process(pid, signal).unwrap();
            }
            assert!(trace.ended().success(), "{backend} {options:?}");
            let text = std::fs::read_to_string(&saved).unwrap();
            let result: TraceResult = serde_json::from_str(&text).unwrap();
            assert!(result.processes > 1, "{backend} {options:?}");
        }
    }
}

#[test]
fn a_process_that_has_ended_is_not_adopted() {
    // It is waited for when the test ends.
    let mut ended = Running(Command::new("true").spawn().unwrap());
    let pid = ended.0.id().to_string();
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    };
    until(|| match state() {
        'Z' => Ok(()),
        other => Err(other),
    });
    for backend in ["ebpf", "ptrace"] {
        let mut trace = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        trace.args(["trace", "--backend", backend, "-p", &pid]);
        let output = trace.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{text}");
        assert!(text.contains("has exited"), "{text}");
    }
    assert!(ended.ended().success());
}
