//! Options of `iostrata trace`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use iostrata_core::trace::Severity;
use iostrata_core::trace::budget::{self, Budget, BudgetError};
use iostrata_core::{bytes, rules};
use iostrata_tracer::ebpf::call_names;

use super::{Attach, Html, Markdown, Shown, Viewers, named};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Trace {
    /// The program and its arguments
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        value_hint = ValueHint::CommandWithArguments,
        required_unless_present_any = ["pid", "name", "unit", "cgroup", "container"]
    )]
    pub(crate) command: Vec<OsString>,

    #[command(flatten)]
    pub(crate) attach: Attach,

    /// Stop observing after this time, such as 10s, 500ms or 2min; the program keeps running
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub(crate) time: Option<Duration>,

    /// How to observe the program [default: eBPF if this kernel and user permit it, otherwise
    /// ptrace]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<TraceBackend>,

    /// With ptrace: stop at every call; slower, but the program survives if iostrata's tracer is
    /// killed
    #[arg(long)]
    pub(crate) every_call: bool,

    /// Also write the result as JSON (iostrata.trace/1); - for standard output, without text
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Do not save the result for iostrata report, which keeps the last 20
    #[arg(long)]
    pub(crate) no_save: bool,

    #[command(flatten)]
    pub(crate) html: Html,

    #[command(flatten)]
    pub(crate) markdown: Markdown,

    #[command(flatten)]
    pub(crate) viewers: Viewers,

    /// Also write the operation log: every change to files in order, with its bytes. FILE must
    /// not exist
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "name", "unit", "cgroup", "container"])]
    pub(crate) record: Option<PathBuf>,

    /// Also record reads of regular files: offsets and lengths, not the data; and mapped ranges,
    /// and with eBPF the pages read in them
    #[arg(long, requires = "record")]
    pub(crate) record_reads: bool,

    /// Store in the log what DIR holds before the command starts: files with their contents, names
    /// and attributes, up to mount points; repeatable
    #[arg(long, value_name = "DIR", requires = "record")]
    pub(crate) record_before: Vec<PathBuf>,

    /// A file that is synced after each call that changes a file; for crash's block mode
    #[arg(long, hide = true, value_name = "FILE", requires = "record")]
    pub(crate) press: Option<PathBuf>,

    /// Also write where each call that changes something came from; for crash
    #[arg(long, hide = true, value_name = "FILE", requires = "record")]
    pub(crate) stacks: Option<PathBuf>,

    /// Seconds that processes are waited for which the command leaves running; for crash
    #[arg(long, hide = true, value_name = "SECONDS", requires = "record")]
    pub(crate) others: Option<u64>,

    /// Most bytes of file contents to store for --record-before, over all files
    #[arg(long, value_name = "SIZE", value_parser = bytes::parse, default_value = "64MiB",
        requires = "record_before")]
    pub(crate) record_before_limit: u64,

    #[command(flatten)]
    pub(crate) runs: Runs,

    #[command(flatten)]
    pub(crate) savings: Savings,

    #[command(flatten)]
    pub(crate) shown: Shown,

    #[command(flatten)]
    pub(crate) checks: Checks,
}

/// How savings are determined.
#[derive(Debug, Args)]
pub(crate) struct Savings {
    /// Do not measure savings by replaying the same work both ways; only compute them
    #[arg(long)]
    pub(crate) no_measure: bool,

    /// Measure savings for up to 2 s instead of 0.2 s, even if the program used 1,000 files or more
    #[arg(long, conflicts_with = "no_measure")]
    pub(crate) measure: bool,
}

/// What observes a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceBackend {
    /// Count in the kernel; needs root, or the capabilities listed by `iostrata doctor`
    Ebpf,
    /// Stop the program at its I/O calls; needs no privileges
    Ptrace,
}

const EXAMPLES: &str = "Examples:
  iostrata trace -- tar cf backup.tar src
  iostrata trace -o result.json -- ./app --its-own-options
  iostrata trace --files --by process -- make
  iostrata trace --fail-on medium --budget 'fsync<=10,device.writes.bytes<=1MiB' -- ./app
  iostrata trace --record app.log --perfetto app.trace.json -- ./app
  iostrata trace -p 4211 --for 10s
  iostrata trace --unit postgresql --for 1min
  iostrata trace --runs 10 --warmup 1 -- ./app
  iostrata trace --runs 10 --cold -- grep -rc needle src

The program keeps standard output; the summary goes to standard error.";

/// A whole number with `ms`, `s`, `min` or `h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_not_a_number| {
        format!("`{text}` does not start with a whole number; write 10s or 500ms")
    })?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" | "min" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => {
            return Err(format!(
                "`{text}` has no unit of time; write 500ms, 10s, 2min or 1h"
            ));
        }
    };
    milliseconds
        .filter(|time| *time > 0)
        .map(Duration::from_millis)
        .ok_or_else(|| format!("`{text}` is not a valid duration; write 500ms, 10s, 2min or 1h"))
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Runs")]
pub(crate) struct Runs {
    /// Time the program N times without observing it, before the observed run
    #[arg(long = "runs", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) timed: Option<u32>,

    /// Run it N times before that, and discard these times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) warmup: Option<u32>,

    /// Evict the files that it uses from the page cache before each timed run and before the
    /// observed one; an observed run before all others tells which files
    #[arg(long)]
    pub(crate) cold: bool,

    /// Go on when a run ends with another exit code than 0
    #[arg(long)]
    pub(crate) ignore_failure: bool,

    /// Show what the runs print. Without it the output of all of them is discarded, that of the
    /// observed one too
    #[arg(long)]
    pub(crate) show_output: bool,

    /// What another process of iostrata runs this one for
    #[arg(long, hide = true, value_enum)]
    pub(crate) purpose: Option<Purpose>,
}

/// What another process of iostrata runs this one for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Purpose {
    /// It asks which files the program uses; what the program prints is discarded.
    Learn,
    /// It asks for the operation log; there is no summary.
    Record,
}

impl Runs {
    /// Whether the program runs more than once.
    pub(crate) fn are_several(&self) -> bool {
        self.timed.is_some() || self.warmup.is_some() || self.cold
    }
}

#[derive(Debug, Args)]
pub(crate) struct Checks {
    /// Exit with code 1 if there is a finding of this severity or worse
    #[arg(long, value_name = "SEVERITY", value_parser = named(SEVERITIES))]
    pub(crate) fail_on: Option<Severity>,

    /// Ignore these rules, separated by commas
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rules(),
        hide_possible_values = true)]
    pub(crate) ignore: Vec<String>,

    /// Exit with code 1 if the run exceeds these limits, such as
    /// fsync<=10,writes.bytes<=1MiB,wall<2s
    #[arg(long, value_name = "LIMIT", value_delimiter = ',', value_parser = budget)]
    pub(crate) budget: Vec<Budget>,
}

const SEVERITIES: [(&str, Severity, &str); 3] = [
    ("high", Severity::High, ""),
    ("medium", Severity::Medium, ""),
    ("low", Severity::Low, ""),
];

fn rules() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(rules::ALL.iter().map(|rule| rule.id))
}

fn budget(text: &str) -> Result<Budget, BudgetError> {
    budget::parse(text, call_names())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2min"), Ok(Duration::from_mins(2)));
        for wrong in ["", "10", "0s", "s", "-1s", "99999999999999999999s", "1.5s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
