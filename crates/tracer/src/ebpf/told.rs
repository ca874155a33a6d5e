//! Names of operations that are counted separately from their call: io_uring's, and those that only
//! the call's arguments identify.

use std::sync::LazyLock;

use super::wire::{TOLD_BASE, TOLD_SUBVOLUME};

/// By opcode: `enum io_uring_op`, `include/uapi/linux/io_uring.h` (Linux 6.18).
static RING_NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "io_uring.nop io_uring.readv io_uring.writev io_uring.fsync io_uring.read_fixed \
     io_uring.write_fixed io_uring.poll_add io_uring.poll_remove io_uring.sync_file_range \
     io_uring.sendmsg io_uring.recvmsg io_uring.timeout io_uring.timeout_remove io_uring.accept \
     io_uring.async_cancel io_uring.link_timeout io_uring.connect io_uring.fallocate \
     io_uring.openat io_uring.close io_uring.files_update io_uring.statx io_uring.read \
     io_uring.write io_uring.fadvise io_uring.madvise io_uring.send io_uring.recv io_uring.openat2 \
     io_uring.epoll_ctl io_uring.splice io_uring.provide_buffers io_uring.remove_buffers \
     io_uring.tee io_uring.shutdown io_uring.renameat io_uring.unlinkat io_uring.mkdirat \
     io_uring.symlinkat io_uring.linkat io_uring.msg_ring io_uring.fsetxattr io_uring.setxattr \
     io_uring.fgetxattr io_uring.getxattr io_uring.socket io_uring.uring_cmd io_uring.send_zc \
     io_uring.sendmsg_zc io_uring.read_multishot io_uring.waitid io_uring.futex_wait \
     io_uring.futex_wake io_uring.futex_waitv io_uring.fixed_fd_install io_uring.ftruncate \
     io_uring.bind io_uring.listen io_uring.recv_zc io_uring.epoll_wait io_uring.readv_fixed \
     io_uring.writev_fixed io_uring.pipe io_uring.nop128 io_uring.uring_cmd128"
        .split_ascii_whitespace()
        .collect()
});

pub(super) fn ring_names() -> impl Iterator<Item = &'static str> {
    RING_NAMES.iter().copied()
}

pub(super) fn ring_name(opcode: usize) -> &'static str {
    RING_NAMES
        .get(opcode)
        .copied()
        .unwrap_or("io_uring.unknown")
}

/// By number, from `TOLD_BASE` on: libaio operations by their opcode
/// (`include/uapi/linux/aio_abi.h`), then `enum told` of `bpf/wire.h`. Empty for unused numbers.
const NAMES: [&str; TOLD_SUBVOLUME + 1] = [
    "aio.pread",
    "aio.pwrite",
    "aio.fsync",
    "aio.fdsync",
    "",
    "aio.poll",
    "aio.noop",
    "aio.preadv",
    "aio.pwritev",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "ioctl(FICLONE)",
    "ioctl(FICLONERANGE)",
    "ioctl(FIDEDUPERANGE)",
    "mprotect(shared)",
    "pkey_mprotect(shared)",
    "mremap(shared)",
    "madvise(MADV_REMOVE)",
    "ioctl(space)",
    "ioctl(exchange)",
    "ioctl(discard)",
    "ioctl(subvolume)",
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().filter(|name| !name.is_empty())
}

/// Name of a number from `TOLD_BASE` on.
pub(super) fn name(number: usize) -> &'static str {
    let name = NAMES.get(number).copied().unwrap_or("");
    if name.is_empty() { "unknown" } else { name }
}

/// The counted number of a name.
pub(crate) fn number(name: &str) -> Option<u32> {
    let at = NAMES.iter().position(|known| *known == name)?;
    u32::try_from(TOLD_BASE + at).ok()
}

/// `ioctl` requests that share file contents (`include/uapi/linux/fs.h`).
pub(crate) const FICLONE: u32 = 0x4004_9409;
pub(crate) const FICLONERANGE: u32 = 0x4020_940d;
pub(crate) const FIDEDUPERANGE: u32 = 0xc018_9436;

/// Other requests that change file contents, by the name under which they are counted: forerunners
/// of `fallocate` (`fs/xfs/libxfs/xfs_fs.h`; `fs/ioctl.c` has some for all file systems), exchanges
/// of contents (`xfs_fs.h`, `fs/ext4/ext4.h`, `include/uapi/linux/f2fs.h`), blocks of a device
/// (`include/uapi/linux/fs.h`), subvolumes (`include/uapi/linux/btrfs.h`).
const REQUESTS: [(&str, &[u32]); 4] = [
    (
        "ioctl(space)",
        &[
            0x4030_5828,
            0x4030_5829,
            0x4030_582a,
            0x4030_582b,
            0x4030_5824,
            0x4030_5825,
            0x4030_580a,
            0x4030_580b,
            0x4030_5839,
        ],
    ),
    (
        "ioctl(exchange)",
        &[
            0xc0c0_586d,
            0x4028_5881,
            0x4048_5883,
            0xc028_660f,
            0xc020_f509,
        ],
    ),
    ("ioctl(discard)", &[0x1277, 0x127d, 0x127f]),
    (
        "ioctl(subvolume)",
        &[
            0x5000_9401,
            0x5000_940e,
            0x5000_940f,
            0x5000_9417,
            0x5000_9418,
            0x5000_943f,
        ],
    ),
];

/// The name under which an `ioctl` request is counted; `None` for one that changes nothing.
pub(crate) fn of_request(request: u32) -> Option<&'static str> {
    let found = REQUESTS.iter().find(|(_, list)| list.contains(&request));
    found.map(|(name, _)| *name)
}

/// These requests for the kernel side, each with its index among the names above.
pub(super) fn requests() -> [u64; 32] {
    let mut table = [0; 32];
    let all = REQUESTS
        .iter()
        .flat_map(|(name, list)| list.iter().map(move |request| (*name, *request)));
    for (entry, (name, request)) in table.iter_mut().zip(all) {
        let at = NAMES.iter().position(|known| *known == name).unwrap_or(0);
        *entry = u64::from(request) | (at as u64) << 32;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_opcodes() {
        use io_uring::opcode;
        assert_eq!(ring_name(opcode::Write::CODE.into()), "io_uring.write");
        assert_eq!(ring_name(opcode::Fsync::CODE.into()), "io_uring.fsync");
        assert_eq!(
            ring_name(opcode::RenameAt::CODE.into()),
            "io_uring.renameat"
        );
        assert_eq!(
            ring_name(opcode::FutexWaitV::CODE.into()),
            "io_uring.futex_waitv"
        );
        assert_eq!(
            ring_name(opcode::Ftruncate::CODE.into()),
            "io_uring.ftruncate"
        );
        assert_eq!(ring_name(1_000), "io_uring.unknown");
    }

    #[test]
    fn requests_are_told_by_their_number() {
        assert_eq!(of_request(0x4030_582a), Some("ioctl(space)"));
        assert_eq!(of_request(0x5401), None, "TCGETS");
        let all: usize = REQUESTS.iter().map(|(_, list)| list.len()).sum();
        let table = requests();
        assert_eq!(table.iter().filter(|entry| **entry != 0).count(), all);
        assert_eq!(table[0], 0x4030_5828 | 23 << 32);
        assert_eq!(number("ioctl(space)"), Some(640 + 23));
    }
}
