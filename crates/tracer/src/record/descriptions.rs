//! Numbers for open file descriptions.

use std::collections::HashMap;

use iostrata_core::op::FileId;
use iostrata_core::record::Description;
use iostrata_core::trace::OpenFile;

/// The live descriptions. The kernel reuses the memory of a closed one, so an open always starts a
/// new one, and so does another file at the same address.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    by_address: HashMap<u64, (FileId, OpenFile, Description)>,
    last: u64,
}

impl Descriptions {
    pub(super) fn opened(&mut self, file: FileId, open: OpenFile) -> Description {
        self.last += 1;
        let description = Description(self.last);
        self.by_address
            .insert(open.address, (file, open, description));
        description
    }

    /// The description that a call used, and whether the log must record it first: it is new, or
    /// has other flags.
    pub(super) fn used(&mut self, file: FileId, open: OpenFile) -> (Description, bool) {
        match self.by_address.get_mut(&open.address) {
            Some((same, known, description)) if *same == file => {
                let is_changed = *known != open;
                *known = open;
                (*description, is_changed)
            }
            _ => (self.opened(file, open), true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: u64) -> FileId {
        FileId {
            device: 1,
            inode,
            generation: 0,
        }
    }

    #[test]
    fn memory_that_is_used_again_is_another_description() {
        let mut all = Descriptions::default();
        let at = |flags| OpenFile {
            address: 0x1000,
            flags,
        };
        let first = all.opened(file(1), at(1));
        assert_eq!(all.used(file(1), at(1)), (first, false));
        assert_eq!(all.used(file(1), at(0o2001)), (first, true), "F_SETFL");
        let second = all.opened(file(1), at(1));
        assert_ne!(first, second);
        let (third, is_new) = all.used(file(2), at(1));
        assert!(is_new && third != second);
    }
}
