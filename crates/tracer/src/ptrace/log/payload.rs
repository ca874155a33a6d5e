//! The buffers of a write, in the memory of a stopped thread.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use blake3::Hash;

use crate::ptrace::calls::call;
use crate::ptrace::memory;
use crate::ptrace::request::Tid;

/// Bytes read and compared at a time.
pub(super) const CHUNK: usize = 1 << 20;

/// `UIO_MAXIOV` (include/uapi/linux/uio.h)
const MOST_VECTORS: u64 = 1024;

/// Addresses and lengths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Buffers(Vec<(u64, u64)>);

impl Buffers {
    /// Those of a write; none for a call that moves bytes inside the kernel.
    pub(super) fn of(tid: Tid, meaning: u32, arguments: &[u64; 6]) -> Option<Self> {
        if meaning & (call::SOURCE_FIRST | call::SOURCE_SECOND) != 0 {
            return None;
        }
        if meaning & call::VECTORED == 0 {
            return Some(Self(vec![(arguments[1], arguments[2])]));
        }
        let vectors = (0..arguments[2].min(MOST_VECTORS)).map_while(|index| {
            let [address, bytes] = memory::words(tid, arguments[1].checked_add(16 * index)?)?;
            Some((address, bytes))
        });
        Some(Self(vectors.collect()))
    }

    fn bytes(&self) -> u64 {
        let lengths = self.0.iter().map(|(_, bytes)| *bytes);
        lengths.fold(0, u64::saturating_add)
    }

    /// The readable part of their contents from `at` on.
    pub(super) fn read(&self, tid: Tid, at: u64, into: &mut Vec<u8>, bytes: usize) {
        into.clear();
        let mut skipped = 0_u64;
        for (address, length) in &self.0 {
            let begin = at.saturating_add(into.len() as u64).saturating_sub(skipped);
            skipped = skipped.saturating_add(*length);
            if begin >= *length {
                continue;
            }
            let wanted =
                (bytes - into.len()).min(usize::try_from(*length - begin).unwrap_or(bytes));
            let had = memory::append(tid, address.wrapping_add(begin), into, wanted);
            if had < wanted || into.len() == bytes {
                return;
            }
        }
    }

    /// A checksum for each chunk.
    pub(super) fn hash(&self, tid: Tid) -> Vec<Hash> {
        let (mut at, mut buffer, mut sums) = (0, Vec::new(), Vec::new());
        let whole = self.bytes();
        while at < whole {
            self.read(tid, at, &mut buffer, CHUNK);
            sums.push(blake3::hash(&buffer));
            if buffer.is_empty() {
                break;
            }
            at += buffer.len() as u64;
            if buffer.len() < CHUNK {
                break;
            }
        }
        sums
    }
}

/// The file's contents there; `None` if they are incomplete.
pub(super) fn in_file(file: &File, offset: u64, bytes: usize, into: &mut Vec<u8>) -> Option<()> {
    into.resize(bytes, 0);
    file.read_exact_at(into, offset).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(bytes: &[u8]) -> u64 {
        bytes.as_ptr().addr() as u64
    }

    #[test]
    fn buffers_follow_each_other() {
        let me = std::process::id();
        let (one, other) = (std::hint::black_box(b"one"), std::hint::black_box(b"other"));
        let vectors = [address(one), 3, 8, 0, address(other), 5].map(u64::to_ne_bytes);
        let at = address(std::hint::black_box(vectors.as_flattened()));
        let buffers = Buffers::of(me, call::VECTORED, &[0, at, 3, 0, 0, 0]).unwrap();
        let mut read = Vec::new();
        buffers.read(me, 0, &mut read, 8);
        assert_eq!(read, b"oneother");
        buffers.read(me, 2, &mut read, 3);
        assert_eq!(read, b"eot");
        buffers.read(me, 4, &mut read, 100);
        assert_eq!(read, b"ther");
        assert_eq!(buffers.hash(me), [blake3::hash(b"oneother")]);
    }

    #[test]
    fn what_cannot_be_read_ends_it() {
        let me = std::process::id();
        let one = std::hint::black_box(b"one");
        let buffers = Buffers(vec![(address(one), 3), (8, 5)]);
        let mut read = Vec::new();
        buffers.read(me, 0, &mut read, 8);
        assert_eq!(read, b"one");
        buffers.read(me, 3, &mut read, 5);
        assert!(read.is_empty());
        assert_eq!(Buffers::of(me, call::SOURCE_FIRST, &[0; 6]), None);
    }
}
