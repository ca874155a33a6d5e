//! Getting a file into the page cache, or out of it, and telling whether that worked.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use iostrata_core::FileId;
use iostrata_tracer::kernel::cachestat;
use rustix::fs::{Advice, fadvise};

use super::identity::{KernelFile, kernel_file};

/// Evictions, and readings, that are tried: of the first, pages that another CPU was about to put on a list are
/// skipped (`invalidate_mapping_pages`, `mm/truncate.c`).
const ATTEMPTS: u32 = 5;

/// Between two of them.
const PAUSE: Duration = Duration::from_millis(4);

/// Bytes of one read while a file is brought in.
const WARM_READ_BYTES: usize = 1 << 20;

/// Processes that are named; the rest is counted.
const NAMED: usize = 3;

/// What of a file is in the page cache, as `cachestat`(2) counts it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Residency {
    /// Pages of it.
    pub(crate) pages: u64,
    /// Those that are resident.
    pub(crate) resident_pages: u64,
    /// Those that are resident and not written back.
    pub(crate) dirty_pages: u64,
    /// Processes that map a file which stayed although it was to go, as `4211 (python3)`.
    /// Mapped pages are not evicted (`mapping_evict_folio`, `mm/truncate.c`).
    pub(crate) mapped_by: Vec<String>,
    /// Processes whose mappings this user may not see, when a file stayed.
    pub(crate) hidden_processes: usize,
}

impl Residency {
    /// No page is there.
    pub(crate) fn is_cold(&self) -> bool {
        self.resident_pages == 0
    }

    /// Every page is there.
    pub(crate) fn is_warm(&self) -> bool {
        self.resident_pages >= self.pages
    }

    /// Bytes of the resident pages.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.resident_pages * page_bytes()
    }

    /// Why pages stayed that were to go: `100 % stayed resident: mapped by process 7 (cat)`.
    pub(crate) fn why_not_cold(&self) -> String {
        let percent = self.resident_pages as f64 / self.pages.max(1) as f64 * 100.0;
        format!("{} stayed resident: {}", share(percent), self.holder())
    }

    fn holder(&self) -> String {
        let dirty = self.dirty_pages;
        match self.mapped_by.as_slice() {
            [] if dirty > 0 => format!("{dirty} pages are dirty or being written back"),
            [] if self.hidden_processes > 0 => format!(
                "no process that this user may look at maps it, {} may not be looked at",
                self.hidden_processes
            ),
            [] => "no process maps it and nothing is dirty, the kernel itself uses its pages"
                .to_owned(),
            [one] => format!("mapped by process {one}"),
            several => {
                let named = several.iter().take(NAMED).cloned();
                let named: Vec<String> = named.collect();
                let rest = several.len() - named.len();
                let more = if rest > 0 {
                    format!(" and {rest} more")
                } else {
                    String::new()
                };
                format!("mapped by processes {}{more}", named.join(", "))
            }
        }
    }
}

/// `31 %`, `0.02 %`, `below 0.01 %`: never a 0 for what is more.
fn share(percent: f64) -> String {
    match percent {
        p if p >= 99.95 => "100 %".to_owned(),
        p if p >= 1.0 => format!("{p:.0} %"),
        p if p >= 0.01 => format!("{p:.2} %"),
        _ => "below 0.01 %".to_owned(),
    }
}

/// Asks for the residency of a file. Fails as `cachestat`(2) does.
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

/// Evicts a file and says what stayed, and who holds it. Dirty pages cannot go, so it
/// is synced first. The whole file is named at once: of a range, the kernel leaves
/// large folios that reach beyond it.
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
        fadvise(&file, 0, None, Advice::DontNeed)?;
        left = of(&file)?;
    }
    if !left.is_cold() {
        (left.mapped_by, left.hidden_processes) = mappers(&kernel_file(path)?)?;
    }
    Ok(left)
}

/// Reads a file to its end, so that it is resident if there is room, and says what is.
///
/// More than once if need be: after reads with `RWF_DONTCACHE` pages have been seen to be
/// gone again when the file had just been read.
pub(crate) fn warm(path: &Path) -> io::Result<Residency> {
    let mut file = File::open(path)?;
    let mut seen = of(&file)?;
    let mut buffer = Vec::new();
    for _ in 0..ATTEMPTS {
        if seen.is_warm() {
            break;
        }
        buffer.resize(WARM_READ_BYTES, 0);
        file.rewind()?;
        while file.read(&mut buffer)? > 0 {}
        seen = of(&file)?;
    }
    Ok(seen)
}

/// Processes that map the file, as `4211 (python3)`, and the number of those whose maps
/// this user may not read.
fn mappers(file: &KernelFile) -> io::Result<(Vec<String>, usize)> {
    let mut found = Vec::new();
    let mut hidden = 0;
    for process in fs::read_dir("/proc")?.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().filter(|name| name.parse::<u32>().is_ok()) else {
            continue;
        };
        let maps = match fs::read(process.path().join("maps")) {
            Ok(maps) => maps,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                hidden += 1;
                continue;
            }
            // It has ended.
            Err(_) => continue,
        };
        if maps_file(&String::from_utf8_lossy(&maps), file) {
            let command = fs::read(process.path().join("comm")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command);
            found.push(format!("{pid} ({})", command.trim_end()));
        }
    }
    Ok((found, hidden))
}

/// Whether a line maps the file: its fourth field is the superblock's device in
/// hexadecimal and its fifth the inode number (`show_map_vma`, `fs/proc/task_mmu.c`).
fn maps_file(maps: &str, file: &KernelFile) -> bool {
    maps.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(3);
        let device = fields.next().and_then(device_number);
        let inode = fields.next().and_then(|inode| inode.parse().ok());
        device == Some(file.device) && inode == Some(file.inode)
    })
}

fn device_number(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once(':')?;
    let part = |text| u32::from_str_radix(text, 16).ok();
    Some(FileId::kernel_device(part(major)?, part(minor)?))
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use iostrata_tracer::kernel::{Advice as Plan, Mapping};

    use super::*;

    /// On a disk: pages of a tmpfs cannot go.
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
    fn a_mapping_is_told_by_device_and_inode() {
        let file = KernelFile {
            device: FileId::kernel_device(0xfe, 0),
            inode: 1234,
        };
        let line = |device, inode| format!("7f00-7f01 r--s 00000000 {device} {inode}    /a b\n");
        assert!(maps_file(&line("fe:00", 1234), &file));
        for other in [line("fe:01", 1234), line("fe:00", 7), "nonsense".to_owned()] {
            assert!(!maps_file(&other, &file), "{other}");
        }
    }

    #[test]
    fn whoever_may_hold_the_pages_is_told() {
        let held = |mapped_by: &[&str], dirty_pages, hidden_processes| {
            Residency {
                pages: 100,
                resident_pages: 31,
                dirty_pages,
                mapped_by: mapped_by.iter().map(|name| (*name).to_owned()).collect(),
                hidden_processes,
            }
            .why_not_cold()
        };
        assert_eq!(
            held(&["7 (cat)", "8 (dd)"], 0, 0),
            "31 % stayed resident: mapped by processes 7 (cat), 8 (dd)"
        );
        assert!(held(&["1 (a)", "2 (b)", "3 (c)", "4 (d)"], 0, 0).ends_with("3 (c) and 1 more"));
        assert!(held(&[], 5, 9).contains("5 pages are dirty"));
        assert!(held(&[], 0, 9).contains("9 may not be looked at"));
        assert!(held(&[], 0, 0).contains("the kernel itself"));
        assert_eq!(share(0.001), "below 0.01 %");
        assert_eq!(share(0.4), "0.40 %");
    }
}
