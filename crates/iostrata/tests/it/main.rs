//! The built program on the real kernel: what a user sees, the exit code, and that nothing is left.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod atime;
mod attaching;
mod cache;
mod calibrate;
mod compare;
mod copying;
mod crash;
mod crash_block;
mod directories;
mod emptied;
mod exports;
mod granted;
mod html;
#[path = "../../../core/tests/install/mod.rs"]
mod install;
mod interruption;
mod kept;
mod kernels;
mod merge;
mod names;
mod output;
mod page_cache;
mod place;
mod privilege;
mod refusing;
mod results;
mod rules;
mod running;
mod saved;
#[path = "../attack/seeded.rs"]
#[expect(dead_code, reason = "shared with the attack")]
mod seeded;
mod sharing;
mod shells;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
mod sync;
mod tools;
mod trace_killed;
mod trouble;
#[path = "../../../tracer/tests/observe/undisturbed.rs"]
mod undisturbed;
mod usage;
mod viewers;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
mod whole;
