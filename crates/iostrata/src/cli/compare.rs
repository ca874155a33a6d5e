//! Options of `iostrata compare`.

use std::path::PathBuf;

use clap::Args;
use iostrata_core::compare::Limit;

use super::Html;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option on the command line"
)]
pub(crate) struct Compare {
    /// The baseline, saved by lab or trace; - for standard input
    #[arg(value_name = "BASE")]
    pub(crate) base: PathBuf,

    /// The result that is compared with the baseline; - for standard input
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    /// Further pairs of runs, interleaved with these: where other programs use the machine too, many
    /// pairs show what one cannot
    #[arg(value_name = "BASE NEW")]
    pub(crate) further: Vec<PathBuf>,

    /// Compare even if machines or settings differ
    #[arg(long)]
    pub(crate) anyway: bool,

    /// Fail with exit code 1 when something is slower by at least this, beyond the noise; for
    /// traces, when opens, reads, writes or syncs, or their bytes, grow by as much. Fail with exit
    /// code 3 when the noise could hide as much
    #[arg(long, value_name = "PERCENT", value_parser = Limit::parse,
        allow_negative_numbers = true)]
    pub(crate) fail_on: Option<Limit>,

    /// Do not fail on what is inconclusive
    #[arg(long, requires = "fail_on")]
    pub(crate) allow_inconclusive: bool,

    /// Show every row, count, call and file
    #[arg(long, visible_alias = "all-rows")]
    pub(crate) all: bool,

    /// Print Markdown, for a pull request
    #[arg(long)]
    pub(crate) markdown: bool,

    /// Also write the result as JSON (iostrata.compare/1); to standard output, and no text, with -
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) html: Html,
}

const EXAMPLES: &str = "\
Examples:
  iostrata compare monday.json tuesday.json
  iostrata compare --fail-on 5% --markdown main.json branch.json
  iostrata compare --html compared.html monday.json tuesday.json
  iostrata compare base1.json new1.json base2.json new2.json base3.json new3.json
  iostrata lab sync --quick --json - | iostrata compare before.json -";
