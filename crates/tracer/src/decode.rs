//! The effect of a call on files, from its name, arguments and result: for the history and the
//! operation log, from system calls and io_uring operations.

use iostrata_core::op::{Call, FileId, FileKind};
use iostrata_core::record::{Change, Description, Durability, Payload};
use iostrata_core::trace::calls::{Effect, Following, effect, group};
use iostrata_core::trace::{Did, Event, Located, NameChange, NodeSeen, OpenFile};

use crate::record::attributes;

/// include/uapi/asm-generic/fcntl.h, include/uapi/linux/fcntl.h,
/// include/uapi/asm-generic/mman-common.h
const O_WRONLY: u64 = 0o1;
const O_CREAT: u64 = 0o100;
pub(crate) const O_TRUNC: u64 = 0o1000;
pub(crate) const O_APPEND: u32 = 0o2_000;
pub(crate) const O_DSYNC: u32 = 0o10_000;
/// `__O_TMPFILE`
pub(crate) const TMPFILE: u32 = 0o20_000_000;
/// include/uapi/linux/fs.h
pub(crate) const RWF_APPEND: u64 = 0x10;
pub(crate) const RWF_NOAPPEND: u64 = 0x20;
/// `RWF_DSYNC | RWF_SYNC`
pub(crate) const RWF_DURABLE: u64 = 2 | 4;

/// Whether a write goes to the end of the file: by the `O_*` of the open file, and the `RWF_*` of the call.
pub(crate) fn appends(open: u32, call: u64) -> bool {
    open & O_APPEND != 0 && call & RWF_NOAPPEND == 0 || call & RWF_APPEND != 0
}
const AT_REMOVEDIR: u64 = 0x200;
const MS_SYNC: u64 = 4;

/// A call that has ended, as a back end saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) call: Call,
    pub(crate) argument: [u64; 5],
    /// The file of its descriptor, or the file that it opened.
    pub(crate) file: Option<FileId>,
    pub(crate) open: Option<OpenFile>,
    /// Whether it created the file that it opened.
    pub(crate) created: bool,
    /// `st_mode` of that file.
    pub(crate) mode: u32,
    /// Its paths as the kernel resolved them.
    pub(crate) first: Option<Located>,
    pub(crate) second: Option<Located>,
    /// The second path as the program passed it: the target of a symbolic link, or the name of an
    /// attribute.
    pub(crate) second_text: Vec<u8>,
    /// The file that was renamed, linked, removed, created, or changed through its path.
    pub(crate) node: Option<FileId>,
    pub(crate) inode: Option<Inode>,
    /// Other arguments that the call passed in memory.
    pub(crate) extra: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Inode {
    /// Type and permissions.
    pub(crate) mode: u32,
    pub(crate) size_bytes: u64,
    /// The device that it represents, in the kernel's numbering.
    pub(crate) device: u32,
}

/// The system call that corresponds to an io_uring operation, with the same arguments.
pub(crate) fn system_call(call: &str) -> &str {
    match call.strip_prefix("io_uring.") {
        // It has flags.
        Some("renameat") => "renameat2",
        Some(operation) => operation,
        None => call,
    }
}

/// The event for a call, which consumes its paths; `None` for a call that changes nothing, or whose
/// target is unknown.
pub(crate) fn event(ended: &mut Ended) -> Option<Event> {
    let call = ended.call;
    let name = system_call(call.name);
    let did = match (effect(call.name), call.outcome.is_ok()) {
        (Some(Effect::Names), _) => Did::Named(on_names(name, ended)?),
        (Some(Effect::Opens), true) => Did::Named(opened(name, ended)?),
        (_, true) => Did::Changed(on_file(name, ended)?),
        (_, false) => Did::Changed(failed(name, ended)?),
    };
    let open = ended.open.map(|open| OpenFile {
        flags: match &did {
            Did::Changed(Change::Described { flags, .. }) => *flags,
            _ => open.flags,
        },
        ..open
    });
    Some(Event { call, open, did })
}

/// What the operation log records of a call.
pub(crate) fn logged(ended: &mut Ended) -> Option<Event> {
    let call = ended.call;
    let is_on_names = effect(call.name) == Some(Effect::Names) || call.name == "truncate";
    if call.outcome.is_err() && is_on_names {
        let second = std::mem::take(&mut ended.second_text);
        let first = ended.first.take().map(|at| at.path);
        let second = Some(second).filter(|text| !text.is_empty());
        let paths = first.into_iter().chain(second).collect();
        let did = Did::Changed(Change::Attempted { paths });
        let open = None;
        return Some(Event { call, open, did });
    }
    let event = event(ended)?;
    let is_recorded = match event.did {
        // Calls that change nothing.
        Did::Changed(Change::Attempted { .. }) => false,
        Did::Changed(Change::Mapped { .. }) | Did::Named(NameChange::Opened { .. }) => {
            group(call.name).is_some_and(|group| group.following == Following::Both)
        }
        _ => true,
    };
    is_recorded.then_some(event)
}

/// Placeholder for the description until the open file is looked up.
const NOT_YET: Description = Description(0);

fn node_of(ended: &Ended) -> Option<NodeSeen> {
    Some(NodeSeen {
        id: ended.node?,
        kind: ended.inode.map(|inode| FileKind::from_mode(inode.mode)),
        mode: ended.inode.map(|inode| inode.mode & 0o7777),
        size_bytes: ended.inode.map_or(0, |inode| inode.size_bytes),
    })
}

/// The location of the file that a path led to, and its kind.
pub(crate) fn reached(ended: &Ended) -> Option<(Located, NodeSeen)> {
    let at = ended.first.as_ref().filter(|at| at.directory.is_some())?;
    Some((at.clone(), node_of(ended)?))
}

/// Calls that change names; `None` when the names are unknown.
fn on_names(call: &str, ended: &mut Ended) -> Option<NameChange> {
    let argument = ended.argument;
    let node = node_of(ended);
    let (at, to) = (ended.first.take(), ended.second.take());
    let kind = match call {
        "rename" | "renameat" | "renameat2" => {
            return Some(NameChange::Renamed {
                node,
                from: at?,
                to: to?,
                flags: match call {
                    "renameat2" => u32::try_from(argument[4]).unwrap_or(0),
                    _ => 0,
                },
            });
        }
        "link" | "linkat" => {
            let (from, to) = (at, to?);
            return Some(NameChange::Linked { node, from, to });
        }
        "unlink" | "unlinkat" | "rmdir" => {
            return Some(NameChange::Unlinked {
                node,
                at: at?,
                directory: call == "rmdir" || call == "unlinkat" && argument[2] & AT_REMOVEDIR != 0,
            });
        }
        "mkdir" | "mkdirat" => FileKind::Directory,
        "symlink" | "symlinkat" => FileKind::Symlink,
        "mknod" | "mknodat" => {
            let mode = argument[usize::from(call == "mknodat") + 1];
            let kind = FileKind::from_mode(u32::try_from(mode).unwrap_or(0));
            // mknod(2): no type is a regular file.
            if kind == FileKind::Anonymous {
                FileKind::Regular
            } else {
                kind
            }
        }
        _ => return None,
    };
    Some(NameChange::Made {
        node,
        at: at?,
        kind,
        device_number: ended.inode.map_or(0, |inode| user_device(inode.device)),
        target: match kind {
            FileKind::Symlink => std::mem::take(&mut ended.second_text),
            _ => Vec::new(),
        },
    })
}

/// Calls that open a file; `None` when the file is unknown.
fn opened(call: &str, ended: &mut Ended) -> Option<NameChange> {
    Some(NameChange::Opened {
        file: ended.file?,
        at: ended.first.take(),
        mode: ended.mode & 0o7777,
        created: ended.created,
        truncated: opening_flags(call, &ended.argument) & O_TRUNC != 0 && !ended.created,
    })
}

/// The `O_*` flags of an open call. For `openat2` the back end has stored them in place of their
/// address.
pub(crate) fn opening_flags(call: &str, argument: &[u64]) -> u64 {
    match call {
        "creat" => O_CREAT | O_WRONLY | O_TRUNC,
        "open" => argument[1],
        _ => argument[2],
    }
}

/// The kernel's `dev_t` as stat(2) shows it (`new_encode_dev`, `include/linux/kdev_t.h`).
fn user_device(device: u32) -> u64 {
    let (major, minor) = FileId::device_numbers(device);
    u64::from(minor & 0xff | major << 8 | (minor & !0xff) << 12)
}

/// Calls on one file, or on all.
fn on_file(call: &str, ended: &Ended) -> Option<Change> {
    let argument = &ended.argument;
    if attributes::is_one(call) {
        return attribute(call, ended);
    }
    let (node, description) = (ended.file, None);
    let synced = |node, scope| Change::Synced {
        node,
        description,
        scope,
    };
    Some(match call {
        "sync" => synced(None, Durability::Everything),
        "msync" if argument[2] & MS_SYNC != 0 => {
            let (offset, bytes) = (0, argument[1]);
            synced(node, Durability::Range { offset, bytes })
        }
        "msync" => synced(node, Durability::Hint),
        "fsync" => synced(Some(node?), Durability::File),
        "fdatasync" => synced(Some(node?), Durability::Data),
        "sync_file_range" => synced(Some(node?), Durability::Hint),
        "syncfs" => synced(Some(node?), Durability::FileSystem),
        "close" => Change::Closed {
            node: node?,
            description: NOT_YET,
        },
        "ftruncate" | "truncate" => Change::Resized {
            node: node.or(ended.node)?,
            description,
            bytes: argument[1],
        },
        "fallocate" => Change::Allocated {
            node: node?,
            description,
            mode: u32::try_from(argument[1]).unwrap_or(0),
            offset: argument[2],
            bytes: argument[3],
        },
        "mmap" | "mprotect(shared)" | "pkey_mprotect(shared)" | "mremap(shared)" => {
            Change::Mapped {
                node: node?,
                offset: 0,
                bytes: argument[1],
            }
        }
        _ => return None,
    })
}

fn attribute(call: &str, ended: &Ended) -> Option<Change> {
    let argument = &ended.argument;
    let node = ended.node?;
    if call == "fcntl" && argument[1] == attributes::F_SETFL {
        let flags = u32::try_from(argument[2]).unwrap_or(0) & attributes::SETTABLE;
        return Some(Change::Described {
            node,
            description: NOT_YET,
            flags: ended.open?.flags & !attributes::SETTABLE | flags,
        });
    }
    let attribute = attributes::of(call, argument, &ended.second_text, &ended.extra)?;
    Some(Change::Changed { node, attribute })
}

/// Failed calls, except those on names: for some the path is known, for the others the file.
fn failed(call: &str, ended: &mut Ended) -> Option<Change> {
    Some(match (call, ended.first.take()) {
        (
            "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "sendfile"
            | "copy_file_range" | "splice",
            _,
        ) => Change::Wrote {
            node: ended.file?,
            description: None,
            offset: if call.starts_with("pwrite") {
                ended.argument[3]
            } else {
                0
            },
            flags: 0,
            payload: Payload::default(),
        },
        (_, Some(at)) => Change::Attempted {
            paths: vec![at.path],
        },
        _ if attributes::is_one(call) => return None,
        _ => on_file(call, ended)?,
    })
}

/// A sync of which only the file is known, and whether it covers data alone.
pub(crate) fn synced(node: Option<FileId>, data_only: bool) -> Change {
    Change::Synced {
        node,
        description: None,
        scope: if data_only {
            Durability::Data
        } else {
            Durability::File
        },
    }
}

/// What a call returned, or its `errno`.
pub(crate) fn outcome(result: i64) -> Result<u64, i32> {
    u64::try_from(result)
        .map_err(|_negative| i32::try_from(result.unsigned_abs()).unwrap_or(i32::MAX))
}
