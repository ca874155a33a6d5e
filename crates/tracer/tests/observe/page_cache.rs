//! Lookups, misses and prefetch of reads whose pages are known to the unit.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use iostrata_report::words;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Command;

use iostrata_core::evidence::{Cache, Evidence};
use iostrata_core::observe::{Observer as _, Stream};
use iostrata_tracer::ebpf::{EbpfObserver, Limits};
use iostrata_tracer::kernel::mincore;

use crate::session::{charged, observe, workload};
use crate::undisturbed::undisturbed;

const PAGES: u64 = 4096;
const BYTES: usize = 4096 * 4096;

/// A file of [`PAGES`] pages, none of them resident.
fn cold(path: &Path) {
    std::fs::write(path, vec![9_u8; BYTES]).unwrap();
    let file = File::open(path).unwrap();
    rustix::fs::fsync(&file).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    // mincore is accurate for the user's own file, and older kernels have no cachestat.
    let resident = mincore(file.as_fd(), 0..BYTES as u64).unwrap();
    assert_eq!(
        resident, 0,
        "the file must be cold for the figures to be known"
    );
}

fn read(path: &Path, order: &str) -> Evidence {
    read_by(&mut EbpfObserver::open().unwrap(), path, order)
}

fn read_by(observer: &mut EbpfObserver, path: &Path, order: &str) -> Evidence {
    let mut program = Command::new(workload("readback"));
    program.arg(path).arg(PAGES.to_string()).arg(order);
    let (seen, status) = observe(observer, Stream::default(), &mut program, || ());
    assert!(status.success());
    let disks = seen
        .raw
        .block
        .iter()
        .flatten()
        .map(|row| row.disk)
        .collect();
    charged(&seen, &[path], disks)
}

#[test]
fn a_cold_sequential_read_is_prefetched_not_missed() {
    undisturbed(|| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("data");
        cold(&path);
        let evidence = read(&path, "sequential");
        let cache = evidence.cache;
        assert_eq!(cache.lookups_pages, Some(PAGES));
        // One read waited; read-ahead brought everything else. A hit ratio would say 99.98 %.
        assert!((1..=4).contains(&cache.missed_pages.unwrap()), "{cache:?}");
        assert_eq!(
            cache.missed_pages.unwrap() + cache.prefetched_pages.unwrap(),
            PAGES
        );
        assert_eq!(evidence.exact_device().unwrap().reads.bytes, PAGES * 4096);
        assert_eq!(
            evidence.syscalls.unwrap().get("pread64").unwrap().count,
            PAGES
        );
    });
}

/// The kernel does not announce a batch whose last folio is still being read from the device.
#[test]
fn large_reads_look_up_every_page_once_while_read_ahead_is_under_way() {
    undisturbed(|| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("data");
        for block in ["ibs=64K", "ibs=1M", "ibs=1000K"] {
            for _ in 0..4 {
                cold(&path);
                let mut observer = EbpfObserver::open().unwrap();
                let mut program = Command::new("dd");
                program.arg(format!("if={}", path.display()));
                program.args(["of=/dev/null", "status=none", block]);
                let (seen, status) = observe(&mut observer, Stream::default(), &mut program, || ());
                assert!(status.success());
                let cache = charged(&seen, &[&path], Vec::new()).cache;
                assert_eq!(cache.lookups_pages, Some(PAGES), "{block}");
            }
        }
    });
}

/// A call looks up everything to its end, and misses only pages that do not exist.
#[test]
fn only_the_holes_of_a_file_are_missed() {
    undisturbed(|| {
        const EVERY: u64 = 8;
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("data");
        cold(&path);
        let file = File::open(&path).unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
        for page in (0..PAGES).step_by(usize::try_from(EVERY).unwrap()) {
            assert_eq!(rustix::io::pread(&file, &mut [0; 1], page * 4096), Ok(1));
        }
        let resident = mincore(file.as_fd(), 0..BYTES as u64).unwrap();
        assert_eq!(resident, PAGES / EVERY, "the holes must be known");
        let mut observer = EbpfObserver::open().unwrap();
        let mut program = Command::new("dd");
        program.arg(format!("if={}", path.display()));
        program.args(["of=/dev/null", "status=none", "ibs=16M"]);
        let (seen, status) = observe(&mut observer, Stream::default(), &mut program, || ());
        assert!(status.success());
        let cache = charged(&seen, &[&path], Vec::new()).cache;
        assert_eq!(cache.lookups_pages, Some(PAGES));
        let brought = cache.missed_pages.unwrap() + cache.prefetched_pages.unwrap();
        assert_eq!(brought, PAGES - resident, "{cache:?}");
    });
}

/// Copies its first argument to its second.
const COPY: &str = "import os, sys
source = os.open(sys.argv[1], os.O_RDONLY)
target = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
while os.copy_file_range(source, target, 1 << 30): pass";

/// One call has both files in the cache: one because it is read, the other to be written.
#[test]
fn the_target_of_a_copy_is_not_read() {
    undisturbed(|| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (from, to) = (dir.path().join("data"), dir.path().join("copy"));
        cold(&from);
        let mut observer = EbpfObserver::open().unwrap();
        let mut program = Command::new("python3");
        program.args(["-c", COPY]).arg(&from).arg(&to);
        let (seen, status) = observe(&mut observer, Stream::default(), &mut program, || ());
        assert!(status.success());
        let cache = |path: &Path| charged(&seen, &[path], Vec::new()).cache;
        let brought = |cache: &Cache| cache.missed_pages.unwrap() + cache.prefetched_pages.unwrap();
        let (source, target) = (cache(&from), cache(&to));
        assert_eq!(brought(&source), PAGES, "{source:?}");
        assert_eq!((brought(&target), target.lookups_pages), (0, Some(0)));
        assert_eq!(target.dirtied_bytes, Some(PAGES * 4096));
    });
}

/// Ways to bring in a whole file without a read: the file and its length are `f` and `n`.
const WITHOUT_A_READ: [(&str, &str); 7] = [
    (
        "loads",
        "m = mmap.mmap(f, n, prot=mmap.PROT_READ); sum(m[::4096])",
    ),
    (
        "MAP_POPULATE",
        "mmap.mmap(f, n, flags=mmap.MAP_PRIVATE | 0x8000, prot=mmap.PROT_READ)",
    ),
    (
        "MADV_POPULATE_READ",
        "mmap.mmap(f, n, prot=mmap.PROT_READ).madvise(22)",
    ),
    (
        "MADV_WILLNEED",
        "mmap.mmap(f, n, prot=mmap.PROT_READ).madvise(3)",
    ),
    ("POSIX_FADV_WILLNEED", "os.posix_fadvise(f, 0, n, 3)"),
    (
        "readahead(2)",
        "ctypes.CDLL(None).readahead(f, ctypes.c_long(0), ctypes.c_long(n))",
    ),
    (
        "write(2) of a mapping",
        "os.write(os.memfd_create('m'), mmap.mmap(f, n, prot=mmap.PROT_READ))",
    ),
];

/// Nothing that a call brings in was there before.
#[test]
fn what_other_calls_than_reads_bring_in_was_not_resident() {
    undisturbed(|| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("data");
        for (way, code) in WITHOUT_A_READ {
            cold(&path);
            let begin = "import ctypes, mmap, os, sys; f = os.open(sys.argv[1], os.O_RDONLY); n = 16 << 20;";
            let mut observer = EbpfObserver::open().unwrap();
            let mut program = Command::new("python3");
            program.args(["-c", &format!("{begin} {code}")]).arg(&path);
            let (seen, status) = observe(&mut observer, Stream::default(), &mut program, || ());
            assert!(status.success(), "{way}");
            let cache = charged(&seen, &[&path], Vec::new()).cache;
            let brought = cache.missed_pages.unwrap() + cache.prefetched_pages.unwrap();
            // A call for read-ahead brings no more than the device takes at once (force_page_cache_ra).
            let resident = mincore(File::open(&path).unwrap().as_fd(), 0..BYTES as u64).unwrap();
            assert!(resident > 0, "{way}");
            assert_eq!(brought, resident, "{way}: {cache:?}");
        }
    });
}

/// Reads its first argument to the end, into 16 pages, by calls that ask for all of it.
const SHORT: &str = "import ctypes, os, sys
file, libc = os.open(sys.argv[1], os.O_RDONLY), ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, ctypes.c_long(32 * 4096), 3, 0x22, -1, ctypes.c_long(0))
libc.mprotect(ctypes.c_void_p(at + 16 * 4096), ctypes.c_long(16 * 4096), 0)
while libc.read(file, ctypes.c_void_p(at), ctypes.c_long(16 << 20)) > 0: pass";

/// The kernel announces each time all that was asked for.
#[test]
fn what_a_short_read_does_not_reach_is_not_looked_up() {
    undisturbed(|| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![9_u8; BYTES]).unwrap();
        let mut observer = EbpfObserver::with_limits(Limits::trace()).unwrap();
        let mut program = Command::new("python3");
        program.args(["-c", SHORT]).arg(&path);
        let (seen, status) = observe(&mut observer, Stream::default(), &mut program, || ());
        assert!(status.success());
        let evidence = charged(&seen, &[&path], Vec::new());
        assert_eq!(evidence.cache.lookups_pages, Some(PAGES));
        let calls = evidence.syscalls.unwrap();
        assert_eq!(calls.get("read").unwrap().count, PAGES / 16 + 1);
    });
}

#[test]
fn cold_random_reads_all_miss() {
    undisturbed(|| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("data");
        cold(&path);
        let evidence = read(&path, "random");
        let cache = evidence.cache;
        assert_eq!(cache.lookups_pages, Some(PAGES));
        assert_eq!(
            (cache.missed_pages, cache.prefetched_pages),
            (Some(PAGES), Some(0))
        );
        let reads = evidence.exact_device().unwrap().reads;
        assert_eq!((reads.count, reads.bytes), (PAGES, PAGES * 4096));
    });
}

#[test]
fn a_warm_read_asks_the_device_for_nothing() {
    undisturbed(|| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![9_u8; BYTES]).unwrap();
        let file = File::open(&path).unwrap();
        rustix::fs::fsync(&file).unwrap();
        let resident = mincore(file.as_fd(), 0..BYTES as u64).unwrap();
        assert_eq!(
            resident, PAGES,
            "the file must be warm for the figures to be known"
        );
        let evidence = read(&path, "sequential");
        assert_eq!(evidence.cache.lookups_pages, Some(PAGES));
        assert_eq!(
            (evidence.cache.missed_pages, evidence.cache.prefetched_pages),
            (Some(0), Some(0))
        );
        assert_eq!(evidence.exact_device().unwrap().reads.count, 0);
    });
}

/// Everything for which only newer kernels have a tracepoint.
const REPLACED: &[&str] = &[
    "tp_btf/mm_filemap_get_pages",
    "tp_btf/page_cache_sync_ra",
    "tp_btf/page_cache_async_ra",
    "tp_btf/mm_filemap_fault",
    "tp_btf/mm_filemap_map_pages",
];

#[test]
fn functions_count_what_tracepoints_do_or_the_stratum_is_missing() {
    let functions = functions();
    let missing = functions.missing();
    let gap = missing
        .iter()
        .find(|gap| words::missing(&gap.what).to_string() == "page cache");
    if let Some(gap) = gap {
        // A locked-down kernel lets no program attach to a function.
        assert!(
            words::reason(&gap.why)
                .to_string()
                .contains("fexit/filemap_get_pages: "),
            "{gap:?}"
        );
        assert!(functions.ways().iter().all(|way| way.what != "page cache"));
        return;
    }
    let ways = functions.ways();
    let way = ways.iter().find(|way| way.what == "page cache").unwrap();
    let expected = "tracepoints, and the functions filemap_get_pages, page_cache_sync_ra, \
                    page_cache_async_ra, filemap_fault, ";
    assert!(way.by.starts_with(expected), "{way:?}");
    undisturbed(|| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("data");
        for order in ["random", "sequential"] {
            cold(&path);
            let cache = read_by(&mut self::functions(), &path, order).cache;
            assert_eq!(cache.lookups_pages, Some(PAGES), "{order}");
            let missed = cache.missed_pages.unwrap();
            assert_eq!(missed + cache.prefetched_pages.unwrap(), PAGES, "{order}");
            let expected = if order == "random" {
                PAGES..=PAGES
            } else {
                1..=4
            };
            assert!(expected.contains(&missed), "{order}: {cache:?}");
        }
    });
}

fn functions() -> EbpfObserver {
    let without = Limits {
        without: REPLACED,
        ..Limits::default()
    };
    EbpfObserver::with_limits(without).unwrap()
}
