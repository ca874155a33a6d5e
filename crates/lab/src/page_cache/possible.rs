//! What a target or this kernel does not support, probed before anything is timed.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use iostrata_core::page_cache::{Case, Reader, State};
use iostrata_tracer::kernel::Ring;
use nix::fcntl::OFlag;
use rustix::io::{Errno, preadv2};

use super::reader::DONTCACHE;
use crate::engine::residency;
use crate::refused::Refused;
use crate::target::Target;

/// Probes with any file of the target.
pub(super) fn refused(target: &Target, file: &Path) -> Refused<Case> {
    let mut refused = Refused::nothing();
    let mut state = |state: State, why| {
        refused.add(state.as_str(), why, move |case: &Case| case.state == state);
    };
    if let Some(why) = unverifiable(target, file) {
        for one in State::ASKED {
            state(one, why.clone());
        }
        return refused;
    }
    if target.is_memory() {
        let why = format!(
            "{} is {}: its files exist only in the page cache, so they cannot be evicted, and no \
             device is read",
            target.name, target.storage.filesystem
        );
        for uncached in [State::Cold, State::Direct, State::Dontcache] {
            state(uncached, why.clone());
        }
    } else {
        if let Err(error) = open_direct(file) {
            let why = format!("the file system refuses O_DIRECT: {error}");
            state(State::Direct, why);
        }
        if let Err(error) = read_uncached(file) {
            let unknown = error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error());
            let since = if unknown {
                "; it needs Linux 6.14 and a file system that supports it"
            } else {
                ""
            };
            let why = format!("RWF_DONTCACHE is not supported: {error}{since}");
            state(State::Dontcache, why);
        }
    }
    if let Err(error) = Ring::open(1) {
        let ring = Reader::IoUring;
        refused.add(ring.as_str(), error.to_string(), move |case| {
            case.reader == ring
        });
    }
    refused
}

fn open_direct(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(OFlag::O_DIRECT.bits())
        .open(file)
}

fn read_uncached(file: &Path) -> io::Result<()> {
    let file = File::open(file)?;
    preadv2(&file, &mut [IoSliceMut::new(&mut [0])], 0, DONTCACHE)?;
    Ok(())
}

/// Why the residency of a file is unknown; without it no state can be verified.
fn unverifiable(target: &Target, file: &Path) -> Option<String> {
    if let Some(why) = target.unknown_cache() {
        return Some(format!("residency cannot be verified: {why}"));
    }
    residency(file).err().map(|error| {
        format!(
            "residency cannot be verified: cachestat(2), which needs Linux 6.5, failed: {error}"
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use iostrata_core::page_cache::Parse;

    use super::*;
    use crate::session::target;

    fn case(state: State, reader: Reader) -> Case {
        Case {
            state,
            reader,
            size_bytes: 4096,
            parse: Parse::None,
        }
    }

    fn asked(filesystem: &str, directory: &str) -> Refused<Case> {
        let dir = tempfile::tempdir_in(directory).unwrap();
        let file = dir.path().join("f");
        fs::write(&file, [1; 4096]).unwrap();
        refused(&target(filesystem, false, &[7]), &file)
    }

    #[test]
    fn a_disk_takes_everything_here() {
        let refused = asked("ext4", "/var/tmp");
        for state in State::ASKED {
            assert_eq!(refused.why(&case(state, Reader::Read)), None);
        }
    }

    #[test]
    fn memory_has_no_cold_files_and_says_so() {
        let refused = asked("tmpfs", "/dev/shm");
        let cold = case(State::Cold, Reader::Read);
        assert!(
            refused
                .why(&cold)
                .unwrap()
                .contains("only in the page cache")
        );
        assert_eq!(refused.why(&case(State::Warm, Reader::Read)), None);
        let gaps = refused.gaps(&target("tmpfs", false, &[]), &[cold]);
        assert_eq!(gaps.len(), 1, "only what was asked for");
        assert_eq!(gaps[0].what, "cold on t");
    }

    #[test]
    fn overlayfs_hides_what_is_cached() {
        let refused = asked("overlay", "/var/tmp");
        for state in State::ASKED {
            let why = refused.why(&case(state, Reader::Read)).unwrap();
            assert!(why.contains("cannot be verified"), "{why}");
        }
    }
}
