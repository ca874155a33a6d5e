//! Option of commands that write Markdown.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct Markdown {
    /// Write the answers of lab, or the summary of trace, as Markdown for an issue; to standard
    /// output, and no text, without =OUT
    #[arg(
        long,
        value_name = "OUT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "-"
    )]
    pub(crate) markdown: Option<PathBuf>,
}
