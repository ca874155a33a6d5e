//! One file that was changed or synced: its state between two events.

use std::collections::VecDeque;

use super::Span;
use super::names::Path;
use super::pending::{Change, Pending};
use super::syncs::{Growth, Syncs};
use crate::trace::{FileHistory, Naming, Target};

/// Names taken that a late run of writes may still concern.
const KEPT: usize = 4;
/// Directories of one file whose renames are counted apart.
const PLACES: usize = 4;

/// Errors that say that storage failed; others say that the call was not possible
/// (include/uapi/asm-generic/errno-base.h, errno.h: `EIO`, `ENOSPC`, `EDQUOT`).
const STORAGE_ERRORS: [i32; 3] = [5, 28, 122];

/// Writes to one file, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writes {
    pub(super) process: u32,
    pub(super) span: Span,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) from: u64,
    /// 0 when offsets are not known.
    pub(super) to: u64,
}

/// Why the contents should have been durable at a moment.
#[derive(Debug, Clone)]
enum Need {
    /// The file was renamed then, in this directory.
    Rename(Target, Path),
    /// The file whose name it took was removed then.
    Removal,
}

#[derive(Debug, Clone)]
struct Taken {
    at_ns: u64,
    /// Writes that ended later were not durable then.
    covered_ns: u64,
    need: Need,
    counted: bool,
}

/// What is known about a file that was changed or synced.
#[derive(Debug, Clone, Default)]
pub(super) struct Life {
    pub(super) history: FileHistory,
    pub(super) renamed_to: Option<Path>,
    /// The directory of its newest name, how it came to it, and when.
    pub(super) named: Option<(Path, Naming, u64)>,
    /// Directories in which it replaced another file while it was not durable.
    pub(super) replaced_in: Vec<(Path, u64)>,
    /// Length; `None` when unknown.
    length: Option<u64>,
    /// Names it has.
    links: u32,
    syncs: Syncs,
    pending: Pending,
    /// When the latest sync that succeeded began, nanoseconds; 0 for none.
    covered_ns: u64,
    write_ns: u64,
    taken: VecDeque<Taken>,
    failed_ns: Option<u64>,
    emptied_at: Option<Span>,
    synchronous_opens: u64,
}

impl Life {
    /// A file of this length that had one name.
    pub(super) fn new(length: Option<u64>) -> Self {
        Self {
            length,
            links: 1,
            ..Self::default()
        }
    }

    /// Something about it changed; `bytes` of its contents.
    fn changed(&mut self, span: Span, bytes: u64, growth: Growth, whole: Option<Span>) {
        self.syncs.changed(span, growth, &mut self.history);
        if bytes == 0 {
            return;
        }
        self.write_ns = self.write_ns.max(span.ended_ns);
        let covered_ns = self.covered(whole);
        if span.ended_ns > covered_ns && !self.is_synchronous() {
            self.pending.add(Change {
                started_ns: span.started_ns,
                ended_ns: span.ended_ns,
                amount: bytes,
            });
        }
        self.judge_names(span);
    }

    fn covered(&self, whole: Option<Span>) -> u64 {
        self.covered_ns.max(whole.map_or(0, |span| span.started_ns))
    }

    fn is_synchronous(&self) -> bool {
        self.synchronous_opens > 0 && self.synchronous_opens == self.history.opened_to_write
    }

    /// Writes that come after names were taken, but may have begun before.
    fn judge_names(&mut self, run: Span) {
        let mut taken = std::mem::take(&mut self.taken);
        for taken in &mut taken {
            if run.started_ns < taken.at_ns && run.ended_ns > taken.covered_ns {
                self.count_taken(taken);
            }
        }
        self.taken = taken;
    }

    fn count_taken(&mut self, taken: &mut Taken) {
        if taken.counted || self.is_synchronous() {
            return;
        }
        taken.counted = true;
        let history = &mut self.history;
        match &taken.need {
            Need::Removal => history.took_removed_name.add(taken.at_ns, taken.at_ns),
            Need::Rename(target, directory) => {
                history.renamed_unsynced.add(taken.at_ns, taken.at_ns);
                history.renamed_over = history.renamed_over.max(Some(*target));
                if *target == Target::Existing {
                    add_place(&mut self.replaced_in, directory);
                }
            }
        }
    }

    fn take_name(&mut self, at_ns: u64, need: Need, whole: Option<Span>) {
        if self.syncs.is_forgotten(at_ns) {
            return; // so many syncs since: it was cared for
        }
        let mut taken = Taken {
            at_ns,
            covered_ns: self.syncs.complete_at(at_ns, whole).unwrap_or(0),
            need,
            counted: false,
        };
        if self.write_ns > taken.covered_ns {
            self.count_taken(&mut taken);
        }
        self.taken.push_back(taken);
        if self.taken.len() > KEPT {
            self.taken.pop_front();
        }
    }

    pub(super) fn wrote(&mut self, writes: &Writes, whole: Option<Span>) {
        if writes.span.ended_ns >= self.write_ns {
            self.history.written_by = Some(writes.process);
        }
        self.history.writes = self.history.writes.saturating_add(writes.count);
        self.history.written_bytes = self.history.written_bytes.saturating_add(writes.bytes);
        let growth = match self.length {
            Some(length) if writes.to > length => {
                let appends = appends(writes, length);
                self.history.appends = self.history.appends.saturating_add(appends);
                self.length = Some(writes.to);
                Growth::Resized
            }
            Some(_) if writes.to > 0 => Growth::Steady,
            _ => {
                self.length = None;
                Growth::Unclear
            }
        };
        let started_ns = writes.span.started_ns;
        if self.failed_ns.is_some_and(|failed| started_ns >= failed) {
            let after = &mut self.history.writes_after_failed_sync;
            *after = after.saturating_add(writes.count);
        }
        if let Some(span) = self
            .emptied_at
            .take_if(|span| started_ns >= span.started_ns)
        {
            self.history.rewritten.add(span.started_ns, span.ended_ns);
        }
        self.changed(writes.span, writes.bytes, growth, whole);
    }

    pub(super) fn opened(&mut self, span: Span, truncated: bool, synchronous: bool) {
        self.history.opened_to_write += 1;
        self.synchronous_opens += u64::from(synchronous);
        self.failed_ns = None;
        if truncated {
            self.emptied(span);
        }
    }

    pub(super) fn created(&mut self, span: Span, directory: Path) {
        self.history.created = true;
        self.length = Some(0);
        self.named = Some((directory, Naming::Created, span.ended_ns));
        self.syncs.changed(span, Growth::Unclear, &mut self.history);
    }

    fn emptied(&mut self, span: Span) {
        // Its own contents that were never synced are no loss to anybody.
        if !self.history.created || self.history.syncs.is_any() {
            self.history.emptied.add(span.started_ns, span.ended_ns);
            self.emptied_at = Some(span);
        }
        self.length = Some(0);
        self.syncs.changed(span, Growth::Resized, &mut self.history);
    }

    pub(super) fn resized(&mut self, span: Span, bytes: u64) {
        if bytes == 0 && self.length != Some(0) {
            return self.emptied(span);
        }
        self.length = Some(bytes);
        self.syncs.changed(span, Growth::Resized, &mut self.history);
    }

    pub(super) fn allocated(&mut self, span: Span) {
        self.history.allocated = true;
        self.length = None; // it may have been kept, and may not
        self.syncs.changed(span, Growth::Unclear, &mut self.history);
    }

    pub(super) fn closed(&mut self, span: Span, whole: Option<Span>) {
        self.pending.cover(self.covered(whole));
        if self.pending.amount() > 0 {
            self.history
                .closed_unsynced
                .add(span.started_ns, span.ended_ns);
        }
    }

    pub(super) fn mapped(&mut self, span: Span, process: u32) {
        self.history.written_by = Some(process);
        self.history
            .mapped_to_write
            .add(span.started_ns, span.ended_ns);
    }

    /// `fsync` or `fdatasync` returned.
    pub(super) fn synced(
        &mut self,
        (span, process): (Span, u32),
        data_only: bool,
        error: Option<i32>,
        whole: Option<Span>,
    ) {
        if let Some(error) = error {
            if STORAGE_ERRORS.contains(&error) {
                self.history
                    .failed_syncs
                    .add(span.started_ns, span.ended_ns);
                self.failed_ns = self.failed_ns.max(Some(span.ended_ns));
            }
            return;
        }
        if self
            .failed_ns
            .is_some_and(|failed| span.started_ns >= failed)
        {
            let after = &mut self.history.syncs_after_failed_sync;
            after.add(span.started_ns, span.ended_ns);
        }
        self.history.syncs.add(span.started_ns, span.ended_ns);
        self.history.synced_by = Some(process);
        self.history.data_syncs += u64::from(data_only);
        let is_mapped = self.history.mapped_to_write.is_any();
        self.history.mapping_synced |= is_mapped;
        self.syncs
            .synced(span, data_only, is_mapped, whole, &mut self.history);
        self.covered_ns = self.covered_ns.max(span.started_ns);
        self.pending.cover(self.covered_ns);
    }

    /// It got another name, `to`, in `directory`. `removed_ns` is when the run had removed
    /// the file that had that name before.
    pub(super) fn renamed(
        &mut self,
        span: Span,
        (to, directory): (&Path, &Path),
        target: Target,
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

    pub(super) fn linked(&mut self, span: Span, to: &Path, directory: Path) {
        self.links = self.links.saturating_add(1);
        self.renamed_to = Some(Path::clone(to));
        self.named = Some((directory, Naming::Created, span.ended_ns));
        self.syncs.changed(span, Growth::Unclear, &mut self.history);
    }

    /// A directory above it has another name.
    pub(super) fn moved(&mut self, to: &Path) {
        self.renamed_to = Some(Path::clone(to));
    }

    /// One of its names is gone.
    pub(super) fn unlinked(&mut self) {
        self.links = self.links.saturating_sub(1);
        self.history.unlinked = self.links == 0;
    }

    /// The history, as it is at the end of the run. `directory_ns` is when the latest sync
    /// of its directory began.
    pub(super) fn finish(mut self, whole: Option<Span>, directory_ns: u64) -> FileHistory {
        self.history.uncertain = self.pending.cover(self.covered(whole));
        self.history.unsynced_bytes = self.pending.amount();
        self.history.synchronous = self.is_synchronous();
        let whole_ns = whole.map_or(0, |span| span.started_ns);
        if let Some((_, naming, ended_ns)) = self.named
            && !self.history.unlinked
            && ended_ns > directory_ns.max(whole_ns)
        {
            self.history.name_unsynced = Some(naming);
            self.history.synced_since_named = ended_ns <= self.covered_ns
                || self.history.synchronous && ended_ns < self.write_ns
                || self.history.mapping_synced && naming == Naming::Created;
        }
        self.history
    }
}

/// Of `writes`, those that reached beyond `length`: in order, so the last ones.
fn appends(writes: &Writes, length: u64) -> u64 {
    if writes.from >= length || writes.bytes == 0 {
        return writes.count;
    }
    let beyond = u128::from(writes.to - length) * u128::from(writes.count);
    let writes_beyond = beyond.div_ceil(u128::from(writes.bytes));
    u64::try_from(writes_beyond).map_or(writes.count, |count| count.min(writes.count))
}

fn add_place(places: &mut Vec<(Path, u64)>, directory: &Path) {
    if let Some(place) = places.iter_mut().find(|place| place.0 == *directory) {
        place.1 += 1;
    } else if places.len() < PLACES {
        places.push((Path::clone(directory), 1));
    }
}
