//! Where `--markdown` writes.

use crate::cli::Markdown as Options;
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::Named;

/// What was asked for. That it can be written is known before anything is measured.
#[derive(Debug)]
pub(super) struct Markdown(Option<Destination>);

pub(super) fn named(options: &Options) -> Option<Named<'_>> {
    Named::output("--markdown", options.markdown.as_deref())
}

impl Markdown {
    pub(super) fn open(options: &Options) -> Result<Self, Failure> {
        let path = options.markdown.clone();
        let opened = path.map(|path| Destination::open_for("--markdown", path));
        Ok(Self(opened.transpose()?))
    }

    pub(super) fn is_standard_output(&self) -> bool {
        self.0.as_ref().is_some_and(Destination::is_standard_output)
    }

    pub(super) fn save(self, draw: impl FnOnce() -> String) -> Result<(), Failure> {
        self.0.map_or(Ok(()), |to| to.save(&draw()))
    }
}
