//! The page cache of single files: counts, warms and evicts pages, and finds out who holds pages
//! that stay and who evicted pages.

mod count;
mod holders;
mod looked_at;
mod page_out;

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use rustix::fs::{Advice, OFlags, fadvise, fcntl_getfl, fcntl_setfl};

pub use count::{Counted, NotTold, count, count_by_cachestat};
pub use holders::{Mappers, loop_devices, mappers};
pub use looked_at::{FileSystems, LookedAt, Regular, look_at};
pub use page_out::page_out;
pub(crate) use page_out::page_outs;

/// Bytes of a base page, the unit of all counts here, whatever the folio size.
pub fn page_bytes() -> u64 {
    crate::kernel::page_size() as u64
}

const READ_BYTES: usize = 1 << 20;

/// Asks the kernel to evict a file; what is resident afterwards shows whether it did.
///
/// Dirty pages stay: the kernel only begins to write them (`generic_fadvise`, mm/fadvise.c). One
/// call covers the whole file: of a range, the kernel leaves large folios that reach beyond it.
pub fn let_go(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Reads a file from beginning to end and calls `progress` with the bytes of each part; ends early
/// when `progress` returns false.
pub fn read_through(file: &File, mut progress: impl FnMut(u64) -> bool) -> io::Result<()> {
    let mut file = file;
    // Small files need no large buffer; the extra byte detects the end of the file at once.
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(READ_BYTES);
    let mut buffer = vec![0; READ_BYTES.min(length.saturating_add(1))];
    file.rewind()?;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) if progress(read as u64) => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Makes reads through `file` keep its access time, where the caller may do that: as its owner or
/// root (`O_NOATIME`, `open(2)`). Returns whether it does.
pub fn spare_access_time(file: &File) -> bool {
    fcntl_getfl(file).is_ok_and(|flags| fcntl_setfl(file, flags | OFlags::NOATIME).is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_file_is_read_to_its_end_or_until_it_is_enough() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("f");
        fs::write(&path, vec![7; 3 * READ_BYTES + 1]).unwrap();
        let file = File::open(&path).unwrap();
        let mut sum = 0;
        for _ in 0..2 {
            sum = 0;
            read_through(&file, |bytes| {
                sum += bytes;
                true
            })
            .unwrap();
        }
        assert_eq!(sum, 3 * READ_BYTES as u64 + 1);
        let mut calls = 0;
        read_through(&file, |_| {
            calls += 1;
            false
        })
        .unwrap();
        assert_eq!(calls, 1);
    }

    #[test]
    fn an_own_files_access_time_stays() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        // Older than the change: relatime would update it at the next read.
        let times = fs::FileTimes::new().set_accessed(std::time::UNIX_EPOCH);
        file.set_times(times).unwrap();
        assert!(spare_access_time(&file));
        read_through(&file, |_| true).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().atime(), 0);
    }
}
