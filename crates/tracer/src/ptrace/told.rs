//! Calls identified only by their arguments, in the same way as in `bpf/told.h`.

use syscalls::Sysno;

use super::calls::{self, CLONE, call, told, told_by};
use super::memory;
use super::place::descriptor;
use super::request::Tid;

/// include/uapi/asm-generic/mman-common.h
const MADV_REMOVE: u64 = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallKind {
    /// The number under which it is counted.
    pub(super) counted: u32,
    /// [`call`] bits.
    pub(super) meaning: u32,
}

/// Identifies a call. The arguments of a call that shares file contents become those of a copy:
/// file written to, file read from, length, offset; the flags of `openat2` replace their address.
pub(super) fn at_entry(tid: Tid, number: Sysno, arguments: &mut [u64; 6]) -> CallKind {
    let usual = CallKind {
        counted: u32::try_from(number.id()).unwrap_or(0),
        meaning: calls::meaning(number),
    };
    let as_name =
        |name: &str, meaning| told::number(name).map(|counted| CallKind { counted, meaning });
    let found = match told_by(number) {
        told_by::HOW => {
            arguments[2] = memory::word(tid, arguments[2]).unwrap_or(0);
            None
        }
        told_by::ADVICE if arguments[2] == MADV_REMOVE => {
            as_name("madvise(MADV_REMOVE)", usual.meaning)
        }
        told_by::IOCTL => asked(tid, arguments).and_then(|(name, meaning)| as_name(name, meaning)),
        _ => None,
    };
    found.unwrap_or(usual)
}

/// The `ioctl` request, if it changes file contents.
fn asked(tid: Tid, arguments: &mut [u64; 6]) -> Option<(&'static str, u32)> {
    // Requests are unsigned int; the upper half is ignored.
    let request = u32::try_from(arguments[1] & u64::from(u32::MAX)).unwrap_or(0);
    match request {
        told::FICLONE => {
            clone(tid, arguments, arguments[2], 0, 0, 0);
            Some(("ioctl(FICLONE)", CLONE))
        }
        told::FICLONERANGE => {
            let [source, from, bytes, to] = memory::words(tid, arguments[2])?;
            clone(tid, arguments, source, from, bytes, to);
            Some(("ioctl(FICLONERANGE)", CLONE))
        }
        told::FIDEDUPERANGE => {
            // The first struct file_dedupe_range_info follows three words.
            let target = memory::word(tid, arguments[2].checked_add(24)?)?;
            arguments[1] = arguments[0];
            arguments[0] = target;
            let meaning = call::FD_FIRST | call::SOURCE_SECOND;
            Some(("ioctl(FIDEDUPERANGE)", meaning))
        }
        other => told::of_request(other).map(|name| (name, call::FD_FIRST)),
    }
}

fn clone(tid: Tid, arguments: &mut [u64; 6], source: u64, from: u64, bytes: u64, to: u64) {
    let size = || {
        let link = format!("/proc/{tid}/fd/{}", descriptor(source));
        std::fs::metadata(link).map_or(0, |source| source.len())
    };
    arguments[1] = source;
    arguments[2] = if bytes > 0 {
        bytes
    } else {
        size().saturating_sub(from)
    };
    arguments[3] = to;
}

/// The bytes that the call moved, where its result does not report them.
pub(super) fn result(tid: Tid, counted: u32, arguments: &[u64; 6], result: i64) -> i64 {
    if result < 0 {
        return result;
    }
    match calls::name(counted) {
        "ioctl(FICLONE)" | "ioctl(FICLONERANGE)" => i64::try_from(arguments[2]).unwrap_or(0),
        "ioctl(FIDEDUPERANGE)" => deduped(tid, arguments[2], 0).map_or(0, |(_, moved)| moved),
        _ => result,
    }
}

/// Destinations of a deduplication request, after the first: their descriptors, and the bytes
/// shared with each, or its negative errno.
pub(super) fn others(tid: Tid, arguments: &[u64; 6]) -> Vec<(i32, i64)> {
    let Some([_, _, counts]) = memory::words(tid, arguments[2]) else {
        return Vec::new();
    };
    let count = counts & u64::from(u16::MAX);
    (1..count)
        .map_while(|index| deduped(tid, arguments[2], index))
        .collect()
}

fn deduped(tid: Tid, range: u64, index: u64) -> Option<(i32, i64)> {
    let at = range.checked_add(24 + 32 * index)?;
    let [target, _, bytes, status] = memory::words(tid, at)?;
    let status = descriptor(status);
    let moved = if status < 0 {
        i64::from(status)
    } else {
        i64::try_from(bytes).unwrap_or(0)
    };
    Some((descriptor(target), moved))
}
