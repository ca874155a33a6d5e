//! The command line as it is typed.

use std::path::PathBuf;

use clap::builder::styling::Styles;
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
    #[arg(value_enum)]
    pub(crate) names: Vec<ExperimentName>,

    /// How records are handed over: buffered, flush, fsync, fdatasync, `o_sync`, `o_dsync`,
    /// `rwf_dsync`, `sync_file_range`, `final_fsync`, `group_fsync`
    #[arg(long, value_name = "MODE", value_delimiter = ',', value_parser = mode)]
    pub(crate) mode: Vec<Mode>,

    /// Record sizes: bytes, or 4KiB, 1MiB, 100kB
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = bytes::parse)]
    pub(crate) size: Vec<u64>,

    /// Records per run
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,

    /// File systems: host (that of --dir), and images made for the run, as root: ext4,
    /// ext4-nojournal, ext4-fast_commit, `ext4-data_journal`, xfs, btrfs
    /// [default: host, and as root ext4, xfs, btrfs]
    #[arg(long, value_name = "FS", value_delimiter = ',', value_parser = target_name)]
    pub(crate) fs: Vec<TargetName>,

    /// Directory to measure; a scratch directory is made in it and removed
    #[arg(long, value_name = "DIR", default_value = ".")]
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

    /// Write the result as JSON (`iostrata.lab/1`); - for standard output, instead of text
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

    /// Write the result as JSON (`iostrata.doctor/1`); - for standard output, instead of text
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

fn mode(text: &str) -> Result<Mode, String> {
    let names = Mode::ALL.map(Mode::as_str);
    Mode::ALL
        .into_iter()
        .find(|mode| mode.as_str() == text)
        .ok_or_else(|| format!("no such mode; there are {}", names.join(", ")))
}

fn target_name(text: &str) -> Result<TargetName, String> {
    match (text, ImageKind::from_name(text)) {
        ("host", _) => Ok(TargetName::Host),
        (_, Some(kind)) => Ok(TargetName::Image(kind)),
        _ => {
            let names = ImageKind::ALL.map(ImageKind::name);
            Err(format!("no such file system; there are host, {}", names.join(", ")))
        }
    }
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
            "iostrata", "lab", "buffering", "--mode", "fsync,o_dsync", "--size", "1,4KiB", "--fs",
            "host,ext4-fast_commit",
        ])
        .unwrap();
        let Command::Lab(lab) = parsed.command else { panic!("not lab") };
        assert_eq!(lab.mode, [Mode::Fsync, Mode::ODsync]);
        assert_eq!(lab.size, [1, 4096]);
        assert_eq!(lab.fs, [TargetName::Host, TargetName::Image(ImageKind::Ext4FastCommit)]);
    }
}
