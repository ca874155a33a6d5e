//! How long the copies will take.

use iostrata_core::copy::{Case, Method, Source};

use super::settings::{Cases, stopping};
use crate::engine::StoppingRule;
use crate::pace::{Expected, Pace, START_S};
use crate::session::Effort;
use crate::target::Target;

/// Calls of C stdio that cost as much as a system call, more or less.
const STDIO_CALLS: f64 = 10.0;

/// Seconds for `cases` on targets with their pace.
pub fn expected(
    effort: Effort,
    cases: &Cases,
    usual: StoppingRule,
    targets: &[(&Target, Pace)],
) -> Expected {
    let stopping = stopping(effort, usual);
    let of_target = |(target, pace): &(&Target, Pace)| -> Expected {
        let cases = cases.of(target).iter();
        // Every copy is read and hashed; what it left to write back goes with the file.
        let rows = cases.map(|case| {
            let bytes = case.size_bytes as f64;
            let around_s = START_S + 2.0 * bytes * pace.copied_byte_s;
            Expected::case(&stopping, run_s(case, pace), around_s)
        });
        rows.sum()
    };
    targets.iter().map(of_target).sum()
}

/// One copy: its calls, its bytes through memory, and those that the device moves.
fn run_s(case: &Case, pace: &Pace) -> f64 {
    let bytes = case.size_bytes as f64;
    let calls = match case.method {
        Method::FgetcFputc | Method::GetcUnlocked => 2.0 * bytes / STDIO_CALLS,
        Method::Reflink => return pace.call_s,
        _ => 2.0 * bytes / case.buffer_bytes.unwrap_or(case.size_bytes).max(1) as f64,
    };
    let moved = f64::from(u8::from(case.durable) + u8::from(case.source == Source::Cold));
    let direct = f64::from(u8::from(case.method == Method::Direct) * 2);
    calls * pace.call_s + bytes * (2.0 * pace.copied_byte_s + (moved + direct) * pace.stored_byte_s)
}
