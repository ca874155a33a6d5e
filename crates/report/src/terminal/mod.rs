//! Results as text for a terminal.

pub mod doctor;
pub mod lab;
mod page;
mod table;
