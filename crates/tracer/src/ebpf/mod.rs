//! The eBPF back end: BTF tracepoints that count in the kernel.
//!
//! [`EbpfObserver::open`] loads once; a session attaches, watches one process tree and
//! detaches, so that timing runs between sessions pay nothing.

mod calls;
mod object;
mod readout;
mod stream;
mod symbols;
mod wire;

use iostrata_core::environment::Backend;
use iostrata_core::evidence::BlockRow;
use iostrata_core::observe::{Observation, ObserveError, Observer, Stream as Streams};
use iostrata_core::op::Gap;

use object::Object;
pub use object::{OpenError, Stratum};
use stream::Stream;
use wire::Config;

/// Sizes of the kernel-side tables. What does not fit is counted as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pairs of system call and file, for each CPU that made the call.
    pub calls: u32,
    /// Files with page-cache or block activity, for each CPU that had it.
    pub files: u32,
    /// Block requests on their way at one time.
    pub in_flight: u32,
    /// Ring buffer for streamed events, bytes: a power of two and a multiple of the page.
    pub ring_bytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: 131_072,
            files: 65_536,
            in_flight: 4_096,
            ring_bytes: 4 << 20,
        }
    }
}

/// Observes through eBPF.
pub struct EbpfObserver {
    object: Object,
    stream: Stream,
    config: Config,
    streaming: bool,
    /// Skipped runs before the session.
    skipped_before: u64,
}

impl EbpfObserver {
    /// Loads the programs with the usual limits.
    ///
    /// # Errors
    /// When the kernel or the user's privileges allow none of it; a part that is
    /// refused is listed in [`Observer::missing`] instead.
    pub fn open() -> Result<Self, OpenError> {
        Self::with_limits(Limits::default())
    }

    /// Loads the programs with limits of one's own.
    pub fn with_limits(limits: Limits) -> Result<Self, OpenError> {
        let mut object = Object::load(&limits)?;
        let ring = object
            .ring()
            .map_err(|e| OpenError::Maps(object::chain(&e)))?;
        Ok(Self {
            object,
            stream: Stream::new(ring),
            config: Config::default(),
            streaming: false,
            skipped_before: 0,
        })
    }

    /// Strata that are observed.
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
        self.object.detach();
        readout::clear(&mut self.object.ebpf).map_err(|e| error("clear the eBPF maps", &e))?;
        self.config = Config {
            root,
            phase: 0,
            stream_calls: u32::from(stream.calls),
            stream_requests: u32::from(stream.requests),
            end_io: self.object.end_io,
        };
        self.object
            .configure(self.config)
            .map_err(|e| error("configure the observer", &e))?;
        self.skipped_before = self.object.skipped();
        self.streaming = stream.calls || stream.requests;
        if self.streaming {
            self.stream.start();
        }
        self.object.iterate("adopt").map_err(|cause| ObserveError {
            doing: format!("observe process {root}"),
            cause,
        })?;
        self.object
            .attach()
            .map_err(|e| error("attach the eBPF programs", &e))
    }

    fn program_ended(&mut self) -> Result<(), ObserveError> {
        self.config.phase = 1;
        self.object
            .configure(self.config)
            .map_err(|e| error("mark the program's end", &e))
    }

    fn requests_so_far(&mut self) -> Result<Option<Vec<BlockRow>>, ObserveError> {
        readout::requests(&self.object).map_err(|e| error("read the eBPF maps", &e))
    }

    fn stop(&mut self) -> Result<Observation, ObserveError> {
        // Still attached, so that a task that exits meanwhile is counted once, not lost.
        let released = self.object.iterate("release");
        self.object.detach();
        let events = if self.streaming {
            self.stream.stop()
        } else {
            stream::Events::default()
        };
        released.map_err(|cause| ObserveError {
            doing: "end the observation".to_owned(),
            cause,
        })?;
        let mut raw = readout::read(&self.object).map_err(|e| error("read the eBPF maps", &e))?;
        raw.losses.skipped = self.object.skipped() - self.skipped_before;
        Ok(Observation {
            raw,
            ops: events.ops,
            requests: events.requests,
        })
    }
}

fn error(doing: &str, cause: &dyn std::error::Error) -> ObserveError {
    ObserveError {
        doing: doing.to_owned(),
        cause: object::chain(cause),
    }
}
