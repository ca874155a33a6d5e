//! What is written beside the text: `--html`, `--markdown`, `--perfetto` and `--folded`. That it can be written is known
//! before anything is measured.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use iostrata_core::trace::TraceResult;
use iostrata_report::export::{Logged, folded, perfetto};
use iostrata_report::html::{self, Drawn, Titled};

use crate::cli::{self, Html};
use crate::desktop::Desktop;
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::Named;

#[derive(Debug)]
pub(super) struct Viewers {
    perfetto: Option<Destination>,
    folded: Option<Destination>,
}

impl Viewers {
    pub(super) fn named(options: &cli::Viewers) -> impl Iterator<Item = Named<'_>> {
        let perfetto = Named::output("--perfetto", options.perfetto.as_deref());
        let folded = Named::output("--folded", options.folded.as_deref());
        perfetto.into_iter().chain(folded)
    }

    pub(super) fn open(options: &cli::Viewers) -> Result<Self, Failure> {
        Ok(Self {
            perfetto: Destination::open_for("--perfetto", options.perfetto.as_deref())?,
            folded: Destination::open_for("--folded", options.folded.as_deref())?,
        })
    }

    pub(super) fn is_standard_output(&self) -> bool {
        let mut all = self.perfetto.iter().chain(&self.folded);
        all.any(Destination::is_standard_output)
    }

    /// Writes what there is of a run: its result, the operations of its log, or both.
    pub(super) fn save(
        self,
        result: Option<&TraceResult>,
        operations: &mut dyn Iterator<Item = Logged>,
    ) -> Result<(), Failure> {
        let events = self.perfetto.map_or(Ok(()), |to| {
            to.save_by(|to| {
                let mut to = BufWriter::new(to);
                perfetto::write(result, operations, &mut to)?;
                to.flush()
            })
        });
        let stacks = match (self.folded, result) {
            (Some(to), Some(result)) => save_folded(to, result),
            _ => Ok(()),
        };
        events.and(stacks)
    }
}

fn save_folded(to: Destination, result: &TraceResult) -> Result<(), Failure> {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    if !folded::write(result, &mut text).unwrap_or(false) {
        return Err(Failure::cannot(
            "--folded has nothing to write: the time blocked in calls was not seen; trace with eBPF, \
             as root",
        ));
    }
    to.save_by(|to| to.write_all(&text))
}

#[derive(Debug)]
pub(super) struct Page {
    destination: Destination,
    path: PathBuf,
    desktop: Option<Desktop>,
}

impl Page {
    pub(super) fn named(options: &Html) -> Option<Named<'_>> {
        Named::output("--html", options.html.as_deref())
    }

    /// `None` if no page was requested.
    pub(super) fn open(options: &Html) -> Result<Option<Self>, Failure> {
        let Some(path) = &options.html else {
            return Ok(None);
        };
        let is_output = path.as_os_str() == "-";
        if is_output && options.open {
            return Err(Failure::usage(
                "--open needs a file, and --html - writes none; name one with --html",
            ));
        }
        let desktop = options.open.then(Desktop::find).transpose()?;
        Ok(Some(Self {
            destination: Destination::open_at("--html", path)?,
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

#[derive(Debug)]
pub(super) struct Markdown(Option<Destination>);

impl Markdown {
    pub(super) fn named(options: &cli::Markdown) -> Option<Named<'_>> {
        Named::output("--markdown", options.markdown.as_deref())
    }

    pub(super) fn open(options: &cli::Markdown) -> Result<Self, Failure> {
        let path = options.markdown.as_deref();
        Ok(Self(Destination::open_for("--markdown", path)?))
    }

    pub(super) fn is_standard_output(&self) -> bool {
        self.0.as_ref().is_some_and(Destination::is_standard_output)
    }

    pub(super) fn save(self, draw: impl FnOnce() -> String) -> Result<(), Failure> {
        self.0.map_or(Ok(()), |to| to.save(&draw()))
    }
}
