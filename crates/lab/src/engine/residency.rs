//! Getting a file into the page cache, or out of it, and telling whether that worked.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use iostrata_tracer::kernel::cachestat;
use rustix::fs::{Advice, fadvise};

/// What of a file is in the page cache, as `cachestat`(2) counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Residency {
    /// Pages of it.
    pub(crate) pages: u64,
    /// Those that are resident.
    pub(crate) resident_pages: u64,
    /// Processes that map a file which stayed although it was to go, as `name (pid)`. Mapped
    /// pages are not evicted (`mapping_evict_folio`, mm/truncate.c).
    pub(crate) mapped_by: Vec<String>,
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
}

/// Asks for the residency of a file. Fails as `cachestat`(2) does.
pub(crate) fn residency(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    let pages = file.metadata()?.len().div_ceil(page_bytes());
    let seen = cachestat(file.as_fd(), 0..u64::MAX)?;
    Ok(Residency {
        pages,
        resident_pages: seen.cached_pages,
        mapped_by: Vec::new(),
    })
}

/// Evicts a file and says what stayed. Dirty pages cannot go, so it is synced first.
pub(crate) fn evict(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    file.sync_all()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    let mut left = residency(path)?;
    if !left.is_cold() {
        left.mapped_by = mappers(path)?;
    }
    Ok(left)
}

/// Reads a file to its end, so that it is resident if there is room, and says what is.
pub(crate) fn warm(path: &Path) -> io::Result<Residency> {
    let before = residency(path)?;
    if before.is_warm() {
        return Ok(before);
    }
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer)? > 0 {}
    residency(path)
}

/// Processes that map the file, of those whose maps this user may read.
fn mappers(path: &Path) -> io::Result<Vec<String>> {
    let file = fs::metadata(path)?;
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")?.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().filter(|name| name.parse::<u32>().is_ok()) else {
            continue;
        };
        // A process may have ended, and others' maps are refused.
        let Ok(maps) = fs::read(process.path().join("maps")) else {
            continue;
        };
        if maps_inode(&String::from_utf8_lossy(&maps), file.ino()) {
            let command = fs::read(process.path().join("comm")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command);
            found.push(format!("{} ({pid})", command.trim_end()));
        }
    }
    Ok(found)
}

/// Whether the fifth field of a line, the inode number (`proc_pid_maps(5)`), is `inode`. The
/// device beside it is not `st_dev` on every file system, so it is not compared.
fn maps_inode(maps: &str, inode: u64) -> bool {
    let inodes = maps
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(4)?.parse::<u64>().ok());
    inodes.into_iter().any(|mapped| mapped == inode)
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use iostrata_tracer::kernel::Mapping;

    use super::*;

    #[test]
    fn what_was_written_is_warm_and_goes() {
        // /var/tmp, not /tmp: pages of a tmpfs cannot go.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
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
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("f");
        fs::write(&path, vec![7; 64 * 4096]).unwrap();
        let file = File::open(&path).unwrap();
        let mapping = Mapping::of(&file).unwrap();
        let sum: u64 = mapping.as_slice().iter().map(|byte| u64::from(*byte)).sum();
        assert_eq!(sum, 7 * 64 * 4096);
        let left = evict(&path).unwrap();
        assert!(left.resident_bytes() > 0);
        let own = format!("({})", std::process::id());
        assert!(
            left.mapped_by.iter().any(|name| name.ends_with(&own)),
            "{left:?}"
        );
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
    fn the_inode_is_the_fifth_field() {
        let maps = "7f00-7f01 r--s 00000000 fe:00 1234    /a b\n7f02-7f03 rw-p 0 00:00 0\n";
        assert!(maps_inode(maps, 1234));
        assert!(!maps_inode(maps, 7));
    }
}
