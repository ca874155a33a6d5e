//! `lab copy`: which system calls copy a file fastest, and why?

mod answers;
mod figures;

use serde::{Deserialize, Serialize};

use crate::bytes;
use crate::gap::Missing;
use crate::judge::Judged;
use crate::lab::{self, ExperimentResult, Joined, Row, Stamp, Stamped};
use crate::timing::Timing;
pub use answers::{answers, replies};
pub use figures::{Figures, Limit, figures};

/// The question the experiment answers.
pub const QUESTION: &str = "which system calls copy a file fastest, and why?";

names! {
    /// How the bytes get from one file into the other.
    pub enum CopyMethod {
        /// The C library's `fgetc` and `fputc`, one call a byte.
        FgetcFputc = "fgetc_fputc",
        /// The C library's `getc_unlocked` and `putc_unlocked`, which take no lock.
        GetcUnlocked = "getc_unlocked",
        /// `read` and `write` with one buffer.
        ReadWrite = "read_write",
        /// `readv` and `writev` with the buffer in [`PIECES`] pieces.
        ReadvWritev = "readv_writev",
        /// Both files mapped, copied in user space.
        MmapMemcpy = "mmap_memcpy",
        /// The source mapped, and handed to `write`.
        MmapWrite = "mmap_write",
        /// `sendfile`.
        Sendfile = "sendfile",
        /// `splice` into a pipe and out of it.
        Splice = "splice",
        /// `copy_file_range`, which may share blocks where the file system can.
        CopyFileRange = "copy_file_range",
        /// `FICLONE`: the target gets the source's blocks, shared until one is changed.
        Reflink = "reflink",
        /// `io_uring`: reads and writes, several under way at once.
        IoUring = "io_uring",
        /// `read` and `write` with `O_DIRECT` on both files.
        Direct = "direct",
        /// The program `cp`, as the yardstick.
        Cp = "cp",
    }
}

/// Pieces of the buffer in [`CopyMethod::ReadvWritev`].
pub const PIECES: u64 = 8;

/// Bytes that addresses, lengths and offsets of [`CopyMethod::Direct`] are multiples of: the
/// largest logical block of disks in use.
pub const DIRECT_ALIGNMENT_BYTES: u64 = 4096;

impl CopyMethod {
    /// Whether its buffer's size is chosen, and not its own affair.
    pub fn has_buffer(self) -> bool {
        matches!(
            self,
            Self::ReadWrite | Self::ReadvWritev | Self::IoUring | Self::Direct
        )
    }
}

names! {
    /// Where the source's bytes are when the copy begins.
    pub enum Source {
        /// All in the page cache.
        Warm = "warm",
        /// In no page of the page cache.
        Cold = "cold",
    }
}

names! {
    /// The target that the copy overwrites.
    #[derive(Default)]
    pub enum Destination {
        /// Nothing: the copy makes its file.
        #[default]
        Fresh = "fresh",
        /// A file of the same size, whose blocks are overwritten.
        Existing = "existing",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "CopyCase"))]
pub struct Case {
    pub method: CopyMethod,
    /// Bytes of the program's buffer; `None` where there is none or its size is
    /// another's affair.
    pub buffer_bytes: Option<u64>,
    /// Whether the source was in the page cache.
    pub source: Source,
    /// Whether the copy ends with an `fsync` of the target, which is in the time.
    pub durable: bool,
    /// Bytes that are copied.
    pub size_bytes: u64,
    /// The target that is overwritten.
    pub destination: Destination,
}

impl lab::Case for Case {
    const EXPERIMENT: &'static str = "copy";

    fn label(&self) -> String {
        let mut words = vec![self.method.as_str().to_owned()];
        if self.has_whole_buffer() {
            words.push("whole buffer".to_owned());
        } else if let Some(size) = self.buffer_bytes {
            words.push(format!("{} buffer", bytes::short(size)));
        }
        words.push(format!(
            "{} {}",
            bytes::short(self.size_bytes),
            self.source.as_str()
        ));
        if self.durable {
            words.push("durable".to_owned());
        }
        if self.destination == Destination::Existing {
            words.push("existing target".to_owned());
        }
        words.join(", ")
    }
}

impl Case {
    /// Whether one buffer takes the whole file.
    pub fn has_whole_buffer(&self) -> bool {
        self.buffer_bytes == Some(self.size_bytes)
    }
}

pub type CopyResult = ExperimentResult<CopyRow, Yardsticks, Verified>;

/// The parts of the result besides rows and answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Yardsticks {
    /// The best this machine could do, measured between the copies.
    pub yardsticks: Vec<Yardstick>,
}

/// How the copies were checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Verified {
    /// Copies made in all, each with its hash compared with the source's.
    pub verified_copies: u64,
}

/// A row with its derived figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CopyRow {
    /// Case, timing, evidence.
    #[serde(flatten)]
    pub row: Row<Case>,
    /// Whether every copy of the row, those of the timing runs included, had the
    /// source's BLAKE3 hash. A run in which one had not is an error and gives no row.
    pub verified: bool,
    /// Figures computed from timing and evidence.
    pub figures: Figures,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Copying as many bytes once in memory, from and to memory that was touched before.
    MemoryCopy,
    /// Copying as many bytes within [`CACHED_BYTES`], which the processor's cache holds.
    CachedCopy,
    /// Touching every page of the same amount of new memory: the cost of its page faults.
    FreshMemory,
    /// Writing as many bytes to a new file with `O_DIRECT`, and `fdatasync`.
    DeviceWrite,
    /// Reading as many bytes of the source with `O_DIRECT`.
    DeviceRead,
    /// Starting `cp` without a file to copy.
    ProgramStart,
}

/// Memory of [`Measure::CachedCopy`]: source and copy together fit a second-level cache.
pub const CACHED_BYTES: u64 = 64 << 10;

impl Measure {
    /// The name in tables and sentences.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryCopy => "memory copy",
            Self::CachedCopy => "memory copy within 64 KiB",
            Self::FreshMemory => "touching new memory",
            Self::DeviceWrite => "device write",
            Self::DeviceRead => "device read",
            Self::ProgramStart => "starting cp",
        }
    }

    /// Whether it belongs to a file system and not to the machine.
    pub fn is_of_target(self) -> bool {
        matches!(self, Self::DeviceWrite | Self::DeviceRead)
    }
}

/// The limits of this machine, for comparison with the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Yardstick {
    pub measure: Measure,
    /// File system it was measured on; `None` if it needs none.
    pub target: Option<String>,
    /// Bytes moved or touched; 0 where none are.
    pub size_bytes: u64,
    /// Times, interleaved with those of the rows.
    pub timing: Timing,
    /// Bytes per second, from the median time; `None` where no bytes are moved.
    pub bytes_per_s: Option<f64>,
    /// The machine it was found on, in a result of several machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

impl Yardstick {
    /// Computes the rate.
    pub fn new(measure: Measure, target: Option<String>, size_bytes: u64, timing: Timing) -> Self {
        let rate = size_bytes as f64 / timing.median_s;
        Self {
            measure,
            target,
            size_bytes,
            bytes_per_s: (size_bytes > 0 && timing.median_s > 0.0).then_some(rate),
            timing,
            machine: None,
        }
    }
}

impl CopyRow {
    /// Computes the figures of a row whose copies were all verified.
    pub fn new(row: Row<Case>, yardsticks: &[Yardstick]) -> Self {
        let figures = figures(&row, yardsticks);
        Self {
            row,
            verified: true,
            figures,
        }
    }
}

impl Judged for CopyRow {
    type Case = Case;
    /// The method, of rows that are warm and end in the page cache.
    type Kind = Option<CopyMethod>;

    fn row(&self) -> &Row<Case> {
        &self.row
    }

    fn kind(&self) -> Option<CopyMethod> {
        let case = &self.row.case;
        (case.source == Source::Warm && !case.durable).then_some(case.method)
    }

    fn size_bytes(&self) -> u64 {
        self.row.case.size_bytes
    }

    /// `read_write 64 KiB`, `sendfile`.
    fn name(&self) -> String {
        let case = &self.row.case;
        let method = case.method.as_str();
        match case.buffer_bytes {
            Some(_) if case.has_whole_buffer() => format!("{method} whole file"),
            Some(bytes) => format!("{method} {}", bytes::exact(bytes)),
            None => method.to_owned(),
        }
    }
}

impl Stamped for CopyRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        self.row.put_on(stamp);
    }
}

impl Stamped for Yardsticks {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for yardstick in &mut self.yardsticks {
            stamp.machine(&mut yardstick.machine);
            if let Some(target) = &mut yardstick.target {
                stamp.target(target);
            }
        }
    }
}

impl Joined for Yardsticks {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.yardsticks.extend(other.yardsticks);
        None
    }
}

impl Joined for Verified {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.verified_copies = self.verified_copies.saturating_add(other.verified_copies);
        None
    }
}
