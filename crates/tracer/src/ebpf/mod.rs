//! The eBPF back end: BTF tracepoints that count in the kernel.
//!
//! [`EbpfObserver::open`] loads once; a session attaches, watches one process tree and
//! detaches, so that timing runs between sessions pay nothing.

mod adoption;
mod aio;
pub(crate) mod calls;
mod casts;
#[cfg(test)]
mod classified;
mod entries;
mod few;
mod guard;
mod history;
#[cfg(test)]
mod hostile;
mod jobs;
mod load;
mod made;
mod moments;
mod names;
mod needed;
mod object;
mod payload;
mod program;
mod readout;
mod skipped;
mod stopping;
mod stream;
mod sums;
pub(crate) mod symbols;
mod syscall;
pub(crate) mod told;
pub mod top;
mod touched;
mod types;
mod wanted;
mod ways;
pub(crate) mod wire;

pub(crate) use aio::gap as without_result;
use iostrata_core::environment::{Backend, Way};
use iostrata_core::evidence::BlockRow;
use iostrata_core::gap::{Gap, Missing, Stratum};
use iostrata_core::halves::at_once;
use iostrata_core::observe::{Observation, ObserveError, Observer, Stream as Streams};

use crate::failure::{self, survive};
use crate::permission::caller;
use crate::record::{Recording, Unfinished};
use adoption::Looks;
use aya::maps::MapError;
pub use calls::call_names;
use object::Object;
pub use object::OpenError;
use payload::Payloads;
use skipped::Skipped;
use stopping::Stopping;
use stream::Stream;
use sums::Sums;
pub use wanted::{Joiner, Wanted};
use wire::Config;

/// Sizes of the kernel-side tables. What does not fit is counted as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a part of the kernel side that is switched by itself"
)]
pub struct Limits {
    /// Pairs of system call and file, for each CPU that made the call.
    pub calls: u32,
    /// Files with page-cache or block activity, for each CPU that had it.
    pub files: u32,
    /// Files whose calls are kept apart at the least, where there are more: those that were
    /// changed, then those that took most time. The calls on the others are summed.
    pub kept_files: u32,
    /// Block requests on their way at one time.
    pub in_flight: u32,
    /// Block I/O (bios) of the tree on its way at one time, of which a request may join hundreds.
    pub bios: u32,
    /// Ring buffer for streamed events, bytes: a power of two and a multiple of the page.
    pub ring_bytes: u32,
    /// Whether every task of the machine is watched, interval by interval ([`top::Watch`]), and not
    /// a process tree.
    pub top: bool,
    /// Whether names, tasks and the history are wanted ([`Observation::seen`]).
    pub history: bool,
    /// Whether the payload of writes is wanted ([`EbpfObserver::record`]); needs `history`.
    pub record: bool,
    /// Whether reads are wanted in the log too; needs `record`.
    pub reads: bool,
    /// Whether the stack of each call that changes something is wanted, and not only samples; needs `record`.
    pub every_site: bool,
    /// Whether processes may join that are started or moved meanwhile ([`EbpfObserver::attach`]).
    pub joins: bool,
    /// Whether `bpf_rdonly_cast` is used where the kernel has it, since Linux 6.2. Without, every
    /// field of a kernel structure costs the call of a helper.
    pub casts: bool,
    /// What is not used, as if the kernel had not got it: `tp_btf/page_cache_sync_ra`,
    /// `fentry/page_cache_sync_ra`. For tests of what takes its place.
    pub without: &'static [&'static str],
}

/// Room in the ring for what one CPU reports while no process can be stopped: one call,
/// `PAYLOAD_AT_ONCE` in `bpf/wire.h`, and its events.
const RECORDED_AT_ONCE: u32 = 2 << 20;

/// include/uapi/linux/bpf.h: a ring buffer is a power of two; more than this is more memory
/// than a recording is worth.
const LARGEST_RING: u32 = 1 << 30;

impl Limits {
    /// For a user's own program: with its history, and room for 100,000 events while the
    /// reader waits for a CPU.
    pub fn trace() -> Self {
        Self {
            ring_bytes: 16 << 20,
            history: true,
            ..Self::default()
        }
    }

    /// For all programs of the machine. There is room for so many pairs of process and file in an
    /// interval, for each CPU that they run on.
    pub fn top() -> Self {
        Self {
            calls: 1,
            files: 16_384,
            top: true,
            ..Self::default()
        }
    }

    /// For a user's own program with its operation log: half of the ring is for what
    /// comes while processes are being stopped.
    pub fn record() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
        let headroom = RECORDED_AT_ONCE.saturating_mul(cpus).max(16 << 20);
        Self {
            ring_bytes: headroom
                .saturating_mul(2)
                .min(LARGEST_RING)
                .next_power_of_two(),
            record: true,
            ..Self::trace()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: 131_072,
            files: 65_536,
            kept_files: 16_384,
            in_flight: 4_096,
            bios: 65_536,
            ring_bytes: 4 << 20,
            top: false,
            history: false,
            record: false,
            reads: false,
            every_site: false,
            joins: false,
            casts: true,
            without: &[],
        }
    }
}

pub struct EbpfObserver {
    object: Object,
    stream: Stream,
    config: Config,
    streaming: bool,
    limits: Limits,
    /// The log of the next session.
    recording: Option<Recording>,
    /// The log of the last one.
    unfinished: Option<Unfinished>,
    /// Skipped runs before the session.
    skipped_before: Skipped,
    looks: Looks,
    /// Threads that were looked for because their process was moved.
    moved: u64,
}

impl EbpfObserver {
    /// Loads the programs with the usual limits. A part that is refused is listed in [`Observer::missing`].
    pub fn open() -> Result<Self, OpenError> {
        Self::with_limits(Limits::default())
    }

    /// Fails when the kernel or the user's privileges allow none of it.
    pub fn with_limits(limits: Limits) -> Result<Self, OpenError> {
        Ok(Self {
            object: Object::load(&limits)?,
            stream: Stream::default(),
            config: Config::default(),
            streaming: false,
            limits,
            recording: None,
            unfinished: None,
            skipped_before: Skipped::default(),
            looks: Looks::default(),
            moved: 0,
        })
    }

    /// Writes the operation log of the next session. The observer must have been made with
    /// [`Limits::record`].
    pub fn record(&mut self, recording: Recording) {
        self.recording = Some(recording);
    }

    /// The log, once its session has ended.
    pub fn recorded(&mut self) -> Option<Unfinished> {
        self.unfinished.take()
    }

    /// A file system that was mounted since may have brought a module with it, whose types and
    /// functions were not there when the programs were loaded.
    fn reload(&mut self) -> Result<(), ObserveError> {
        let object = Object::load(&self.limits);
        self.object = object.map_err(|e| error("load the programs anew", &e))?;
        Ok(())
    }

    /// Everything before a process is adopted.
    fn prepare(&mut self, stream: Streams) -> Result<(), ObserveError> {
        self.object.detach();
        if !self.object.new_modules().is_empty() {
            self.reload()?;
        }
        // To find nothing in fresh tables takes three milliseconds.
        if self.object.has_run() {
            readout::clear(&mut self.object.ebpf, &self.config)
                .map_err(|e| error("clear the eBPF maps", &e))?;
        }
        self.config = Config {
            stream_calls: u32::from(stream.calls),
            stream_requests: u32::from(stream.requests),
            end_io: self.object.end_io,
            asks: u32::from(caller::must_hold_back()),
            capabilities: caller::own_capabilities(),
            ..Config::default()
        };
        // Programs that were never attached have skipped nothing, and asking takes two milliseconds.
        self.skipped_before = if self.object.has_run() {
            self.object.skipped()
        } else {
            Skipped::default()
        };
        self.looks = Looks::default();
        self.moved = 0;
        self.streaming = stream.calls || stream.requests || self.limits.history;
        if self.streaming {
            let payloads = self.recording.take();
            let payloads = payloads.map(|recording| self.payloads(recording));
            let ring = self.object.ring();
            let ring = ring.map_err(|e| unread(&e))?;
            self.stream
                .start(ring, payloads.transpose()?, Sums::new(&self.limits))
                .map_err(|e| error("start the thread that reads the ring", &e))?;
        }
        Ok(())
    }

    fn payloads(&mut self, recording: Recording) -> Result<Payloads, ObserveError> {
        let cannot = |e: MapError| error("count stops", &e);
        let doing = "start the process that continues a stopped program when iostrata is killed";
        let stopping = Stopping::new(
            self.object.stops().map_err(cannot)?,
            self.object.stops_fd().map_err(cannot)?,
            self.object.no_stops().map_err(cannot)?,
        );
        let stopping = stopping.map_err(|e| error(doing, &e))?;
        Ok(Payloads::new(recording, stopping))
    }

    pub fn ways(&self) -> Vec<Way> {
        self.object.ways()
    }

    pub fn seen(&self) -> &[Stratum] {
        &self.object.seen
    }
}

impl Observer for EbpfObserver {
    fn backend(&self) -> Backend {
        Backend::Ebpf
    }

    fn missing(&self) -> Vec<Gap> {
        self.object.missing.clone()
    }

    fn start(&mut self, root: u32, stream: Streams) -> Result<(), ObserveError> {
        self.prepare(stream)?;
        self.config.root = root;
        self.adopt_tree(&format!("process {root}"), &mut Vec::new)
    }

    fn program_ended(&mut self) -> Result<(), ObserveError> {
        self.config.phase = 1;
        self.object
            .configure(self.config)
            .map_err(|e| error("mark the program's end", &e))
    }

    fn requests_so_far(&mut self) -> Result<Option<Vec<BlockRow>>, ObserveError> {
        readout::requests(&self.object).map_err(|e| unread(&e))
    }

    fn stop(&mut self) -> Result<Observation, ObserveError> {
        self.object.missing_of_new_modules();
        // Still attached, so that a task that exits meanwhile is counted once, not lost.
        let ended = self.end_tree();
        self.object.detach();
        let mut events = if self.streaming {
            self.stream.stop()
        } else {
            stream::Events::default()
        };
        let mut failed = std::mem::take(&mut events.failed);
        let still_running = ended?;
        let mut sums = std::mem::take(&mut events.sums);
        let mut left = Vec::new();
        if self.limits.history {
            left = aio::left(&self.object.ebpf).map_err(|e| unread(&e))?;
            for submission in &left {
                sums.submission(submission);
                events.history.submission(submission);
            }
        }
        let missing = events.history.missing();
        let moments = self.limits.history.then(|| {
            let mut moments = moments::read(&self.object, self.config.started_ns)?;
            let late = aio::moments(&left, self.config.started_ns);
            moments.calls.extend(late);
            Ok(moments)
        });
        let moments = moments.transpose().map_err(|e: MapError| unread(&e))?;
        let (history, mut sites) = (events.history, events.sites);
        sites.no_more();
        let finish = |moments| {
            failure::stage("history.finish");
            history.finish(sites, moments)
        };
        let mut failed_here = Vec::new();
        let (raw, seen) = at_once(
            || readout::read(&self.object, sums),
            || {
                moments.and_then(|moments| {
                    survive(Missing::HistoryItself, &mut failed_here, || finish(moments))
                })
            },
        );
        let mut raw = raw.map_err(|e| unread(&e))?;
        raw.losses.unread = events.unread;
        let unended = readout::unended_requests(&self.object.ebpf).map_err(|e| unread(&e))?;
        let skipped = self.object.skipped().since(&self.skipped_before);
        raw.losses.skipped = skipped.lost(unended);
        self.unfinished = events.payloads.take().map(|payloads| {
            let mut gaps = readout::log_gaps(&self.object, &raw);
            gaps.extend(missing);
            gaps.extend(failed.iter().cloned());
            if self.limits.reads {
                gaps.extend(aio::unread(&left));
            }
            payloads.end(gaps, still_running)
        });
        failed.extend(failed_here);
        Ok(Observation {
            raw,
            ops: events.ops,
            requests: events.requests,
            seen,
            failed,
        })
    }
}

fn unread(cause: &MapError) -> ObserveError {
    error("read the eBPF maps", cause)
}

fn error(doing: &str, cause: &dyn std::error::Error) -> ObserveError {
    ObserveError {
        doing: doing.to_owned(),
        cause: object::chain(cause),
    }
}
