//! The audit finds what a defect of iostrata would do to its figures.

use std::path::Path;

use iostrata_core::gap::{Gap, Reason};
use iostrata_core::law::Law;
use iostrata_core::trace::TraceResult;

use crate::image::Image;
use crate::skip::skip;
use crate::traced::{iostrata, place, trace_any, trace_by, workload};

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
    Some(within(place().path(), fault, options, command))
}

fn within(
    place: &Path,
    fault: &str,
    options: &[&str],
    command: &[&str],
) -> (TraceResult, String, Option<i32>) {
    let saved = place.join("result.json");
    let options = [
        options,
        &["--no-save", "--no-measure", "-o", saved.to_str().unwrap()],
    ]
    .concat();
    let mut command = iostrata(&options, command);
    command.env("IOSTRATA_FAIL", format!("planted.{fault}"));
    let output = command.current_dir(place).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let text = std::fs::read_to_string(&saved).unwrap_or_else(|_| panic!("{said}"));
    (
        serde_json::from_str(&text).unwrap(),
        said,
        output.status.code(),
    )
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
    if !rustix::process::geteuid().is_root() {
        skip("observing pages and requests needs root");
        return;
    }
    // A request for nobody knows whom is on the disk of others, and leaves its law unjudged.
    let image = Image::made(64 << 20, &["mkfs.ext4", "-q", "-F", "-O", "^has_journal"]).mounted();
    for (fault, law) in [
        ("call", Law::Calls),
        ("byte", Law::Bytes),
        ("unseen", Law::Accounting),
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
        drop(std::fs::remove_file(image.path("F"))); // what is synced is new
        let (result, said, _) = within(&image.path(""), fault, &[], &["sh", "-c", &script]);
        assert!(broken(&result).contains(&law), "{fault}: {said}");
        let is_told =
            |gap: &Gap| matches!(gap.why, Reason::BrokenLaw(law) if broken(&result).contains(&law));
        assert!(result.missing.iter().any(is_told), "{:?}", result.missing);
    }
    let ring = workload("ring_writes");
    let (result, said, _) = within(place().path(), "worker", &[], &[&ring, "async", "F"]);
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
    assert!((11..=12).contains(&laws), "{said}");
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

#[test]
fn what_ends_or_is_skipped_within_a_call_breaks_none() {
    let skipped = "import ctypes, os, mmap
call = ctypes.CDLL(None).syscall
for number in (-1, -100, 512, 9999): call(ctypes.c_long(number))
r, w = os.pipe(); s, t = os.pipe(); os.write(w, b'five!'); call(276, r, t, 5, 0)";
    let killed = "for i in 1 2 3 4 5 6 7 8; do timeout -s KILL 0.00$i ls /etc; done; sh -c 'kill -40 $$'; true";
    let place = place();
    for backend in ["ebpf", "ptrace"] {
        for command in [["python3", "-c", skipped], ["sh", "-c", killed]] {
            let Some((output, result)) = trace_by(backend, place.path(), &command) else {
                continue;
            };
            assert_eq!(broken(&result), [], "{backend}: {output:?}");
        }
    }
}

/// What the kernel itself reads and writes for a task, and what moves bytes unaccounted.
#[test]
fn the_kernel_accounts_what_calls_move() {
    let place = place();
    std::fs::write(place.path().join("script"), "#!/bin/cat\nwords\n").unwrap();
    let programs = "chmod +x script; ./script; ./nothing; cat script | cat; cp script copy";
    let moves = "import os, socket, signal, threading
a = os.open('script', os.O_RDONLY); b = os.open('copy', os.O_RDWR | os.O_TRUNC)
os.sendfile(b, a, 0, 8); os.copy_file_range(a, b, 5); os.preadv(a, [bytearray(3), bytearray(9)], 1)
r, w = os.pipe(); os.splice(a, w, 7); os.read(r, 100); os.write(w, b'x' * 10)
s, t = socket.socketpair(); s.send(b'yy'); t.recv(9); os.write(s.fileno(), b'zzz'); os.read(t.fileno(), 99)
try: os.read(b + 100, 5)
except OSError: pass
t = threading.Thread(target = lambda: os.write(b, b'thread')); t.start(); t.join()
if not os.fork(): os.write(b, b'child'); os.kill(os.getpid(), signal.SIGKILL)
os.wait(); os.execvp('tail', ['tail', '-c', '4', 'copy'])";
    for backend in ["ebpf", "ptrace"] {
        for command in [["sh", "-c", programs], ["python3", "-c", moves]] {
            let Some((output, result)) = trace_by(backend, place.path(), &command) else {
                continue;
            };
            let mut judged = result.audit.iter();
            let judged = judged.find(|judged| judged.law == Law::Accounting);
            let holds = judged.is_some_and(|judged| judged.holds);
            assert!(holds, "{backend} {command:?}: {judged:?} {output:?}");
        }
    }
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
