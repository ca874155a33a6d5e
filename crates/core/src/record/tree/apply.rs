//! The effect of each operation on a tree.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::{Body, Impossible, Node, Refused, TOLD, Tree, too_long};
use crate::op::FileId;
use crate::record::contents::TooLong;
use crate::record::{
    Attribute, Change, Contents, FileKind, Name, Operation, Place, RENAME_EXCHANGE, Time, Was,
};

impl Tree {
    /// Applies an operation; a failed one changes nothing.
    ///
    /// # Errors
    /// When no file system could have done it, or the tree would be too large; the tree may then be
    /// partly changed.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), Refused> {
        if operation.outcome.is_err() {
            return Ok(());
        }
        self.charge(&operation.change)?;
        let changed = self.change(operation.id, &operation.change);
        changed.map_err(|what| {
            let impossible = Impossible {
                operation: operation.id,
                call: operation.call.to_string(),
                what,
            };
            impossible.into()
        })
    }

    fn change(&mut self, operation: u64, change: &Change) -> Result<(), String> {
        match change {
            Change::Found {
                node,
                kind,
                place,
                mode,
                size_bytes,
                contents,
            } => {
                let body = match kind {
                    FileKind::Regular => Contents::found(*size_bytes, contents.as_ref())
                        .map(Body::File)
                        .map_err(|TooLong| too_long())?,
                    kind => Node::empty(*kind, None).body,
                };
                self.found(operation, *node, Node::new(*kind, *mode, body), place)
            }
            Change::Opened {
                node,
                created,
                mode,
                truncated,
                ..
            } => self.opened(operation, *node, created.as_ref(), *mode, *truncated),
            Change::Made {
                node,
                kind,
                name,
                mode,
                device_number,
                target,
            } => {
                let mut made = Node::empty(*kind, *mode);
                match &mut made.body {
                    Body::Symlink(says) => *says = Some(target.clone()),
                    Body::Special { device_number: own } => *own = *device_number,
                    _ => {}
                }
                self.begin(operation, *node, made)?;
                self.name(operation, name, *node)
            }
            Change::Linked { node, name } => {
                self.known(operation, *node, FileKind::Regular);
                self.name(operation, name, *node)
            }
            Change::Unlinked { node, name, .. } => {
                let had = self.take(name);
                self.expect(operation, had == Some(*node), "removes", name);
                Ok(())
            }
            Change::Renamed {
                node,
                from,
                to,
                flags,
                ..
            } => self.renamed(operation, *node, from, to, flags & RENAME_EXCHANGE != 0),
            Change::Changed { node, attribute } => {
                self.attribute(operation, *node, attribute);
                Ok(())
            }
            Change::Before { node, was } => self.before(operation, *node, was),
            change => self.contents_changed(operation, change),
        }
    }

    fn contents_changed(&mut self, operation: u64, change: &Change) -> Result<(), String> {
        let Some(node) = change.node() else {
            return Ok(());
        };
        if let Some((offset, payload)) = change.written() {
            let written = self.file(operation, node);
            let written = written.map_or(Ok(()), |file| file.write(offset, payload));
            return written.map_err(|TooLong| too_long());
        }
        let changed = match change {
            Change::Resized { bytes, .. } => {
                self.file(operation, node).map(|file| file.resize(*bytes))
            }
            Change::Allocated {
                mode,
                offset,
                bytes,
                ..
            } => self
                .file(operation, node)
                .map(|file| file.allocate(*mode, *offset, *bytes)),
            _ => None,
        };
        changed.unwrap_or(Ok(())).map_err(|TooLong| too_long())
    }

    /// The contents of a regular file about to change.
    fn file(&mut self, operation: u64, id: FileId) -> Option<&mut Contents> {
        self.known(operation, id, FileKind::Regular);
        if self
            .nodes
            .get(&id)
            .is_some_and(|node| node.kind != FileKind::Regular)
        {
            self.misfit(operation, "writes to something other than a regular file");
        }
        let node = self.node_mut(id)?;
        node.attributes.modified = None;
        match &mut node.body {
            Body::File(contents) => Some(contents),
            _ => None,
        }
    }

    /// A node must exist before it is used.
    fn known(&mut self, operation: u64, id: FileId, kind: FileKind) {
        if let Entry::Vacant(vacant) = self.nodes.entry(id) {
            vacant.insert(Arc::new(Node::empty(kind, None)));
            self.misfit(operation, "refers to a node that was not listed before");
        }
    }

    fn found(
        &mut self,
        operation: u64,
        id: FileId,
        node: Node,
        place: &Place,
    ) -> Result<(), String> {
        let is_directory = node.kind == FileKind::Directory;
        let is_new = !self.nodes.contains_key(&id);
        self.nodes.entry(id).or_insert_with(|| Arc::new(node));
        match place {
            Place::Root => {
                self.root.get_or_insert(id);
            }
            // A directory that is mounted twice keeps its first location.
            Place::Name(_) if is_directory && !is_new && self.has_place(id) => {}
            Place::Name(name) => return self.name(operation, name, id),
            Place::Nowhere => {}
        }
        Ok(())
    }

    fn has_place(&self, id: FileId) -> bool {
        self.root == Some(id) || self.nodes.get(&id).is_some_and(|node| node.links > 0)
    }

    fn opened(
        &mut self,
        operation: u64,
        id: FileId,
        created: Option<&Place>,
        mode: Option<u32>,
        truncated: bool,
    ) -> Result<(), String> {
        if let Some(place) = created {
            self.begin(operation, id, Node::empty(FileKind::Regular, mode))?;
            if let Place::Name(name) = place {
                return self.name(operation, name, id);
            }
        } else if truncated && let Some(file) = self.file(operation, id) {
            return file.resize(0).map_err(|TooLong| too_long());
        }
        Ok(())
    }

    /// A node is created. If it already had names, an event was missed in between.
    fn begin(&mut self, operation: u64, id: FileId, node: Node) -> Result<(), String> {
        if self.has_place(id) {
            self.misfit(operation, "creates a node that already exists");
        }
        self.lose_place(id);
        let links = self.nodes.get(&id).map_or(0, |before| before.links);
        if links > 0 && node.kind == FileKind::Directory {
            return Err("a file with names would become a directory".to_owned());
        }
        self.nodes.insert(id, Arc::new(Node { links, ..node }));
        Ok(())
    }

    /// A new name, which must be free.
    fn name(&mut self, operation: u64, name: &Name, id: FileId) -> Result<(), String> {
        let had = self.entry(name.parent, &name.name);
        self.expect(operation, had.is_none_or(|had| had == id), "makes", name);
        self.put(name, id)
    }

    fn renamed(
        &mut self,
        operation: u64,
        id: FileId,
        from: &Name,
        to: &Name,
        exchange: bool,
    ) -> Result<(), String> {
        let had = self.entry(from.parent, &from.name);
        self.expect(operation, had == Some(id), "renames", from);
        let other = self.entry(to.parent, &to.name);
        // rename(2): two names of one file are left unchanged.
        if from == to || other == Some(id) {
            return Ok(());
        }
        self.known(operation, id, FileKind::Regular);
        self.take(from);
        if exchange {
            self.take(to);
        }
        self.put(to, id)?;
        match other.filter(|_| exchange) {
            Some(other) => self.put(from, other),
            None => Ok(()),
        }
    }

    /// Additional state of a found node.
    fn before(&mut self, operation: u64, id: FileId, was: &Was) -> Result<(), String> {
        let Some(node) = self.node_mut(id) else {
            self.misfit(operation, "refers to a node that was not listed before");
            return Ok(());
        };
        match (was, &mut node.body) {
            // The program did not change the owner, so no mode bits are cleared.
            (Was::Attribute(Attribute::Owner { user, group }), _) => {
                node.attributes.user = *user;
                node.attributes.group = *group;
            }
            (Was::Attribute(attribute), _) => self.attribute(operation, id, attribute),
            (Was::Bytes { offset, payload }, Body::File(contents)) => {
                return contents
                    .held(*offset, payload)
                    .map_err(|TooLong| too_long());
            }
            (Was::Target(target), Body::Symlink(says)) => *says = Some(target.clone()),
            (Was::DeviceNumber(number), Body::Special { device_number }) => {
                *device_number = *number;
            }
            (Was::Listed, Body::Directory(_)) => {}
            _ => self.misfit(operation, "gives a node a property of another kind"),
        }
        Ok(())
    }

    pub(super) fn attribute(&mut self, operation: u64, id: FileId, attribute: &Attribute) {
        let Some(node) = self.node_mut(id) else {
            return self.misfit(operation, "refers to a node that was not listed before");
        };
        let own = &mut node.attributes;
        match attribute {
            Attribute::Mode { mode } => own.mode = Some(mode & 0o7777),
            Attribute::Owner { user, group } => {
                own.user = user.or(own.user);
                own.group = group.or(own.group);
                if node.kind != FileKind::Directory {
                    own.mode = own.mode.map(without_privileges);
                }
            }
            Attribute::Times { modified, .. } => match modified {
                Time::Kept => {}
                Time::Now => own.modified = None,
                Time::At { .. } => own.modified = Some(*modified),
            },
            Attribute::Extended { name, value, .. } => {
                if name == b"system.posix_acl_access"
                    && let Some(granted) = value.as_deref().and_then(mode_of_acl)
                {
                    own.mode = own.mode.map(|mode| mode & 0o7000 | granted);
                }
                own.extended.insert(name.clone(), value.clone());
            }
            Attribute::Flags { flags } => own.flags = Some(*flags),
            Attribute::ExtendedFlags { .. } => {}
        }
    }

    fn expect(&mut self, operation: u64, fits: bool, does: &str, name: &Name) {
        if !fits {
            let name = String::from_utf8_lossy(&name.name);
            let had = if does == "makes" {
                "is there"
            } else {
                "does not exist"
            };
            self.misfit(operation, &format!("{does} the name {name:?}, which {had}"));
        }
    }

    fn misfit(&mut self, operation: u64, what: &str) {
        self.misfit_count += 1;
        if self.misfits.len() < TOLD {
            self.misfits.push(format!("operation {operation} {what}"));
        }
    }
}

/// The permission bits set by an access control list: those of owner, of mask or else group, and of
/// others (`include/uapi/linux/posix_acl_xattr.h`; `posix_acl_equiv_mode` in `fs/posix_acl.c`).
fn mode_of_acl(value: &[u8]) -> Option<u32> {
    const ENTRY_BYTES: usize = 8;
    const OWNER: u16 = 0x01;
    const GROUP: u16 = 0x04;
    const MASK: u16 = 0x10;
    const OTHERS: u16 = 0x20;
    let entries = value.get(4..)?.chunks_exact(ENTRY_BYTES);
    let entries: Vec<(u16, u16)> = entries
        .map(|entry| {
            let word = |at| u16::from_le_bytes([entry[at], entry[at + 1]]);
            (word(0), word(2))
        })
        .collect();
    let of = |tag| {
        let mut entries = entries.iter();
        let (_, granted) = entries.find(|(own, _)| *own == tag)?;
        Some(u32::from(granted & 7))
    };
    Some(of(OWNER)? << 6 | of(MASK).or(of(GROUP))? << 3 | of(OTHERS)?)
}

/// chown(2) clears the bits that would grant the new owner's rights (fs/open.c, `chown_common`;
/// `setattr_should_drop_sgid`, fs/attr.c).
fn without_privileges(mode: u32) -> u32 {
    const GROUP_EXECUTES: u32 = 0o010;
    let dropped = if mode & GROUP_EXECUTES == 0 {
        0o4000
    } else {
        0o6000
    };
    mode & !dropped
}
