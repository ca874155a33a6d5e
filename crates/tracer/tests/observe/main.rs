//! The observer against programs whose I/O is known to the unit. Needs root.

mod counts;
mod losses;
mod page_cache;
mod session;
mod witness;
