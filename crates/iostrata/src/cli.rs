//! The command line as it is typed.

use std::iter;
use std::path::PathBuf;

use clap::builder::styling::Styles;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use iostrata_core::buffering::Mode;
use iostrata_core::bytes;
use iostrata_lab::scratch::ImageKind;

/// Shows where a program's file I/O goes, layer by layer: application buffer, system
/// call, page cache, file system and journal, device; and what each layer costs.
#[derive(Debug, Parser)]
#[command(version, styles = Styles::plain(), max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 2 wrong usage; 3 this machine or user cannot; 70 a bug in iostrata;
128 + N ended by signal N (finished rows are still printed and saved).";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run controlled experiments on this machine and answer with evidence
    Lab(Lab),
    /// Show the storage under a path, and what this kernel and user let iostrata see
    Doctor(Doctor),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExperimentName {
    /// When do written bytes leave the program, and when are they safe?
    Buffering,
}

#[derive(Debug, Args)]
#[command(after_help = LAB_EXAMPLES)]
pub(crate) struct Lab {
    /// Experiments; all of them when none is named
    #[arg(value_enum, value_name = "EXPERIMENT")]
    pub(crate) names: Vec<ExperimentName>,

    /// How records are handed over; several, separated by commas [default: all]
    #[arg(long, value_name = "MODE", value_delimiter = ',', value_parser = modes())]
    pub(crate) mode: Vec<Mode>,

    /// Record sizes: bytes, or 4KiB, 1MiB, 100kB [default: 1,100kB]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = bytes::parse,
        allow_negative_numbers = true)]
    pub(crate) size: Vec<u64>,

    /// Records per run [default: by size, fewer of large ones]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) count: Option<u64>,

    /// File systems; several, separated by commas [default: host, and as root ext4,xfs,btrfs]
    #[arg(long, value_name = "FS", value_delimiter = ',', value_parser = file_systems())]
    pub(crate) fs: Vec<TargetName>,

    /// Directory to measure; a scratch directory is made in it and removed [default: this one]
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    pub(crate) dir: PathBuf,

    /// Fewer records and runs
    #[arg(long, conflicts_with = "thorough")]
    pub(crate) quick: bool,

    /// 10,000 records of every size and more runs
    #[arg(long)]
    pub(crate) thorough: bool,

    /// Print every row of every file system, not only the host's
    #[arg(long)]
    pub(crate) all_rows: bool,

    /// Also write the result as JSON (iostrata.lab/1); to standard output, and no text, with -
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

const LAB_EXAMPLES: &str = "\
Examples:
  iostrata lab buffering                        all modes, 1 B and 100 kB
  iostrata lab buffering --fs host --mode fsync,fdatasync --size 1KiB --count 5000
  sudo iostrata lab --fs ext4,ext4-nojournal,xfs,btrfs --json result.json";

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// File or directory
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,

    /// Also write the result as JSON (iostrata.doctor/1); to standard output, and no text, with -
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// A file system to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetName {
    /// That of `--dir`.
    Host,
    /// One made for the run.
    Image(ImageKind),
}

fn modes() -> impl TypedValueParser<Value = Mode> {
    let values = Mode::ALL.map(|mode| PossibleValue::new(mode.as_str()).help(meaning(mode)));
    PossibleValuesParser::new(values).try_map(|name| {
        let known = Mode::ALL.into_iter().find(|mode| mode.as_str() == name);
        known.ok_or("no such mode")
    })
}

fn meaning(mode: Mode) -> &'static str {
    match mode {
        Mode::Buffered => "into a user-space buffer of 8 KiB, written when full and at the end",
        Mode::Flush => "one write(2) for each record",
        Mode::Fsync => "write and fsync each",
        Mode::Fdatasync => "write and fdatasync each",
        Mode::OSync => "one write each, file opened with O_SYNC",
        Mode::ODsync => "one write each, file opened with O_DSYNC",
        Mode::RwfDsync => "one pwritev2 with RWF_DSYNC each",
        Mode::SyncFileRange => "write and sync_file_range each; not durable",
        Mode::FinalFsync => "buffered, one fsync at the end",
        Mode::GroupFsync => "buffered, one fsync per 100 records",
    }
}

fn file_systems() -> impl TypedValueParser<Value = TargetName> {
    let host = PossibleValue::new("host").help("the file system of --dir");
    let images = ImageKind::ALL.map(|kind| PossibleValue::new(kind.name()).help(content(kind)));
    PossibleValuesParser::new(iter::once(host).chain(images)).try_map(|name| {
        let image = ImageKind::from_name(&name).map(TargetName::Image);
        let host = || (name == "host").then_some(TargetName::Host);
        image.or_else(host).ok_or("no such file system")
    })
}

fn content(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Ext4 => "an image made for the run, as root, like all that follow: journal",
        ImageKind::Ext4NoJournal => "without journal",
        ImageKind::Ext4FastCommit => "journal with fast commits",
        ImageKind::Ext4DataJournal => "journal that takes file contents too",
        ImageKind::Xfs => "with its log",
        ImageKind::Btrfs => "copy on write",
    }
}

/// A number of records; whether it can be measured is the experiment's to say.
fn count(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok();
    number.ok_or("it is not a whole number of records, 1 or more")
}

#[cfg(test)]
mod tests {
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
        assert_eq!(lab.mode, [Mode::Fsync, Mode::ODsync]);
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
