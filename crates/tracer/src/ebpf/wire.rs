//! The data shared by the kernel side and the loader: `bpf/wire.h` in Rust.
//!
//! Sizes are asserted here and, with the same figures, in `bpf/wire.h`; the field
//! order is checked against `bpf/wire.h` by `tests/object.rs`.
#![expect(unsafe_code, reason = "aya::Pod is an unsafe trait")]

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub(super) const HISTOGRAM_BUCKETS: usize = 40;
pub(super) const SIZE_BUCKETS: usize = 32;
pub(super) const PIECES: usize = 8;
/// Maximum number of calls in one event.
pub(super) const FEW: usize = 4;
pub(super) const SYSCALLS: usize = 512;

/// First numbers of io_uring operations, of calls that only their arguments identify, and of files
/// read from, which are the highest.
pub(super) const RING_BASE: usize = SYSCALLS;
pub(crate) const TOLD_BASE: usize = RING_BASE + 128;
pub(super) const SOURCE_BASE: usize = TOLD_BASE + 32;
pub(super) const NUMBERS: usize = 2 * SOURCE_BASE;

/// Bits of the call table (`CALL_*` in `bpf/wire.h`).
pub(crate) mod call {
    pub(crate) const FD_FIRST: u32 = 1;
    pub(crate) const FD_RETURNED: u32 = 2;
    pub(crate) const FD_THIRD: u32 = 4;
    pub(crate) const READS: u32 = 8;
    pub(crate) const CLOSES: u32 = 16;
    pub(crate) const STREAMED: u32 = 32;
    pub(crate) const VECTORED: u32 = 64;
    pub(crate) const FD_FIFTH: u32 = 128;
    pub(crate) const WRITES: u32 = 256;
    pub(crate) const OFFSET: u32 = 512;
    pub(crate) const POSITION: u32 = 1024;
    pub(crate) const STEP: u32 = 2048;
    pub(crate) const SOURCE_FIRST: u32 = 4096;
    pub(crate) const SOURCE_SECOND: u32 = 8192;
    pub(crate) const MOVES: u32 = 16384;
    pub(crate) const STOPS: u32 = 32768;
    pub(crate) const TOUCHES: u32 = 1 << 20;
    pub(crate) const PLACES: u32 = 1 << 21;
    pub(crate) const NODE: u32 = 1 << 22;
    pub(crate) const TOLD: u32 = 65536;
    pub(crate) const FLAGS: u32 = 131_072;
    pub(crate) const SENDS: u32 = 1 << 23;
    pub(crate) const COMMAND: u32 = 1 << 24;
}

/// Which arguments are paths (`PATH_*` in `bpf/wire.h`).
pub(crate) mod path {
    pub(crate) const FIRST: u8 = 1;
    pub(crate) const AT: u8 = 2;
    pub(crate) const TWO: u8 = 3;
    pub(crate) const TWO_AT: u8 = 4;
    pub(crate) const SECOND: u8 = 5;
    pub(crate) const THIRD_AT: u8 = 6;
    pub(crate) const AND_NAME: u8 = 7;
    pub(crate) const ONLY_NAME: u8 = 8;
}

/// In place of a length: the argument that has it (`EXTRA_LENGTH` in `bpf/wire.h`).
pub(crate) const EXTRA_LENGTH: u16 = 0x80;

/// What identifies a call (`TOLD_BY_*` in `bpf/wire.h`).
pub(crate) mod told_by {
    pub(crate) const IOCTL: u8 = 1;
    pub(crate) const SUBMITTING: u8 = 2;
    pub(crate) const FETCHING: u8 = 3;
    pub(crate) const HOW: u8 = 4;
    pub(crate) const MAPPING: u8 = 5;
    pub(crate) const PROTECTING: u8 = 6;
    pub(crate) const KEYED_PROTECTING: u8 = 7;
    pub(crate) const MOVING: u8 = 8;
    pub(crate) const ADVICE: u8 = 9;
}

/// Bits of [`RunEvent::flags`] (`RUN_*` in `bpf/wire.h`).
pub(super) mod run {
    pub(crate) const DURABLE: u32 = 1;
    pub(crate) const DATA_ONLY: u32 = 2;
}

/// Indices of the `losses` map.
pub(super) mod loss {
    pub(crate) const CALLS: u32 = 0;
    pub(crate) const CACHE: u32 = 1;
    pub(crate) const BLOCK: u32 = 2;
    pub(crate) const STREAM: u32 = 3;
    pub(crate) const TASKS: u32 = 4;
    pub(crate) const COMPAT: u32 = 5;
    pub(crate) const NAMES: u32 = 6;
    pub(crate) const HISTORY: u32 = 7;
    pub(crate) const PAYLOAD: u32 = 8;
    pub(crate) const MOMENTS: u32 = 9;
    pub(crate) const ARGUMENTS: u32 = 10;
    pub(crate) const COMPLETIONS: u32 = 11;
    pub(crate) const RESULTS: u32 = 12;
    pub(crate) const ORPHANS: u32 = 13;
    pub(crate) const ENDS: u32 = 14;
    pub(crate) const COMMITS: u32 = 15;
    pub(crate) const ALL: u32 = 16;
}

/// Progress of the start of a session (`enum adoption` in `bpf/wire.h`).
pub(super) mod adoption {
    pub(crate) const OVER: u32 = 0;
    pub(crate) const PREPARES: u32 = 1;
    pub(crate) const RUNS: u32 = 2;
    pub(crate) const AGAIN: u32 = 3;
}

/// Who belongs to the tree besides the root (`enum wants` in `bpf/wire.h`).
pub(super) mod wants {
    pub(crate) const ROOTS: u32 = 1;
    pub(crate) const GROUPS: u32 = 2;
    pub(crate) const NAMES: u32 = 4;
}

/// Entries of `wanted_groups` and `wanted_names`.
pub(super) const WANTED: usize = 1024;

/// How a process joined (`enum joined_by` in `bpf/wire.h`).
pub(super) mod joined_by {
    pub(crate) const FORK: u32 = 1;
    pub(crate) const MOVE: u32 = 2;
    pub(crate) const COMM: u32 = 4;
    pub(crate) const EXECUTABLE: u32 = 8;
    pub(crate) const ARGUMENT: u32 = 16;
}

/// `enum purpose` and `enum cause` in `bpf/wire.h`.
pub(super) const PURPOSES: usize = 4;
pub(super) const CAUSES: usize = 8;

/// The use of a device, and by whom (`enum use` in `bpf/wire.h`).
pub(super) mod using {
    pub(crate) const TREE_CHANGED: u32 = 0;
    pub(crate) const OTHERS_CHANGED: u32 = 1;
    pub(crate) const OTHERS_WROTE: u32 = 2;
    pub(crate) const OTHERS_READ: u32 = 3;
}

/// Entries of the `uses` map: a full map may lack some.
pub(super) const USES: usize = 4096;

/// Entries of `Config::end_io` (`enum end_io` in `bpf/wire.h`).
pub(super) const END_IOS: usize = 8;

pub(super) const EVENT_CALL: u32 = 1;
pub(super) const EVENT_REQUEST: u32 = 2;
pub(super) const EVENT_NAME: u32 = 3;
pub(super) const EVENT_STEP: u32 = 4;
pub(super) const EVENT_RUN: u32 = 5;
pub(super) const EVENT_TASK: u32 = 6;
pub(super) const EVENT_PAYLOAD: u32 = 7;
pub(super) const EVENT_STOP: u32 = 8;
pub(super) const EVENT_FEW: u32 = 9;
pub(super) const EVENT_CACHE: u32 = 10;
pub(super) const EVENT_TOUCHED: u32 = 11;
pub(super) const EVENT_REPORT: u32 = 12;
pub(super) const EVENT_ASKED: u32 = 13;

/// How far up the names of a path reach (`enum path_end` in `bpf/wire.h`).
pub(super) mod path_end {
    pub(crate) const CUT: u16 = 0;
    pub(crate) const IN_FILE_SYSTEM: u16 = 2;
}

/// Bits of [`TouchedEvent::flags`] (`TOUCHED_*` in `bpf/wire.h`).
pub(super) mod touched {
    pub(crate) const AFTER: u32 = 1;
    pub(crate) const OVERLAY: u32 = 2;
    pub(crate) const NAMED: u32 = 4;
    pub(crate) const HASHED: u32 = 8;
}

/// The location of a part of a payload (`enum payload_form` in `bpf/wire.h`).
pub(super) mod form {
    pub(crate) const HERE: u32 = 0;
    pub(crate) const IN_MEMORY: u32 = 1;
    pub(crate) const IN_FILE: u32 = 2;
    pub(crate) const READ: u32 = 4;
    pub(crate) const MAPPED: u32 = 5;
    pub(crate) const TOUCHED: u32 = 6;
    pub(crate) const OPENED: u32 = 7;
}

/// How the offset of a write was determined (`enum landing` in `bpf/wire.h`).
pub(super) mod landing {
    pub(crate) const POSITION: u32 = 1;
    pub(crate) const END: u32 = 2;
}

pub(super) const EVENT_SITE: u32 = 16;

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
    /// One life of an inode; all zero for none.
    #[derive(Default)]
    struct FileKey(16) { inode: u64, device: u32, generation: u32 }
}
wire! {
    struct CallKey(24) { file: FileKey, nr: u32, cpu: u32 }
}
wire! {
    struct CallValue(384) {
        count: u64, errors: u64, returned: u64, time_ns: u64, blocked_ns: u64,
        pairs: u64, sequential: u64, backward: u64, empty: u64, furthest: u64,
        first_ns: u64, last_ns: u64,
        histogram: [u32; HISTOGRAM_BUCKETS], sizes: [u32; SIZE_BUCKETS],
    }
}
wire! {
    struct CacheKey(24) { file: FileKey, metadata: u32, cpu: u32 }
}
wire! {
    #[derive(Default)]
    struct CacheValue(32) {
        lookups_pages: u64, missed_pages: u64, filled_pages: u64, dirtied_bytes: u64,
    }
}
wire! {
    struct BlockKey(32) {
        file: FileKey, disk: u32, cpu: u32, cause: u8, phase: u8, by_tree: u8, pad: u8, process: u32,
    }
}
wire! {
    struct UseKey(8) { device: u32, using: u32 }
}
wire! {
    struct BlockValue(40) { count: u64, bytes: u64, time_ns: u64, ended: u64, longest_ns: u64 }
}
wire! {
    /// What one process did with one file in one interval (`bpf/top.h`).
    struct ShareKey(32) { file: FileKey, process: u32, interval: u32, cpu: u32, pad: u32 }
}
wire! {
    #[derive(Default)]
    struct ShareSum(40) { count: u64, errors: u64, bytes: u64, time_ns: u64, longest_ns: u64 }
}
wire! {
    #[derive(Default)]
    struct ShareValue(232) { of: [ShareSum; PURPOSES], synchronous: ShareSum, cache: CacheValue }
}
wire! {
    struct CommitKey(32) { file: FileKey, device: u32, transaction: u32, process: u32, interval: u32 }
}
wire! {
    struct ActorKey(8) { process: u32, interval: u32 }
}
wire! {
    struct ActorValue(32) { cgroup: u64, parent: u32, pad: u32, name: [u8; 16] }
}
wire! {
    #[derive(Default)]
    struct Totals(32) { on_cpu_ns: u64, minor_faults: u64, major_faults: u64, tasks: u64 }
}
wire! {
    #[derive(Default)]
    struct MomentSum(24) { count: u64, bytes: u64, time_ns: u64 }
}
wire! {
    struct Moment(96) { of: [MomentSum; PURPOSES] }
}
wire! {
    struct RequestMomentKey(8) { moment: u32, disk: u32 }
}
wire! {
    struct RequestMomentValue(128) { count: [u64; CAUSES], bytes: [u64; CAUSES] }
}
wire! {
    #[derive(Default)]
    struct Config(104) {
        root: u32, phase: u32, stream_calls: u32, stream_requests: u32,
        end_io: [u64; END_IOS], started_ns: u64, adoption: u32, ends: u32, wants: u32,
        wants_pad: u32,
    }
}
wire! {
    struct ClaimKey(16) { task: u64, started: u64 }
}
wire! {
    #[derive(Default)]
    struct Known(72) {
        namespace: u64, level: u32, process: u32, adopted: u64, executed: u64, living: u64,
        late: u64, gone: u64, moved: u64, unlisted: u64,
    }
}
wire! {
    struct WantedName(64) { name: [u8; 64] }
}
wire! {
    struct JoinedKey(16) { numbers: u64, started: u64 }
}
wire! {
    struct Joined(24) { by: u32, pad: u32, name: [u8; 16] }
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

wire! {
    struct NameEvent(88) {
        kind: u32, mode: u32, file: FileKey, base: FileKey, size: u64, bytes: u32, complete: u16,
        as_base: u16, superblock: u32, shown_device: u32, shown_inode: u64,
        filesystem: [u8; 16],
    }
}
wire! {
    struct TouchedEvent(72) {
        kind: u32, thread: u32, file: FileKey, parent: FileKey, mode: u32, flags: u32, bytes: u32,
        device: u32, size: u64, request: u64,
    }
}
wire! {
    struct StepEvent(168) {
        kind: u32, nr: u32, process: u32, thread: u32, entered_ns: u64, left_ns: u64,
        result: i64, file: FileKey, argument: [u64; 5], mode: u32, flags: u32,
        base: [FileKey; 2], bytes: [u32; 2], open_file: u64, inode_mode: u32, extra: u32,
        request: u64,
    }
}
wire! {
    struct RunEvent(96) {
        kind: u32, nr: u32, process: u32, thread: u32, started_ns: u64, ended_ns: u64,
        file: FileKey, count: u64, bytes: u64, from: u64, to: u64, sequential: u64,
        flags: u32, error: i32,
    }
}
wire! {
    struct ReportEvent(40) {
        kind: u32, nr: u32, process: u32, thread: u32, started_ns: u64, ended_ns: u64, count: u64,
    }
}
wire! {
    struct SiteEvent(88) {
        kind: u32, nr: u32, process: u32, parent: u32, execs: u64, file: FileKey, spent_ns: u64,
        ip: u64, sp: u64, bp: u64, ended_ns: u64, thread: u32, bytes: u32,
    }
}
/// CPU time of a thread that has ended (`bpf/wire.h`).
pub(super) const NOT_KNOWN: u64 = u64::MAX;

wire! {
    struct TaskEvent(112) {
        kind: u32, thread: u32, process: u32, parent: u32, started_ns: u64, ended_ns: u64,
        on_cpu_ns: u64, minor_faults: u64, major_faults: u64, calls: u64, time_ns: u64,
        blocked_ns: u64, read_bytes: u64, written_bytes: u64, name: [u8; 16],
    }
}
wire! {
    struct PayloadEvent(144) {
        kind: u32, nr: u32, process: u32, thread: u32, entered_ns: u64, left_ns: u64,
        file: FileKey, offset: u64, bytes: u64, at: u64, part: u64, address: u64, form: u32,
        descriptor: u32, mode: u32, landing: u32, open_file: u64, lowest: u64, looked_ns: u64,
        seen_ns: u64, flags: u32,
        call_flags: u32,
    }
}
wire! {
    struct FewEvent(88) {
        kind: u32, nr: u32, file: FileKey, returned: u64, time_ns: u64, blocked_ns: u64,
        furthest: u64, first_ns: u64, last_ns: u64, count: u8, errors: u8, pairs: u8, sequential: u8, backward: u8, empty: u8,
        pad: [u8; 2], buckets: [u8; FEW], sizes: [u8; FEW],
    }
}
wire! {
    struct CacheEvent(56) { kind: u32, metadata: u32, file: FileKey, value: CacheValue }
}
wire! {
    /// A libaio operation whose result no call fetched (`bpf/aio.h`).
    struct Submission(64) {
        entered_ns: u64, process: u32, thread: u32, opcode: u32, mode: u32, file: FileKey,
        offset: i64, bytes: u64, flags: u32, pad: u32,
    }
}
wire! {
    struct SubmissionKey(16) { block: u64, process: u64 }
}
wire! {
    /// An io_uring operation that has not ended (`bpf/ring.h`).
    struct Operation(64) {
        entered_ns: u64, process: u32, thread: u32, opcode: u32, flags: u32, at: u64, bytes: u64,
        closes: FileKey, closes_mode: u32, descriptor: u32,
    }
}
wire! {
    struct StopEvent(16) { kind: u32, process: u32, thread: u32, error: i32 }
}

/// Saturating sum of kernel-side figures: real sums never reach the limit.
pub(super) fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

impl RunEvent {
    /// Whether it syncs only what is needed to read the data (fdatasync(2)).
    pub(super) fn is_data_only(&self) -> bool {
        self.flags & run::DATA_ONLY != 0
    }
}

/// Begin of the first and end of the last of so many calls and of others; zeros where that is not
/// known of all.
pub(super) fn span_of(
    (count, span): (u64, (u64, u64)),
    (more, other): (u64, (u64, u64)),
) -> (u64, u64) {
    match (count, more) {
        (_, 0) => span,
        (0, _) => other,
        _ if span.0 == 0 || other.0 == 0 => (0, 0),
        _ => (span.0.min(other.0), span.1.max(other.1)),
    }
}

impl CallValue {
    /// Takes in when so many more calls were; before they are counted.
    pub(super) fn lengthen(&mut self, more: u64, other: (u64, u64)) {
        let own = (self.first_ns, self.last_ns);
        (self.first_ns, self.last_ns) = span_of((self.count, own), (more, other));
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.lengthen(other.count, (other.first_ns, other.last_ns));
        add(&mut self.count, other.count);
        add(&mut self.errors, other.errors);
        add(&mut self.returned, other.returned);
        add(&mut self.time_ns, other.time_ns);
        add(&mut self.blocked_ns, other.blocked_ns);
        add(&mut self.pairs, other.pairs);
        add(&mut self.sequential, other.sequential);
        add(&mut self.backward, other.backward);
        add(&mut self.empty, other.empty);
        self.furthest = self.furthest.max(other.furthest);
        for (sum, count) in self.histogram.iter_mut().zip(other.histogram) {
            *sum = sum.saturating_add(count);
        }
        for (sum, count) in self.sizes.iter_mut().zip(other.sizes) {
            *sum = sum.saturating_add(count);
        }
    }
}

impl CacheValue {
    pub(super) fn add(&mut self, other: &Self) {
        add(&mut self.lookups_pages, other.lookups_pages);
        add(&mut self.missed_pages, other.missed_pages);
        add(&mut self.filled_pages, other.filled_pages);
        add(&mut self.dirtied_bytes, other.dirtied_bytes);
    }
}

impl BlockValue {
    pub(super) fn add(&mut self, other: &Self) {
        add(&mut self.count, other.count);
        add(&mut self.bytes, other.bytes);
        add(&mut self.time_ns, other.time_ns);
        add(&mut self.ended, other.ended);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

impl ShareValue {
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, more) in self.of.iter_mut().zip(&other.of) {
            sum.add(more);
        }
        self.synchronous.add(&other.synchronous);
        self.cache.add(&other.cache);
    }
}

impl ShareSum {
    fn add(&mut self, more: &Self) {
        add(&mut self.count, more.count);
        add(&mut self.errors, more.errors);
        add(&mut self.bytes, more.bytes);
        add(&mut self.time_ns, more.time_ns);
        self.longest_ns = self.longest_ns.max(more.longest_ns);
    }
}
