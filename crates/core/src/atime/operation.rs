//! The operation on a file, the mount option, and the file whose access time is checked.

names! {
    pub enum Operation {
        /// `stat`.
        Stat = "stat",
        /// `open` for reading; looked at while it is still open.
        Open = "open",
        /// `open` and `close`.
        OpenClose = "open_close",
        /// `read` of the whole file.
        Read = "read",
        /// `read` of 0 bytes.
        ReadZero = "read_zero",
        /// `pread64`.
        Pread = "pread",
        /// `readv`.
        Readv = "readv",
        /// `mmap` for reading, no page touched.
        Mmap = "mmap",
        /// `mmap` and one byte of it read.
        MmapTouch = "mmap_touch",
        /// `getdents64` of a directory.
        Readdir = "readdir",
        /// `readlink` of a symbolic link.
        Readlink = "readlink",
        /// `read` of a file opened with `O_NOATIME`.
        NoatimeRead = "noatime_read",
        /// `write`.
        Write = "write",
        /// `truncate`.
        Truncate = "truncate",
        /// `execve` of the file.
        Exec = "exec",
        /// `sendfile` with the file as its source.
        SendfileFrom = "sendfile_from",
        /// `copy_file_range` with the file as its source, to a file beside it.
        CopyFileRangeFrom = "copy_file_range_from",
        /// `find -type f` in the directory.
        Find = "find",
        /// `grep -r` in the directory.
        Grep = "grep",
        /// `cp` of the file.
        Cp = "cp",
        /// `tar -c` of the directory.
        Tar = "tar",
        /// `git status` of a work tree in which nothing changed.
        GitStatus = "git_status",
    }
}

impl Operation {
    /// The file whose access time is meant.
    pub fn subject(self) -> Subject {
        match self {
            Self::Readdir => Subject::Directory,
            Self::Readlink => Subject::Link,
            _ => Subject::File,
        }
    }

    /// The program that does it; `None` if iostrata makes the calls itself.
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

names! {
    /// The file whose access time is meant.
    pub enum Subject {
        /// A regular file.
        File = "file",
        /// A directory.
        Directory = "directory",
        /// A symbolic link itself.
        Link = "link",
    }
}

names! {
    /// How a file system is mounted: what `mount -o NAME` gives, `mount`(8).
    pub enum Mount {
        /// Every access.
        Strictatime = "strictatime",
        /// The default since Linux 2.6.30.
        Relatime = "relatime",
        /// No access.
        Noatime = "noatime",
        /// relatime, but no access to directories.
        Nodiratime = "nodiratime",
        /// relatime, and times are kept in memory until something else writes the inode.
        Lazytime = "lazytime",
    }
}

impl Mount {
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
