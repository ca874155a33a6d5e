//! Nodes and their names, as far as a log has recorded them.

use std::collections::{HashMap, HashSet};

use iostrata_core::op::{FileId, FileKind};
use iostrata_core::record::{Change, Name, Place};
use iostrata_core::trace::{Located, NamedFile, NodeSeen, answers};

/// Device number of directories known only by name. No file system has it: `get_anon_bdev` begins
/// at 1 (fs/super.c).
pub(in crate::record) const NAMED_ONLY: u32 = 0;

/// Whether data written to files on this type of file system is a command, or goes elsewhere, and
/// is not in the file afterwards.
fn is_without_contents(filesystem: &str) -> bool {
    answers(filesystem)
        || matches!(
            filesystem,
            "anon_inodefs" | "bdev" | "bpf" | "devpts" | "mqueue" | "nsfs" | "pipefs" | "pstore"
        )
}

/// Names of a path that are looked for.
const DEEPEST: usize = 64;

/// Records each node before its first use: its directories, then the node itself.
#[derive(Debug, Default)]
pub(in crate::record) struct Nodes {
    entries: HashMap<Name, FileId>,
    /// Directories that were known by name before the kernel side identified them.
    also: HashMap<FileId, FileId>,
    told: HashSet<FileId>,
    /// Known files that the log does not mention yet.
    seen: HashMap<FileId, NamedFile>,
    without_contents: HashSet<FileId>,
    named_only: u64,
    root: Option<FileId>,
    /// Nodes recorded before the program began.
    kept: HashSet<FileId>,
    /// Those on overlayfs: a file changed there gets another inode.
    layered: HashSet<FileId>,
    /// Files whose contents were left out.
    pub(in crate::record) left: HashSet<FileId>,
    /// Directories whose names are all known.
    listed: HashSet<FileId>,
    /// Records due before the next operation.
    found: Vec<Change>,
}

impl Nodes {
    pub(in crate::record) fn saw(&mut self, named: NamedFile) {
        if is_without_contents(&named.filesystem) {
            self.without_contents.insert(named.file);
        } else if !self.told.contains(&named.file) {
            self.seen.insert(named.file, named);
        }
    }

    /// Whether the file stores the bytes written to it.
    pub(in crate::record) fn has_contents(&self, file: FileId) -> bool {
        !self.without_contents.contains(&file)
    }

    /// Records that the log needs before the current operation.
    pub(in crate::record) fn found(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.found)
    }

    /// The log's node for this identity.
    pub(in crate::record) fn id(&self, file: FileId) -> FileId {
        self.also.get(&file).copied().unwrap_or(file)
    }

    /// The file of an operation, recorded if it is new.
    pub(in crate::record) fn file(&mut self, file: FileId) -> FileId {
        let id = self.id(file);
        if self.told.contains(&id) {
            return id;
        }
        let Some(named) = self.seen.remove(&file) else {
            // A name event was lost; the losses say so.
            self.tell(id, FileKind::Regular, Place::Nowhere, 0);
            return id;
        };
        if named.kind == FileKind::Directory {
            return self.directory(&named.path, Some(file));
        }
        let place = self.place(&named.path);
        if let Place::Name(name) = &place {
            if let Some(known) = self.kept_as(name, file) {
                self.also.insert(file, known);
                return known;
            }
            self.entries.insert(name.clone(), id);
        }
        self.tell(id, named.kind, place, named.size_bytes);
        id
    }

    fn place(&mut self, path: &[u8]) -> Place {
        if path.first() != Some(&b'/') {
            return Place::Nowhere;
        }
        let located = Located {
            path: path.to_vec(),
            directory: None,
        };
        self.name(&located).map_or(Place::Nowhere, Place::Name)
    }

    fn tell(&mut self, node: FileId, kind: FileKind, place: Place, size_bytes: u64) {
        self.told.insert(node);
        self.found.push(Change::Found {
            node,
            kind,
            place,
            mode: None,
            size_bytes: if kind == FileKind::Regular {
                size_bytes
            } else {
                0
            },
            contents: None,
        });
    }

    /// The last name of a path; `None` for the root.
    pub(in crate::record) fn name(&mut self, at: &Located) -> Option<Name> {
        let end = at.path.iter().rposition(|byte| *byte == b'/')?;
        let name = &at.path[end + 1..];
        if name.is_empty() {
            return None;
        }
        let parent = self.directory(&at.path[..end], at.directory);
        Some(Name::new(parent, name))
    }

    /// A directory by its path and, if the kernel side reported it, its identity.
    fn directory(&mut self, path: &[u8], id: Option<FileId>) -> FileId {
        if let Some(known) = id.map(|id| self.id(id)).filter(|id| self.told.contains(id)) {
            return known;
        }
        let names: Vec<&[u8]> = path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
            .collect();
        let Some((last, above)) = names.split_last() else {
            return self.root(id);
        };
        let mut at = self.root(None);
        for name in above {
            at = self.child(at, name, None);
        }
        self.child(at, last, id)
    }

    fn root(&mut self, id: Option<FileId>) -> FileId {
        if let Some(root) = self.root {
            if let Some(id) = id.filter(|id| *id != root) {
                self.also.insert(id, root);
            }
            return root;
        }
        let root = id.unwrap_or_else(|| self.by_name_only());
        self.root = Some(root);
        self.tell(root, FileKind::Directory, Place::Root, 0);
        root
    }

    fn child(&mut self, parent: FileId, name: &[u8], id: Option<FileId>) -> FileId {
        let name = Name::new(parent, name);
        match (self.entries.get(&name).copied(), id) {
            (Some(known), None) => return known,
            (Some(known), Some(id))
                if known.device == NAMED_ONLY || self.kept_as(&name, id).is_some() =>
            {
                self.also.insert(id, known);
                self.seen.remove(&id);
                return known;
            }
            _ => {}
        }
        let id = id.unwrap_or_else(|| self.by_name_only());
        self.seen.remove(&id);
        self.entries.insert(name.clone(), id);
        self.tell(id, FileKind::Directory, Place::Name(name), 0);
        id
    }

    fn by_name_only(&mut self) -> FileId {
        self.named_only += 1;
        FileId {
            device: NAMED_ONLY,
            inode: self.named_only,
            generation: 0,
        }
    }

    /// The node that a call found under a name, recorded if it is new.
    pub(in crate::record) fn at(
        &mut self,
        name: &Name,
        seen: Option<NodeSeen>,
        otherwise: FileKind,
    ) -> FileId {
        let known = self.entries.get(name).copied();
        let Some(seen) = seen else {
            return known.unwrap_or_else(|| {
                let id = self.by_name_only();
                self.found_at(id, name, otherwise, 0)
            });
        };
        let id = self.id(seen.id);
        if self.told.contains(&id) {
            return id;
        }
        let same = known.filter(|known| known.device == NAMED_ONLY);
        if let Some(known) = same.or_else(|| self.kept_as(name, seen.id)) {
            self.also.insert(seen.id, known);
            return known;
        }
        let kind = seen.kind.unwrap_or(otherwise);
        self.found_at(id, name, kind, seen.size_bytes)
    }

    /// The target of a path, recorded if it is new and no name event is on its way.
    pub(in crate::record) fn reached(&mut self, name: &Name, node: NodeSeen) {
        if !self.seen.contains_key(&node.id) && self.has_contents(node.id) {
            self.at(name, Some(node), FileKind::Regular);
        }
    }

    fn found_at(&mut self, id: FileId, name: &Name, kind: FileKind, size_bytes: u64) -> FileId {
        self.seen.remove(&id);
        self.entries.insert(name.clone(), id);
        self.tell(id, kind, Place::Name(name.clone()), size_bytes);
        id
    }

    /// A path of a node. Searches all names: for rare queries.
    pub(in crate::record) fn path_of(&self, node: FileId) -> Option<Vec<u8>> {
        let mut parts = Vec::new();
        let mut at = node;
        while Some(at) != self.root && parts.len() < DEEPEST {
            let mut entries = self.entries.iter();
            let (name, _) = entries.find(|(_, entry)| **entry == at)?;
            parts.push(name.name.as_slice());
            at = name.parent;
        }
        parts.push(b"");
        parts.reverse();
        Some(parts.join(&b'/'))
    }

    /// A call created a node: previous knowledge of its identity belongs to another one.
    pub(in crate::record) fn made(&mut self, name: Option<&Name>, id: Option<FileId>) -> FileId {
        let id = id.unwrap_or_else(|| self.by_name_only());
        self.also.remove(&id);
        self.seen.remove(&id);
        self.told.insert(id);
        if let Some(name) = name {
            self.entries.insert(name.clone(), id);
        }
        id
    }

    pub(in crate::record) fn removed(&mut self, name: &Name) {
        self.entries.remove(name);
    }

    /// A node has another name; returns the node that had this name before.
    pub(in crate::record) fn renamed(
        &mut self,
        node: FileId,
        from: &Name,
        to: &Name,
        exchange: bool,
    ) -> Option<FileId> {
        let other = self.entries.get(to).copied();
        // rename(2): two names of one file are left unchanged.
        if other == Some(node) {
            return None;
        }
        self.entries.remove(from);
        self.entries.insert(to.clone(), node);
        if let Some(other) = other.filter(|_| exchange) {
            self.entries.insert(from.clone(), other);
        }
        other
    }
}

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
    use super::*;

    fn id(inode: u64) -> FileId {
        FileId {
            device: 8,
            inode,
            generation: 0,
        }
    }

    fn named(inode: u64, path: &str, kind: FileKind) -> NamedFile {
        NamedFile {
            file: id(inode),
            path: path.into(),
            kind,
            filesystem: "ext4".to_owned(),
            size_bytes: 7,
            is_removed: false,
            shown: (0, inode),
        }
    }

    /// The recorded events in short: kind and name.
    fn told(nodes: &mut Nodes) -> Vec<String> {
        let short = |change: Change| match change {
            Change::Found { kind, place, .. } => match place {
                Place::Root => "root".to_owned(),
                Place::Nowhere => "nowhere".to_owned(),
                Place::Name(name) => {
                    format!(
                        "{} {}",
                        kind.as_str(),
                        String::from_utf8(name.name).unwrap()
                    )
                }
            },
            other => panic!("{other:?}"),
        };
        nodes.found().into_iter().map(short).collect()
    }

    #[test]
    fn directories_are_told_before_what_is_in_them_and_once() {
        let mut nodes = Nodes::default();
        nodes.saw(named(3, "/a/b/file", FileKind::Regular));
        assert_eq!(nodes.file(id(3)), id(3));
        assert_eq!(
            told(&mut nodes),
            ["root", "directory a", "directory b", "regular file"]
        );
        nodes.saw(named(4, "/a/b/other", FileKind::Regular));
        nodes.file(id(4));
        nodes.file(id(3));
        assert_eq!(told(&mut nodes), ["regular other"]);
    }

    #[test]
    fn a_directory_that_was_known_by_its_name_keeps_its_node() {
        let mut nodes = Nodes::default();
        let located = |path: &str, directory| Located {
            path: path.into(),
            directory,
        };
        let name = nodes.name(&located("/a/file", None)).unwrap();
        nodes.saw(named(2, "/a", FileKind::Directory));
        assert_eq!(nodes.file(id(2)), name.parent);
        let other = nodes.name(&located("/elsewhere/x", Some(id(2)))).unwrap();
        assert_eq!(other.parent, name.parent, "the kernel's word counts");
        assert_eq!(told(&mut nodes), ["root", "directory a"]);
    }

    #[test]
    fn a_moved_directory_takes_its_names_along() {
        let mut nodes = Nodes::default();
        let located = |path: &str| Located {
            path: path.into(),
            directory: None,
        };
        let inner = nodes.name(&located("/old/file")).unwrap();
        nodes.made(Some(&inner), Some(id(9)));
        let (from, to) = (
            nodes.name(&located("/old")).unwrap(),
            nodes.name(&located("/new")).unwrap(),
        );
        nodes.renamed(inner.parent, &from, &to, false);
        let found = nodes.name(&located("/new/file")).unwrap();
        assert_eq!(found, inner);
        assert_eq!(nodes.at(&found, None, FileKind::Regular), id(9));
    }

    #[test]
    fn what_is_written_to_the_kernel_is_no_contents() {
        let mut nodes = Nodes::default();
        let mut file = named(5, "/proc/self/oom_score_adj", FileKind::Regular);
        file.filesystem = "proc".to_owned();
        nodes.saw(file);
        assert!(!nodes.has_contents(id(5)));
        assert!(nodes.has_contents(id(6)));
    }

    fn of_generation(inode: u64, generation: u32) -> FileId {
        FileId {
            generation,
            ..id(inode)
        }
    }

    /// "/kept/file", recorded without its generation.
    fn kept() -> Nodes {
        let mut nodes = Nodes::default();
        nodes.keep(id(1), None);
        nodes.keep(id(2), Some(Name::new(id(1), "kept")));
        nodes.keep(id(3), Some(Name::new(id(2), "file")));
        nodes
    }

    fn seen(nodes: &mut Nodes, file: FileId) -> FileId {
        nodes.saw(NamedFile {
            file,
            path: b"/kept/file".to_vec(),
            kind: FileKind::Regular,
            filesystem: "tmpfs".to_owned(),
            size_bytes: 7,
            is_removed: false,
            shown: (file.device, file.inode),
        });
        nodes.file(file)
    }

    #[test]
    fn a_kept_file_is_known_by_name_and_inode_number() {
        let mut nodes = kept();
        assert_eq!(seen(&mut nodes, of_generation(3, 99)), id(3));
        assert!(nodes.found().is_empty(), "it was told of");
        let seen = NodeSeen {
            id: of_generation(3, 99),
            kind: None,
            mode: None,
            size_bytes: 0,
        };
        let name = Name::new(id(2), "file");
        assert_eq!(kept().at(&name, Some(seen), FileKind::Regular), id(3));
    }

    #[test]
    fn another_file_at_the_name_of_a_kept_one_is_another() {
        let mut nodes = kept();
        assert_eq!(seen(&mut nodes, of_generation(4, 99)), of_generation(4, 99));
        assert_eq!(nodes.found().len(), 1);
    }
}
