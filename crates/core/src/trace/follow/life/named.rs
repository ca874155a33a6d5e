//! The names of one file: how it got them, and whether its contents were durable by then.

use super::super::Span;
use super::super::names::Path;
use super::super::syncs::Growth;
use super::Life;
use crate::op::Call;
use crate::trace::{NameHolder, Naming};

/// Deadlines that a late run of writes may still affect.
const KEPT: usize = 4;
/// Maximum number of directories of one file whose renames are counted separately.
const PLACES: usize = 4;

/// Why the contents should have been durable at a moment.
#[derive(Debug, Clone)]
enum Need {
    /// The file was renamed then, in this directory.
    Rename(NameHolder, Path),
    /// The file whose name it took was removed then.
    Removal,
}

/// A moment when the contents should have been durable.
#[derive(Debug, Clone)]
pub(super) struct Deadline {
    at_ns: u64,
    /// Writes that ended later were not durable then.
    covered_ns: u64,
    need: Need,
    counted: bool,
}

impl Life {
    pub(in crate::trace::follow) fn created(&mut self, span: Span, directory: Path) {
        self.history.created = true;
        self.old_bytes = 0;
        self.length = Some(0);
        self.named = Some((directory, Naming::Created, span.ended_ns));
        self.syncs.changed(span, Growth::Unclear, &mut self.history);
    }

    /// It was created without a name (`O_TMPFILE`, open(2)): it disappears at its last close unless
    /// it is linked before.
    pub(in crate::trace::follow) fn nameless(&mut self) {
        self.history.created = true;
        self.history.unlinked = true;
        self.length = Some(0);
        self.links = 0;
    }

    /// Writes that arrive after a rename, but may have begun before it.
    pub(super) fn judge_names(&mut self, run: Span) {
        let mut deadlines = std::mem::take(&mut self.deadlines);
        for deadline in &mut deadlines {
            if run.started_ns < deadline.at_ns && run.ended_ns > deadline.covered_ns {
                self.count_missed(deadline);
            }
        }
        self.deadlines = deadlines;
    }

    fn count_missed(&mut self, deadline: &mut Deadline) {
        if deadline.counted {
            return;
        }
        deadline.counted = true;
        let history = &mut self.history;
        match &deadline.need {
            Need::Removal => history.took_removed_name.add(Span::at(deadline.at_ns)),
            Need::Rename(target, directory) => {
                history.renamed_unsynced.add(Span::at(deadline.at_ns));
                history.renamed_over = history.renamed_over.max(Some(*target));
                if *target == NameHolder::Existing {
                    add_place(&mut self.replaced_in, directory);
                }
            }
        }
    }

    fn take_name(&mut self, at_ns: u64, need: Need, whole: Option<Span>) {
        if self.syncs.is_forgotten(at_ns) {
            return; // enough syncs since then to be considered durable
        }
        let mut deadline = Deadline {
            at_ns,
            covered_ns: self.syncs.complete_at(at_ns, whole).unwrap_or(0),
            need,
            counted: false,
        };
        if self.write_ns > deadline.covered_ns || self.has_stores(whole) {
            self.count_missed(&mut deadline);
        }
        self.deadlines.push_back(deadline);
        if self.deadlines.len() > KEPT {
            self.deadlines.pop_front();
        }
    }

    /// It got another name, `to`, in `directory`. `removed_ns` is the time at which the run had
    /// removed the previous file with that name.
    pub(in crate::trace::follow) fn renamed(
        &mut self,
        span: Span,
        (to, directory): (&Path, &Path),
        target: NameHolder,
        removed_ns: Option<u64>,
        whole: Option<Span>,
    ) {
        self.take_name(
            span.started_ns,
            Need::Rename(target, Path::clone(directory)),
            whole,
        );
        if let Some(at_ns) = removed_ns {
            self.take_name(at_ns, Need::Removal, whole);
        }
        self.renamed_to = Some(Path::clone(to));
        self.named = Some((Path::clone(directory), Naming::Renamed, span.ended_ns));
        self.syncs.changed(span, Growth::Unclear, &mut self.history);
    }

    /// It got an additional name. A file without a name before, as created by `O_TMPFILE`, is
    /// published as well.
    pub(in crate::trace::follow) fn linked(
        &mut self,
        span: Span,
        to: &Path,
        directory: Path,
        whole: Option<Span>,
    ) {
        let need = Need::Rename(NameHolder::Vacant, Path::clone(&directory));
        self.take_name(span.started_ns, need, whole);
        self.links = self.links.saturating_add(1);
        self.history.unlinked = false;
        self.renamed_to = Some(Path::clone(to));
        self.named = Some((directory, Naming::Linked, span.ended_ns));
        self.syncs.changed(span, Growth::Unclear, &mut self.history);
    }

    /// Its directory, or one above it, got another name.
    pub(in crate::trace::follow) fn moved_along(
        &mut self,
        span: Span,
        to: &Path,
        directory: Path,
        whole: Option<Span>,
    ) {
        let need = Need::Rename(NameHolder::Vacant, Path::clone(&directory));
        self.take_name(span.started_ns, need, whole);
        self.renamed_to = Some(Path::clone(to));
        if let Some((place, ..)) = &mut self.named {
            *place = directory;
        }
    }

    /// Its name in `directory` was removed.
    pub(in crate::trace::follow) fn removed(&mut self, call: &Call, directory: Path) {
        let span = Span::of(call);
        self.removed = Some((directory, span.ended_ns));
        if !self.history.created {
            self.history.removed.add(span);
            self.history.removed_by = Some(call.process);
        }
    }

    /// One of its names is gone.
    pub(in crate::trace::follow) fn unlinked(&mut self) {
        self.links = self.links.saturating_sub(1);
        self.history.unlinked = self.links == 0;
    }
}

fn add_place(places: &mut Vec<(Path, u64)>, directory: &Path) {
    if let Some(place) = places.iter_mut().find(|place| place.0 == *directory) {
        place.1 += 1;
    } else if places.len() < PLACES {
        places.push((Path::clone(directory), 1));
    }
}
