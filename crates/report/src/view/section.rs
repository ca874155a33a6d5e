//! Ids of sections, by which renderers choose and order them.

use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SectionId {
    /// Before the first title or heading.
    Head,
    /// The title of a result, or of one experiment of it, and warnings.
    Title,
    /// Where it ran. A terminal shows it below the title, HTML as its last part.
    Machine,
    Allowed,
    Again,
    Answers,
    Below,
    Bytes,
    Calls,
    CanSee,
    CanUse,
    CannotSee,
    CannotUse,
    Caveats,
    Changed,
    Counts,
    EveryCall,
    Experiments,
    Explored,
    FileCalls,
    FileCounts,
    FileSystems,
    Files,
    Findings,
    Fix,
    Groups,
    Limit,
    Limits,
    Loops,
    Maps,
    Memory,
    Method,
    Missing,
    NotFound,
    NotJudged,
    Notes,
    Open,
    Operations,
    Outcomes,
    OverTime,
    Parsing,
    Processes,
    Projection,
    RandomReads,
    Reasons,
    Relatime,
    Rows,
    Runs,
    Runtimes,
    Seconds,
    Settings,
    Sites,
    Storage,
    Strata,
    SystemCalls,
    Threads,
    Timeline,
    Unpaired,
    /// An experiment, by its name.
    #[serde(untagged)]
    Experiment(&'static str),
}

impl SectionId {
    /// Whether it begins with a heading.
    pub(crate) fn is_part(self) -> bool {
        !matches!(self, Self::Head | Self::Title | Self::Machine)
    }

    /// Its name in links: no variant has data, so that each is a text.
    pub(crate) fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(Value::String(name)) => name,
            _ => String::new(),
        }
    }
}
