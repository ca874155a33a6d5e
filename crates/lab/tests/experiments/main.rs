//! Experiments and their workload processes, on the real kernel.
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod atime;
mod buffering;
mod child;
mod copying;
mod expected_calls;
mod observed;
mod page_cache;
mod page_cache_observed;
mod places;
mod replay;
#[path = "../../../tracer/tests/observe/undisturbed.rs"]
mod undisturbed;
