//! Options of commands that draw a page of HTML.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct Html {
    /// Write a self-contained HTML page with every table; - for standard output, without text
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,

    /// Open the page on this desktop
    #[arg(long, requires = "html")]
    pub(crate) open: bool,
}
