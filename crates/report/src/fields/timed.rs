//! Fields of the timed runs before a trace.

use iostrata_core::trace::{Cold, Spread, Stayed, TimedRun, TimedRuns};

use super::{Fields, columns};

/// All of them together.
pub(super) fn runs<'a>() -> Fields<'a, &'a TimedRuns> {
    Fields::<&'a TimedRuns>::new()
        .field("warmup", |runs| runs.warmup)
        .within("wall_s_", spread(), |runs| runs.wall_s)
        .field("user_s", |runs| runs.user_s)
        .metric(
            "trace_runs_user_seconds",
            "Median CPU time of the timed runs in user mode",
        )
        .field("system_s", |runs| runs.system_s)
        .metric(
            "trace_runs_system_seconds",
            "Median CPU time of the timed runs in the kernel",
        )
        .field("others_cpus", |runs| runs.others_cpus)
        .within("cold_", cold(), |runs| runs.cold.as_ref())
}

fn spread<'a>() -> Fields<'a, Spread> {
    Fields::<Spread>::new()
        .field("n", |spread| spread.n as u64)
        .metric("trace_runs", "Timed runs, which nothing observed")
        .field("median", |spread| spread.median)
        .metric(
            "trace_runs_median_seconds",
            "Median elapsed time of the timed runs",
        )
        .field("low", |spread| spread.low)
        .metric(
            "trace_runs_low_seconds",
            "Lower end of the interval of that median; of five runs or fewer, the shortest",
        )
        .field("high", |spread| spread.high)
        .metric(
            "trace_runs_high_seconds",
            "Upper end of the interval of that median; of five runs or fewer, the longest",
        )
        .field("min", |spread| spread.min)
        .field("max", |spread| spread.max)
}

fn cold<'a>() -> Fields<'a, &'a Cold> {
    columns!(Fields::<&'a Cold>::new(); values: files evicted_bytes left_bytes;)
        .field("left_files", |cold| cold.left.len() as u64)
}

/// One of the timed runs.
pub(crate) fn timed_run<'a>() -> Fields<'a, &'a TimedRun> {
    columns!(
        Fields::<&'a TimedRun>::new();
        values: wall_s user_s system_s max_resident_bytes exit_code signal;
    )
}

/// A file that stayed after an eviction.
pub(crate) fn stayed<'a>() -> Fields<'a, &'a Stayed> {
    columns!(Fields::<&'a Stayed>::new(); text: path; values: bytes; text: why;)
}
