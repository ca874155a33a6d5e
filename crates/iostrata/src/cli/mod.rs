//! The command line as typed.

mod attach;
mod cache;
mod compare;
mod crash;
mod hints;
mod lab;
mod report;
mod shown;
mod top;
mod trace;

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Color as Ansi, Style, Styles};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use attach::Attach;
pub(crate) use cache::{Cache, CacheAction, CacheFiles};
pub(crate) use compare::Compare;
pub(crate) use crash::{Crash, CrashMode, Only, crash_from};
pub(crate) use hints::parsed;
pub(crate) use lab::{ExperimentName, Lab, TargetName};
pub(crate) use report::{LogLimits, Report};
pub(crate) use shown::{SHOWN, Shown};
pub(crate) use top::{Serve, Top};
pub(crate) use trace::{Checks, Purpose, Savings, Trace, TraceBackend};

/// Shows where a program's file I/O goes, layer by layer: application buffer, system
/// call, page cache, file system and journal, device; and what each layer costs.
#[derive(Debug, Parser)]
#[command(version = VERSION, styles = STYLES, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colors
    #[arg(
        help = "When to use colors; auto: on terminals, unless NO_COLOR is set",
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
    /// Where a user looks at them.
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

/// What a bug report needs: the release, its sources (build.rs) and the build target.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("IOSTRATA_COMMIT"),
    ", ",
    env!("IOSTRATA_TARGET"),
    ")"
);

/// Colour only repeats what the position shows.
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

const AFTER_HELP: &str = "Examples:
  iostrata lab --quick                     the cost of writes, reads and syncs in this directory
  iostrata trace -- make                   where a program's file I/O goes
  iostrata top                             who uses the disks right now, and for what
  iostrata doctor /srv                     the storage, and what iostrata can observe
  iostrata explain fsync-per-record        what a finding means and how to fix it
  iostrata report trace.json --csv tables  export a saved result

Exit codes: 0 success; 1 a --fail-on or --budget condition was met; 2 usage error; 3 not possible on
this machine or for this user; 4 unreadable or corrupt file; 70 a bug in iostrata; 128 + N ended by
signal N (finished rows are still printed and saved). trace passes the program's own exit code on;
125 trace itself failed, 126 the program cannot be run, 127 it was not found.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run I/O experiments on this machine and answer questions with evidence
    Lab(Box<Lab>),
    /// Run a program, or attach to a running process, and show where its file I/O goes
    Trace(Box<Trace>),
    /// Show live what all processes do with files, and what keeps the disks busy
    Top(Box<Top>),
    /// Serve the same to Prometheus, as metrics
    Serve(Serve),
    /// Inspect, warm or evict cached files
    Cache(Cache),
    /// Show the storage under a path, and what iostrata can observe here
    Doctor(Doctor),
    /// Show the last result or a saved one; export results as tables and metrics
    Report(Report),
    /// Rebuild the files of an operation log under a directory
    Rebuild(Rebuild),
    /// Explore what a crash could leave of a program's files, and what of that breaks them
    Crash(Box<Crash>),
    /// Mark a time in a program that crash runs, for crash --after
    Mark(Mark),
    /// Compare two saved results: faster, slower, same or inconclusive
    Compare(Compare),
    /// Merge lab results of several machines into one result
    Merge(Merge),
    /// Print the page of an experiment, rule or term; without a name, list them
    Explain(Explain),
    /// Generate shell completions
    Completions(Completions),
    /// Print the manual page, or write the pages of all commands
    Man(ManPages),
}

/// One of the values, each by its name and with its meaning, unless that is empty.
fn named<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = (&'static str, T, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<_> = all.into_iter().collect();
    let values = all.iter().map(|(name, _, meaning)| match *meaning {
        "" => PossibleValue::new(*name),
        meaning => PossibleValue::new(*name).help(meaning),
    });
    PossibleValuesParser::new(values).try_map(move |given| {
        let known = all.iter().find(|(name, ..)| *name == given);
        known.map(|(_, value, _)| *value).ok_or("no such value")
    })
}

impl Command {
    /// Whether it observes programs, whose memory iostrata's own must not crowd.
    pub(crate) fn observes(&self) -> bool {
        matches!(self, Self::Trace(_) | Self::Top(_) | Self::Serve(_))
    }

    /// Whether it only reads and writes files, so that a signal may end it at any moment: it
    /// has no processes, mounts or programs to look after.
    pub(crate) fn only_moves_data(&self) -> bool {
        matches!(
            self,
            Self::Doctor(_)
                | Self::Report(_)
                | Self::Compare(_)
                | Self::Mark(_)
                | Self::Merge(_)
                | Self::Explain(_)
                | Self::Completions(_)
                | Self::Man(_)
        )
    }
}

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct Doctor {
    /// File or directory
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,

    /// Also write the result as JSON (iostrata.doctor/1); - for standard output, without text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  iostrata doctor
  iostrata doctor /var/lib/postgresql --json storage.json";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct Explain {
    /// Experiment, rule, kind of crash finding or glossary term
    #[arg(value_name = "ID", value_parser = crate::commands::explain::Ids, hide_possible_values = true)]
    pub(crate) id: Option<String>,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  iostrata explain
  iostrata explain sync
  iostrata explain rename-without-fsync
  iostrata explain lost-after-ack
  iostrata explain write-amplification";

#[derive(Debug, Args)]
#[command(after_help = REBUILD_EXAMPLES)]
pub(crate) struct Rebuild {
    /// Operation log written by trace --record
    pub(crate) log: PathBuf,

    /// Empty or new directory; nothing is created outside it, whatever the log says
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) limits: LogLimits,
}

const REBUILD_EXAMPLES: &str = "\
Examples:
  iostrata trace --record app.ios -- app
  iostrata rebuild app.ios rebuilt
  diff --recursive --no-dereference /srv/app rebuilt/srv/app";

#[derive(Debug, Args)]
#[command(after_help = MARK_EXAMPLES)]
pub(crate) struct Mark {
    /// Name of the mark
    pub(crate) name: String,
}

const MARK_EXAMPLES: &str = "\
Examples:
  iostrata crash --dir db --after loaded -- sh -c './load; iostrata mark loaded; ./update'
  iostrata crash --dir db --after loaded -- sh -c './load; echo loaded >&$IOSTRATA_MARK; ./update'

Outside of iostrata crash it does nothing.";

#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub(crate) struct Merge {
    /// Saved lab results, each from another machine, or all parts of one crash; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Machine name, one for each file in order, instead of a label made from disk, CPUs and kernel
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) machine: Vec<String>,

    /// Show every row of every file system, not only those of the host
    #[arg(long)]
    pub(crate) all_rows: bool,

    /// Of parts of crash: the recording, where it is not in the directory that they name
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,

    /// Of parts of crash: exit with 0, not 3, where nothing that was explored breaks, and not all points were explored
    #[arg(long)]
    pub(crate) accept_partial: bool,

    /// Also write the result as JSON; - for standard output, without text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

const MERGE_EXAMPLES: &str = "\
Examples:
  iostrata merge web1.json web2.json
  iostrata merge --machine old,new old.json new.json --json both.json
  iostrata report both.json --html both.html
  iostrata merge part-*.json --json whole.json";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct Completions {
    /// Shell to generate completions for
    #[arg(value_name = "SHELL", value_parser = named(SHELLS))]
    pub(crate) shell: Shell,
}

const SHELLS: [(&str, Shell, &str); 3] = [
    ("bash", Shell::Bash, ""),
    ("zsh", Shell::Zsh, ""),
    ("fish", Shell::Fish, ""),
];

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(iostrata completions bash)
  iostrata completions bash > ~/.local/share/bash-completion/completions/iostrata
  iostrata completions zsh > ~/.zfunc/_iostrata       (with fpath+=~/.zfunc before compinit)
  iostrata completions fish > ~/.config/fish/completions/iostrata.fish";

#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManPages {
    /// Directory for the pages of all commands; without one, print the page of iostrata
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

const MAN_EXAMPLES: &str = "\
Examples:
  iostrata man | man -l -
  iostrata man ~/.local/share/man/man1";

#[derive(Debug, Clone, Args)]
pub(crate) struct Exports {
    /// Write tables to this directory as Parquet files instead of printing
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,

    /// Write tables to this directory as CSV files instead of printing
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,

    /// Write Prometheus metrics instead of printing, with the 20 files that took the most time in a
    /// trace; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) viewers: Viewers,
}

impl Exports {
    /// Whether anything is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.parquet.is_some()
            || self.csv.is_some()
            || self.prometheus.is_some()
            || self.viewers.is_given()
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Html {
    /// Write a self-contained HTML page with every table; - for standard output, without text
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,

    /// Open the page on this desktop
    #[arg(long, requires = "html")]
    pub(crate) open: bool,
}

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

#[derive(Debug, Clone, Args)]
pub(crate) struct Viewers {
    /// Write Chrome trace events, which ui.perfetto.dev opens: each call where there is an operation
    /// log (--record), otherwise sums over time; to standard output, and no text, with -
    #[arg(long, value_name = "OUT")]
    pub(crate) perfetto: Option<PathBuf>,

    /// Write blocked time by call site as folded stacks in microseconds, for flamegraph.pl, inferno
    /// and speedscope; to standard output, and no text, with -
    #[arg(long, value_name = "OUT")]
    pub(crate) folded: Option<PathBuf>,
}

impl Viewers {
    /// Whether anything is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.perfetto.is_some() || self.folded.is_some()
    }
}

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
