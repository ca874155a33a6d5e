//! The observer against programs whose I/O is known to the unit. Needs root.

mod counts;
mod history;
mod identity;
mod losses;
mod moments;
mod overlay;
mod page_cache;
mod record;
mod record_before;
mod record_log;
mod record_programs;
mod record_reads;
mod ring;
mod session;
mod shapes;
mod sites;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
mod undisturbed;
mod unseen;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
mod witness;
