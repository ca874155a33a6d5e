//! Nodes recorded before the program began.

use std::collections::HashSet;

use iostrata_core::op::FileId;
use iostrata_core::record::Name;

use super::Nodes;

impl Nodes {
    /// A node that the log records before the program begins; the one without a name is the root.
    pub(in crate::record) fn keep(&mut self, id: FileId, name: Option<Name>) {
        self.told.insert(id);
        self.kept.insert(id);
        match name {
            Some(name) => drop(self.entries.insert(name, id)),
            None => self.root = Some(id),
        }
    }

    pub(in crate::record) fn is_kept(&self, id: FileId) -> bool {
        self.kept.contains(&id)
    }

    /// A node that is recorded without its contents.
    pub(in crate::record) fn left(&mut self, id: FileId) {
        self.left.insert(id);
    }

    pub(in crate::record) fn all_left(&self) -> HashSet<FileId> {
        self.left.clone()
    }

    /// All names of a directory are known, or will be.
    pub(in crate::record) fn listed(&mut self, id: FileId) {
        self.listed.insert(id);
    }

    pub(in crate::record) fn is_listed(&self, id: FileId) -> bool {
        self.listed.contains(&id)
    }

    /// A recorded node lies on overlayfs.
    pub(in crate::record) fn layered(&mut self, id: FileId) {
        self.layered.insert(id);
    }

    /// The recorded node with this name, if it has the same inode number: generations of tmpfs are
    /// not visible outside the kernel. On overlayfs the kernel side identifies the node of the
    /// layer, of which there are two after the program has changed the file (`ovl_copy_up`,
    /// `fs/overlayfs/copy_up.c`), so only the name is compared.
    pub(super) fn kept_as(&self, name: &Name, id: FileId) -> Option<FileId> {
        let known = self.entries.get(name).copied()?;
        let is_it =
            self.layered.contains(&known) || self.kept.contains(&known) && known.inode == id.inode;
        is_it.then_some(known)
    }
}

#[cfg(test)]
mod tests {
    use iostrata_core::op::{FileId, FileKind};
    use iostrata_core::record::Name;
    use iostrata_core::trace::{NamedFile, NodeSeen};

    use super::Nodes;

    fn id(inode: u64, generation: u32) -> FileId {
        FileId {
            device: 8,
            inode,
            generation,
        }
    }

    /// "/kept/file", recorded without its generation.
    fn kept() -> Nodes {
        let mut nodes = Nodes::default();
        nodes.keep(id(1, 0), None);
        nodes.keep(id(2, 0), Some(Name::new(id(1, 0), "kept")));
        nodes.keep(id(3, 0), Some(Name::new(id(2, 0), "file")));
        nodes
    }

    fn seen(nodes: &mut Nodes, file: FileId) -> FileId {
        nodes.saw(NamedFile {
            file,
            path: b"/kept/file".to_vec(),
            kind: FileKind::Regular,
            filesystem: "tmpfs".to_owned(),
            size_bytes: 7,
            shown: (file.device, file.inode),
        });
        nodes.file(file)
    }

    #[test]
    fn a_kept_file_is_known_by_name_and_inode_number() {
        let mut nodes = kept();
        assert_eq!(seen(&mut nodes, id(3, 99)), id(3, 0));
        assert!(nodes.found().is_empty(), "it was told of");
        let seen = NodeSeen {
            id: id(3, 99),
            kind: None,
            mode: None,
            size_bytes: 0,
        };
        let name = Name::new(id(2, 0), "file");
        assert_eq!(kept().at(&name, Some(seen), FileKind::Regular), id(3, 0));
    }

    #[test]
    fn another_file_at_the_name_of_a_kept_one_is_another() {
        let mut nodes = kept();
        assert_eq!(seen(&mut nodes, id(4, 99)), id(4, 99));
        assert_eq!(nodes.found().len(), 1);
    }
}
