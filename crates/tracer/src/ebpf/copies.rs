//! Copies in the upper layer of an overlay, and the files they are copies of (`bpf/overlay.h`).

use std::collections::HashMap;

use aya::maps::MapError;

use super::entries::each;
use super::made::Ebpf;
use super::readout::map;
use super::wire::{CacheValue, FileKey};

/// The original of a copy.
#[derive(Debug, Default)]
pub(super) struct Copies {
    of: HashMap<FileKey, FileKey>,
}

impl Copies {
    pub(super) fn read(ebpf: &Ebpf) -> Result<Self, MapError> {
        let mut of = HashMap::new();
        each(map(ebpf, "copies")?, |copy: &FileKey, file: &FileKey| {
            of.insert(*copy, *file);
        })?;
        Ok(Self { of })
    }

    /// The file itself. While the kernel copies a file, nothing marks the new one as a copy yet.
    pub(super) fn original(&self, file: FileKey) -> FileKey {
        self.of.get(&file).copied().unwrap_or(file)
    }

    /// Sums of pages, with those of copies charged to their files.
    pub(super) fn joined(
        &self,
        sums: HashMap<(FileKey, bool), CacheValue>,
    ) -> HashMap<(FileKey, bool), CacheValue> {
        let mut joined: HashMap<(FileKey, bool), CacheValue> = HashMap::new();
        for ((file, metadata), value) in sums {
            let key = (self.original(file), metadata);
            joined.entry(key).or_default().add(&value);
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: u64) -> FileKey {
        FileKey {
            inode,
            device: 1,
            generation: 0,
        }
    }

    #[test]
    fn pages_of_a_copy_are_those_of_its_file() {
        let copies = Copies {
            of: HashMap::from([(file(9), file(4))]),
        };
        let pages = |dirtied_bytes| CacheValue {
            dirtied_bytes,
            ..CacheValue::default()
        };
        let sums = [(4, 1), (9, 2), (5, 4)].map(|(at, bytes)| ((file(at), false), pages(bytes)));
        let joined = copies.joined(sums.into());
        let expected = [(4, 3), (5, 4)].map(|(at, bytes)| ((file(at), false), pages(bytes)));
        assert_eq!(joined, expected.into());
    }
}
