//! When calls ended.

use std::collections::BTreeMap;

use super::{Ended, NamedFile};
use crate::trace::stores;
use crate::trace::timeline::{CallMoment, Moments, Purpose, moment_of};

/// Sums calls by the moment of their end.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Of the first thread, nanoseconds of `CLOCK_MONOTONIC`.
    started_ns: Option<u64>,
    sums: BTreeMap<(u32, Purpose), CallMoment>,
}

impl Clock {
    /// A thread is observed from now on; moments count from the first one.
    pub(super) fn begin(&mut self, started_ns: u64) {
        self.started_ns.get_or_insert(started_ns);
    }

    /// A call on `file` has ended.
    pub(super) fn call(&mut self, ended: &Ended, file: Option<&NamedFile>) {
        let Some(purpose) = Purpose::of(ended.call.name) else {
            return;
        };
        let stored = file.is_some_and(|file| stores(file.kind, &file.filesystem));
        if purpose.moves() && !stored {
            return;
        }
        self.begin(ended.call.started_ns);
        let started_ns = self.started_ns.unwrap_or(ended.call.started_ns);
        let moment = moment_of(ended.call.ended_ns.saturating_sub(started_ns));
        let sum = self.sums.entry((moment, purpose)).or_insert(CallMoment {
            moment,
            purpose,
            count: 0,
            bytes: 0,
            time_ns: 0,
        });
        sum.count += 1;
        sum.time_ns = sum.time_ns.saturating_add(ended.call.took_ns());
        if purpose.moves() {
            sum.bytes = sum.bytes.saturating_add(ended.moved_bytes());
        }
    }

    /// Requests are not observed call by call.
    pub(super) fn finish(self) -> Moments {
        Moments {
            calls: self.sums.into_values().collect(),
            ..Moments::default()
        }
    }
}
