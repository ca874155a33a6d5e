//! The pure part of iostrata: values and the rules that join them.
//!
//! Nothing here does I/O, reads a clock, or knows a terminal. The tracer fills [`Op`]s and
//! [`Evidence`], the lab turns them into rows, the functions here compute [`Answer`]s from rows,
//! and the report crate draws them.
//!
//! One vocabulary is used everywhere: application, syscall, page cache, file
//! system, device. See `docs/glossary.md`.
#![forbid(unsafe_code)]

// Types of results derive their schema in tests: `schema`.
#[cfg(test)]
#[macro_use]
extern crate schemars;

#[macro_use]
mod names;

pub mod answer;
pub mod atime;
pub mod buffering;
pub mod bytes;
pub mod cache;
pub mod compare;
pub mod copy;
pub mod crash;
pub mod doctor;
pub mod environment;
pub mod evidence;
pub mod figures;
pub mod gap;
pub mod halves;
mod judge;
pub mod lab;
pub mod law;
pub mod ledger;
pub mod noun;
pub mod observe;
pub mod op;
pub mod page_cache;
pub mod record;
pub mod reply;
pub mod rules;
#[cfg(test)]
mod schema;
pub mod stats;
pub mod suggest;
pub mod sync;
pub mod timing;
pub mod top;
pub mod trace;

pub use answer::{Answer, Verdict};
pub use environment::Environment;
pub use evidence::Evidence;
pub use gap::Gap;
pub use op::{Call, FileId, FileKind, Op};
pub use timing::Timing;

/// Whether a name is one of these words.
pub fn is_one_of(words: &str, name: &str) -> bool {
    words.split_ascii_whitespace().any(|word| word == name)
}

/// Each value once, where it comes first.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}
