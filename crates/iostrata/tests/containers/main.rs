//! `iostrata trace` inside containers, made by `unshare(1)`, and around them.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod bundle;
mod contained;
mod engines;
mod namespaces;
mod numbers;
mod repeated;
mod sandboxes;
mod services;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
