//! Limits for reading the files of observed programs: time and memory, for all of them together.
//!
//! Symbol tables, unwind tables, memory maps and names come from the program, or from the author of
//! its files. Everything that reads one draws from this budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// For a whole session. Browsers with all their symbols take about a second.
const MOST_TIME: Duration = Duration::from_secs(5);

/// Memory held at one time. The symbols of a browser take some 40 MB, its unwind tables 20 MB.
const MOST_BYTES: u64 = 256 << 20;

/// Time that is not charged for a stack: the time of unwinding without reading.
const FREE: Duration = Duration::from_millis(1);

/// The exhausted resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub(super) enum Exceeded {
    #[error("not resolved: reading programs' files and memory maps took {} s, the limit", MOST_TIME.as_secs())]
    Time,
    #[error("not resolved: tables of programs' files would exceed the limit of {} MiB", MOST_BYTES >> 20)]
    Memory,
    #[error("not resolved: {} other files came first", super::module::MOST_MODULES)]
    /// Maximum number of files kept open.
    Files,
}

#[derive(Debug)]
pub(super) struct Budget {
    began: Instant,
    bytes_left: AtomicU64,
    time_left_ns: AtomicU64,
    /// Time of the current work, on the clock of `began`.
    until_ns: AtomicU64,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(MOST_TIME, MOST_BYTES)
    }
}

/// Drawn memory, which is returned when this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    pub(super) fn of(time: Duration, bytes: u64) -> Self {
        Self {
            began: Instant::now(),
            bytes_left: AtomicU64::new(bytes),
            time_left_ns: AtomicU64::new(nanoseconds(time)),
            until_ns: AtomicU64::new(u64::MAX),
        }
    }

    fn now_ns(&self) -> u64 {
        nanoseconds(self.began.elapsed())
    }

    /// Does work that takes time. The time is charged; inside, [`Self::check`] ends work that takes
    /// too long.
    pub(super) fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        self.charged(Duration::ZERO, work)
    }

    /// The same for a stack, whose usual time is free.
    pub(super) fn timed_stack<T>(&self, work: impl FnOnce() -> T) -> T {
        self.charged(FREE, work)
    }

    fn charged<T>(&self, free: Duration, work: impl FnOnce() -> T) -> T {
        let until = self
            .now_ns()
            .saturating_add(nanoseconds(free))
            .saturating_add(self.time_left_ns.load(Relaxed));
        self.until_ns.store(until, Relaxed);
        let done = work();
        let left = until.saturating_sub(self.now_ns());
        self.time_left_ns.fetch_min(left, Relaxed);
        self.until_ns.store(u64::MAX, Relaxed);
        done
    }

    /// Whether time remains.
    pub(super) fn check(&self) -> Result<(), Exceeded> {
        if self.now_ns() < self.until_ns.load(Relaxed) {
            Ok(())
        } else {
            Err(Exceeded::Time)
        }
    }

    pub(super) fn is_low(&self) -> bool {
        self.bytes_left.load(Relaxed) < MOST_BYTES / 4
    }

    pub(super) fn hold(self: &Arc<Self>, bytes: u64) -> Result<Held, Exceeded> {
        let budget = Arc::clone(self);
        self.bytes_left
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes))
            .map(|_| Held { budget, bytes })
            .map_err(|_left| Exceeded::Memory)
    }
}

impl Held {
    pub(super) fn join(&mut self, mut other: Self) {
        self.bytes = self.bytes.saturating_add(std::mem::take(&mut other.bytes));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.bytes_left.fetch_add(self.bytes, Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back() {
        let budget = Arc::new(Budget::of(Duration::from_secs(1), 100));
        let mut held = budget.hold(60).unwrap();
        assert_eq!(budget.hold(41).err(), Some(Exceeded::Memory));
        held.join(budget.hold(40).unwrap());
        assert_eq!(budget.hold(1).err(), Some(Exceeded::Memory));
        drop(held);
        assert!(budget.hold(100).is_ok());
    }

    #[test]
    fn time_is_for_all_together() {
        let budget = Budget::of(Duration::ZERO, 0);
        assert_eq!(budget.timed(|| budget.check()), Err(Exceeded::Time));
        assert_eq!(budget.timed_stack(|| budget.check()), Ok(()));
        let budget = Budget::of(Duration::from_hours(1), 0);
        assert_eq!(budget.timed(|| budget.check()), Ok(()));
    }
}
