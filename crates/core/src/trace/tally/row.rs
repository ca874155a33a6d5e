//! One row while it is summed.

use super::Ended;
use crate::evidence::SyscallRow;
use crate::op::FileId;
use crate::trace::Shape;

/// Number of histogram buckets, in powers of two of nanoseconds: the last one has all from 2^39 ns
/// (9 min).
pub(super) const TIME_BUCKETS: usize = 40;

/// Calls with one name on one file.
#[derive(Debug)]
pub(super) struct Sum {
    name: &'static str,
    count: u64,
    errors: u64,
    returned: u64,
    time_ns: u64,
    histogram: [u64; TIME_BUCKETS],
    shape: Option<Shape>,
    /// Begin of the first and end of the last.
    span_ns: Option<(u64, u64)>,
}

impl Sum {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            count: 0,
            errors: 0,
            returned: 0,
            time_ns: 0,
            histogram: [0; TIME_BUCKETS],
            shape: None,
            span_ns: None,
        }
    }

    pub(super) fn add(&mut self, ended: &Ended) {
        let took_ns = ended.call.took_ns();
        let (started_ns, ended_ns) = (ended.call.started_ns, ended.call.ended_ns);
        let (first_ns, last_ns) = self.span_ns.unwrap_or((started_ns, ended_ns));
        self.span_ns = Some((first_ns.min(started_ns), last_ns.max(ended_ns)));
        self.count += 1;
        self.errors += u64::from(ended.call.outcome.is_err());
        self.returned = self.returned.saturating_add(ended.moved_bytes());
        self.time_ns = self.time_ns.saturating_add(took_ns);
        let power = took_ns.checked_ilog2().unwrap_or(0) as usize;
        self.histogram[power.min(TIME_BUCKETS - 1)] += 1;
    }

    pub(super) fn shape(&mut self, offset: u64, bytes: u64, previous_end: Option<u64>) {
        self.shape
            .get_or_insert_default()
            .add(offset, bytes, previous_end);
    }

    /// Blocked times are not observed call by call.
    pub(super) fn into_row(self, file: Option<FileId>, is_source: bool) -> SyscallRow {
        SyscallRow {
            name: self.name,
            file,
            count: self.count,
            errors: self.errors,
            returned: self.returned,
            time_ns: self.time_ns,
            blocked_ns: 0,
            histogram: self.histogram.into(),
            shape: self.shape.map(Box::new),
            span_ns: self.span_ns,
            is_source,
        }
    }
}
