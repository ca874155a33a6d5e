//! Automatically saved results: which one is meant, and their list.

use std::fmt::Write as _;
use std::fs::Metadata;
use std::path::PathBuf;

use iostrata_core::bytes::short;
use iostrata_report::printable;

use super::read::{self, Saved};
use crate::cli::Report;
use crate::error::Failure;
use crate::results::{self, Kept, Kind};
use crate::ui;

/// Maximum characters of a command in a line of the list.
const LONGEST_COMMAND: usize = 60;

/// The last result to which the options apply.
pub(super) fn find(options: &Report, names: &[&str]) -> Result<PathBuf, Failure> {
    let kind = if !names.is_empty() || options.parts.is_given() || options.all_rows {
        Some(Kind::Lab)
    } else {
        options.shown.is_given().then_some(Kind::Trace)
    };
    let all = all()?;
    let mut wanted = all
        .iter()
        .filter(|kept| kind.is_none_or(|kind| kept.kind == kind));
    let last = match names {
        [] => wanted.next(),
        // The last run may have been another experiment's.
        names => wanted.find(|kept| has_all(kept, names)),
    };
    last.map(|kept| kept.path.clone()).ok_or_else(|| {
        let what = match (kind, names) {
            (_, [_, ..]) => format!("a run of lab with {}", names.join(", ")),
            (Some(Kind::Lab), _) => "a run of lab".to_owned(),
            (Some(Kind::Trace), _) => "a run of trace".to_owned(),
            (None, _) => "a run of lab or trace".to_owned(),
        };
        Failure::Usage(format!(
            "no saved result of {what}; run it first, or name a file saved with --json"
        ))
    })
}

fn has_all(kept: &Kept, names: &[&str]) -> bool {
    let saved = read::saved(&kept.path);
    saved.is_ok_and(|saved| names.iter().all(|name| super::has_experiment(&saved, name)))
}

fn all() -> Result<Vec<Kept>, Failure> {
    results::all().map_err(|error| {
        Failure::Cannot(format!(
            "cannot read the saved results: {error}; name a file saved with --json"
        ))
    })
}

/// One line for each, the last one first.
pub(super) fn list() -> Result<(), Failure> {
    let all = all()?;
    if all.is_empty() {
        return ui::print("No saved results: run iostrata lab or iostrata trace first.\n");
    }
    let mut lines = String::new();
    for kept in &all {
        let found = kept.path.metadata();
        let saved = found.as_ref().ok().and_then(|found| found.modified().ok());
        let size = found.as_ref().map_or(0, Metadata::len);
        let what = match read::saved(&kept.path) {
            Ok(saved) => content(&saved),
            Err(_) => "cannot be read".to_owned(),
        };
        let age = match saved.map(|saved| saved.elapsed()) {
            Some(Ok(age)) => self::age(age.as_secs()),
            Some(Err(_)) => "clock ahead".to_owned(),
            None => "n/a".to_owned(),
        };
        let path = printable(&kept.path.to_string_lossy());
        // Writing to a string cannot fail.
        _ = writeln!(lines, "{age:>12}  {what}\n{:14}{path}  {}", "", short(size));
    }
    ui::print(&lines)
}

/// `lab buffering, sync`, `trace tar cf a.tar .`.
fn content(saved: &Saved) -> String {
    match saved {
        Saved::Lab(_) => format!("lab {}", super::experiments_of(saved).join(", ")),
        Saved::Trace(result) => {
            let command = printable(&result.command.join(" "));
            let shown: String = command.chars().take(LONGEST_COMMAND).collect();
            let more = if shown.len() < command.len() {
                " ..."
            } else {
                ""
            };
            format!("trace {shown}{more}")
        }
        other => other.kind().to_owned(),
    }
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let texts = [59, 60, 7199, 172_800].map(age);
        assert_eq!(texts, ["59 s ago", "1 min ago", "1 h ago", "2 days ago"]);
    }
}
