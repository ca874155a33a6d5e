//! What a call did to files, from its name, its arguments and its result.

use iostrata_core::op::FileId;
use iostrata_core::trace::{Scope, Step};

/// include/uapi/asm-generic/fcntl.h, include/uapi/linux/fcntl.h, include/uapi/linux/fs.h,
/// include/uapi/asm-generic/mman-common.h
pub(crate) const O_TRUNC: u64 = 0o1000;
pub(crate) const O_APPEND: u32 = 0o2_000;
pub(crate) const O_DSYNC: u32 = 0o10_000;
const O_DIRECT: u32 = 0o40_000;
pub(crate) const AT_REMOVEDIR: u64 = 0x200;
pub(crate) const RENAME_EXCHANGE: u64 = 2;
pub(crate) const MS_SYNC: u64 = 4;

/// A call that may be a step of the history.
#[derive(Debug, Clone)]
pub(crate) struct Asked<'a> {
    /// The system call's name.
    pub(crate) call: &'a str,
    /// Its arguments.
    pub(crate) argument: &'a [u64],
    /// Whether it failed.
    pub(crate) failed: bool,
    /// The file that it acted on, or that it opened.
    pub(crate) file: Option<FileId>,
    /// Whether it created that file.
    pub(crate) created: bool,
    /// `O_*` of the open file.
    pub(crate) flags: u32,
    /// Its first path, absolute.
    pub(crate) first: Option<Vec<u8>>,
    /// Its second path, absolute.
    pub(crate) second: Option<Vec<u8>>,
    /// The file that a descriptor stands for which takes the place of the first path (`linkat`).
    pub(crate) linked: Option<FileId>,
    /// The file that the first path stands for, where the call acts on it (`truncate`).
    pub(crate) file_by_path: Option<FileId>,
}

/// The step that the call was; `None` when what it acted on is not known.
pub(crate) fn step(asked: Asked<'_>) -> Option<Step> {
    let argument = asked.argument;
    let call = system_call(asked.call);
    let step = match call {
        "rename" | "renameat" | "renameat2" => Step::Renamed {
            from: asked.first?,
            to: asked.second?,
            exchange: call == "renameat2" && argument[4] & RENAME_EXCHANGE != 0,
        },
        "link" | "linkat" => Step::Linked {
            file: asked.linked,
            from: match (asked.first, asked.linked) {
                (Some(path), _) => path,
                (None, linked) => linked.map(|_file| Vec::new())?,
            },
            to: asked.second?,
        },
        "unlink" | "unlinkat" | "rmdir" => Step::Unlinked {
            path: asked.first?,
            directory: call == "rmdir" || call == "unlinkat" && argument[2] & AT_REMOVEDIR != 0,
        },
        "mkdir" | "mkdirat" | "symlink" | "symlinkat" | "mknod" | "mknodat" => Step::Made {
            path: asked.first?,
            directory: call.starts_with("mkdir"),
        },
        "truncate" if !asked.failed => Step::Resized {
            file: asked.file_by_path?,
            bytes: argument[1],
        },
        "open" | "openat" | "openat2" | "creat" | "open_by_handle_at" if !asked.failed => {
            opened(&asked, call)?
        }
        _ => match asked.first {
            Some(path) => Step::Looked { path },
            None => on_descriptor(call, asked.file, argument)?,
        },
    };
    Some(step)
}

/// The system call that an operation of io_uring is like: its arguments are told like that's.
pub(crate) fn system_call(call: &str) -> &str {
    match call.strip_prefix("io_uring.") {
        // It has flags.
        Some("renameat") => "renameat2",
        Some(operation) => operation,
        None => call,
    }
}

/// Whether opening a file cuts its contents off. Of `openat2` the back end has put the flags in
/// the place of their address.
pub(crate) fn truncates(call: &str, argument: &[u64]) -> bool {
    let flags = match call {
        "creat" => return true,
        "open" => 1,
        _ => 2,
    };
    argument
        .get(flags)
        .is_some_and(|flags| flags & O_TRUNC != 0)
}

fn opened(asked: &Asked<'_>, call: &str) -> Option<Step> {
    let truncated = truncates(call, asked.argument);
    Some(Step::Opened {
        file: asked.file?,
        created: asked.created,
        truncated: truncated && !asked.created,
        synchronous: asked.flags & O_DSYNC != 0,
        direct: asked.flags & O_DIRECT != 0,
    })
}

fn on_descriptor(call: &str, file: Option<FileId>, argument: &[u64]) -> Option<Step> {
    Some(match call {
        "sync" => Step::Synced {
            file: None,
            scope: Scope::Everything,
        },
        "msync" => Step::Synced {
            file: None,
            scope: if argument[2] & MS_SYNC != 0 {
                Scope::Data
            } else {
                Scope::Hint
            },
        },
        "fsync" | "fdatasync" | "syncfs" | "sync_file_range" => Step::Synced {
            file: Some(file?),
            scope: match call {
                "fsync" => Scope::File,
                "fdatasync" => Scope::Data,
                "syncfs" => Scope::FileSystem,
                _ => Scope::Hint,
            },
        },
        "close" => Step::Closed { file: file? },
        "ftruncate" => Step::Resized {
            file: file?,
            bytes: argument[1],
        },
        "fallocate" => Step::Allocated { file: file? },
        "mmap" | "mprotect(shared)" | "pkey_mprotect(shared)" | "mremap(shared)" => Step::Mapped {
            file: file?,
            bytes: argument[1],
        },
        // A write that failed.
        _ => Step::Wrote {
            file: file?,
            count: 1,
            bytes: 0,
            from: 0,
            to: 0,
            sequential: 0,
            durable: false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId {
        device: 5,
        inode: 6,
        generation: 7,
    };

    fn asked<'a>(call: &'a str, argument: &'a [u64]) -> Asked<'a> {
        Asked {
            call,
            argument,
            failed: false,
            file: Some(FILE),
            created: false,
            flags: 0,
            first: None,
            second: None,
            linked: None,
            file_by_path: None,
        }
    }

    #[test]
    fn an_opening_is_told_by_its_flags() {
        let with_path = |argument: &'static [u64], created| {
            step(Asked {
                created,
                flags: O_DSYNC | O_DIRECT,
                first: Some(b"/a".to_vec()),
                ..asked("openat", argument)
            })
        };
        let opened = |created, truncated| {
            Some(Step::Opened {
                file: FILE,
                created,
                truncated,
                synchronous: true,
                direct: true,
            })
        };
        assert_eq!(with_path(&[0, 0, O_TRUNC], false), opened(false, true));
        assert_eq!(with_path(&[0, 0, O_TRUNC], true), opened(true, false));
        assert_eq!(with_path(&[0, 0, 0], false), opened(false, false));
    }

    #[test]
    fn a_failed_call_on_a_path_was_a_look() {
        let failed = Asked {
            failed: true,
            file: None,
            first: Some(b"/a".to_vec()),
            ..asked("openat", &[0, 0, 0])
        };
        let looked = Some(Step::Looked {
            path: b"/a".to_vec(),
        });
        assert_eq!(step(failed.clone()), looked);
        let stat = Asked {
            call: "newfstatat",
            ..failed
        };
        assert_eq!(step(stat), looked);
    }

    #[test]
    fn names_change() {
        let renamed = Asked {
            first: Some(b"/a".to_vec()),
            second: Some(b"/b".to_vec()),
            ..asked("renameat2", &[0, 0, 0, 0, RENAME_EXCHANGE])
        };
        let exchanged = Step::Renamed {
            from: b"/a".to_vec(),
            to: b"/b".to_vec(),
            exchange: true,
        };
        assert_eq!(step(renamed.clone()), Some(exchanged));
        let without = Asked {
            second: None,
            ..renamed
        };
        assert_eq!(step(without), None);
        let removed = Asked {
            first: Some(b"/a".to_vec()),
            ..asked("unlinkat", &[0, 0, AT_REMOVEDIR])
        };
        let gone = Step::Unlinked {
            path: b"/a".to_vec(),
            directory: true,
        };
        assert_eq!(step(removed), Some(gone));
    }

    #[test]
    fn a_link_to_a_descriptor_has_its_file() {
        let by_descriptor = Asked {
            linked: Some(FILE),
            second: Some(b"/b".to_vec()),
            ..asked("linkat", &[3, 0, 0, 0, 0])
        };
        let linked = Step::Linked {
            file: Some(FILE),
            from: Vec::new(),
            to: b"/b".to_vec(),
        };
        assert_eq!(step(by_descriptor.clone()), Some(linked));
        let unknown = Asked {
            linked: None,
            ..by_descriptor
        };
        assert_eq!(step(unknown), None);
    }

    #[test]
    fn syncs_have_their_scope() {
        let scope = |call, argument: &[u64]| match step(asked(call, argument)) {
            Some(Step::Synced { scope, file }) => (scope, file),
            other => panic!("{other:?}"),
        };
        assert_eq!(scope("fsync", &[3]), (Scope::File, Some(FILE)));
        assert_eq!(scope("fdatasync", &[3]), (Scope::Data, Some(FILE)));
        assert_eq!(scope("syncfs", &[3]), (Scope::FileSystem, Some(FILE)));
        assert_eq!(scope("sync_file_range", &[3]), (Scope::Hint, Some(FILE)));
        assert_eq!(scope("sync", &[]), (Scope::Everything, None));
        assert_eq!(scope("msync", &[0, 0, MS_SYNC]), (Scope::Data, None));
        assert_eq!(scope("msync", &[0, 0, 1]), (Scope::Hint, None));
    }
}
