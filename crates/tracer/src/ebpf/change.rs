//! What a step of the history changed, for the operation log.

use iostrata_core::record::{Change, Durability, Payload};

use super::history::{FMODE_CREATED, Resolved};
use crate::steps::{AT_REMOVEDIR, MS_SYNC, RENAME_EXCHANGE, system_call, truncates};

/// The change; `None` for what changes nothing.
pub(super) fn change(call: &str, step: &Resolved) -> Option<Change> {
    let call = system_call(call);
    on_path(call, step).or_else(|| on_descriptor(call, step))
}

/// Calls that name what they change by a path.
fn on_path(call: &str, step: &Resolved) -> Option<Change> {
    let argument = &step.event.argument;
    let path = step.first.as_ref()?.path.clone();
    let other = || step.second.as_ref().map(|named| named.path.clone());
    // The mode stands behind the path, or behind directory and path.
    let mode = |at: bool| u32::try_from(argument[usize::from(at) + 1]).unwrap_or(0);
    Some(match call {
        "rename" | "renameat" | "renameat2" => Change::Renamed {
            from: path,
            to: other()?,
            exchange: call == "renameat2" && argument[4] & RENAME_EXCHANGE != 0,
        },
        "link" | "linkat" => Change::Linked {
            from: path,
            to: other()?,
        },
        "unlink" | "unlinkat" | "rmdir" => Change::Unlinked {
            path,
            directory: call == "rmdir" || call == "unlinkat" && argument[2] & AT_REMOVEDIR != 0,
        },
        "mkdir" | "mkdirat" => Change::MadeDirectory {
            path,
            mode: mode(call == "mkdirat"),
        },
        "symlink" | "symlinkat" => Change::MadeSymlink {
            target: step.second_text.clone(),
            path,
        },
        "mknod" | "mknodat" => Change::MadeNode {
            path,
            mode: mode(call == "mknodat"),
        },
        "truncate" => Change::Resized {
            file: step.node?,
            bytes: argument[1],
        },
        "open" | "openat" | "openat2" | "creat" if step.event.result >= 0 => {
            let created = step.event.mode & FMODE_CREATED != 0;
            Change::Opened {
                file: step.file?,
                path,
                flags: step.event.flags,
                created,
                truncated: truncates(call, argument) && !created,
            }
        }
        _ => return None,
    })
}

fn on_descriptor(call: &str, step: &Resolved) -> Option<Change> {
    let argument = &step.event.argument;
    let file = step.file;
    let synced = |file, scope| Change::Synced { file, scope };
    Some(match call {
        "sync" => synced(None, Durability::Everything),
        "msync" if argument[2] & MS_SYNC != 0 => {
            let (offset, bytes) = (0, argument[1]);
            synced(None, Durability::Range { offset, bytes })
        }
        "msync" => synced(None, Durability::Hint),
        "fsync" => synced(Some(file?), Durability::File),
        "fdatasync" => synced(Some(file?), Durability::Data),
        "sync_file_range" => synced(Some(file?), Durability::Hint),
        "syncfs" => synced(Some(file?), Durability::FileSystem),
        "close" => Change::Closed { file: file? },
        "ftruncate" => Change::Resized {
            file: file?,
            bytes: argument[1],
        },
        "fallocate" => Change::Allocated {
            file: file?,
            mode: u32::try_from(argument[1]).unwrap_or(0),
            offset: argument[2],
            bytes: argument[3],
        },
        "mmap" => Change::Mapped {
            file: file?,
            offset: 0,
            bytes: argument[1],
        },
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "sendfile"
        | "copy_file_range" | "splice"
            if step.event.result < 0 =>
        {
            let has_offset = call.starts_with("pwrite");
            Change::Wrote {
                file: file?,
                offset: if has_offset { argument[3] } else { 0 },
                payload: Payload::default(),
            }
        }
        _ => return None,
    })
}
