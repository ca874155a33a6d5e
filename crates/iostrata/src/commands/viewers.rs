//! Where `--perfetto` and `--folded` write.

use std::io::{BufWriter, Write as _};

use iostrata_core::trace::TraceResult;
use iostrata_report::export::{Logged, folded, perfetto};

use crate::cli::Viewers as Options;
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::Named;

/// What was asked for. That it can be written is known before anything is measured.
#[derive(Debug)]
pub(super) struct Viewers {
    perfetto: Option<Destination>,
    folded: Option<Destination>,
}

pub(super) fn named(options: &Options) -> impl Iterator<Item = Named<'_>> {
    let perfetto = Named::output("--perfetto", options.perfetto.as_deref());
    let folded = Named::output("--folded", options.folded.as_deref());
    perfetto.into_iter().chain(folded)
}

impl Viewers {
    pub(super) fn open(options: &Options) -> Result<Self, Failure> {
        let open = |option, path: &Option<_>| {
            let path = path.clone();
            path.map(|path| Destination::open_for(option, path))
                .transpose()
        };
        Ok(Self {
            perfetto: open("--perfetto", &options.perfetto)?,
            folded: open("--folded", &options.folded)?,
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
        return Err(Failure::Cannot(
            "--folded has nothing to write: the time blocked in calls was not seen; trace with eBPF, \
             as root"
                .to_owned(),
        ));
    }
    to.save_by(|to| to.write_all(&text))
}
