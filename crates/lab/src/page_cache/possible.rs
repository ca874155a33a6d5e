//! What a target or this kernel refuses, asked before anything is timed.

use std::fs::OpenOptions;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use iostrata_core::Gap;
use iostrata_core::page_cache::{Case, Reader, State};
use iostrata_tracer::kernel::Ring;
use nix::fcntl::OFlag;
use rustix::io::{Errno, preadv2};

use super::reader::DONTCACHE;
use crate::engine::residency;
use crate::target::Target;

/// States and readers that a target cannot have, with the reasons.
#[derive(Debug, Default)]
pub(super) struct Refused {
    states: Vec<(State, String)>,
    readers: Vec<(Reader, String)>,
}

impl Refused {
    /// Asks, with any file of the target.
    pub(super) fn by(target: &Target, file: &Path) -> Self {
        let mut refused = Self::default();
        if let Some(why) = unverifiable(target, file) {
            refused.states = State::ALL.map(|state| (state, why.clone())).into();
            return refused;
        }
        if target.is_memory() {
            let why = format!(
                "{} is {}: its files are nowhere but in the page cache, so they cannot be \
                 evicted from it, and no device is read",
                target.name, target.storage.filesystem
            );
            let uncached = [State::Cold, State::Direct, State::Dontcache];
            refused.states = uncached.map(|state| (state, why.clone())).into();
        } else {
            refused.direct(file);
            refused.dontcache(file);
        }
        if let Err(error) = Ring::open(1) {
            refused.readers.push((Reader::IoUring, error.to_string()));
        }
        refused
    }

    fn direct(&mut self, file: &Path) {
        let mut options = OpenOptions::new();
        let flags = OFlag::O_DIRECT.bits();
        if let Err(error) = options.read(true).custom_flags(flags).open(file) {
            let why = format!("the file system refuses O_DIRECT: {error}");
            self.states.push((State::Direct, why));
        }
    }

    fn dontcache(&mut self, file: &Path) {
        let read = || -> io::Result<()> {
            let file = OpenOptions::new().read(true).open(file)?;
            preadv2(&file, &mut [IoSliceMut::new(&mut [0])], 0, DONTCACHE)?;
            Ok(())
        };
        if let Err(error) = read() {
            let unknown = error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error());
            let since = if unknown {
                "; it needs Linux 6.14 and a file system that takes part"
            } else {
                ""
            };
            let why = format!("RWF_DONTCACHE is refused: {error}{since}");
            self.states.push((State::Dontcache, why));
        }
    }

    /// Why the case cannot be measured; `None` when it can.
    pub(super) fn why(&self, case: &Case) -> Option<&str> {
        let state = self.states.iter().find(|(state, _)| *state == case.state);
        let reader = || {
            self.readers
                .iter()
                .find(|(reader, _)| *reader == case.reader)
        };
        let state = state.map(|(_, why)| why.as_str());
        state.or_else(|| reader().map(|(_, why)| why.as_str()))
    }

    /// What is left out of this target.
    pub(super) fn gaps(&self, target: &Target, cases: &[Case]) -> Vec<Gap> {
        let on = |what: &str| format!("{what} on {}", target.name);
        let states = self.states.iter();
        let states = states
            .filter(|(state, _)| cases.iter().any(|case| case.state == *state))
            .map(|(state, why)| Gap::new(on(state.as_str()), why.clone()));
        let readers = self.readers.iter();
        let readers = readers
            .filter(|(reader, _)| cases.iter().any(|case| case.reader == *reader))
            .map(|(reader, why)| Gap::new(on(reader.as_str()), why.clone()));
        states.chain(readers).collect()
    }
}

/// Why it cannot be told what of a file is cached; without that no state is known.
fn unverifiable(target: &Target, file: &Path) -> Option<String> {
    if let Some(why) = target.unknown_cache() {
        return Some(format!("what is cached cannot be verified: {why}"));
    }
    residency(file).err().map(|error| {
        format!(
            "what is cached cannot be verified: cachestat(2), which needs Linux 6.5, says {error}"
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

    fn asked(filesystem: &str, directory: &str) -> Refused {
        let dir = tempfile::tempdir_in(directory).unwrap();
        let file = dir.path().join("f");
        fs::write(&file, [1; 4096]).unwrap();
        Refused::by(&target(filesystem, false, &[7]), &file)
    }

    #[test]
    fn a_disk_takes_everything_here() {
        let refused = asked("ext4", "/var/tmp");
        for state in State::ALL {
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
                .contains("nowhere but in the page cache")
        );
        assert_eq!(refused.why(&case(State::Warm, Reader::Read)), None);
        let gaps = refused.gaps(&target("tmpfs", false, &[]), &[cold]);
        assert_eq!(gaps.len(), 1, "only what was asked for");
        assert_eq!(gaps[0].what, "cold on t");
    }

    #[test]
    fn overlayfs_hides_what_is_cached() {
        let refused = asked("overlay", "/var/tmp");
        for state in State::ALL {
            let why = refused.why(&case(state, Reader::Read)).unwrap();
            assert!(why.contains("cannot be verified"), "{why}");
        }
    }
}
