//! Budgets: limits for a run, such as `fsync<=10`.

mod judge;
mod parse;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bytes;

pub use judge::{Judged, Outcome, Sight, judge};
pub use parse::{BudgetError, parse};

#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The subject of the limit.
    pub of: Of,
    pub measure: Measure,
    /// Whether the limit itself is allowed.
    pub inclusive: bool,
    /// The limit, in the type of the measure.
    pub limit: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Of {
    /// One system call, or `io_uring.<operation>`.
    Call(String),
    /// Calls that read, including copies inside the kernel.
    Reads,
    /// Calls that write, including copies inside the kernel.
    Writes,
    /// Calls that make data durable.
    Syncs,
    /// Calls that open by path.
    Opens,
    DeviceReads,
    /// Writes to the device, of every cause.
    DeviceWrites,
    /// Cache flushes of the device.
    Flushes,
    /// Bytes left to write-back at the end.
    DirtyAtExit,
    /// From start to end.
    Wall,
}

impl Of {
    /// Everything except calls, with the name as typed.
    pub const NAMED: [(&'static str, Self); 9] = [
        ("reads", Self::Reads),
        ("writes", Self::Writes),
        ("syncs", Self::Syncs),
        ("opens", Self::Opens),
        ("device.reads", Self::DeviceReads),
        ("device.writes", Self::DeviceWrites),
        ("flushes", Self::Flushes),
        ("dirty_at_exit", Self::DirtyAtExit),
        ("wall", Self::Wall),
    ];

    /// Its possible measures; the first is the default.
    pub fn measures(&self) -> &'static [Measure] {
        use Measure::{Bytes, Calls, Errors, Time};
        match self {
            Self::Call(_) | Self::Reads | Self::Writes | Self::Syncs | Self::Opens => {
                &[Calls, Bytes, Time, Errors]
            }
            Self::DeviceReads | Self::DeviceWrites => &[Calls, Bytes, Time],
            Self::Flushes => &[Calls, Time],
            Self::DirtyAtExit => &[Bytes],
            Self::Wall => &[Time],
        }
    }

    fn name(&self) -> &str {
        if let Self::Call(name) = self {
            return name;
        }
        let known = Self::NAMED.iter().find(|(_, of)| of == self);
        known.map_or("", |(name, _)| name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Number of calls, or of device requests.
    Calls,
    Bytes,
    /// Time inside, summed over all threads.
    Time,
    Errors,
}

impl Measure {
    pub const ALL: [Self; 4] = [Self::Calls, Self::Bytes, Self::Time, Self::Errors];

    /// As typed after the dot.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Bytes => "bytes",
            Self::Time => "time",
            Self::Errors => "errors",
        }
    }
}

/// A limit, or the use of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// Calls, requests or errors.
    Count(u64),
    Bytes(u64),
    Seconds(f64),
}

impl Amount {
    /// As in the result.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Count(_) => "count",
            Self::Bytes(_) => "bytes",
            Self::Seconds(_) => "seconds",
        }
    }

    pub fn number(self) -> f64 {
        match self {
            Self::Count(number) | Self::Bytes(number) => number as f64,
            Self::Seconds(time) => time,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count(count) => f.write_str(&bytes::grouped(count)),
            Self::Bytes(size) => f.write_str(&bytes::exact(size)),
            Self::Seconds(time) => f.write_str(&crate::figures::duration(time)),
        }
    }
}

impl fmt::Display for Budget {
    /// As typed, with the measure if it is not the default: `fsync.time <= 100 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.of.name())?;
        if self.of.measures().first() != Some(&self.measure) {
            write!(f, ".{}", self.measure.as_str())?;
        }
        let sign = if self.inclusive { "<=" } else { "<" };
        write!(f, " {sign} {}", self.limit)
    }
}
