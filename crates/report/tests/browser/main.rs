//! The HTML pages in a real browser: Chromium opens them, wide and narrow, in light and dark and on
//! paper, points, clicks and types. Without Chromium, the tests say so and end.
//!
//! With `IOSTRATA_SCREENSHOTS=DIRECTORY` screenshots of the pages are saved there.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "test helpers, and reasons for what cannot be tested"
)]

mod charts;
mod choice;
mod chromium;
mod hostile;
mod large;
mod layout;
mod page;
mod pages;
mod results;
mod tables;
mod time;
mod witness;
