//! Options of `iostrata rebuild`.

use std::path::PathBuf;

use clap::Args;

use super::LogLimits;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rebuild {
    /// Operation log that trace --record wrote
    pub(crate) log: PathBuf,

    /// Empty or new directory; nothing is made outside of it, whatever the log says
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) limits: LogLimits,
}

const EXAMPLES: &str = "\
Examples:
  iostrata trace --record app.ios -- app
  iostrata rebuild app.ios rebuilt
  diff --recursive --no-dereference /srv/app rebuilt/srv/app";
