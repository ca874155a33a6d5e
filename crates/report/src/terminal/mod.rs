//! Results as text for a terminal.

pub mod doctor;
pub mod lab;
mod page;
mod place;
mod table;
pub mod trace;
mod unseen;
