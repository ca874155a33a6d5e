//! The property on which all figures rest: calls and bytes of each file are those that an
//! independent witness saw in the same run. Programs are random (`workloads/random`); the witness
//! of the eBPF side is `strace -f -y`, that of ptrace, which permits no second tracer, is the eBPF
//! side. Beside them, a neighbour uses the same directory and inode numbers. Needs root.
//!
//! A failure prints seed, file and both rows. To reproduce it:
//!
//! ```text
//! IOSTRATA_RANDOM=ext4:17 cargo test -p iostrata-tracer --test random
//! ```
//!
//! `IOSTRATA_RANDOM=btrfs:1..1001` runs the seeds from 1 to 1,000, and `all:1..1001` does so on
//! every file system.

mod compare;
mod ground;
mod lines;
mod record;
mod run;
mod tally;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
mod witness;

use iostrata_report::words;
use std::ops::Range;

use iostrata_tracer::ebpf::{EbpfObserver, Limits};
use iostrata_tracer::ptrace::{Stops, sees};

use ground::{Ground, Kind};
use run::{Last, Seeds, Seen, with_ptrace, with_strace};

/// Default seeds for each file system.
const USUAL: Range<u64> = 1..21;

/// Seeds that one session observes.
const AT_ONCE: u32 = 4;

/// The requested seeds for a file system.
fn asked(name: &str) -> Range<u64> {
    let Ok(asked) = std::env::var("IOSTRATA_RANDOM") else {
        return USUAL;
    };
    let (system, seeds) = asked.split_once(':').expect("FILESYSTEM:SEED");
    if system != name && system != "all" {
        return 0..0;
    }
    let number = |text: &str| text.parse::<u64>().expect("a seed is a number");
    match seeds.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => number(seeds)..number(seeds) + 1,
    }
}

/// Runs all seeds, in a separate thread, since the mounts belong to a thread.
fn hold(
    name: &'static str,
    kind: Kind,
    check: fn(&mut EbpfObserver, &Ground, Seeds) -> Vec<String>,
) {
    let checking = std::thread::spawn(move || {
        let seeds = asked(name);
        if seeds.is_empty() {
            return;
        }
        let ground = Ground::make(kind, seeds.clone());
        let mut observer = EbpfObserver::with_limits(Limits::trace()).expect("eBPF");
        let (mut failed, mut shown) = (0, Vec::new());
        for first in seeds.clone().step_by(AT_ONCE as usize) {
            let count = u64::from(AT_ONCE).min(seeds.end - first);
            let these = Seeds { first, count };
            let found = check(&mut observer, &ground, these);
            failed += u64::from(!found.is_empty());
            let prefix = format!("{name}, seeds {first} to {}: ", first + count - 1);
            shown.extend(found.into_iter().map(|line| prefix.clone() + &line));
            empty(&ground, these);
        }
        let sessions = (seeds.end - seeds.start).div_ceil(AT_ONCE.into());
        shown.truncate(60);
        assert!(
            shown.is_empty(),
            "{failed} of {sessions} runs differ on {name}:\n{}",
            shown.join("\n")
        );
        #[expect(clippy::print_stderr, reason = "how much was compared, for who asks")]
        let () = eprintln!("{name}: {} seeds agree", seeds.end - seeds.start);
    });
    if let Err(panic) = checking.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Makes room for the next seeds.
fn empty(ground: &Ground, seeds: Seeds) {
    for seed in seeds.first..seeds.first + seeds.count {
        for dir in [&ground.dir, &ground.other] {
            let dir = dir.join(seed.to_string());
            std::fs::remove_dir_all(dir).expect("a directory that can be removed");
        }
    }
}

fn differences(
    seen: &Seen,
    ground: &Ground,
    compared: impl Fn(&tally::Key) -> bool,
) -> Vec<String> {
    // Operations whose end the kernel does not show are named as missing, not counted.
    let lacks_operations = seen.gaps.iter().any(|gap| {
        words::missing(&gap.what)
            .to_string()
            .contains("of io_uring")
    });
    let is_compared = |key: &tally::Key| {
        compared(key) && !(lacks_operations && key.call.starts_with("io_uring."))
    };
    let mut found = compare::rows(&seen.one, &seen.other, is_compared);
    let lacks_names = seen
        .gaps
        .iter()
        .any(|gap| words::missing(&gap.what).to_string().contains("name"));
    if !(lacks_names && matches!(seen.last, Last::ByBoth(..))) {
        found.extend(compare::names(&seen.one, &seen.other));
    }
    if !lacks_names {
        found.extend(match &seen.last {
            Last::ByOne(last) => {
                let dirs = [&ground.dir, &ground.other];
                compare::last_names(last, &seen.other.linked, &dirs)
            }
            Last::ByBoth(one, other) => compare::last_names_of_both(one, other),
        });
    }
    found.extend(seen.broken.iter().cloned());
    if !found.is_empty() {
        let missing = seen.gaps.iter();
        found.extend(missing.map(|gap| format!("missing: {}", words::missing(&gap.what))));
    }
    found
}

fn by_strace(observer: &mut EbpfObserver, ground: &Ground, seeds: Seeds) -> Vec<String> {
    let seen = with_strace(observer, ground, seeds);
    differences(&seen, ground, |_| true)
}

fn by_ptrace(observer: &mut EbpfObserver, ground: &Ground, seeds: Seeds) -> Vec<String> {
    let all = with_ptrace(observer, ground, seeds, Stops::All);
    let mut found = differences(&all, ground, |_| true);
    empty(ground, seeds);
    // Before it waited for its observers, the program had made calls that only ptrace saw: without
    // a file, and on its libraries.
    let io = with_ptrace(observer, ground, seeds, Stops::Io);
    let known = io.other.names.clone();
    found.extend(differences(&io, ground, |key| {
        sees(&key.call) && known.contains_key(&key.thing)
    }));
    found
}

#[test]
fn ebpf_agrees_with_strace_on_ext4() {
    hold("ext4", Kind::Ext4, by_strace);
}

#[test]
fn ebpf_agrees_with_strace_on_xfs() {
    hold("xfs", Kind::Xfs, by_strace);
}

#[test]
fn ebpf_agrees_with_strace_on_btrfs() {
    hold("btrfs", Kind::Btrfs, by_strace);
}

#[test]
fn ebpf_agrees_with_strace_on_overlay() {
    hold("overlay", Kind::Overlay, by_strace);
}

#[test]
fn ebpf_agrees_with_strace_on_tmpfs() {
    hold("tmpfs", Kind::Tmpfs, by_strace);
}

#[test]
fn ptrace_agrees_with_ebpf_on_ext4() {
    hold("ext4", Kind::Ext4, by_ptrace);
}

#[test]
fn ptrace_agrees_with_ebpf_on_xfs() {
    hold("xfs", Kind::Xfs, by_ptrace);
}

#[test]
fn ptrace_agrees_with_ebpf_on_btrfs() {
    hold("btrfs", Kind::Btrfs, by_ptrace);
}

#[test]
fn ptrace_agrees_with_ebpf_on_overlay() {
    hold("overlay", Kind::Overlay, by_ptrace);
}

#[test]
fn ptrace_agrees_with_ebpf_on_tmpfs() {
    hold("tmpfs", Kind::Tmpfs, by_ptrace);
}

/// The ptrace back end's log for the same seeds.
fn recorded(_: &mut EbpfObserver, ground: &Ground, seeds: Seeds) -> Vec<String> {
    let mut found = record::by_stops(ground, seeds, Stops::All);
    empty(ground, seeds);
    found.extend(record::by_stops(ground, seeds, Stops::Io));
    found
}

#[test]
fn what_ptrace_recorded_is_rebuilt_on_ext4() {
    hold("ext4", Kind::Ext4, recorded);
}

#[test]
fn what_ptrace_recorded_is_rebuilt_on_xfs() {
    hold("xfs", Kind::Xfs, recorded);
}

#[test]
fn what_ptrace_recorded_is_rebuilt_on_btrfs() {
    hold("btrfs", Kind::Btrfs, recorded);
}

#[test]
fn what_ptrace_recorded_is_rebuilt_on_overlay() {
    hold("overlay", Kind::Overlay, recorded);
}

#[test]
fn what_ptrace_recorded_is_rebuilt_on_tmpfs() {
    hold("tmpfs", Kind::Tmpfs, recorded);
}
