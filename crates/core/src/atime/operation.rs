//! The operation on a file, the mount option, and the file whose access time is checked.

use serde::{Deserialize, Serialize};

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `stat`.
    Stat,
    /// `open` for reading; looked at while it is still open.
    Open,
    /// `open` and `close`.
    OpenClose,
    /// `read` of the whole file.
    Read,
    /// `read` of 0 bytes.
    ReadZero,
    /// `pread64`.
    Pread,
    /// `readv`.
    Readv,
    /// `mmap` for reading, no page touched.
    Mmap,
    /// `mmap` and one byte of it read.
    MmapTouch,
    /// `getdents64` of a directory.
    Readdir,
    /// `readlink` of a symbolic link.
    Readlink,
    /// `read` of a file opened with `O_NOATIME`.
    NoatimeRead,
    /// `write`.
    Write,
    /// `truncate`.
    Truncate,
    /// `execve` of the file.
    Exec,
    /// `sendfile` with the file as its source.
    SendfileFrom,
    /// `copy_file_range` with the file as its source, to a file beside it.
    CopyFileRangeFrom,
    /// `find -type f` in the directory.
    Find,
    /// `grep -r` in the directory.
    Grep,
    /// `cp` of the file.
    Cp,
    /// `tar -c` of the directory.
    Tar,
    /// `git status` of a work tree in which nothing changed.
    GitStatus,
}

impl Operation {
    /// Every operation, in the order of the table.
    pub const ALL: [Self; 22] = [
        Self::Stat,
        Self::Open,
        Self::OpenClose,
        Self::Read,
        Self::ReadZero,
        Self::Pread,
        Self::Readv,
        Self::Mmap,
        Self::MmapTouch,
        Self::Readdir,
        Self::Readlink,
        Self::NoatimeRead,
        Self::Write,
        Self::Truncate,
        Self::Exec,
        Self::SendfileFrom,
        Self::CopyFileRangeFrom,
        Self::Find,
        Self::Grep,
        Self::Cp,
        Self::Tar,
        Self::GitStatus,
    ];

    /// The name on the command line, in JSON and in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::Open => "open",
            Self::OpenClose => "open_close",
            Self::Read => "read",
            Self::ReadZero => "read_zero",
            Self::Pread => "pread",
            Self::Readv => "readv",
            Self::Mmap => "mmap",
            Self::MmapTouch => "mmap_touch",
            Self::Readdir => "readdir",
            Self::Readlink => "readlink",
            Self::NoatimeRead => "noatime_read",
            Self::Write => "write",
            Self::Truncate => "truncate",
            Self::Exec => "exec",
            Self::SendfileFrom => "sendfile_from",
            Self::CopyFileRangeFrom => "copy_file_range_from",
            Self::Find => "find",
            Self::Grep => "grep",
            Self::Cp => "cp",
            Self::Tar => "tar",
            Self::GitStatus => "git_status",
        }
    }

    /// Whose access time is meant.
    pub fn subject(self) -> Subject {
        match self {
            Self::Readdir => Subject::Directory,
            Self::Readlink => Subject::Link,
            _ => Subject::File,
        }
    }

    /// The program that does it; `None` when iostrata makes the calls itself.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Self::Find => Some("find"),
            Self::Grep => Some("grep"),
            Self::Cp => Some("cp"),
            Self::Tar => Some("tar"),
            Self::GitStatus => Some("git"),
            _ => None,
        }
    }
}

/// What has the access time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link itself.
    Link,
}

impl Subject {
    /// The word in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Link => "link",
        }
    }
}

/// How a file system is mounted: what `mount -o NAME` gives, `mount`(8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mount {
    /// Every access.
    Strictatime,
    /// The default since Linux 2.6.30.
    Relatime,
    /// No access.
    Noatime,
    /// relatime, but no access to directories.
    Nodiratime,
    /// relatime, and times are kept in memory until something else writes the inode.
    Lazytime,
}

impl Mount {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] = [
        Self::Strictatime,
        Self::Relatime,
        Self::Noatime,
        Self::Nodiratime,
        Self::Lazytime,
    ];

    /// The name on the command line, in JSON and in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strictatime => "strictatime",
            Self::Relatime => "relatime",
            Self::Noatime => "noatime",
            Self::Nodiratime => "nodiratime",
            Self::Lazytime => "lazytime",
        }
    }

    /// The option that a mount's line in `mountinfo` shows. `strictatime` is not shown:
    /// it is the absence of the others (`show_mnt_opts`, `fs/proc_namespace.c`).
    pub fn from_options<'a>(options: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut relatime, mut noatime, mut nodiratime, mut lazytime) =
            (false, false, false, false);
        for option in options {
            match option {
                "relatime" => relatime = true,
                "noatime" => noatime = true,
                "nodiratime" => nodiratime = true,
                "lazytime" => lazytime = true,
                _ => {}
            }
        }
        match (noatime, lazytime, nodiratime, relatime) {
            (true, ..) => Self::Noatime,
            (_, true, ..) => Self::Lazytime,
            (_, _, true, _) => Self::Nodiratime,
            (_, _, _, true) => Self::Relatime,
            _ => Self::Strictatime,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_lead_to_the_mount() {
        for (options, mount) in [
            ("rw", Mount::Strictatime),
            ("rw,relatime", Mount::Relatime),
            ("rw,noatime", Mount::Noatime),
            ("rw,nosuid,nodiratime,relatime", Mount::Nodiratime),
            ("rw,relatime,lazytime,data=ordered", Mount::Lazytime),
        ] {
            assert_eq!(Mount::from_options(options.split(',')), mount, "{options}");
        }
    }

    #[test]
    fn names_are_those_of_json() {
        for operation in Operation::ALL {
            let json = serde_json::to_value(operation).unwrap();
            assert_eq!(json, operation.as_str());
        }
        for mount in Mount::ALL {
            assert_eq!(serde_json::to_value(mount).unwrap(), mount.as_str());
        }
    }
}
