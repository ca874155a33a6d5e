//! `iostrata lab`: which experiments, and the options that several of them have.

mod options;

use std::iter;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use iostrata_core::bytes;
use iostrata_lab::error::LabError;
use iostrata_lab::experiment::Experiment;
use iostrata_lab::scratch::{ImageKind, TMPFS};
use iostrata_lab::session::Effort;

use super::{Html, Markdown, named};
use options::{AtimeOptions, BufferingOptions, CopyOptions, PageCacheOptions, SyncOptions};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExperimentName {
    /// When do written bytes leave the program, and when are they durable?
    Buffering,
    /// What does the page cache save, and where does the time of a read go?
    PageCache,
    /// What does one sync cost, and what does the device do for it?
    Sync,
    /// Which operations update a file's access time, what does that cost, and does noatime help?
    Atime,
    /// Which system calls copy a file fastest, and why?
    Copy,
}

impl ExperimentName {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Buffering => "buffering",
            Self::PageCache => "page-cache",
            Self::Sync => "sync",
            Self::Atime => "atime",
            Self::Copy => "copy",
        }
    }

    pub(crate) fn page(self) -> &'static str {
        match self {
            Self::Buffering => include_str!("../../../docs/experiments/buffering.md"),
            Self::PageCache => include_str!("../../../docs/experiments/page-cache.md"),
            Self::Sync => include_str!("../../../docs/experiments/sync.md"),
            Self::Atime => include_str!("../../../docs/experiments/atime.md"),
            Self::Copy => include_str!("../../../docs/experiments/copy.md"),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option on the command line"
)]
pub(crate) struct Lab {
    // The first: what comes after it takes its values out of what was typed.
    #[command(flatten)]
    given: Given,

    /// Experiments [default: those whose options are given, otherwise all]
    #[arg(value_enum, value_name = "EXPERIMENT")]
    pub(crate) names: Vec<ExperimentName>,

    /// Sizes of records or files: bytes, or 4KiB, 1MiB, 100kB [default: depends on the experiment]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = bytes::parse,
        allow_negative_numbers = true)]
    pub(crate) size: Vec<u64>,

    /// File systems, separated by commas [default: host, and as root the images of the experiment]
    #[arg(long, value_name = "FS", value_delimiter = ',', value_parser = file_systems())]
    pub(crate) fs: Vec<TargetName>,

    /// Directory to measure; a scratch directory is created in it and removed [default: current
    /// directory]
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    pub(crate) dir: PathBuf,

    /// Fewer cases and runs
    #[arg(long, conflicts_with = "thorough")]
    pub(crate) quick: bool,

    /// Full-size workloads, and more runs
    #[arg(long)]
    pub(crate) thorough: bool,

    /// Print the whole result, with every row of every file system
    #[arg(long)]
    pub(crate) all_rows: bool,

    /// Also write the result as JSON (iostrata.lab/1); - for standard output, without text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Do not save the result for iostrata report, which keeps the last 20
    #[arg(long)]
    pub(crate) no_save: bool,

    #[command(flatten)]
    pub(crate) html: Html,

    #[command(flatten)]
    pub(crate) markdown: Markdown,

    #[command(flatten)]
    pub(crate) buffering: BufferingOptions,

    #[command(flatten)]
    pub(crate) page_cache: PageCacheOptions,

    #[command(flatten)]
    pub(crate) sync: SyncOptions,

    #[command(flatten)]
    pub(crate) atime: AtimeOptions,

    #[command(flatten)]
    pub(crate) copy: CopyOptions,
}

impl Lab {
    /// The options given that only this experiment has.
    pub(crate) fn options_of(&self, name: ExperimentName) -> Vec<&str> {
        let heading = format!("Options of {}", name.as_str());
        let given = self.given.0.iter().filter(|(own, _)| *own == heading);
        given.map(|(_, option)| option.as_str()).collect()
    }

    /// An experiment with its cases chosen; invalid combinations are refused before anything is
    /// created.
    pub(crate) fn experiment(
        &self,
        name: ExperimentName,
        effort: Effort,
    ) -> Result<Box<dyn Experiment>, LabError> {
        Ok(match name {
            ExperimentName::Buffering => Box::new(self.buffering.plan(self, effort)?),
            ExperimentName::PageCache => Box::new(self.page_cache.plan(self, effort)?),
            ExperimentName::Sync => Box::new(self.sync.plan(self, effort)?),
            ExperimentName::Atime => Box::new(self.atime.plan(effort)),
            ExperimentName::Copy => Box::new(self.copy.plan(self, effort)?),
        })
    }
}

/// The options that were given and that stand under a heading, with that.
#[derive(Debug)]
struct Given(Vec<(String, String)>);

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let command = Lab::augment_args(Command::new("lab"));
        let given = command.get_arguments().filter_map(|argument| {
            let heading = argument.get_help_heading()?.to_owned();
            let source = matches.value_source(argument.get_id().as_str())?;
            let option = format!("--{}", argument.get_long()?);
            (source == ValueSource::CommandLine).then_some((heading, option))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

const EXAMPLES: &str = "Examples:
  iostrata lab buffering                        all modes, 1 B and 100 kB
  iostrata lab buffering --fs host --mode fsync,fdatasync --size 1KiB --count 5000
  iostrata lab page-cache --state cold,direct --reader read --size 1MiB --sleep 1
  iostrata lab sync --device nvme-consumer      syncs per second, here and on another device
  iostrata lab copy --method read_write,mmap_memcpy,cp --buffer 64KiB,whole --size 100MB
  sudo iostrata lab --fs ext4,ext4-nojournal,xfs,btrfs --json result.json";

/// A file system to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetName {
    /// That of `--dir`.
    Host,
    /// One made for the run.
    Image(ImageKind),
    /// One in memory, mounted for the run.
    Tmpfs,
}

fn file_systems() -> impl TypedValueParser<Value = TargetName> {
    let host = ("host", TargetName::Host, "the file system of --dir");
    let images = ImageKind::ALL.map(|kind| (kind.name(), TargetName::Image(kind), content(kind)));
    let in_memory = "in memory, mounted for the run (root)";
    let tmpfs = (TMPFS, TargetName::Tmpfs, in_memory);
    named(iter::once(host).chain(images).chain([tmpfs]))
}

fn content(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Ext4 => "an image made for the run (root), like the following: journal",
        ImageKind::Ext4NoJournal => "without journal",
        ImageKind::Ext4FastCommit => "journal with fast commits",
        ImageKind::Ext4DataJournal => "journal that also holds file contents",
        ImageKind::Xfs => "with a log",
        ImageKind::Btrfs => "copy on write",
    }
}
