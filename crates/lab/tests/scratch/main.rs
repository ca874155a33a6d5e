//! Scratch directories and images on the real kernel: correct while they exist, removed afterwards,
//! however the run ends.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers; the victim speaks to the tests through its output"
)]

mod directory;
mod ending;
mod images;
#[path = "../../../core/tests/install/mod.rs"]
mod install;
mod killing;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
mod traces;
mod victim;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
