//! Options of `iostrata rebuild`.

use std::path::PathBuf;

use clap::Args;

use super::LogLimits;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rebuild {
    /// Operation log written by trace --record
    pub(crate) log: PathBuf,

    /// Empty or new directory; nothing is created outside it, whatever the log says
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) limits: LogLimits,
}

const EXAMPLES: &str = "\
Examples:
  iostrata trace --record app.ios -- app
  iostrata rebuild app.ios rebuilt
  diff --recursive --no-dereference /srv/app rebuilt/srv/app";
