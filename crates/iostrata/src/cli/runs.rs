//! Runs of a traced program besides the observed one.

use clap::{Args, ValueEnum};

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
