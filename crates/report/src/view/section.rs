//! Sections of a page: renderers choose and order them by their ids.

use super::page::Block;

/// A part of a page. Its first block is its title or heading, if it has one.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) id: SectionId,
    pub(crate) blocks: Vec<Block>,
}

/// What a section is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectionId {
    /// Before the first title or heading.
    Head,
    /// The title of a result, or of one experiment of it, and warnings.
    Title,
    /// Where it ran. A terminal shows it below the title, HTML as its last part.
    Machine,
    /// An experiment, by its name.
    Experiment(&'static str),
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
}

impl SectionId {
    /// Whether it begins with a heading.
    pub(crate) fn is_part(self) -> bool {
        !matches!(self, Self::Head | Self::Title | Self::Machine)
    }

    /// Its name in links.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Title => "title",
            Self::Machine => "machine",
            Self::Experiment(name) => name,
            Self::Allowed => "allowed",
            Self::Again => "again",
            Self::Answers => "answers",
            Self::Below => "below",
            Self::Bytes => "bytes",
            Self::Calls => "calls",
            Self::CanSee => "can-see",
            Self::CanUse => "can-use",
            Self::CannotSee => "cannot-see",
            Self::CannotUse => "cannot-use",
            Self::Caveats => "caveats",
            Self::Changed => "changed",
            Self::Counts => "counts",
            Self::EveryCall => "every-call",
            Self::Experiments => "experiments",
            Self::Explored => "explored",
            Self::FileCalls => "file-calls",
            Self::FileCounts => "file-counts",
            Self::FileSystems => "file-systems",
            Self::Files => "files",
            Self::Findings => "findings",
            Self::Fix => "fix",
            Self::Groups => "groups",
            Self::Limit => "limit",
            Self::Limits => "limits",
            Self::Loops => "loops",
            Self::Maps => "maps",
            Self::Memory => "memory",
            Self::Method => "method",
            Self::Missing => "missing",
            Self::NotFound => "not-found",
            Self::NotJudged => "not-judged",
            Self::Notes => "notes",
            Self::Open => "open",
            Self::Operations => "operations",
            Self::Outcomes => "outcomes",
            Self::OverTime => "over-time",
            Self::Parsing => "parsing",
            Self::Processes => "processes",
            Self::Projection => "projection",
            Self::RandomReads => "random-reads",
            Self::Reasons => "reasons",
            Self::Relatime => "relatime",
            Self::Rows => "rows",
            Self::Runs => "runs",
            Self::Runtimes => "runtimes",
            Self::Seconds => "seconds",
            Self::Settings => "settings",
            Self::Sites => "sites",
            Self::Storage => "storage",
            Self::Strata => "strata",
            Self::SystemCalls => "system-calls",
            Self::Threads => "threads",
            Self::Timeline => "timeline",
            Self::Unpaired => "unpaired",
        }
    }
}
