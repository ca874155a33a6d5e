//! Results as tables, for programs that read Parquet or CSV, as Prometheus metrics, and in the
//! formats of trace and flame graph viewers.
//!
//! A table has a name, columns and rows; its format is chosen separately. A unit is in the name of
//! its column, and unknown values are null, as in the JSON.

pub mod folded;
pub mod lab;
mod log;
pub mod openmetrics;
mod parquet;
pub mod perfetto;
pub mod prometheus;
mod results;
mod table;
pub mod trace;

pub use log::{Logged, Recorded, operations, recordings};
pub use results::{Content, Source, missing, results};
pub use table::{Format, Table};

/// Seconds in whole ticks, `per_second` of them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to u64 saturates: negative times become 0, those too large the largest number"
)]
fn ticks(seconds: f64, per_second: f64) -> u64 {
    (seconds * per_second).round() as u64
}
