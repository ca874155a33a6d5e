//! The audit finds what a defect of iostrata would do to its figures.

use iostrata_core::gap::{Gap, Reason};
use iostrata_core::law::Law;
use iostrata_core::trace::TraceResult;

use crate::skip::skip;
use crate::traced::{iostrata, place, trace_any, workload};

/// 200 writes and a sync by `dd`, with this fault; the exit code says whether a budget was kept.
fn with(
    fault: &str,
    options: &[&str],
    command: &[&str],
) -> Option<(TraceResult, String, Option<i32>)> {
    if !rustix::process::geteuid().is_root() {
        skip("observing pages and requests needs root");
        return None;
    }
    let place = place();
    let saved = place.path().join("result.json");
    let options = [
        options,
        &["--no-save", "--no-measure", "-o", saved.to_str().unwrap()],
    ]
    .concat();
    let mut command = iostrata(&options, command);
    command.env("IOSTRATA_FAIL", format!("planted.{fault}"));
    let output = command.current_dir(place.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let text = std::fs::read_to_string(&saved).unwrap_or_else(|_| panic!("{said}"));
    Some((
        serde_json::from_str(&text).unwrap(),
        said,
        output.status.code(),
    ))
}

const DD: [&str; 6] = [
    "dd",
    "if=/dev/zero",
    "of=F",
    "bs=4k",
    "count=200",
    "conv=fsync",
];

fn broken(result: &TraceResult) -> Vec<Law> {
    let broken = result.audit.iter().filter(|judged| !judged.holds);
    broken.map(|judged| judged.law).collect()
}

#[test]
fn each_planted_fault_breaks_the_law_named_for_it() {
    for (fault, law) in [
        ("call", Law::Calls),
        ("byte", Law::Bytes),
        ("time", Law::Time),
        ("time", Law::Histogram),
        ("blocked", Law::Blocked),
        ("task", Law::Calls),
        ("processor", Law::Bounds),
        ("moment", Law::TimelineCalls),
        ("history", Law::History),
        ("request", Law::TimelineRequests),
        ("disk", Law::Synced),
    ] {
        let script = format!("{}; true", DD.join(" "));
        let Some((result, said, _)) = with(fault, &[], &["sh", "-c", &script]) else {
            return;
        };
        assert!(broken(&result).contains(&law), "{fault}: {said}");
        let is_told =
            |gap: &Gap| matches!(gap.why, Reason::BrokenLaw(law) if broken(&result).contains(&law));
        assert!(result.missing.iter().any(is_told), "{:?}", result.missing);
    }
    let ring = workload("ring_writes");
    let Some((result, said, _)) = with("worker", &[], &[&ring, "async", "F"]) else {
        return;
    };
    assert_eq!(broken(&result), [Law::Dirtied], "{said}");
}

#[test]
fn without_a_fault_all_laws_hold() {
    let Some((result, said, _)) = with("nothing", &[], &DD) else {
        return;
    };
    assert_eq!(broken(&result), []);
    // What is dirty at the end is not known before Linux 6.5 (cachestat(2)).
    let laws = result.audit.len();
    assert!((10..=11).contains(&laws), "{said}");
    let told = format!("audit    {laws} of {laws} judged laws hold");
    assert!(said.contains(&told), "{said}");
}

#[test]
fn what_only_seems_to_contradict_breaks_none() {
    for script in [
        // The kernel answers, and stores nothing.
        "echo 0x33 > /proc/self/coredump_filter",
        // The pages of the write are dropped, and the sync has nothing to wait for.
        "dd if=/dev/urandom of=F bs=64k count=1 status=none; : > F; sync F",
        "dd if=/dev/zero of=F bs=4k count=9 oflag=direct status=none; cp F G; mv G H; rm F; sync H",
    ] {
        let Some((result, said, _)) = with("nothing", &[], &["sh", "-c", script]) else {
            return;
        };
        assert_eq!(broken(&result), [], "{said}");
    }
}

#[test]
fn figures_of_a_broken_law_keep_no_budget() {
    let budget = |fault: &str, limit: &str| {
        let (result, said, code) = with(fault, &["--budget", limit], &DD)?;
        Some((result.findings.len(), said, code))
    };
    let Some((_, said, code)) = budget("nothing", "writes<=1000") else {
        return;
    };
    assert_eq!(code, Some(0), "{said}");
    let (findings, said, code) = budget("call", "writes<=1000").unwrap();
    assert_eq!((findings, code), (0, Some(125)), "{said}");
    assert!(
        said.contains("two counts of its calls contradict each other"),
        "{said}"
    );
    let (_, said, code) = budget("request", "device.writes<=1000").unwrap();
    assert_eq!(code, Some(125), "{said}");
    // The clock is not counted.
    let (_, said, code) = budget("call", "wall<=60min").unwrap();
    assert_eq!(code, Some(0), "{said}");
}

/// The clocks of run queues differ by seconds where a hypervisor takes time from CPUs.
const FLIPS: &str = "import os
cpus = sorted(os.sched_getaffinity(0))
for turn in range(400):
    child = os.fork()
    if not child:
        os.sched_setaffinity(0, {cpus[turn % len(cpus)]})
        os.sched_setaffinity(0, {cpus[(turn + 1) % len(cpus)]})
        os._exit(0)
    os.waitpid(child, 0)";

#[test]
fn tasks_that_change_their_cpu_compute_no_longer_than_they_live() {
    if !rustix::process::geteuid().is_root() {
        skip("observing tasks needs root");
        return;
    }
    let place = place();
    let (_, result) = trace_any(place.path(), &["python3", "-c", FLIPS]);
    assert!(result.threads > 400);
    for task in &result.tasks {
        let (on_cpu_s, ended_s) = (task.on_cpu_s.unwrap(), task.ended_s.unwrap());
        assert!(on_cpu_s <= ended_s - task.started_s, "{task:?}");
    }
}
