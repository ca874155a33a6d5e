//! Files of formats that the built-in rules do not know.

use std::collections::BTreeSet;

use iostrata_core::crash::{CrashResult, Finding, FormatRow};

/// The file that a finding of the built-in rules is about, or whose journal it is about, where these do not know its format
/// and nobody else looked at it.
pub(super) fn unknown_of<'r>(result: &'r CrashResult, finding: &Finding) -> Option<&'r FormatRow> {
    let about = [Some(&finding.culprit), finding.before.as_ref()];
    let paths = about
        .into_iter()
        .flatten()
        .filter_map(|it| it.path.as_deref());
    let paths: Vec<&str> = paths.collect();
    let rows = result.modes.iter().flat_map(|mode| &mode.formats);
    let mut unknown = rows.filter(|row| !row.checked);
    unknown.find(|row| paths.iter().any(|path| row.covers(path.as_bytes())))
}

/// Why a finding about it may be none.
pub(super) fn unknown(row: &FormatRow) -> String {
    let FormatRow { file, format, .. } = row;
    match &row.unchecked_because {
        Some(because) => {
            format!("But {file} is {format}, which these rules do not know; {because}.")
        }
        None => format!(
            "But {file} is {format}, which these rules do not know: --check {} does.",
            row.check
        ),
    }
}

/// Who looked at which of these files.
pub(super) fn looked_at(result: &CrashResult) -> BTreeSet<String> {
    let rows = result.modes.iter().flat_map(|mode| &mode.formats);
    let said = rows.map(|row| {
        let FormatRow { file, format, .. } = row;
        match &row.unchecked_because {
            _ if row.checked => format!(
                "{file} is {format}: it has to be sound by its own program, and to hold what it held at some time of the \
                 run; all else is checked by the built-in rules"
            ),
            Some(because) => format!(
                "{file} is {format}, which the built-in rules do not know, and was checked by them alone: {because}"
            ),
            None => format!(
                "{file} is {format}, which the built-in rules do not know, and was checked by them alone"
            ),
        }
    });
    said.collect()
}
