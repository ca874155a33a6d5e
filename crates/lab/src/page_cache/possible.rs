//! What a target or this kernel does not support, probed before anything is timed.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use iostrata_core::gap::{Reason, TargetPart};
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
        let part = TargetPart::Case(state.as_str().to_owned());
        refused.add(part, why, move |case: &Case| case.state == state);
    };
    if let Some(why) = unverifiable(target, file) {
        for one in State::ASKED {
            state(one, why.clone());
        }
        return refused;
    }
    if target.is_memory() {
        let why = Reason::CachedNoDevice {
            target: target.name.clone(),
            filesystem: target.storage.filesystem.clone(),
        };
        for uncached in [State::Cold, State::Direct, State::Dontcache] {
            state(uncached, why.clone());
        }
    } else {
        if let Err(error) = open_direct(file) {
            state(State::Direct, Reason::DirectRefused(error.to_string()));
        }
        if let Err(error) = read_uncached(file) {
            let why = Reason::DontcacheRefused {
                error: error.to_string(),
                needs_kernel: error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error()),
            };
            state(State::Dontcache, why);
        }
    }
    if let Err(error) = Ring::open(1) {
        let ring = Reader::IoUring;
        let part = TargetPart::Case(ring.as_str().to_owned());
        let why = Reason::Error(error.to_string());
        refused.add(part, why, move |case| case.reader == ring);
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
fn unverifiable(target: &Target, file: &Path) -> Option<Reason> {
    if let Some(why) = target.unknown_cache() {
        return Some(Reason::NotVerified(Box::new(why)));
    }
    let error = residency(file).err()?;
    let failed = Reason::CachestatFailed(error.to_string());
    Some(Reason::NotVerified(Box::new(failed)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use iostrata_core::gap::Missing;
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
        let why = refused.why(&cold);
        assert!(
            matches!(why, Some(Reason::CachedNoDevice { .. })),
            "{why:?}"
        );
        assert_eq!(refused.why(&case(State::Warm, Reader::Read)), None);
        let gaps = refused.gaps(&target("tmpfs", false, &[]), &[cold]);
        assert_eq!(gaps.len(), 1, "only what was asked for");
        assert!(
            matches!(&gaps[0].what, Missing::OnTarget { what: TargetPart::Case(case), .. } if case == "cold")
        );
    }

    #[test]
    fn overlayfs_hides_what_is_cached() {
        let refused = asked("overlay", "/var/tmp");
        for state in State::ASKED {
            let why = refused.why(&case(state, Reader::Read)).unwrap();
            assert!(matches!(why, Reason::NotVerified(_)), "{why:?}");
        }
    }
}
