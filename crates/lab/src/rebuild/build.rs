//! Creates a tree: each directory, then its contents.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use iostrata_core::gap::{Countable, Gap, Listed, Reason};
use iostrata_core::op::FileId;
use iostrata_core::record::{
    Attributes, Body, Contents, Examples, FileKind, Node, ReadError, Reader, Time, Tree,
};
use rustix::fs::{
    AtFlags, FileType, Mode, Timespec, Timestamps, XattrFlags, fchmod, fsetxattr, futimens, linkat,
    mkdirat, mknodat, symlinkat,
};
use rustix::process::{getegid, geteuid};

use super::beneath;
use super::{RebuildError, Rebuilt};
use crate::interrupt::Interrupt;

/// `S_ISUID`, `S_ISGID`: rights that an untrusted log must not grant.
const SPECIAL_BITS: u32 = 0o6000;

pub(super) struct Build<'a, R> {
    tree: &'a Tree,
    reader: &'a mut Reader<R>,
    into: &'a Path,
    interrupt: &'a Interrupt,
    rebuilt: Rebuilt,
    /// Bytes of the stored paths.
    path_bytes: u64,
    /// Directories that were created, and the parts that were not: the kind, and their paths.
    waiting: Vec<(FileId, Vec<u8>)>,
    /// First names of files with several names: their directory, and the name in it.
    first_names: HashMap<FileId, (Vec<u8>, Vec<u8>)>,
    /// Modes of directories, set at the end: they may forbid creating their contents.
    modes: Vec<(Vec<u8>, u32)>,
    placed: u64,
    lacking: Lacking,
}

/// Files with other contents than in the log.
#[derive(Default)]
struct Lacking {
    unknown: Examples,
    before: Examples,
    no_target: Examples,
    devices: Examples,
    special_bits: Examples,
    owners: Examples,
    extended: Examples,
}

struct At<'d> {
    directory: BorrowedFd<'d>,
    name: &'d [u8],
    path: &'d [u8],
}

impl<'a, R: Read + Seek> Build<'a, R> {
    pub(super) fn new(
        tree: &'a Tree,
        reader: &'a mut Reader<R>,
        into: &'a Path,
        interrupt: &'a Interrupt,
    ) -> Self {
        Self {
            tree,
            reader,
            into,
            interrupt,
            rebuilt: Rebuilt::default(),
            path_bytes: 0,
            waiting: Vec::new(),
            first_names: HashMap::new(),
            modes: Vec::new(),
            placed: 0,
            lacking: Lacking::default(),
        }
    }

    /// Makes what is in the directory `top` of the tree, and gives it the mode of that.
    pub(super) fn run(&mut self, root: &File, top: Option<FileId>) -> Result<(), RebuildError> {
        if let Some(id) = top {
            self.waiting.push((id, Vec::new()));
            let own = self
                .tree
                .node(id)
                .and_then(|top| self.mode(&top.attributes, b"."));
            self.modes.extend(own.map(|mode| (Vec::new(), mode)));
        }
        while let Some((id, path)) = self.waiting.pop() {
            self.fill(root.as_fd(), id, &path)?;
        }
        while let Some((path, mode)) = self.modes.pop() {
            let set = beneath::directory(root.as_fd(), &path)
                .and_then(|directory| fchmod(directory, Mode::from_raw_mode(mode)));
            set.map_err(|errno| self.failed(&path, errno.into()))?;
        }
        Ok(())
    }

    fn fill(&mut self, root: BorrowedFd<'_>, id: FileId, path: &[u8]) -> Result<(), RebuildError> {
        let directory =
            beneath::directory(root, path).map_err(|errno| self.failed(path, errno.into()))?;
        let tree = self.tree;
        for (name, child) in tree.entries(id) {
            self.interrupt.check()?;
            let Some(node) = tree.node(child) else {
                continue;
            };
            let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
            let bytes = (path.len() + name.len()) as u64;
            self.reader
                .expand(bytes)
                .map_err(|exceeded| self.unread(exceeded.into()))?;
            let whole = [path, separator, name].concat();
            let at = At {
                directory: directory.as_fd(),
                name,
                path: &whole,
            };
            self.placed += 1;
            self.make(root, child, node, &at)
                .map_err(|error| match error {
                    Stopped::Io(source) => self.failed(&whole, source),
                    Stopped::Read(source) => self.unread(source),
                })?;
        }
        Ok(())
    }

    fn make(
        &mut self,
        root: BorrowedFd<'_>,
        id: FileId,
        node: &Node,
        at: &At<'_>,
    ) -> Result<(), Stopped> {
        if let Some((directory, first)) = self.first_names.get(&id) {
            let directory = beneath::directory(root, directory)?;
            linkat(
                directory,
                first.as_slice(),
                at.directory,
                at.name,
                AtFlags::empty(),
            )?;
            match node.kind {
                FileKind::Regular => self.rebuilt.files += 1,
                _ => self.rebuilt.others += 1,
            }
            return Ok(());
        }
        let is_made = match &node.body {
            Body::Directory(_) => self.directory(id, node, at)?,
            Body::File(contents) => self.file(node, contents, at)?,
            Body::Symlink(target) => self.symlink(target.as_deref(), at)?,
            Body::Special { .. } => self.special(node, at)?,
        };
        if is_made && node.links > 1 && node.kind != FileKind::Directory {
            self.keep(at.path.len())?;
            let end = at.path.len().saturating_sub(at.name.len() + 1);
            let place = (at.path[..end].to_vec(), at.name.to_vec());
            self.first_names.insert(id, place);
        }
        Ok(())
    }

    fn directory(&mut self, id: FileId, node: &Node, at: &At<'_>) -> Result<bool, Stopped> {
        mkdirat(at.directory, at.name, Mode::RWXU)?;
        self.rebuilt.directories += 1;
        if !node.attributes.extended.is_empty() {
            let made = beneath::directory(at.directory, at.name)?;
            self.extended(&made, &node.attributes, at.path);
        }
        let mode = self.mode(&node.attributes, at.path).unwrap_or(0o755);
        self.keep(2 * at.path.len())?;
        self.modes.push((at.path.to_vec(), mode));
        self.waiting.push((id, at.path.to_vec()));
        Ok(true)
    }

    fn file(&mut self, node: &Node, contents: &Contents, at: &At<'_>) -> Result<bool, Stopped> {
        let file = File::from(beneath::new_file(at.directory, at.name)?);
        let (unknown, before) = contents.unknown_bytes();
        if unknown > 0 {
            self.lacking.unknown.add(|| shown(at.path));
        }
        if before > 0 {
            self.lacking.before.add(|| shown(at.path));
        }
        self.write(&file, contents)?;
        file.set_len(contents.size_bytes())?;
        self.attributes(&file, &node.attributes, at.path)?;
        self.rebuilt.files += 1;
        Ok(true)
    }

    fn write(&mut self, file: &File, contents: &Contents) -> Result<(), Stopped> {
        let (rebuilt, mut refused) = (&mut self.rebuilt, None);
        let read = self.reader.contents(contents, |offset, bytes| {
            rebuilt.bytes = rebuilt.bytes.saturating_add(bytes.len() as u64);
            file.write_all_at(bytes, offset).map_err(|error| {
                let kind = error.kind();
                refused = Some(error);
                kind.into()
            })
        });
        // Unreadable parts of the log are reported separately.
        match refused {
            Some(error) => Err(error.into()),
            None => Ok(read?),
        }
    }

    /// Permission bits to set: never those that would grant rights.
    fn mode(&mut self, attributes: &Attributes, path: &[u8]) -> Option<u32> {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        let is_own = attributes.user.is_none_or(|owner| owner == user)
            && attributes.group.is_none_or(|owner| owner == group);
        if !is_own {
            self.lacking.owners.add(|| shown(path));
        }
        let mode = attributes.mode?;
        if mode & SPECIAL_BITS != 0 {
            self.lacking.special_bits.add(|| shown(path));
        }
        Some(mode & !SPECIAL_BITS)
    }

    /// Extended attributes that grant no rights.
    fn extended(&mut self, of: impl AsFd, attributes: &Attributes, path: &[u8]) {
        for (name, value) in &attributes.extended {
            let Some(value) = value else { continue };
            let is_set = name.starts_with(b"user.")
                && fsetxattr(&of, name.as_slice(), value, XattrFlags::empty()).is_ok();
            if !is_set {
                self.lacking.extended.add(|| shown(path));
            }
        }
    }

    fn attributes(
        &mut self,
        file: &File,
        attributes: &Attributes,
        path: &[u8],
    ) -> Result<(), Stopped> {
        self.extended(file, attributes, path);
        if let Some(mode) = self.mode(attributes, path) {
            fchmod(file, Mode::from_raw_mode(mode))?;
        }
        if let Some(Time::At {
            seconds,
            nanoseconds,
        }) = attributes.modified
            && nanoseconds < 1_000_000_000
        {
            let time = Timespec {
                tv_sec: seconds,
                tv_nsec: nanoseconds.into(),
            };
            let times = Timestamps {
                last_access: time,
                last_modification: time,
            };
            futimens(file, &times)?;
        }
        Ok(())
    }

    fn symlink(&mut self, target: Option<&[u8]>, at: &At<'_>) -> Result<bool, Stopped> {
        match target {
            Some(target) if !target.is_empty() => {
                symlinkat(target, at.directory, at.name)?;
                self.rebuilt.others += 1;
                Ok(true)
            }
            _ => {
                self.lacking.no_target.add(|| shown(at.path));
                Ok(false)
            }
        }
    }

    fn special(&mut self, node: &Node, at: &At<'_>) -> Result<bool, Stopped> {
        let kind = match node.kind {
            FileKind::Pipe => FileType::Fifo,
            FileKind::Socket => FileType::Socket,
            _ => {
                self.lacking.devices.add(|| shown(at.path));
                return Ok(false);
            }
        };
        let mode = self.mode(&node.attributes, at.path).unwrap_or(0o600);
        let mode = Mode::from_raw_mode(mode);
        mknodat(at.directory, at.name, kind, mode, 0)?;
        beneath::set_mode(at.directory, at.name, mode)?;
        self.rebuilt.others += 1;
        Ok(true)
    }

    /// Counts the bytes of a stored path.
    fn keep(&mut self, bytes: usize) -> Result<(), Stopped> {
        self.path_bytes = self.path_bytes.saturating_add(bytes as u64);
        let kept = self.reader.limits().check_memory(self.path_bytes);
        kept.map_err(|exceeded| Stopped::Read(exceeded.into()))
    }

    fn unread(&self, source: ReadError) -> RebuildError {
        RebuildError::Read {
            log: self.into.to_owned(),
            source,
        }
    }

    fn failed(&self, path: &[u8], source: io::Error) -> RebuildError {
        RebuildError::Make {
            what: shown(path),
            into: self.into.to_owned(),
            source,
        }
    }

    /// The parts that were created, and those that were not.
    pub(super) fn finish(mut self) -> Rebuilt {
        let out_of_place = self
            .tree
            .nodes()
            .filter(|(id, _)| self.tree.root() != Some(*id))
            .fold(0, |sum: u64, (_, node)| sum.saturating_add(node.links))
            .saturating_sub(self.placed);
        let lacking = &self.lacking;
        let missing = [
            lacking
                .unknown
                .gap(Listed::FileBytes, Reason::UnknownAsZeros),
            lacking
                .before
                .gap(Listed::EarlierContents, Reason::BeforeAsZeros),
            lacking
                .no_target
                .gap(Listed::SymbolicLinks, Reason::TargetsUnknown),
            Gap::counted(
                out_of_place,
                Countable::NamesWithoutDirectory,
                Reason::DirectoryUnknown,
            ),
        ];
        let left_out = [
            lacking.devices.gap(Listed::Devices, Reason::ForeignDevices),
            lacking
                .special_bits
                .gap(Listed::SpecialBits, Reason::ForeignPrivileges),
            lacking.owners.gap(Listed::Owners, Reason::OwnersAreCallers),
            lacking
                .extended
                .gap(Listed::ExtendedAttributes, Reason::UserAttributesOnly),
        ];
        self.rebuilt.missing = missing.into_iter().flatten().collect();
        self.rebuilt.left_out = left_out.into_iter().flatten().collect();
        self.rebuilt
    }
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<rustix::io::Errno> for Stopped {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}
