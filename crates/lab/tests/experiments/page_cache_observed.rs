//! `lab page-cache` observed by eBPF on a fresh ext4 whose device has no other user: counts that
//! are known in advance.

use iostrata_core::gap::Reason;
use iostrata_core::page_cache::{PageCacheResult, PageCacheRow, Reader, State};
use iostrata_lab::engine::{Silent, StoppingRule};
use iostrata_lab::experiment::{Experiment as _, run};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::page_cache::Selection;
use iostrata_lab::scratch::{Image, ImageKind, Images, Plan, isolate, prepare};
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::target::Target;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::stack::{Roots, inspect};

use crate::places::launcher;
use crate::undisturbed::undisturbed;

const SIZE_BYTES: u64 = 4 << 20;

/// More faults than a process has during a read, for its stack and its own code.
const FEW: u64 = 64;

fn target(image: &Image) -> Target {
    let stack = inspect(image.path(), &Roots::default()).unwrap();
    Target {
        name: image.kind().name().to_owned(),
        dir: image.path().to_owned(),
        image: true,
        backing_cached: image.backing_cached(),
        disks: stack.charged_disks(),
        device_path: Some(image.device().path().to_owned()),
        storage: stack.target(image.path().display().to_string()),
    }
}

fn observed_run() -> PageCacheResult {
    let mounts = isolate().unwrap();
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let selection = Selection {
        sizes_bytes: vec![SIZE_BYTES],
        effort: Effort::Quick,
        ..Selection::default()
    };
    let planned = selection.plan().unwrap();
    let plan = Plan {
        dir: dir.path(),
        enter: false,
        host_bytes: 0,
        images: Some(Images {
            kinds: &[ImageKind::Ext4],
            bytes: 64 << 20,
            mounts: &mounts,
        }),
    };
    assert!(planned.needed_bytes() < 64 << 20);
    let prepared = prepare(&plan, None, &Interrupt::never()).unwrap();
    let settings = RunSettings {
        stopping: StoppingRule {
            min_runs: 1,
            max_runs: 1,
            target_width: 0.1,
            budget_s: 10.0,
        },
        effort: Effort::Quick,
        scratch: prepared.host().to_owned(),
        launcher: launcher(),
        virtualization: None,
        unobserved_because: Reason::Error(String::new()),
    };
    let targets: Vec<Target> = prepared.images().iter().map(target).collect();
    let mut observer = EbpfObserver::open().unwrap();
    let result = run(
        &planned,
        &settings,
        &targets,
        Some(&mut observer),
        &mut Silent,
        &|| false,
    )
    .unwrap();
    assert!(prepared.close().is_empty(), "everything is removed");
    of!(PageCache, result)
}

/// System calls, and their bytes, of the reader.
fn calls(row: &PageCacheRow) -> Option<(&'static str, u64)> {
    match (row.row.case.state, row.row.case.reader) {
        (_, Reader::Mmap | Reader::IoUring) => None,
        (State::Dontcache, Reader::PreadRandom) => Some(("preadv2", 1024)),
        (State::Dontcache, _) => Some(("preadv2", 1)),
        (_, Reader::PreadRandom) => Some(("pread64", 1024)),
        _ => Some(("read", 1)),
    }
}

/// The expected values of every row of the file, by its state and reader.
fn check(row: &PageCacheRow) {
    let (case, evidence) = (row.row.case, &row.row.evidence);
    let pages = SIZE_BYTES / 4096;
    assert!(row.is_as_asked(), "{row:?}");
    assert_eq!(evidence.lost_events, 0);
    let reads = evidence.exact_device().unwrap().reads;
    let cache = evidence.cache;
    let brought = cache.missed_pages.zip(cache.prefetched_pages);
    let brought = brought.map(|(missed, prefetched)| missed + prefetched);
    let seen = case.reader != Reader::IoUring;
    assert_eq!(brought.is_some(), seen, "unknown, not 0: {case:?}");
    let pages_brought = |pages| seen.then_some(pages);
    if let Some((name, count)) = calls(row) {
        let call = evidence.syscalls.as_ref().unwrap().get(name).unwrap();
        assert_eq!((call.count, call.bytes), (count, SIZE_BYTES), "{case:?}");
    }
    match case.state {
        State::Warm => {
            let asked = (reads.count, reads.bytes, brought);
            assert_eq!(asked, (0, 0, pages_brought(0)), "{case:?}");
            assert_eq!(evidence.faults.major, Some(0), "{case:?}");
        }
        State::Direct => {
            assert_eq!(
                (reads.bytes, brought),
                (SIZE_BYTES, pages_brought(0)),
                "{case:?}"
            );
            assert_eq!(cache.resident_after_bytes, Some(0), "{case:?}");
            let single = case.reader == Reader::PreadRandom;
            assert!(
                !single || reads.count == 1024,
                "one request each: {reads:?}"
            );
        }
        // Reads of adjacent blocks by chance cause read-ahead, which may bring in again a page that
        // RWF_DONTCACHE has dropped.
        _ if case.reader == Reader::PreadRandom => {
            assert!(
                reads.bytes >= SIZE_BYTES && reads.count > 100,
                "{case:?} {reads:?}"
            );
        }
        _ => assert_eq!(
            (reads.bytes, brought),
            (SIZE_BYTES, pages_brought(pages)),
            "{case:?}"
        ),
    }
    if case.state == State::Cold && case.reader != Reader::PreadRandom {
        assert_eq!(cache.resident_after_bytes, Some(SIZE_BYTES));
    }
}

#[test]
fn the_device_gives_what_the_state_says_and_not_a_byte_more() {
    undisturbed(|| {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("eBPF and loop devices need root");
            return;
        }
        let result = observed_run();
        assert_eq!(result.rows.len(), 17);
        for row in &result.rows {
            check(row);
            if row.row.case.reader == Reader::Mmap {
                let (cache, faults) = (row.row.evidence.cache, row.row.evidence.faults);
                assert_eq!(
                    cache.missed_pages, faults.major,
                    "who waits has missed: {row:?}"
                );
                assert!(cache.lookups_pages > Some(0), "faults look pages up");
            }
        }
        let faults = |reader| {
            let wanted = (State::Warm, reader);
            let mut rows = result.rows.iter();
            let row = rows.find(|row| (row.row.case.state, row.row.case.reader) == wanted);
            row.unwrap().row.evidence.faults.minor.unwrap()
        };
        let (new, used) = (faults(Reader::Read), faults(Reader::ReadReused));
        let pages = SIZE_BYTES / 4096;
        assert!(
            (pages..pages + FEW).contains(&new) && used < FEW,
            "every page of a new buffer is a fault, and none of a used one: {new}, {used}"
        );
    });
}
