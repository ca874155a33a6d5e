//! Metrics for Prometheus, in a file that `node_exporter` may read at any moment.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use iostrata_report::export::{Source, prometheus};

use crate::error::Failure;
use crate::replacement::Replacement;
use crate::ui;

/// Writes the metrics of `sources` to `path`, or to standard output for `-`.
pub(super) fn write(path: &Path, sources: &[Source<'_>]) -> Result<(), Failure> {
    check(sources)?;
    let mut text = Vec::new();
    let written = prometheus::write(sources, &mut text);
    if path.as_os_str() == "-" {
        return ui::print(&String::from_utf8_lossy(&text));
    }
    let saved = written.and_then(|()| save(path, &text));
    saved.map_err(|error| {
        Failure::Cannot(format!(
            "cannot write the metrics to {}: {error}; name a file that you may write",
            path.display()
        ))
    })
}

/// Metrics are told apart by the names of the results.
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
        .map(|source| source.path.to_string_lossy())
        .find(|name| !names.insert(name.clone()));
    twice.map_or(Ok(()), |name| {
        Err(Failure::Usage(format!(
            "{name} is given twice, and its metrics could not be told apart; give it once"
        )))
    })
}

/// A file is replaced, so that no reader finds half of it; a pipe or a device is written to.
fn save(path: &Path, text: &[u8]) -> io::Result<()> {
    let is_other = path.metadata().is_ok_and(|metadata| !metadata.is_file());
    if is_other && !path.is_dir() {
        let mut file: File = OpenOptions::new().write(true).open(path)?;
        return file.write_all(text);
    }
    let replacement = Replacement::begin(path)?;
    replacement.file().write_all(text)?;
    replacement.finish()
}
