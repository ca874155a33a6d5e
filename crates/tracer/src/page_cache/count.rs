//! How much of a file is resident, and where, from the permitted and reliable interfaces.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd as _, AsRawFd as _};

use iostrata_core::cache::{Cached, ResidencyMap, Source};
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::{Regular, page_bytes};
use crate::kernel::{CacheStat, cachestat, mincore};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The interface that reported it.
    pub source: Source,
    /// Length of the file at that time, bytes.
    pub size_bytes: u64,
    pub cached: Cached,
    /// The resident ranges; `None` for an empty file.
    pub map: Option<ResidencyMap>,
}

/// Why no interface may be used, with a remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotTold(pub String);

/// Counts the resident pages of a file, with a map of at most `ranges` ranges.
///
/// Uses `cachestat(2)`. Where the kernel lacks it or a filter refuses it, uses `mincore(2)`
/// instead, but only for files where it is accurate. Map and counts agree: the counts are the sums
/// of the map.
pub fn count(regular: &Regular, ranges: u64) -> Result<Counted, NotTold> {
    match ask(regular, ranges) {
        Ok(counted) => Ok(counted),
        Err(Refusal::Instead { why, size_bytes }) => by_mincore(regular, size_bytes, ranges, why),
        Err(Refusal::Final(why)) => Err(NotTold(why)),
    }
}

/// Like [`count`], in a time that does not grow with the length of the file but with its resident
/// pages: does not use `mincore(2)`, which looks up every page.
pub fn count_by_cachestat(regular: &Regular, ranges: u64) -> Result<Counted, NotTold> {
    ask(regular, ranges).map_err(|refusal| match refusal {
        Refusal::Instead { why, .. } => NotTold(why.to_owned()),
        Refusal::Final(why) => NotTold(why),
    })
}

enum Refusal {
    /// Why cachestat cannot be used; `mincore` may be.
    Instead { why: &'static str, size_bytes: u64 },
    /// No interface may be used.
    Final(String),
}

fn ask(regular: &Regular, ranges: u64) -> Result<Counted, Refusal> {
    let failed =
        |error: io::Error| Refusal::Final(format!("its residency cannot be read: {error}"));
    let size_bytes = regular.file.metadata().map_err(failed)?.len();
    let instead = |why| Refusal::Instead { why, size_bytes };
    if regular.filesystem == "overlay" {
        // Its pages belong to the file below, which a mapping shows and cachestat does not
        // (`ovl_mmap` and `ovl_open`, fs/overlayfs/file.c).
        return Err(instead("the file is on an overlay"));
    }
    match cachestat(regular.file.as_fd(), 0..u64::MAX) {
        Ok(whole) => by_cachestat(regular, size_bytes, ranges, &whole).map_err(failed),
        Err(error) => Err(match error.raw_os_error() {
            Some(libc::ENOSYS) => instead("this kernel has no cachestat"),
            // The kernel's own refusal, or that of a filter around this process.
            Some(libc::EPERM) => instead("cachestat is refused"),
            Some(libc::EOPNOTSUPP) => Refusal::Final(
                "its file system consists of huge pages, not of the page cache".to_owned(),
            ),
            _ => failed(error),
        }),
    }
}

fn by_cachestat(
    regular: &Regular,
    size_bytes: u64,
    ranges: u64,
    whole: &CacheStat,
) -> io::Result<Counted> {
    let page = page_bytes();
    let pages = size_bytes.div_ceil(page);
    let alike = |count: u64| count == 0 || count >= pages;
    let is_alike = [whole.cached_pages, whole.dirty_pages, whole.writeback_pages]
        .into_iter()
        .all(alike);
    let mut parts = vec![*whole];
    let mut range = ResidencyMap::range_bytes(size_bytes, page, 1);
    if !is_alike {
        range = ResidencyMap::range_bytes(size_bytes, page, ranges);
        parts = cut(size_bytes, range)
            .map(|part| cachestat(regular.file.as_fd(), part))
            .collect::<io::Result<_>>()?;
    }
    let of = |pages: fn(&CacheStat) -> u64| -> Vec<u64> {
        parts.iter().map(|part| pages(part) * page).collect()
    };
    let resident = of(|part| part.cached_pages);
    let dirty = of(|part| part.dirty_pages);
    let writeback = of(|part| part.writeback_pages);
    Ok(Counted {
        source: Source::Cachestat,
        size_bytes,
        cached: Cached {
            resident_bytes: resident.iter().sum(),
            dirty_bytes: Some(dirty.iter().sum()),
            writeback_bytes: Some(writeback.iter().sum()),
            evicted_bytes: Some(whole.evicted_pages * page),
            recently_evicted_bytes: Some(whole.recently_evicted_pages * page),
        },
        map: (size_bytes > 0).then_some(ResidencyMap {
            size_bytes,
            page_bytes: page,
            range_bytes: range,
            resident_bytes: resident,
            dirty_bytes: Some(dirty),
            writeback_bytes: Some(writeback),
        }),
    })
}

/// `why` is the reason that cachestat cannot be used.
fn by_mincore(
    regular: &Regular,
    size_bytes: u64,
    ranges: u64,
    why: &str,
) -> Result<Counted, NotTold> {
    if !tells_the_truth(regular) {
        return Err(NotTold(format!(
            "{why}, and for a file that this user neither owns nor may write, mincore reports all \
             of it as resident; run as its owner or as root"
        )));
    }
    let page = page_bytes();
    let range = ResidencyMap::range_bytes(size_bytes, page, ranges);
    let parts = cut(size_bytes, range).map(|part| mincore(regular.file.as_fd(), part));
    let parts: io::Result<Vec<u64>> = parts.collect();
    let mut resident: Vec<u64> = parts
        .map_err(|error| NotTold(format!("{why}, and mincore failed: {error}")))?
        .iter()
        .map(|pages| pages * page)
        .collect();
    let sum: u64 = resident.iter().sum();
    let mut range_bytes = range;
    if sum == 0 || sum >= size_bytes {
        range_bytes = ResidencyMap::range_bytes(size_bytes, page, 1);
        resident = vec![sum];
    }
    Ok(Counted {
        source: Source::Mincore,
        size_bytes,
        cached: Cached {
            resident_bytes: sum,
            ..Cached::default()
        },
        map: (size_bytes > 0).then_some(ResidencyMap {
            size_bytes,
            page_bytes: page,
            range_bytes,
            resident_bytes: resident,
            dirty_bytes: None,
            writeback_bytes: None,
        }),
    })
}

/// The kernel's own condition (`can_do_mincore`, mm/mincore.c), as far as it can be checked from
/// outside. `CAP_FOWNER` is not checked: in a user namespace it may not count.
fn tells_the_truth(regular: &Regular) -> bool {
    let path = format!("/proc/self/fd/{}", regular.file.as_raw_fd());
    regular.is_own || accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Ranges of `range` bytes, the last one to the end of the file.
fn cut(size_bytes: u64, range_bytes: u64) -> impl Iterator<Item = Range<u64>> {
    let step = usize::try_from(range_bytes).unwrap_or(usize::MAX);
    (0..size_bytes)
        .step_by(step)
        .map(move |start| start..start.saturating_add(range_bytes).min(size_bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::page_cache::{FileSystems, LookedAt, look_at};

    fn regular(path: &Path) -> Regular {
        match look_at(path, false, &mut FileSystems::read().unwrap()) {
            Ok(LookedAt::Regular(regular)) => regular,
            other => panic!("{other:?}"),
        }
    }

    /// 2 pages at each end of 100, the first ones dirty.
    fn holed(dir: &Path) -> Regular {
        let path = dir.join("f");
        let page = page_bytes();
        let file = fs::File::create(&path).unwrap();
        file.set_len(100 * page).unwrap();
        let two = vec![7; 2 * usize::try_from(page).unwrap()];
        rustix::io::pwrite(&file, &two, 98 * page).unwrap();
        file.sync_all().unwrap();
        rustix::io::pwrite(&file, &two, 0).unwrap();
        regular(&path)
    }

    #[test]
    fn a_map_shows_where_what_is_and_its_sums_are_the_counts() {
        // /var/tmp, not /tmp, whose pages are the file system itself.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let regular = holed(dir.path());
        let page = page_bytes();
        let counted = count(&regular, 10).unwrap();
        let map = counted.map.unwrap();
        assert_eq!(map.range_bytes, 10 * page);
        let expected = [2, 0, 0, 0, 0, 0, 0, 0, 0, 2].map(|pages| pages * page);
        assert_eq!(map.resident_bytes, expected);
        let dirty = map.dirty_bytes.unwrap();
        let writeback = map.writeback_bytes.unwrap();
        assert_eq!(dirty[0] + writeback[0], 2 * page);
        assert_eq!((dirty[9], writeback[9]), (0, 0));
        assert_eq!(counted.cached.resident_bytes, 4 * page);
        assert_eq!(counted.source, Source::Cachestat);
    }

    #[test]
    fn mincore_says_the_same_of_residency_and_nothing_of_dirt() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let regular = holed(dir.path());
        let size = regular.size_bytes;
        let mapped = by_mincore(&regular, size, 10, "told so").unwrap();
        let asked = count(&regular, 10).unwrap();
        assert_eq!(mapped.cached.resident_bytes, asked.cached.resident_bytes);
        assert_eq!(mapped.cached.dirty_bytes, None);
        let (mapped, asked) = (mapped.map.unwrap(), asked.map.unwrap());
        assert_eq!(mapped.resident_bytes, asked.resident_bytes);
        assert_eq!(mapped.dirty_bytes, None);
    }

    #[test]
    fn what_is_all_alike_has_one_range() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("f");
        fs::write(&path, vec![7; 40_000]).unwrap();
        rustix::fs::fsync(fs::File::open(&path).unwrap()).unwrap();
        let warm = count(&regular(&path), 10).unwrap();
        assert_eq!(warm.map.unwrap().resident_bytes, [40_960]);
        let mapped = by_mincore(&regular(&path), 40_000, 10, "").unwrap();
        assert_eq!(mapped.map.unwrap().resident_bytes, [40_960]);
        fs::write(&path, "").unwrap();
        let empty = count(&regular(&path), 10).unwrap();
        assert_eq!((empty.size_bytes, empty.map), (0, None));
        assert_eq!(by_mincore(&regular(&path), 0, 10, "").unwrap().map, None);
    }

    #[test]
    fn ranges_cover_a_file() {
        let ranges: Vec<_> = cut(10_000, 4096).collect();
        assert_eq!(ranges, [0..4096, 4096..8192, 8192..10_000]);
        assert_eq!(cut(0, 4096).count(), 0);
    }
}
