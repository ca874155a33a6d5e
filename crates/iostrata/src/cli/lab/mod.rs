//! `iostrata lab`: which experiments, and the options that several of them have.

mod atime;
mod buffering;
mod copy;
mod page_cache;
mod sync;

use std::iter;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use iostrata_core::bytes;
use iostrata_lab::error::LabError;
use iostrata_lab::experiment::Experiment;
use iostrata_lab::scratch::{ImageKind, TMPFS};
use iostrata_lab::session::Effort;

use super::{Html, Markdown};
use atime::AtimeOptions;
use buffering::BufferingOptions;
use copy::CopyOptions;
use page_cache::PageCacheOptions;
use sync::SyncOptions;

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
    pub(crate) fn options_of(&self, name: ExperimentName) -> Vec<&'static str> {
        match name {
            ExperimentName::Buffering => self.buffering.given(),
            ExperimentName::PageCache => self.page_cache.given(),
            ExperimentName::Sync => self.sync.given(),
            ExperimentName::Atime => self.atime.given(),
            ExperimentName::Copy => self.copy.given(),
        }
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
    let host = PossibleValue::new("host").help("the file system of --dir");
    let images = ImageKind::ALL.map(|kind| PossibleValue::new(kind.name()).help(content(kind)));
    let tmpfs = PossibleValue::new(TMPFS).help("in memory, mounted for the run (root)");
    let values = iter::once(host).chain(images).chain([tmpfs]);
    PossibleValuesParser::new(values).try_map(|name| match name.as_str() {
        "host" => Ok(TargetName::Host),
        TMPFS => Ok(TargetName::Tmpfs),
        image => {
            let image = ImageKind::from_name(image).map(TargetName::Image);
            image.ok_or("no such file system")
        }
    })
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

/// One of `all`, by the name that it has in JSON and in tables, each with its meaning.
fn one_of<T, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    meaning: Option<fn(T) -> &'static str>,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let values = all.map(|one| {
        let value = PossibleValue::new(name(one));
        match meaning {
            Some(meaning) => value.help(meaning(one)),
            None => value,
        }
    });
    PossibleValuesParser::new(values).try_map(move |given| {
        let known = all.into_iter().find(|one| name(*one) == given);
        known.ok_or("no such value")
    })
}

/// The names of what was given.
fn names(given: &[(&'static str, bool)]) -> Vec<&'static str> {
    let given = given.iter().filter(|(_, given)| *given);
    given.map(|(name, _)| *name).collect()
}
