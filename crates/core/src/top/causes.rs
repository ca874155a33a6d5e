//! Block requests of a disk by their cause.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::figures::RequestFigures;
use crate::evidence::Cause;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Requests {
    /// Requests issued in the interval.
    pub count: u64,
    pub bytes: u64,
}

/// From issue to completion, of requests that ended in the interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Latency {
    /// Requests that ended, also those issued before the interval.
    pub ended: u64,
    /// All of them, summed, seconds.
    pub time_s: f64,
    /// The longest, seconds.
    pub longest_s: f64,
}

macro_rules! causes {
    ($($cause:ident $name:ident: $doc:literal;)*) => {
        /// Requests by their cause. Those of the journal, of metadata and flushes are the file
        /// system's: they name no file, and are no process's.
        #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        pub struct Causes {
            $(#[doc = $doc] pub $name: Requests,)*
            /// Cache flushes without data.
            pub flushes: u64,
            /// How long they took.
            pub latency: Latencies,
        }

        #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        pub struct Latencies {
            $(#[doc = $doc] pub $name: Latency,)*
            /// Cache flushes without data.
            pub flushes: Latency,
        }

        impl Causes {
            pub fn of(&self, cause: Cause) -> RequestFigures {
                match cause {
                    $(Cause::$cause => figures(self.$name, self.latency.$name),)*
                    Cause::Flush => {
                        let flushes = Requests { count: self.flushes, bytes: 0 };
                        figures(flushes, self.latency.flushes)
                    }
                }
            }

            pub(super) fn add(&mut self, cause: Cause, sum: RequestFigures) {
                match cause {
                    $(Cause::$cause => {
                        self.$name.add(&sum);
                        self.latency.$name.add(&sum);
                    })*
                    Cause::Flush => {
                        self.flushes = self.flushes.saturating_add(sum.count);
                        self.latency.flushes.add(&sum);
                    }
                }
            }
        }
    };
}

causes! {
    Read reads: "Requests that read.";
    Data data: "File contents.";
    Journal journal: "Journal or log blocks.";
    Commit commit: "Blocks that make a transaction valid.";
    Metadata metadata: "Metadata in its place.";
    Unknown unknown: "Writes whose cause could not be told.";
    Discard discards: "Discard, secure erase or write-zeroes.";
}

impl Causes {
    /// Those of all causes.
    pub fn sum(&self) -> RequestFigures {
        let mut sum = RequestFigures::default();
        for cause in Cause::ALL {
            sum += self.of(cause);
        }
        sum
    }
}

impl AddAssign for Causes {
    fn add_assign(&mut self, more: Self) {
        for cause in Cause::ALL {
            self.add(cause, more.of(cause));
        }
    }
}

impl Requests {
    fn add(&mut self, more: &RequestFigures) {
        self.count = self.count.saturating_add(more.count);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

impl Latency {
    fn add(&mut self, more: &RequestFigures) {
        self.ended = self.ended.saturating_add(more.ended);
        self.time_s += more.time_s;
        self.longest_s = self.longest_s.max(more.longest_s);
    }
}

fn figures(requests: Requests, latency: Latency) -> RequestFigures {
    RequestFigures {
        count: requests.count,
        bytes: requests.bytes,
        ended: latency.ended,
        time_s: latency.time_s,
        longest_s: latency.longest_s,
    }
}
