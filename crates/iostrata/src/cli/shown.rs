//! Which parts of a trace are drawn.

use clap::Args;
use iostrata_core::suggest;
use iostrata_core::trace::{Selection, Sort};
use iostrata_report::terminal::trace::{By, Style};
use iostrata_tracer::ebpf::call_names;

use super::named;

/// The options, for messages that refuse them.
pub(crate) const SHOWN: &str =
    "--findings, --files, --calls, --by, --sort, --top, --path and --call";

/// Parts that come after the summary, and which rows tables have.
#[derive(Debug, Clone, Args)]
pub(crate) struct Shown {
    /// Show every finding of a trace, with evidence and advice
    #[arg(long)]
    findings: bool,

    /// Show every file of a trace
    #[arg(long)]
    files: bool,

    /// Show every call of a trace, over all files and for each file
    #[arg(long)]
    calls: bool,

    /// Show totals by process or thread, or group files by directory or extension
    #[arg(long, visible_alias = "group-by", value_name = "WHAT", value_parser = named(BY))]
    by: Option<By>,

    /// Sort tables by this column; tables without it are sorted by time
    #[arg(long, value_name = "COLUMN", value_parser = named(Sort::ALL.map(|(name, sort)| (name, sort, ""))), default_value = "time")]
    sort: Sort,

    /// Show this many rows of each table
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    /// Show only files that match, such as '*.db', 'src/*' or a file name; `*` matches slashes too
    #[arg(long, value_name = "GLOB", value_parser = pattern)]
    path: Option<glob::Pattern>,

    /// Show only this call, and the files it was called on
    #[arg(long, value_name = "NAME", value_parser = call)]
    call: Option<String>,
}

const BY: [(&str, By, &str); 4] = [
    ("process", By::Process, ""),
    ("thread", By::Thread, ""),
    ("directory", By::Directory, ""),
    ("extension", By::Extension, ""),
];

impl Shown {
    /// Whether anything is asked for.
    pub(crate) fn is_given(&self) -> bool {
        let selection = self.selection();
        let parts = self.findings || self.files || self.calls;
        parts || self.by.is_some() || selection != Selection::default()
    }

    /// As the renderer takes it.
    pub(crate) fn style(&self, colour: bool) -> Style {
        Style {
            colour,
            findings: self.findings,
            files: self.files,
            calls: self.calls,
            by: self.by,
            selection: self.selection(),
        }
    }

    fn selection(&self) -> Selection {
        Selection {
            path: self.path.clone(),
            call: self.call.clone(),
            sort: self.sort,
            top: self.top.and_then(|top| usize::try_from(top).ok()),
        }
    }
}

fn pattern(text: &str) -> Result<glob::Pattern, String> {
    glob::Pattern::new(text).map_err(|error| {
        format!(
            "`{text}` is not a pattern: {}; write [*] for a literal star",
            error.msg
        )
    })
}

fn call(name: &str) -> Result<String, String> {
    if call_names().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let meant = suggest::nearest(name, call_names());
    let hint = meant.map_or_else(
        || "strace -c lists the calls of a program".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    );
    Err(format!(
        "`{name}` is not a system call that iostrata counts; {hint}"
    ))
}
