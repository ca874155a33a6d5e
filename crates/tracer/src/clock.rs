//! The clock of every time stamp in iostrata, which is also the clock of the kernel side
//! (`bpf_ktime_get_ns`).

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Both are positive: the clock starts at 0 when the machine boots.
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}
