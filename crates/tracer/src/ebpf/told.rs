//! Names of what is counted apart from its call because only the arguments tell what it is.

/// By number, from `TOLD_BASE` on: operations of libaio by their opcode
/// (`include/uapi/linux/aio_abi.h`), then `enum told` of `bpf/wire.h`. Empty where there is none.
const NAMES: [&str; 27] = [
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

/// All of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().filter(|name| !name.is_empty())
}

/// Name of a number from `TOLD_BASE` on.
pub(super) fn name(number: usize) -> &'static str {
    let name = NAMES.get(number).copied().unwrap_or("");
    if name.is_empty() { "unknown" } else { name }
}

/// The number, from `TOLD_BASE` on, of a name.
pub(crate) fn number(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
}
