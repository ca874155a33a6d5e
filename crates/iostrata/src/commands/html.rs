//! The page that `--html` writes and `--open` opens.

use std::path::{Path, PathBuf};

use iostrata_report::html::{self, Drawn, Titled};

use crate::cli::Html;
use crate::desktop::Desktop;
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::Named;

/// A requested page. Whether it can be written and opened is checked before anything is
/// measured.
#[derive(Debug)]
pub(super) struct Page {
    destination: Destination,
    path: PathBuf,
    desktop: Option<Desktop>,
}

pub(super) fn named(options: &Html) -> Option<Named<'_>> {
    Named::output("--html", options.html.as_deref())
}

impl Page {
    /// `None` if no page was requested.
    pub(super) fn open(options: &Html) -> Result<Option<Self>, Failure> {
        let Some(path) = &options.html else {
            return Ok(None);
        };
        let is_output = path.as_os_str() == "-";
        if is_output && options.open {
            return Err(Failure::Usage(
                "--open needs a file, and --html - writes none; name one with --html".to_owned(),
            ));
        }
        let desktop = options.open.then(Desktop::find).transpose()?;
        Ok(Some(Self {
            destination: Destination::open_for("--html", path.clone())?,
            path: path.clone(),
            desktop,
        }))
    }

    pub(super) fn is_standard_output(&self) -> bool {
        self.destination.is_standard_output()
    }

    /// Draws the results, writes the page and opens it.
    pub(super) fn save(self, results: &[Titled<'_>]) -> Result<(), Failure> {
        self.destination.save(&html::page(results))?;
        self.desktop
            .map_or(Ok(()), |desktop| desktop.show(&self.path))
    }

    /// As [`Self::save`], for one new result. `json` is the file it was saved to.
    pub(super) fn save_one(self, result: Drawn<'_>, json: Option<&Path>) -> Result<(), Failure> {
        let file = json.filter(|path| path.as_os_str() != "-");
        let name = file.map(|path| path.to_string_lossy().into_owned());
        self.save(&[Titled { name, result }])
    }
}
