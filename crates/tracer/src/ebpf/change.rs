//! What a step of the history changed, for the operation log.

use iostrata_core::op::FileId;
use iostrata_core::record::{Change, Description, Durability, Kind, Payload};

use super::attributes;
use super::history::{FMODE_CREATED, Named, Resolved, TMPFILE};
use crate::record::batch::{Call, Item, Located, Names, Open, Target};
use crate::steps::{AT_REMOVEDIR, MS_SYNC, system_call, truncates};

/// What the log has to tell of a step; `None` for what changes nothing.
pub(super) fn item(call: Call, step: &Resolved) -> Option<Item> {
    if call.outcome.is_err() {
        return failed(call, step);
    }
    // An operation of io_uring is told by the arguments of the system call of its name.
    let name = system_call(call.name);
    if let Some(names) = on_names(name, step) {
        return Some(Item::Names { call, names });
    }
    let change = on_file(name, step)?;
    let open = opened(step).map(|open| Open {
        flags: match &change {
            Change::Described { flags, .. } => *flags,
            _ => open.flags,
        },
        ..open
    });
    Some(Item::Step { call, open, change })
}

/// Where the file is that a path led to.
pub(super) fn reached(item: &Item, step: &Resolved) -> Option<Item> {
    let is_by_path = matches!(
        item,
        Item::Step {
            change: Change::Changed { .. } | Change::Resized { .. },
            ..
        }
    );
    let at = step.first.as_ref().filter(|named| named.place.is_some())?;
    is_by_path.then(|| {
        Some(Item::Reached {
            at: located(at),
            target: target(step)?,
        })
    })?
}

/// Whether the call changed attributes, of which the log has nothing.
pub(super) fn is_untold(call: Call, step: &Resolved) -> bool {
    // Of all removals, that of an access list succeeds where there is none, and sets no change time
    // then (fs/posix_acl.c, `vfs_remove_acl`).
    let name = system_call(call.name);
    let is_nothing = name.ends_with("removexattr")
        && step.second_text.starts_with(b"system.posix_acl_")
        && step.node.is_none();
    call.outcome.is_ok() && attributes::is_one(name) && !is_nothing
}

/// The open file of the call's descriptor.
pub(super) fn opened(step: &Resolved) -> Option<Open> {
    (step.event.open_file != 0).then_some(Open {
        address: step.event.open_file,
        flags: step.event.flags,
    })
}

/// Stands for the description until the open file is looked up.
const NOT_YET: Description = Description(0);

fn located(named: &Named) -> Located {
    Located {
        path: named.path.clone(),
        directory: named.place.as_ref().map(|place| place.directory),
    }
}

fn target(step: &Resolved) -> Option<Target> {
    Some(Target {
        id: step.node?,
        kind: step.inode.map(|inode| Kind::from_mode(inode.mode)),
        mode: step.inode.map(|inode| inode.mode & 0o7777),
        size_bytes: step.inode.map_or(0, |inode| inode.size_bytes),
    })
}

/// Calls that change names.
fn on_names(call: &str, step: &Resolved) -> Option<Names> {
    let argument = &step.event.argument;
    let at = || step.first.as_ref().map(located);
    let to = || step.second.as_ref().map(located);
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
            let event = &step.event;
            let nameless = event.flags & TMPFILE == TMPFILE;
            let created = nameless || event.mode & FMODE_CREATED != 0;
            Some(Names::Opened {
                file: step.file?,
                open: opened(step)?,
                at: at().filter(|_| !nameless),
                mode: Some(event.inode_mode & 0o7777),
                created,
                truncated: truncates(call, argument) && !created,
            })
        }
        _ => None,
    }
}

/// The file has no name yet: what was given leads through /proc, or is a descriptor.
fn is_nameless(step: &Resolved) -> bool {
    step.first
        .as_ref()
        .is_none_or(|named| named.path.starts_with(b"/proc/"))
}

/// The kernel's `dev_t` as stat(2) shows it (`new_encode_dev`, `include/linux/kdev_t.h`).
fn user_device(device: u32) -> u64 {
    let (major, minor) = FileId::device_numbers(device);
    u64::from(minor & 0xff | major << 8 | (minor & !0xff) << 12)
}

/// Calls on one file.
fn on_file(call: &str, step: &Resolved) -> Option<Change> {
    let argument = &step.event.argument;
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

fn attribute(call: &str, step: &Resolved) -> Option<Change> {
    let event = &step.event;
    let node = step.node?;
    if call == "fcntl" && event.argument[1] == attributes::F_SETFL {
        return Some(Change::Described {
            node,
            description: NOT_YET,
            flags: event.flags & !attributes::SETTABLE
                | u32::try_from(event.argument[2]).unwrap_or(0) & attributes::SETTABLE,
        });
    }
    let attribute = attributes::of(call, event, &step.second_text, &step.extra)?;
    Some(Change::Changed { node, attribute })
}

/// Calls that failed: of writes and syncs the file is known, of the others the paths.
fn failed(call: Call, step: &Resolved) -> Option<Item> {
    let open = opened(step);
    let name = system_call(call.name);
    let change = match name {
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "sendfile"
        | "copy_file_range" | "splice" => Change::Wrote {
            node: step.file?,
            description: None,
            offset: if name.starts_with("pwrite") {
                step.event.argument[3]
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
            let first = step.first.as_ref().map(|named| named.path.clone());
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
