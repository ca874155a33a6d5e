//! Results of parts of the states: whether they are all parts of one whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::result::{CrashResult, Said};

/// A part of a merged result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PartRow {
    /// The machine that looked at it.
    pub machine: String,
    /// Which part, as `2/4`.
    pub partition: String,
}

/// Why results are not the parts of one whole: the fact, and what helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotParts(String);

fn refused<T>(why: String) -> Result<T, NotParts> {
    Err(NotParts(why))
}

/// The parts, and what was said of each state, if these results of files are all parts of one whole.
///
/// # Errors
/// When a part is missing, is there twice, or is of something else.
pub fn whole(results: &[(String, &CrashResult)]) -> Result<(Vec<PartRow>, Vec<Said>), NotParts> {
    let Some(((first_file, first), rest)) = results.split_first() else {
        return refused("there is no result to merge; name the parts".to_owned());
    };
    for (file, result) in rest {
        let differs = [
            (
                "recording",
                first.recording != result.recording && !same_log(first, result),
            ),
            ("command", first.command != result.command),
            (
                "checker",
                (&first.check, first.check_keeps_running)
                    != (&result.check, result.check_keeps_running),
            ),
            (
                "settings",
                (&first.settings, &first.ignored, first.only_damage)
                    != (&result.settings, &result.ignored, result.only_damage),
            ),
            (
                "version of iostrata",
                first.environment.iostrata_version != result.environment.iostrata_version,
            ),
        ];
        if let Some((what, _)) = differs.iter().find(|(_, differs)| *differs) {
            let what = if *what == "settings" {
                "with other settings".to_owned()
            } else {
                format!("of another {what}")
            };
            return refused(format!(
                "{file} is {what} than {first_file}; merge the parts of one run"
            ));
        }
    }
    let mut parts = BTreeMap::new();
    let mut all = None;
    for (file, result) in results {
        let (number, of) = numbers(file, result)?;
        if let Some(by) = &result.interrupted_by {
            return refused(format!("{file} was ended by {by}; run that part again"));
        }
        if *all.get_or_insert(of) != of {
            return refused(format!("{file} is a part of {of}, and others are not"));
        }
        if let Some((other, _)) = parts.insert(number, (file, result)) {
            return refused(format!(
                "part {number}/{of} is there twice: {other} and {file}; leave one out"
            ));
        }
    }
    let of = all.unwrap_or(0);
    if let Some(missing) = (1..=of).find(|number| !parts.contains_key(number)) {
        return refused(format!(
            "part {missing}/{of} is missing; run crash --partition {missing}/{of}"
        ));
    }
    let rows = parts.values().map(|(_, result)| PartRow {
        machine: result.environment.machine.clone(),
        partition: result.partition.clone().unwrap_or_default(),
    });
    let said = parts
        .values()
        .flat_map(|(_, result)| result.verdicts.iter().cloned());
    Ok((rows.collect(), said.collect()))
}

/// A recording may have been copied.
fn same_log(one: &CrashResult, other: &CrashResult) -> bool {
    let of = |result: &CrashResult| Some(result.recording.as_ref()?.log_blake3.clone());
    of(one).is_some() && of(one) == of(other)
}

fn numbers(file: &str, result: &CrashResult) -> Result<(u64, u64), NotParts> {
    let partition = result
        .partition
        .as_deref()
        .and_then(|part| part.split_once('/'));
    let numbers = partition.and_then(|(one, all)| Some((one.parse().ok()?, all.parse().ok()?)));
    match numbers {
        Some((number, of)) if (1..=of).contains(&number) => Ok((number, of)),
        _ => refused(format!(
            "{file} is no part: it is of all states, and there is nothing to merge it with; leave it out"
        )),
    }
}
