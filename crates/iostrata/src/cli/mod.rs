//! The command line as it is typed.

mod cache;
mod checks;
mod choices;
mod compare;
mod explain;
mod exports;
mod hints;
mod html;
mod lab;
mod limits;
mod markdown;
mod merge;
mod rebuild;
mod report;
mod runs;
mod shell;
mod shown;
mod trace;
mod viewers;

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Color as Ansi, Style, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use cache::{Cache, CacheAction, CacheFiles};
pub(crate) use checks::Checks;
pub(crate) use compare::Compare;
pub(crate) use explain::Explain;
pub(crate) use exports::Exports;
pub(crate) use hints::parsed;
pub(crate) use html::Html;
pub(crate) use lab::{ExperimentName, Lab, TargetName};
pub(crate) use limits::LogLimits;
pub(crate) use markdown::Markdown;
pub(crate) use merge::Merge;
pub(crate) use rebuild::Rebuild;
pub(crate) use report::Report;
pub(crate) use runs::Runs;
pub(crate) use shell::{Completions, ManPages, Shell};
pub(crate) use shown::{SHOWN, Shown};
pub(crate) use trace::{Savings, Trace, TraceBackend};
pub(crate) use viewers::Viewers;

/// Shows where a program's file I/O goes, layer by layer: application buffer, system
/// call, page cache, file system and journal, device; and what each layer costs.
#[derive(Debug, Parser)]
#[command(version = VERSION, styles = STYLES, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colors; auto: on terminals, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        help_heading = "Global options"
    )]
    pub(crate) color: Color,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Color {
    /// Where somebody looks at them.
    #[default]
    #[value(help = None)]
    Auto,
    /// Also into files and pipes.
    #[value(help = None)]
    Always,
    /// Nowhere.
    #[value(help = None)]
    Never,
}

/// What a report of a fault needs: which release, of which sources (build.rs), built for what.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("IOSTRATA_COMMIT"),
    ", ",
    env!("IOSTRATA_TARGET"),
    ")"
);

/// Colour only repeats what position says.
const STYLES: Styles = Styles::plain()
    .header(Style::new().bold())
    .usage(Style::new().bold())
    .literal(Style::new().bold())
    .error(
        Style::new()
            .fg_color(Some(Ansi::Ansi(AnsiColor::Red)))
            .bold(),
    )
    .valid(Style::new().fg_color(Some(Ansi::Ansi(AnsiColor::Green))));

const AFTER_HELP: &str = "\
Examples:
  iostrata lab --quick                     what writes, reads and syncs cost on this directory
  iostrata trace -- make                   where a program's file I/O goes
  iostrata doctor /srv                     the storage, and what can be seen of it
  iostrata explain fsync-per-record        what a finding means, and what to do
  iostrata report trace.json --csv tables  a saved result for other programs

Exit codes: 0 done; 1 found what was asked to fail on; 2 wrong usage; 3 this machine or user
cannot; 4 unreadable or corrupt file; 70 a bug in iostrata; 128 + N ended by signal N (finished
rows are still printed and saved). trace passes the program's own exit code on; 125 trace
itself failed, 126 the program cannot be run, 127 it was not found.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run controlled experiments on this machine and answer with evidence
    Lab(Box<Lab>),
    /// Run a program, or adopt one that runs, and show where its file I/O goes
    Trace(Box<Trace>),
    /// Show what of files is in the page cache, bring them in, or let them go
    Cache(Cache),
    /// Show the storage under a path, and what this kernel and user let iostrata see
    Doctor(Doctor),
    /// Show the last result again, or a saved one; export results as tables and metrics
    Report(Report),
    /// Make the files of an operation log again, beneath a directory
    Rebuild(Rebuild),
    /// Compare two saved results: faster, slower, same or inconclusive
    Compare(Compare),
    /// Merge lab results of several machines into one, and judge them again
    Merge(Merge),
    /// Print the page of an experiment, a rule or a term; without a name, list them
    Explain(Explain),
    /// Print what makes a shell complete commands, options and names
    Completions(Completions),
    /// Print the manual page, or write those of all commands
    Man(ManPages),
}

impl Command {
    /// Whether it only reads and writes files, so that a signal may end it at any moment: it
    /// has no processes, mounts or programs to look after.
    pub(crate) fn only_moves_data(&self) -> bool {
        match self {
            Self::Lab(_) | Self::Trace(_) | Self::Cache(_) | Self::Rebuild(_) => false,
            Self::Doctor(_)
            | Self::Report(_)
            | Self::Compare(_)
            | Self::Merge(_)
            | Self::Explain(_)
            | Self::Completions(_)
            | Self::Man(_) => true,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct Doctor {
    /// File or directory
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,

    /// Also write the result as JSON (iostrata.doctor/1); to standard output, and no text, with -
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  iostrata doctor
  iostrata doctor /var/lib/postgresql --json storage.json";

#[cfg(test)]
mod tests {
    use iostrata_core::buffering::Mode;
    use iostrata_lab::scratch::ImageKind;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }

    #[test]
    fn lists_and_sizes_are_understood() {
        let parsed = Arguments::try_parse_from([
            "iostrata",
            "lab",
            "buffering",
            "--mode",
            "fsync,o_dsync",
            "--size",
            "1,4KiB",
            "--fs",
            "host,ext4-fast_commit",
        ])
        .unwrap();
        let Command::Lab(lab) = parsed.command else {
            panic!("not lab")
        };
        assert_eq!(lab.buffering.mode, [Mode::Fsync, Mode::ODsync]);
        assert_eq!(lab.size, [1, 4096]);
        assert_eq!(
            lab.fs,
            [
                TargetName::Host,
                TargetName::Image(ImageKind::Ext4FastCommit)
            ]
        );
    }
}
