//! The visible parts of a result, in blocks that each medium draws in its own way.

pub(crate) mod cache;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod crash;
pub(crate) mod doctor;
pub(crate) mod document;
pub(crate) mod lab;
pub(crate) mod page;
mod place;
pub(crate) mod section;
pub(crate) mod table;
pub(crate) mod top;
pub(crate) mod trace;
mod unseen;
