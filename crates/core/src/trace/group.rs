//! What a system call is for.

use super::{Direction, FileKind, direction, is_open, is_sync};

/// Calls that serve one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallGroup {
    /// Bytes of a file to the program.
    Reads,
    /// Bytes of the program to a file.
    Writes,
    /// Bytes of one file to another, inside the kernel: a read and a write.
    Copies,
    /// Asks for durability, or starts write-back.
    Syncs,
    /// Gives a descriptor for a path.
    Opens,
    /// Waits for something that is no file: time, locks, children, other machines.
    Waits,
    /// Hands requests to `io_uring` and waits for them.
    Ring,
}

impl CallGroup {
    /// The group of a call by its name, `io_uring.<operation>` like the call of that name.
    /// `None` for all other calls.
    pub fn of(name: &str) -> Option<Self> {
        match name.strip_prefix("io_uring.").unwrap_or(name) {
            "copy_file_range" | "sendfile" | "splice" | "tee" | "vmsplice" => {
                return Some(Self::Copies);
            }
            "io_uring_enter" => return Some(Self::Ring),
            other if waits(other) => return Some(Self::Waits),
            _ => {}
        }
        if is_sync(name) {
            return Some(Self::Syncs);
        }
        if is_open(name) {
            return Some(Self::Opens);
        }
        direction(name).map(|way| match way {
            Direction::Read => Self::Reads,
            Direction::Write => Self::Writes,
        })
    }

    /// Whether its calls move bytes from a file.
    pub fn reads(self) -> bool {
        matches!(self, Self::Reads | Self::Copies)
    }

    /// Whether its calls move bytes to a file.
    pub fn writes(self) -> bool {
        matches!(self, Self::Writes | Self::Copies)
    }
}

/// Calls that sleep until something happens that is no file's business.
fn waits(name: &str) -> bool {
    matches!(
        name,
        "accept"
            | "accept4"
            | "clock_nanosleep"
            | "connect"
            | "epoll_pwait"
            | "epoll_pwait2"
            | "epoll_wait"
            | "futex"
            | "futex_wait"
            | "futex_waitv"
            | "mq_timedreceive"
            | "msgrcv"
            | "nanosleep"
            | "pause"
            | "poll"
            | "ppoll"
            | "pselect6"
            | "recvfrom"
            | "recvmmsg"
            | "recvmsg"
            | "rt_sigsuspend"
            | "rt_sigtimedwait"
            | "select"
            | "semop"
            | "semtimedop"
            | "sendmmsg"
            | "sendmsg"
            | "sendto"
            | "vfork"
            | "wait4"
            | "waitid"
    )
}

impl FileKind {
    /// Whether its bytes are stored by a file system or a disk. A read from anything else
    /// waits for another process, a person or a machine.
    pub fn is_stored(self) -> bool {
        match self {
            Self::Regular | Self::Directory | Self::Symlink | Self::BlockDevice => true,
            Self::Pipe | Self::Socket | Self::CharacterDevice | Self::Anonymous => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_operations_are_like_their_calls() {
        assert_eq!(CallGroup::of("io_uring.write"), Some(CallGroup::Writes));
        assert_eq!(CallGroup::of("pwrite64"), Some(CallGroup::Writes));
        assert_eq!(CallGroup::of("io_uring.fsync"), Some(CallGroup::Syncs));
        assert_eq!(CallGroup::of("io_uring_enter"), Some(CallGroup::Ring));
        assert_eq!(CallGroup::of("futex"), Some(CallGroup::Waits));
        assert_eq!(CallGroup::of("rename"), None);
    }

    #[test]
    fn a_copy_reads_and_writes() {
        let copy = CallGroup::of("copy_file_range").unwrap();
        assert!(copy.reads() && copy.writes());
        assert!(!CallGroup::Reads.writes() && !CallGroup::Syncs.reads());
    }
}
