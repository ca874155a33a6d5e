//! Options of commands that draw a page of HTML.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct Html {
    /// Write one page of HTML with every table, which needs no network and no other file; to
    /// standard output, and no text, with -
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,

    /// Open that page on this desktop
    #[arg(long, requires = "html")]
    pub(crate) open: bool,
}
