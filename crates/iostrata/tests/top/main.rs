//! `iostrata top` on the real kernel, beside programs of which every count is known.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod build;
mod commits;
mod containers;
mod endings;
mod image;
#[path = "../../../core/tests/install/mod.rs"]
mod install;
mod journal;
mod many;
mod pictures;
mod serve;
mod side_by_side;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
mod svg;
mod terminal;
mod unprivileged;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
mod watched;
mod words;
