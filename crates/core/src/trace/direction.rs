//! What a call does with bytes.

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// Into the file.
    Write,
}

/// Which way the call moves bytes of the file it is counted at; `None` for calls that
/// return no number of bytes.
pub fn direction(call: &str) -> Option<Direction> {
    match call {
        "read"
        | "pread64"
        | "readv"
        | "preadv"
        | "preadv2"
        | "io_uring.read"
        | "io_uring.readv"
        | "io_uring.read_fixed"
        | "io_uring.readv_fixed"
        | "io_uring.read_multishot" => Some(Direction::Read),
        "write"
        | "pwrite64"
        | "writev"
        | "pwritev"
        | "pwritev2"
        | "sendfile"
        | "splice"
        | "copy_file_range"
        | "vmsplice"
        | "tee"
        | "io_uring.write"
        | "io_uring.writev"
        | "io_uring.write_fixed"
        | "io_uring.writev_fixed"
        | "io_uring.splice"
        | "io_uring.tee" => Some(Direction::Write),
        _ => None,
    }
}

/// Whether the call makes data durable or asks for it.
pub fn is_sync(call: &str) -> bool {
    matches!(
        call,
        "fsync"
            | "fdatasync"
            | "syncfs"
            | "sync"
            | "sync_file_range"
            | "msync"
            | "io_uring.fsync"
            | "io_uring.sync_file_range"
    )
}

/// Whether the call opens a file.
pub fn is_open(call: &str) -> bool {
    matches!(
        call,
        "open" | "openat" | "openat2" | "creat" | "io_uring.openat" | "io_uring.openat2"
    )
}
