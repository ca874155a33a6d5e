//! Names of operations that are counted separately from their call because only its arguments
//! identify them.

use super::wire::{TOLD_BASE, TOLD_SUBVOLUME};

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
