//! Tests that cannot run here: each reports why, and is counted. Other crates' tests include this
//! file.
use std::fs::OpenOptions;
use std::io::Write as _;

/// Reports why this test does not run, for the count of `scripts/test`.
pub(crate) fn skip(why: impl std::fmt::Display) {
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    let said = std::io::stderr().write_all(format!("skipped: {line}").as_bytes());
    assert!(said.is_ok(), "{said:?}");
    let Some(list) = std::env::var_os("IOSTRATA_SKIPPED") else {
        return;
    };
    let list = OpenOptions::new().append(true).create(true).open(list);
    let counted = list.and_then(|mut list| list.write_all(line.as_bytes()));
    assert!(counted.is_ok(), "{counted:?}");
}
