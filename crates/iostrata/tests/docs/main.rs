//! The documentation says what the program says: its outputs, words and links.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "test helpers; what could not be checked is said"
)]

mod compare;
mod glossary;
#[path = "../../../core/tests/install/mod.rs"]
mod install;
mod links;
mod literals;
mod masks;
mod outputs;
mod page;
mod phrases;
mod promises;
mod session;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
mod twice;
