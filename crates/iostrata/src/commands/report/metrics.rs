//! Metrics for Prometheus, in a file that `node_exporter` may read at any time.

use std::collections::HashSet;
use std::path::Path;

use iostrata_report::export::{Source, prometheus};

use crate::destination::To;
use crate::error::Failure;

/// Writes the metrics of `sources` to `path`, or to standard output for `-`.
pub(super) fn write(path: &Path, sources: &[Source<'_>]) -> Result<(), Failure> {
    check(sources)?;
    // A file is replaced, so that no reader sees half of it; a pipe or a device is written in place.
    let saved = To::open(path).and_then(|to| to.write_by(|to| prometheus::write(sources, to)));
    saved.map_err(|error| {
        Failure::Cannot(format!(
            "cannot write the metrics to {}: {error}; name a writable file",
            path.display()
        ))
    })
}

/// Metrics are distinguished by the names of the results.
fn check(sources: &[Source<'_>]) -> Result<(), Failure> {
    if sources.is_empty() {
        return Err(Failure::Usage(
            "--prometheus is for results of lab and trace, and none of the files is one; export \
             an operation log with --parquet or --csv"
                .to_owned(),
        ));
    }
    let mut names = HashSet::new();
    let twice = sources
        .iter()
        .map(|source| source.path)
        .find(|path| !names.insert(*path));
    twice.map_or(Ok(()), |path| {
        Err(Failure::Usage(format!(
            "{} is given twice, and its metrics would be ambiguous; give it once",
            path.display()
        )))
    })
}
