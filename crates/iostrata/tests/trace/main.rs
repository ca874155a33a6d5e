//! `iostrata trace` on real programs and the real kernel.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod adopted;
mod analytic;
mod endings;
mod programs;
mod traced;
