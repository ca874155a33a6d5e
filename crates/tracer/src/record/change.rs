//! What a call changed, for the operation log.

use iostrata_core::op::FileId;
use iostrata_core::record::{Change, Description, Durability, Kind, Payload};

use super::attributes;
use super::batch::{Call, Item, Located, Names, Open, Target};
use crate::steps::{AT_REMOVEDIR, MS_SYNC, system_call, truncates};

/// `__O_TMPFILE`, include/uapi/asm-generic/fcntl.h
pub(crate) const TMPFILE: u32 = 0o20_000_000;

/// A call that has ended, as a back end saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) call: Call,
    pub(crate) argument: [u64; 5],
    /// The file of its descriptor, or that it opened.
    pub(crate) file: Option<FileId>,
    pub(crate) open: Option<Open>,
    /// Whether it created the file that it opened.
    pub(crate) created: bool,
    /// `st_mode` of that file.
    pub(crate) mode: u32,
    /// Its paths as the kernel understood them.
    pub(crate) first: Option<Located>,
    pub(crate) second: Option<Located>,
    /// The second path as it was given: what a symbolic link says, or the name of an attribute.
    pub(crate) second_text: Vec<u8>,
    /// The file that was renamed, linked, removed, made, or changed through its path.
    pub(crate) node: Option<FileId>,
    pub(crate) inode: Option<Inode>,
    /// What else the call was given in memory.
    pub(crate) extra: Vec<u8>,
}

/// What an inode says about itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Inode {
    /// Type and permissions.
    pub(crate) mode: u32,
    pub(crate) size_bytes: u64,
    /// The device that it stands for, as the kernel numbers it.
    pub(crate) device: u32,
}

/// What the log has to tell of a step; `None` for what changes nothing.
pub(crate) fn item(step: &Ended) -> Option<Item> {
    let call = step.call;
    if call.outcome.is_err() {
        return failed(call, step);
    }
    // An operation of io_uring is told by the arguments of the system call of its name.
    let name = system_call(call.name);
    if let Some(names) = on_names(name, step) {
        return Some(Item::Names { call, names });
    }
    let change = on_file(name, step)?;
    let open = step.open.map(|open| Open {
        flags: match &change {
            Change::Described { flags, .. } => *flags,
            _ => open.flags,
        },
        ..open
    });
    Some(Item::Step { call, open, change })
}

/// Where the file is that a path led to.
pub(super) fn reached(item: &Item, step: &Ended) -> Option<Item> {
    let is_by_path = matches!(
        item,
        Item::Step {
            change: Change::Changed { .. } | Change::Resized { .. },
            ..
        }
    );
    let at = step.first.as_ref().filter(|at| at.directory.is_some())?;
    is_by_path.then(|| {
        Some(Item::Reached {
            at: at.clone(),
            target: target(step)?,
        })
    })?
}

/// Whether the call changed attributes, of which the log has nothing.
pub(super) fn is_untold(step: &Ended) -> bool {
    let call = step.call;
    // Of all removals, that of an access list succeeds where there is none, and sets no change time
    // then (fs/posix_acl.c, `vfs_remove_acl`).
    let name = system_call(call.name);
    let is_nothing = name.ends_with("removexattr")
        && step.second_text.starts_with(b"system.posix_acl_")
        && step.node.is_none();
    call.outcome.is_ok() && attributes::is_one(name) && !is_nothing
}

/// Stands for the description until the open file is looked up.
const NOT_YET: Description = Description(0);

fn target(step: &Ended) -> Option<Target> {
    Some(Target {
        id: step.node?,
        kind: step.inode.map(|inode| Kind::from_mode(inode.mode)),
        mode: step.inode.map(|inode| inode.mode & 0o7777),
        size_bytes: step.inode.map_or(0, |inode| inode.size_bytes),
    })
}

/// Calls that change names.
fn on_names(call: &str, step: &Ended) -> Option<Names> {
    let argument = &step.argument;
    let at = || step.first.clone();
    let to = || step.second.clone();
    let node = target(step);
    let made = |kind| {
        Some(Names::Made {
            node,
            at: at()?,
            kind,
            device_number: step.inode.map_or(0, |inode| user_device(inode.device)),
            target: match kind {
                Kind::Symlink => step.second_text.clone(),
                _ => Vec::new(),
            },
        })
    };
    match call {
        "rename" | "renameat" | "renameat2" => Some(Names::Renamed {
            node,
            from: at()?,
            to: to()?,
            flags: match call {
                "renameat2" => u32::try_from(argument[4]).unwrap_or(0),
                _ => 0,
            },
        }),
        "link" | "linkat" => Some(Names::Linked {
            node,
            from: at().filter(|_| !is_nameless(step)),
            to: to()?,
        }),
        "unlink" | "unlinkat" | "rmdir" => Some(Names::Unlinked {
            node,
            at: at()?,
            directory: call == "rmdir" || call == "unlinkat" && argument[2] & AT_REMOVEDIR != 0,
        }),
        "mkdir" | "mkdirat" => made(Kind::Directory),
        "symlink" | "symlinkat" => made(Kind::Symlink),
        "mknod" | "mknodat" => {
            let mode = argument[usize::from(call == "mknodat") + 1];
            let kind = Kind::from_mode(u32::try_from(mode).unwrap_or(0));
            // mknod(2): no type is a regular file.
            made(if kind == Kind::Other {
                Kind::Regular
            } else {
                kind
            })
        }
        "open" | "openat" | "openat2" | "creat" => {
            let open = step.open?;
            let nameless = open.flags & TMPFILE == TMPFILE;
            let created = nameless || step.created;
            Some(Names::Opened {
                file: step.file?,
                open,
                at: at().filter(|_| !nameless),
                mode: Some(step.mode & 0o7777),
                created,
                truncated: truncates(call, argument) && !created,
            })
        }
        _ => None,
    }
}

/// The file has no name yet: what was given leads through /proc, or is a descriptor.
fn is_nameless(step: &Ended) -> bool {
    step.first
        .as_ref()
        .is_none_or(|at| at.path.starts_with(b"/proc/"))
}

/// The kernel's `dev_t` as stat(2) shows it (`new_encode_dev`, `include/linux/kdev_t.h`).
fn user_device(device: u32) -> u64 {
    let (major, minor) = FileId::device_numbers(device);
    u64::from(minor & 0xff | major << 8 | (minor & !0xff) << 12)
}

/// Calls on one file.
fn on_file(call: &str, step: &Ended) -> Option<Change> {
    let argument = &step.argument;
    if attributes::is_one(call) {
        return attribute(call, step);
    }
    let (node, description) = (step.file, None);
    let synced = |node, scope| Change::Synced {
        node,
        description,
        scope,
    };
    Some(match call {
        "sync" => synced(None, Durability::Everything),
        "msync" if argument[2] & MS_SYNC != 0 => {
            let (offset, bytes) = (0, argument[1]);
            synced(None, Durability::Range { offset, bytes })
        }
        "msync" => synced(None, Durability::Hint),
        "fsync" => synced(Some(node?), Durability::File),
        "fdatasync" => synced(Some(node?), Durability::Data),
        "sync_file_range" => synced(Some(node?), Durability::Hint),
        "syncfs" => synced(Some(node?), Durability::FileSystem),
        "close" => Change::Closed {
            node: node?,
            description: NOT_YET,
        },
        "ftruncate" | "truncate" => Change::Resized {
            node: node.or(step.node)?,
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
        "mmap" => Change::Mapped {
            node: node?,
            offset: 0,
            bytes: argument[1],
        },
        _ => return None,
    })
}

fn attribute(call: &str, step: &Ended) -> Option<Change> {
    let argument = &step.argument;
    let node = step.node?;
    if call == "fcntl" && argument[1] == attributes::F_SETFL {
        let flags = u32::try_from(argument[2]).unwrap_or(0) & attributes::SETTABLE;
        return Some(Change::Described {
            node,
            description: NOT_YET,
            flags: step.open?.flags & !attributes::SETTABLE | flags,
        });
    }
    let attribute = attributes::of(call, argument, &step.second_text, &step.extra)?;
    Some(Change::Changed { node, attribute })
}

/// Calls that failed: of writes and syncs the file is known, of the others the paths.
fn failed(call: Call, step: &Ended) -> Option<Item> {
    let open = step.open;
    let name = system_call(call.name);
    let change = match name {
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "sendfile"
        | "copy_file_range" | "splice" => Change::Wrote {
            node: step.file?,
            description: None,
            offset: if name.starts_with("pwrite") {
                step.argument[3]
            } else {
                0
            },
            flags: 0,
            payload: Payload::default(),
        },
        "rename" | "renameat" | "renameat2" | "link" | "linkat" | "unlink" | "unlinkat"
        | "rmdir" | "mkdir" | "mkdirat" | "symlink" | "symlinkat" | "mknod" | "mknodat"
        | "truncate" => {
            let second = (!step.second_text.is_empty()).then(|| step.second_text.clone());
            let first = step.first.as_ref().map(|at| at.path.clone());
            let paths = first.into_iter().chain(second).collect();
            let change = Change::Attempted { paths };
            let open = None;
            return Some(Item::Step { call, open, change });
        }
        name if attributes::is_one(name) => return None,
        name => on_file(name, step)?,
    };
    Some(Item::Step { call, open, change })
}
