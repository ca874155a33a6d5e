//! `iostrata trace` on real programs and the real kernel.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "test helpers; a test that is skipped says so"
)]

mod adopted;
mod analytic;
mod crowded;
mod endings;
mod failing;
mod interrupted;
mod killed;
mod languages;
mod marked;
mod missed;
mod narrow;
mod programs;
mod residency;
mod storm;
mod traced;
#[path = "../../../tracer/tests/observe/undisturbed.rs"]
mod undisturbed;
