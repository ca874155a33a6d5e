//! Walks directories and records every node in them.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use iostrata_core::gap::{Gap, Listed, Reason};
use iostrata_core::op::FileId;
use iostrata_core::record::{
    Attribute, Change, Examples, FileKind, Name, Operation, Payload, Place as Where, Time, Was,
    Writer,
};
use rustix::fs::{CWD, Statx, fstatfs, readlinkat};
use rustix::io::Errno;

use super::look::{
    Place, Version, extended, id_of, kind_of, look, mount_of, names_in, open_directory, open_file,
    place_of, ranges, store, unless_asked_to_end, version_of,
};
use crate::clock::now_ns;
use crate::record::nodes::Nodes;

/// `OVERLAYFS_SUPER_MAGIC` (include/uapi/linux/magic.h).
const OVERLAY: u64 = 0x794c_7630;

/// A node at the time of reading, for the second scan.
struct Looked {
    path: PathBuf,
    place: Place,
    version: Version,
}

#[derive(Default)]
struct Missing {
    unreadable: Examples,
    too_much: Examples,
    too_much_bytes: u64,
    changed: Examples,
}

pub(super) struct Walk<'a, W> {
    log: &'a mut Writer<W>,
    nodes: &'a mut Nodes,
    /// The log itself, which grows.
    log_file: Place,
    left_bytes: u64,
    mount: Option<u64>,
    is_overlay: bool,
    looked: Vec<Looked>,
    missing: Missing,
}

struct At<'d> {
    directory: BorrowedFd<'d>,
    parent: FileId,
    name: &'d [u8],
    path: PathBuf,
}

impl<'a, W: Write> Walk<'a, W> {
    pub(super) fn new(
        log: &'a mut Writer<W>,
        nodes: &'a mut Nodes,
        log_file: Place,
        left_bytes: u64,
    ) -> Self {
        Self {
            log,
            nodes,
            log_file,
            left_bytes,
            mount: None,
            is_overlay: false,
            looked: Vec::new(),
            missing: Missing::default(),
        }
    }

    /// A requested directory, by its absolute path: the directories above it by their names.
    pub(super) fn root(&mut self, path: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        let mut parent = None;
        for directory in above {
            let is = look(CWD, directory.as_os_str().as_bytes())?;
            let opened = open_directory(CWD, directory.as_os_str().as_bytes()).ok();
            let id = id_of(&is, opened.as_ref().map(OwnedFd::as_fd));
            let name = parent.map(|parent| Name::new(parent, last(directory)));
            if !self.nodes.is_kept(id) {
                self.found(id, &is, name, None)?;
            }
            parent = Some(id);
        }
        let is = look(CWD, path.as_os_str().as_bytes())?;
        let opened = open_directory(CWD, path.as_os_str().as_bytes())?;
        let id = id_of(&is, Some(opened.as_fd()));
        self.mount = mount_of(&is);
        self.is_overlay = u64::try_from(fstatfs(&opened)?.f_type) == Ok(OVERLAY);
        if self.nodes.is_listed(id) {
            return Ok(());
        }
        if !self.nodes.is_kept(id) {
            let name = parent.map(|parent| Name::new(parent, last(path)));
            self.found(id, &is, name, None)?;
        }
        self.directory(&opened, id, &is, path)
    }

    /// The contents of a recorded directory, and its attributes.
    fn directory(
        &mut self,
        opened: &OwnedFd,
        id: FileId,
        is: &Statx,
        path: &Path,
    ) -> io::Result<()> {
        self.nodes.listed(id);
        self.look_again(path, is);
        self.attributes(id, is, Some(opened.as_fd()), path)?;
        let names = match names_in(opened) {
            Ok(names) => names,
            Err(errno) => {
                self.unreadable(path, &errno);
                return Ok(());
            }
        };
        for name in &names {
            self.entry(&At {
                directory: opened.as_fd(),
                parent: id,
                name,
                path: path.join(OsStr::from_bytes(name)),
            })?;
        }
        self.before(id, Was::Listed)
    }

    fn entry(&mut self, at: &At<'_>) -> io::Result<()> {
        unless_asked_to_end()?;
        let is = match look(at.directory, at.name) {
            Ok(is) => is,
            Err(Errno::NOENT) => {
                self.missing.changed.add(|| shown(&at.path));
                return Ok(());
            }
            Err(errno) => {
                self.unreadable(&at.path, &errno);
                return Ok(());
            }
        };
        if place_of(&is) == self.log_file {
            return Ok(());
        }
        let name = Some(Name::new(at.parent, at.name));
        match kind_of(&is) {
            // Another mount is another tree.
            _ if mount_of(&is) != self.mount => {
                let id = id_of(&is, None);
                self.nodes.left(id);
                self.found(id, &is, name, None)
            }
            FileKind::Directory => self.subdirectory(at, &is, name),
            FileKind::Regular => self.file(at, &is, name),
            kind => {
                let id = id_of(&is, None);
                self.look_again(&at.path, &is);
                self.found(id, &is, name, None)?;
                self.special(id, kind, at, &is)?;
                self.attributes(id, &is, None, &at.path)
            }
        }
    }

    fn subdirectory(&mut self, at: &At<'_>, is: &Statx, name: Option<Name>) -> io::Result<()> {
        match open_directory(at.directory, at.name) {
            Ok(opened) => {
                let id = id_of(is, Some(opened.as_fd()));
                self.found(id, is, name, None)?;
                self.directory(&opened, id, is, &at.path)
            }
            Err(errno) => {
                self.unreadable(&at.path, &errno);
                let id = id_of(is, None);
                self.found(id, is, name, None)?;
                self.attributes(id, is, None, &at.path)
            }
        }
    }

    fn file(&mut self, at: &At<'_>, is: &Statx, name: Option<Name>) -> io::Result<()> {
        self.look_again(&at.path, is);
        let opened = open_file(at.directory, at.name);
        let opened = match opened {
            Ok(opened) => opened,
            Err(errno) => {
                self.unreadable(&at.path, &errno);
                let id = id_of(is, None);
                self.found(id, is, name, None)?;
                return self.attributes(id, is, None, &at.path);
            }
        };
        let id = id_of(is, Some(opened.as_fd()));
        if self.nodes.is_kept(id) {
            // Another name of a recorded file.
            return self.found(id, is, name, None);
        }
        let mut kept = self.contents(at, is, &opened)?;
        let first = kept.as_mut().map(|kept| match kept.first() {
            Some((0, _)) => kept.remove(0).1,
            _ => Payload::default(),
        });
        self.found(id, is, name, first)?;
        for (offset, payload) in kept.unwrap_or_default() {
            self.before(id, Was::Bytes { offset, payload })?;
        }
        self.attributes(id, is, Some(opened.as_fd()), &at.path)
    }

    /// Stores contents within the limit: their offset, and what they are.
    fn contents(
        &mut self,
        at: &At<'_>,
        is: &Statx,
        file: &File,
    ) -> io::Result<Option<Vec<(u64, Payload)>>> {
        let ranges = match ranges(file, is.stx_size) {
            Ok(ranges) => ranges,
            Err(error) => {
                self.unreadable(&at.path, &error);
                return Ok(None);
            }
        };
        let bytes = ranges.iter().map(|(from, to)| to - from).sum();
        let Some(left) = self.left_bytes.checked_sub(bytes) else {
            self.missing.too_much.add(|| shown(&at.path));
            self.missing.too_much_bytes = self.missing.too_much_bytes.saturating_add(bytes);
            return Ok(None);
        };
        self.left_bytes = left;
        let mut kept = Vec::new();
        for range in ranges {
            let Some(payload) = store(file, range, self.log)? else {
                self.unreadable(
                    &at.path,
                    &"it is shorter than its length, or cannot be read",
                );
                return Ok(None);
            };
            kept.push((range.0, payload));
        }
        Ok(Some(kept))
    }

    fn special(&mut self, id: FileId, kind: FileKind, at: &At<'_>, is: &Statx) -> io::Result<()> {
        match kind {
            FileKind::Symlink => match readlinkat(at.directory, at.name, Vec::new()) {
                Ok(target) => self.before(id, Was::Target(target.into_bytes())),
                Err(errno) => {
                    self.unreadable(&at.path, &errno);
                    Ok(())
                }
            },
            FileKind::CharacterDevice | FileKind::BlockDevice => {
                let number = rustix::fs::makedev(is.stx_rdev_major, is.stx_rdev_minor);
                self.before(id, Was::DeviceNumber(number))
            }
            _ => Ok(()),
        }
    }

    fn attributes(
        &mut self,
        id: FileId,
        is: &Statx,
        opened: Option<BorrowedFd<'_>>,
        path: &Path,
    ) -> io::Result<()> {
        let owner = Attribute::Owner {
            user: Some(is.stx_uid),
            group: Some(is.stx_gid),
        };
        let times = Attribute::Times {
            accessed: Time::Kept,
            modified: Time::At {
                seconds: is.stx_mtime.tv_sec,
                nanoseconds: is.stx_mtime.tv_nsec,
            },
        };
        self.before(id, Was::Attribute(owner))?;
        self.before(id, Was::Attribute(times))?;
        let extended = opened.map_or(Ok(Vec::new()), extended);
        let extended = extended.unwrap_or_else(|errno| {
            self.unreadable(path, &errno);
            Vec::new()
        });
        for (name, value) in extended {
            let value = Some(value);
            let flags = 0;
            self.before(
                id,
                Was::Attribute(Attribute::Extended { name, value, flags }),
            )?;
        }
        Ok(())
    }

    fn found(
        &mut self,
        node: FileId,
        is: &Statx,
        name: Option<Name>,
        contents: Option<Payload>,
    ) -> io::Result<()> {
        let kind = kind_of(is);
        self.nodes.keep(node, name.clone());
        if self.is_overlay {
            self.nodes.layered(node);
        }
        self.tell(Change::Found {
            node,
            kind,
            place: name.map_or(Where::Root, Where::Name),
            mode: Some(u32::from(is.stx_mode) & 0o7777),
            size_bytes: if kind == FileKind::Regular {
                is.stx_size
            } else {
                0
            },
            contents,
        })
    }

    fn before(&mut self, node: FileId, was: Was) -> io::Result<()> {
        self.tell(Change::Before { node, was })
    }

    /// It came from no process of the program and no call.
    fn tell(&mut self, change: Change) -> io::Result<()> {
        self.log.operation(&mut Operation {
            id: 0,
            process: 0,
            thread: 0,
            started_ns: now_ns(),
            took_ns: 0,
            call: Cow::Borrowed("before"),
            outcome: Ok(0),
            change,
        })
    }

    fn unreadable(&mut self, path: &Path, error: &dyn std::fmt::Display) {
        let told = || format!("{} ({error})", shown(path));
        self.missing.unreadable.add(told);
    }

    fn look_again(&mut self, path: &Path, is: &Statx) {
        self.looked.push(Looked {
            path: path.to_owned(),
            place: place_of(is),
            version: version_of(is),
        });
    }

    /// Scans everything a second time; returns the gaps.
    pub(super) fn finish(mut self, limit_bytes: u64) -> Vec<Gap> {
        for before in &self.looked {
            let is = look(CWD, before.path.as_os_str().as_bytes());
            let same = is
                .is_ok_and(|is| (place_of(&is), version_of(&is)) == (before.place, before.version));
            if !same {
                self.missing.changed.add(|| shown(&before.path));
            }
        }
        let Missing {
            unreadable,
            too_much,
            too_much_bytes,
            changed,
        } = self.missing;
        let over = Reason::OverLimit {
            limit_bytes,
            bytes: too_much_bytes,
        };
        let gaps = [
            too_much.gap(Listed::EarlierContents, over),
            unreadable.gap(Listed::EarlierFiles, Reason::Unreadable),
            changed.gap(Listed::EarlierFiles, Reason::ChangedMeanwhile),
        ];
        gaps.into_iter().flatten().collect()
    }
}

fn last(path: &Path) -> Vec<u8> {
    let name = path.file_name().unwrap_or_default();
    name.as_bytes().to_vec()
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
