//! Caching or evicting a file, and verifying the result.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use iostrata_core::cache::{Process, named};
use iostrata_core::noun::counted;
use iostrata_tracer::identity::kernel_file;
use iostrata_tracer::kernel::cachestat;
use iostrata_tracer::page_cache::{let_go, mappers, page_bytes, read_through};

/// Maximum number of evictions, and of reads: the first eviction skips pages that another CPU was
/// about to put on a list (`invalidate_mapping_pages`, `mm/truncate.c`).
const ATTEMPTS: u32 = 5;

/// Pause between two of them.
const PAUSE: Duration = Duration::from_millis(4);

/// The cached part of a file, as `cachestat`(2) counts it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Residency {
    pub(crate) pages: u64,
    pub(crate) resident_pages: u64,
    /// Resident pages that are not written back.
    pub(crate) dirty_pages: u64,
    /// Processes that map a file which stayed after an eviction. Mapped pages are not evicted
    /// (`mapping_evict_folio`, `mm/truncate.c`).
    pub(crate) mapped_by: Vec<Process>,
    /// Number of processes whose mappings this user may not see, when a file stayed.
    pub(crate) hidden_processes: u64,
}

impl Residency {
    /// No page is resident.
    pub(crate) fn is_cold(&self) -> bool {
        self.resident_pages == 0
    }

    /// Every page is resident.
    pub(crate) fn is_warm(&self) -> bool {
        self.resident_pages >= self.pages
    }

    pub(crate) fn resident_bytes(&self) -> u64 {
        self.resident_pages * page_bytes()
    }

    /// Why pages stayed after an eviction: `100 % stayed resident: mapped by process 7 (cat)`.
    pub(crate) fn why_not_cold(&self) -> String {
        let percent = self.resident_pages as f64 / self.pages.max(1) as f64 * 100.0;
        format!("{} stayed resident: {}", share(percent), self.holder())
    }

    fn holder(&self) -> String {
        let dirty = self.dirty_pages;
        match self.mapped_by.as_slice() {
            [] if dirty > 0 => format!("{} dirty or under write-back", counted(dirty, "page")),
            [] if self.hidden_processes > 0 => format!(
                "no process that this user may inspect maps it; {} may not be inspected",
                counted(self.hidden_processes, "process")
            ),
            [] => {
                "no process maps it and none of it is dirty; the kernel uses its pages".to_owned()
            }
            several => format!("mapped by {}", named(several)),
        }
    }
}

/// `31 %`, `0.02 %`, `below 0.01 %`: 0 only for none.
fn share(percent: f64) -> String {
    match percent {
        p if p >= 99.95 => "100 %".to_owned(),
        p if p >= 1.0 => format!("{p:.0} %"),
        p if p >= 0.01 => format!("{p:.2} %"),
        _ => "below 0.01 %".to_owned(),
    }
}

/// Queries the residency of a file. Fails as `cachestat`(2) does.
pub(crate) fn residency(path: &Path) -> io::Result<Residency> {
    of(&File::open(path)?)
}

fn of(file: &File) -> io::Result<Residency> {
    let pages = file.metadata()?.len().div_ceil(page_bytes());
    let seen = cachestat(file.as_fd(), 0..u64::MAX)?;
    Ok(Residency {
        pages,
        resident_pages: seen.cached_pages,
        dirty_pages: seen.dirty_pages + seen.writeback_pages,
        ..Residency::default()
    })
}

/// Evicts a file and returns what stayed, and which processes hold it. Dirty pages cannot be
/// evicted, so the file is synced first. One call covers the whole file: of a range, the kernel
/// leaves large folios that reach beyond it.
pub(crate) fn evict(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    let mut left = of(&file)?;
    for attempt in 0..ATTEMPTS {
        if left.is_cold() {
            return Ok(left);
        }
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        if left.dirty_pages > 0 || attempt > 0 {
            file.sync_all()?;
        }
        let_go(&file)?;
        left = of(&file)?;
    }
    if !left.is_cold() {
        let file = kernel_file(path)?;
        let mut found = mappers(&BTreeSet::from([file]))?;
        left.mapped_by = found.of.remove(&file).unwrap_or_default();
        left.hidden_processes = found.hidden_processes;
    }
    Ok(left)
}

/// Reads a file to its end, so that it is resident if there is room, and returns its residency.
///
/// Repeated if needed: after reads with `RWF_DONTCACHE`, pages of a file that had just been read
/// were observed to be gone again.
pub(crate) fn warm(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    let mut seen = of(&file)?;
    for _ in 0..ATTEMPTS {
        if seen.is_warm() {
            break;
        }
        read_through(&file, |_| true)?;
        seen = of(&file)?;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use iostrata_tracer::kernel::{Advice as Plan, Mapping};

    use super::*;

    /// On a disk: pages of a tmpfs cannot be evicted.
    fn on_disk() -> tempfile::TempDir {
        tempfile::tempdir_in("/var/tmp").unwrap()
    }

    #[test]
    fn what_was_written_is_warm_and_goes() {
        let dir = on_disk();
        let path = dir.path().join("f");
        fs::write(&path, vec![7; 300 * 4096 + 1]).unwrap();
        let seen = residency(&path).unwrap();
        assert_eq!((seen.pages, seen.is_warm()), (301, true));
        let gone = evict(&path).unwrap();
        assert!(gone.is_cold() && !gone.is_warm(), "{gone:?}");
        assert!(warm(&path).unwrap().is_warm());
    }

    #[test]
    fn a_mapped_file_stays_and_its_mapper_is_named() {
        let dir = on_disk();
        let path = dir.path().join("f");
        fs::write(&path, vec![7; 64 * 4096]).unwrap();
        let file = File::open(&path).unwrap();
        let mapping = Mapping::of(&file).unwrap();
        mapping.advise(Plan::PopulateRead).unwrap();
        let left = evict(&path).unwrap();
        assert!(left.is_warm(), "{left:?}");
        let own = format!("{} (", std::process::id());
        let why = left.why_not_cold();
        assert!(
            why.starts_with(&format!("100 % stayed resident: mapped by process {own}")),
            "{why}"
        );
    }

    /// One mapped page keeps the large folio around it, and nothing else.
    #[test]
    fn a_part_that_stays_is_a_part() {
        let dir = on_disk();
        let path = dir.path().join("f");
        fs::write(&path, vec![7; 16 << 20]).unwrap();
        assert!(evict(&path).unwrap().is_cold());
        warm(&path).unwrap();
        let mapping = Mapping::of(&File::open(&path).unwrap()).unwrap();
        mapping.advise(Plan::Random).unwrap();
        assert_eq!(mapping.as_slice()[8 << 20], 7);
        let left = evict(&path).unwrap();
        assert!(!left.is_cold() && !left.is_warm(), "{left:?}");
        assert!(!left.why_not_cold().starts_with("100 %"), "{left:?}");
    }

    #[test]
    fn memory_file_systems_keep_theirs() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("f");
        fs::write(&path, vec![7; 4096]).unwrap();
        assert!(!evict(&path).unwrap().is_cold());
        assert!(evict(&dir.path().join("absent")).is_err());
    }

    #[test]
    fn whoever_may_hold_the_pages_is_told() {
        let process = |pid| Process {
            pid,
            command: "cat".to_owned(),
            mapped_bytes: None,
            locked_bytes: None,
        };
        let held = |mapped_by: &[u32], dirty_pages, hidden_processes| {
            Residency {
                pages: 100,
                resident_pages: 31,
                dirty_pages,
                mapped_by: mapped_by.iter().copied().map(process).collect(),
                hidden_processes,
            }
            .why_not_cold()
        };
        assert_eq!(
            held(&[7, 8], 0, 0),
            "31 % stayed resident: mapped by processes 7 (cat), 8 (cat)"
        );
        assert!(held(&[1, 2, 3, 4], 0, 0).ends_with("3 (cat) and 1 more"));
        assert!(held(&[], 5, 9).contains("5 pages dirty"));
        assert!(held(&[], 0, 9).contains("9 processes may not be inspected"));
        assert!(held(&[], 0, 0).contains("the kernel uses"));
        assert_eq!(share(0.001), "below 0.01 %");
        assert_eq!(share(0.4), "0.40 %");
    }
}
