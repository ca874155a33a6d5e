//! Results as tables, for programs that read Parquet or CSV, as Prometheus metrics, and as what
//! viewers of traces and flame graphs open.
//!
//! A table has a name, columns and rows; what it is written as comes after that. A unit is in
//! the name of its column, and what is unknown is null, as in the JSON.

mod csv;
pub mod folded;
pub mod lab;
mod log;
mod parquet;
pub mod perfetto;
pub mod prometheus;
mod results;
mod table;
pub mod trace;

pub use log::{Logged, Recorded, operations, recordings};
pub use results::{Content, Source, missing, results};
pub use table::{Format, Table};
