//! `iostrata trace` on real programs and the real kernel.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod adopted;
mod alone;
mod analytic;
mod attached;
mod audit;
mod cold;
mod crowded;
mod disks;
mod endings;
mod failing;
#[path = "../top/image.rs"]
mod image;
#[path = "../../../core/tests/install/mod.rs"]
mod install;
mod interrupted;
mod killed;
mod languages;
mod left;
mod marked;
mod missed;
mod narrow;
mod owners;
mod programs;
mod residency;
mod runs;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
mod storm;
mod traced;
#[path = "../../../tracer/tests/observe/undisturbed.rs"]
mod undisturbed;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
