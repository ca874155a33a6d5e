//! The file to copy: created, hashed, and brought into the state of a case.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use iostrata_core::copy::Source;

use crate::engine::{EngineError, Residency, evict, warm, write_random};
use crate::error::LabError;
use crate::session::RunFile;
use crate::target::Target;

/// Bytes read at a time.
const STEP_BYTES: usize = 1 << 20;

/// Contents of sources.
const SOURCE_SEED: u64 = 0xc0_97_5e_ed;

/// Contents of files that are overwritten, so that no copy is right by chance.
pub(super) const OTHER_SEED: u64 = 0x0d_d0_5e_ed;

/// A source on a target, removed with the run.
pub(super) struct SourceFile {
    file: RunFile,
    pub(super) size_bytes: u64,
    hash: blake3::Hash,
}

impl SourceFile {
    /// Writes a source that does not compress, durably, so that it can be evicted.
    pub(super) fn make(
        target: &Target,
        size_bytes: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, LabError> {
        let file = RunFile::new(&target.dir, &format!("source-{size_bytes}"));
        fill(file.path(), size_bytes, SOURCE_SEED, stop)?;
        let hash = hash(file.path(), stop)?;
        Ok(Self {
            file,
            size_bytes,
            hash,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Whether `copy` has the same contents.
    pub(super) fn is_copied_to(
        &self,
        copy: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<bool, LabError> {
        Ok(hash(copy, stop)? == self.hash)
    }

    /// Brings the source into the state and returns its actual state. `None` where the kernel does
    /// not report it: for a file system above another, and before Linux 6.5.
    pub(super) fn prepare(
        &self,
        state: Source,
        target: &Target,
    ) -> Result<Option<Residency>, LabError> {
        let seen = match state {
            Source::Warm => warm(self.path()),
            Source::Cold => evict(self.path()),
        };
        match seen {
            Ok(seen) if target.unknown_cache().is_none() => Ok(Some(seen)),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Ok(None),
            Err(error) => Err(LabError::at("ask for the pages of", self.path(), error)),
        }
    }
}

/// Writes a file that does not compress, durably.
pub(super) fn fill(
    path: &Path,
    size_bytes: u64,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Result<(), LabError> {
    let failed = |error| LabError::at("write", path, error);
    let mut file = File::create_new(path).map_err(failed)?;
    if !write_random(&mut file, size_bytes, seed, stop).map_err(failed)? {
        return Err(EngineError::Interrupted.into());
    }
    file.sync_all().map_err(failed)
}

fn hash(path: &Path, stop: &dyn Fn() -> bool) -> Result<blake3::Hash, LabError> {
    let failed = |error| LabError::at("read", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let mut bytes = vec![0; STEP_BYTES];
    loop {
        if stop() {
            return Err(EngineError::Interrupted.into());
        }
        match file.read(&mut bytes).map_err(failed)? {
            0 => return Ok(hasher.finalize()),
            read => hasher.update(&bytes[..read]),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::target;

    fn never() -> bool {
        false
    }

    #[test]
    fn a_changed_byte_a_missing_one_and_one_more_are_noticed() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut place = target("ext4", false, &[]);
        dir.path().clone_into(&mut place.dir);
        let source = SourceFile::make(&place, 100_001, &never).unwrap();
        let contents = std::fs::read(source.path()).unwrap();
        assert_eq!(contents.len(), 100_001);
        let copy = dir.path().join("copy");
        let same = |bytes: &[u8]| {
            std::fs::write(&copy, bytes).unwrap();
            source.is_copied_to(&copy, &never).unwrap()
        };
        assert!(same(&contents));
        let mut changed = contents.clone();
        changed[77_777] ^= 1;
        assert!(!same(&changed));
        assert!(!same(&contents[..100_000]));
        assert!(!same(&[&contents[..], &[0]].concat()));
    }

    #[test]
    fn states_are_verified_and_other_contents_are_other() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut place = target("ext4", false, &[7]);
        dir.path().clone_into(&mut place.dir);
        let source = SourceFile::make(&place, 300_000, &never).unwrap();
        let cold = source.prepare(Source::Cold, &place).unwrap().unwrap();
        assert!(cold.is_cold());
        let warm = source.prepare(Source::Warm, &place).unwrap().unwrap();
        assert!(warm.is_warm());
        let other = dir.path().join("other");
        fill(&other, 300_000, OTHER_SEED, &never).unwrap();
        assert!(!source.is_copied_to(&other, &never).unwrap());
    }

    #[test]
    fn an_interruption_leaves_no_source() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut place = target("ext4", false, &[]);
        dir.path().clone_into(&mut place.dir);
        assert!(SourceFile::make(&place, 300_000, &|| true).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn pages_of_an_overlay_are_not_told() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut place = target("overlay", false, &[]);
        dir.path().clone_into(&mut place.dir);
        let source = SourceFile::make(&place, 4096, &never).unwrap();
        assert_eq!(source.prepare(Source::Cold, &place).unwrap(), None);
    }
}
