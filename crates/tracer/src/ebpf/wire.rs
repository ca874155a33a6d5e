//! What crosses between the kernel and the loader: `bpf/wire.h` in Rust.
//!
//! Sizes are asserted here and, with the same figures, in `bpf/wire.h`; the field
//! order is checked against `bpf/wire.h` by `tests/object.rs`.
#![expect(unsafe_code, reason = "aya::Pod is an unsafe trait")]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub(super) const HISTOGRAM_BUCKETS: usize = 40;
pub(super) const PIECES: usize = 8;
pub(super) const SYSCALLS: usize = 512;

/// Bits of the call table (`CALL_*` in `bpf/wire.h`).
pub(super) mod call {
    pub(crate) const FD_FIRST: u8 = 1;
    pub(crate) const FD_RETURNED: u8 = 2;
    pub(crate) const FD_THIRD: u8 = 4;
    pub(crate) const READS: u8 = 8;
    pub(crate) const CLOSES: u8 = 16;
    pub(crate) const STREAMED: u8 = 32;
    pub(crate) const VECTORED: u8 = 64;
    pub(crate) const FD_FIFTH: u8 = 128;
}

/// Indices of the `losses` map.
pub(super) mod loss {
    pub(crate) const CALLS: u32 = 0;
    pub(crate) const CACHE: u32 = 1;
    pub(crate) const BLOCK: u32 = 2;
    pub(crate) const STREAM: u32 = 3;
    pub(crate) const TASKS: u32 = 4;
    pub(crate) const COMPAT: u32 = 5;
}

/// Entries of `Config::end_io` (`enum end_io` in `bpf/wire.h`).
pub(super) const END_IOS: usize = 8;

pub(super) const EVENT_CALL: u32 = 1;
pub(super) const EVENT_REQUEST: u32 = 2;

macro_rules! wire {
    ($(#[$doc:meta])* struct $name:ident($bytes:literal) { $($field:ident: $kind:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout)]
        pub(super) struct $name { $(pub(super) $field: $kind),+ }
        const _: () = assert!(size_of::<$name>() == $bytes);
        // SAFETY: repr(C), made of integers, without padding (IntoBytes proves it).
        unsafe impl aya::Pod for $name {}
    };
}

wire! {
    /// One inode's life; all zero for none.
    #[derive(Default)]
    struct FileKey(16) { inode: u64, device: u32, generation: u32 }
}
wire! {
    struct CallKey(24) { file: FileKey, nr: u32, cpu: u32 }
}
wire! {
    struct CallValue(200) {
        count: u64, errors: u64, returned: u64, time_ns: u64, blocked_ns: u64,
        histogram: [u32; HISTOGRAM_BUCKETS],
    }
}
wire! {
    struct CacheKey(24) { file: FileKey, metadata: u32, cpu: u32 }
}
wire! {
    struct CacheValue(32) {
        lookups_pages: u64, missed_pages: u64, filled_pages: u64, dirtied_bytes: u64,
    }
}
wire! {
    struct BlockKey(32) {
        file: FileKey, disk: u32, cpu: u32, cause: u8, phase: u8, by_tree: u8, pad: [u8; 5],
    }
}
wire! {
    struct BlockValue(24) { count: u64, bytes: u64, time_ns: u64 }
}
wire! {
    #[derive(Default)]
    struct Totals(32) { on_cpu_ns: u64, minor_faults: u64, major_faults: u64, tasks: u64 }
}
wire! {
    #[derive(Default)]
    struct Config(80) {
        root: u32, phase: u32, stream_calls: u32, stream_requests: u32,
        end_io: [u64; END_IOS],
    }
}
wire! {
    struct CallEvent(128) {
        kind: u32, nr: u32, process: u32, thread: u32, entered_ns: u64, took_ns: u64,
        result: i64, file: FileKey, pieces: u32, pieces_read: u32, piece_bytes: [u64; PIECES],
    }
}
wire! {
    struct RequestEvent(72) {
        kind: u32, disk: u32, file: FileKey, file_offset: u64, sector: u64, bytes: u64,
        issued_ns: u64, completed_ns: u64, cause: u8, phase: u8, by_tree: u8,
        forced_unit_access: u8, pad: u32,
    }
}

impl CallValue {
    pub(super) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.errors += other.errors;
        self.returned += other.returned;
        self.time_ns += other.time_ns;
        self.blocked_ns += other.blocked_ns;
        for (sum, count) in self.histogram.iter_mut().zip(other.histogram) {
            *sum += count;
        }
    }

    pub(super) const ZERO: Self = Self {
        count: 0,
        errors: 0,
        returned: 0,
        time_ns: 0,
        blocked_ns: 0,
        histogram: [0; HISTOGRAM_BUCKETS],
    };
}

impl CacheValue {
    pub(super) fn add(&mut self, other: &Self) {
        self.lookups_pages += other.lookups_pages;
        self.missed_pages += other.missed_pages;
        self.filled_pages += other.filled_pages;
        self.dirtied_bytes += other.dirtied_bytes;
    }
}

impl BlockValue {
    pub(super) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.time_ns += other.time_ns;
    }
}
