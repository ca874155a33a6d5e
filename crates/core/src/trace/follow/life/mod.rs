//! One file that was changed or synced: its state between two events.

mod named;

use std::collections::VecDeque;

use super::Span;
use super::names::Path;
use super::pending::Pending;
use super::syncs::{Growth, Syncs};
use crate::trace::{FileHistory, Naming, Writes};
use named::Deadline;

/// Errors of the storage; others mean that the call was not possible
/// (include/uapi/asm-generic/errno-base.h, errno.h: `EIO`, `ENOSPC`, `EDQUOT`).
const STORAGE_ERRORS: [i32; 3] = [5, 28, 122];

/// The state of a file that was changed or synced.
#[derive(Debug, Clone, Default)]
pub(super) struct Life {
    pub(super) history: FileHistory,
    pub(super) renamed_to: Option<Path>,
    /// The directory of its newest name, how it got there, and when.
    pub(super) named: Option<(Path, Naming, u64)>,
    /// The end of a later report to the outside.
    name_reported_ns: u64,
    /// The directory from which a name of it was last removed, and when.
    pub(super) removed: Option<(Path, u64)>,
    /// Directories in which it replaced another file before it was durable.
    pub(super) replaced_in: Vec<(Path, u64)>,
    /// Length; `None` when unknown.
    length: Option<u64>,
    /// Bytes at its beginning that are older than the run.
    old_bytes: u64,
    /// Sum of the bytes written over these.
    written_over: u64,
    /// Part of these that was overwritten.
    overwritten: Option<(u64, u64)>,
    links: u32,
    syncs: Syncs,
    pending: Pending,
    /// Start of the latest successful sync, nanoseconds; 0 for none.
    covered_ns: u64,
    write_ns: u64,
    /// The latest write that was durable by itself.
    durable_write_ns: u64,
    durable_writes: u64,
    mapped_ns: Option<u64>,
    deadlines: VecDeque<Deadline>,
    failed_ns: Option<u64>,
    emptied_at: Option<Span>,
    /// The first answer to a peer, until a sync covers what it was about; and the end of the last write
    /// before it.
    answer: Option<(u64, Span)>,
}

impl Life {
    /// A file of this length, with one name or none.
    pub(super) fn new(length: Option<u64>, is_removed: bool) -> Self {
        Self {
            history: FileHistory {
                unlinked: is_removed,
                ..FileHistory::default()
            },
            length,
            old_bytes: length.unwrap_or(0),
            written_over: 0,
            links: u32::from(!is_removed),
            ..Self::default()
        }
    }

    /// Contents were written that no call has made durable yet.
    fn wait_for_sync(&mut self, span: Span, bytes: u64, whole: Option<Span>) {
        if bytes == 0 {
            return;
        }
        self.write_ns = self.write_ns.max(span.ended_ns);
        if span.ended_ns > self.covered(whole) {
            self.pending.add(span, bytes);
        }
        self.judge_names(span);
    }

    fn covered(&self, whole: Option<Span>) -> u64 {
        self.covered_ns.max(whole.map_or(0, |span| span.started_ns))
    }

    fn is_synchronous(&self) -> bool {
        self.durable_writes > 0 && self.durable_writes == self.history.writes
    }

    /// Whether stores to a mapping may not be durable yet.
    fn has_stores(&self, whole: Option<Span>) -> bool {
        let covered_ns = self.covered(whole);
        !self.history.mapping_synced && self.mapped_ns.is_some_and(|at_ns| at_ns > covered_ns)
    }

    pub(super) fn wrote(
        &mut self,
        (span, process): (Span, u32),
        writes: &Writes,
        whole: Option<Span>,
    ) {
        if span.ended_ns >= self.write_ns {
            self.history.written_by = Some(process);
        }
        let started_ns = span.started_ns;
        let first = self.history.first_written_ns.get_or_insert(started_ns);
        *first = started_ns.min(*first);
        if writes.appends {
            // The file ended there: what was behind it is gone.
            self.old_bytes = self.old_bytes.min(writes.from);
        }
        if let Some(size) = writes.size_bytes {
            self.found(size);
        }
        self.overwrite(span, writes);
        self.history.writes = self.history.writes.saturating_add(writes.count);
        self.history.written_bytes = self.history.written_bytes.saturating_add(writes.bytes);
        let growth = match self.length {
            Some(length) if writes.appends => {
                self.history.appends = self.history.appends.saturating_add(writes.count);
                self.length = Some(length.max(writes.to));
                Growth::Resized
            }
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
        if self.failed_ns.is_some_and(|failed| started_ns >= failed) {
            let after = &mut self.history.writes_after_failed_sync;
            *after = after.saturating_add(writes.count);
        }
        if let Some(span) = self
            .emptied_at
            .take_if(|span| started_ns >= span.started_ns)
        {
            self.history.rewritten.add(span);
        }
        self.syncs.changed(span, growth, &mut self.history);
        if writes.durable {
            self.durable_writes = self.durable_writes.saturating_add(writes.count);
            self.durable_write_ns = self.durable_write_ns.max(span.ended_ns);
        } else {
            self.wait_for_sync(span, writes.bytes, whole);
        }
    }

    /// Where the file is shorter than it was, others have cut it.
    fn found(&mut self, size: u64) {
        self.old_bytes = self.old_bytes.min(size);
        self.length = self.length.map(|length| length.min(size));
    }

    /// Contents older than the run are gone: no more of them than was written.
    fn overwrite(&mut self, span: Span, writes: &Writes) {
        let to = writes.to.min(self.old_bytes);
        if writes.from >= to || writes.durable {
            return;
        }
        let most = writes.bytes.min(to - writes.from);
        self.written_over = self.written_over.saturating_add(most);
        let (from, to) = match self.overwritten {
            Some((first, last)) => (first.min(writes.from), last.max(to)),
            None => (writes.from, to),
        };
        self.overwritten = Some((from, to));
        self.history.overwritten_bytes = self.written_over.min(to - from);
        self.history.overwritten.add(span);
    }

    pub(super) fn opened(&mut self, span: Span, truncated: bool) {
        self.history.opened_to_write += 1;
        self.failed_ns = None;
        if truncated {
            self.emptied(span);
        }
    }

    fn emptied(&mut self, span: Span) {
        // The loss of its own contents, never synced, harms nobody.
        if !self.history.created || self.history.syncs.is_any() {
            self.history.emptied.add(span);
            self.emptied_at = Some(span);
        }
        self.old_bytes = 0;
        self.length = Some(0);
        self.syncs.changed(span, Growth::Resized, &mut self.history);
    }

    pub(super) fn resized(&mut self, span: Span, bytes: u64) {
        if bytes == 0 && self.length != Some(0) {
            return self.emptied(span);
        }
        self.old_bytes = self.old_bytes.min(bytes);
        self.length = Some(bytes);
        self.syncs.changed(span, Growth::Resized, &mut self.history);
    }

    pub(super) fn allocated(&mut self, span: Span) {
        self.history.allocated = true;
        self.length = None; // it may or may not have been kept
        self.syncs.changed(span, Growth::Unclear, &mut self.history);
    }

    pub(super) fn closed(&mut self, span: Span, whole: Option<Span>) {
        self.pending.cover(self.covered(whole));
        if self.pending.amount() > 0 {
            self.history.closed_unsynced.add(span);
        }
    }

    pub(super) fn mapped(&mut self, span: Span, process: u32) {
        self.history.written_by = Some(process);
        self.mapped_ns = self.mapped_ns.max(Some(span.ended_ns));
        self.history.mapped_to_write.add(span);
    }

    /// `msync` with `MS_SYNC` returned: an `fdatasync` of this many bytes (`msync`, mm/msync.c).
    pub(super) fn mapping_synced(
        &mut self,
        span: Span,
        process: u32,
        bytes: u64,
        error: Option<i32>,
        whole: Option<Span>,
    ) {
        let covers = self.length.is_some_and(|length| bytes >= length);
        let (covered_ns, pending) = (self.covered_ns, self.pending.clone());
        let answer = (self.answer, self.history.answer_synced_after_ns);
        self.synced((span, process), true, error, whole);
        self.history.msyncs += u64::from(error.is_none());
        if !covers {
            (self.covered_ns, self.pending) = (covered_ns, pending);
            (self.answer, self.history.answer_synced_after_ns) = answer;
        }
    }

    /// `fsync` or `fdatasync` returned. Returns the time of the latest change that made the file
    /// system write its journal, which then includes all earlier name changes.
    pub(super) fn synced(
        &mut self,
        (span, process): (Span, u32),
        data_only: bool,
        error: Option<i32>,
        whole: Option<Span>,
    ) -> Option<u64> {
        if let Some(error) = error {
            if STORAGE_ERRORS.contains(&error) {
                self.history.failed_syncs.add(span);
                self.failed_ns = self.failed_ns.max(Some(span.ended_ns));
            }
            return None;
        }
        if self
            .failed_ns
            .is_some_and(|failed| span.started_ns >= failed)
        {
            let after = &mut self.history.syncs_after_failed_sync;
            after.add(span);
        }
        self.history.syncs.add(span);
        self.covers_answer(span);
        self.history.synced_by = Some(process);
        self.history.data_syncs += u64::from(data_only);
        let is_mapped = self.history.mapped_to_write.is_any();
        self.history.mapping_synced |= is_mapped;
        self.syncs
            .synced(span, data_only, is_mapped, whole, &mut self.history);
        self.covered_ns = self.covered_ns.max(span.started_ns);
        self.pending.cover(self.covered_ns);
        self.syncs.journalled(span.started_ns, data_only)
    }

    /// A process that changed or named it reported something to the outside. Returns whether bytes
    /// written to it were not durable.
    pub(super) fn reported(
        &mut self,
        (span, ended_ns): (Span, u64),
        directory_ns: u64,
        whole: Option<Span>,
    ) -> bool {
        self.pending.cover(self.covered(whole));
        if self.pending.amount() > 0 || self.has_stores(whole) {
            let acknowledged = &mut self.history.acknowledged;
            acknowledged.add(span);
        }
        let whole_ns = whole.map_or(0, |span| span.started_ns);
        let covered_ns = directory_ns.max(whole_ns);
        let named_ns = self.named.as_ref().map(|(.., ended_ns)| *ended_ns);
        if named_ns.is_some_and(|named_ns| named_ns > covered_ns && named_ns < ended_ns) {
            self.name_reported_ns = ended_ns;
        }
        self.pending.amount() > 0
    }

    /// A peer was answered by the thread whose last write ended at `written_ns`.
    pub(super) fn answered(&mut self, span: Span, written_ns: u64) {
        self.history.answered.add(span);
        if self.history.answered_after_ns.is_none() {
            self.answer = Some((written_ns, span));
            self.history.answered_bytes = self.pending.amount();
            self.history.answered_after_ns = Some(span.started_ns.saturating_sub(written_ns));
        }
    }

    /// A sync covers what the first answer was about.
    fn covers_answer(&mut self, sync: Span) {
        if let Some((_, answer)) = self
            .answer
            .take_if(|(written_ns, _)| *written_ns <= sync.started_ns)
        {
            let after_ns = sync.ended_ns.saturating_sub(answer.started_ns);
            self.history.answer_synced_after_ns = Some(after_ns);
        }
    }

    /// The history at the end of the run. `directory_ns` is the start of the latest sync of its
    /// directory, `removed_ns` that of the directory from which it was removed; `journalled_ns` is
    /// the last result of [`Self::synced`] for any file of its file system.
    pub(super) fn finish(
        mut self,
        whole: Option<Span>,
        (directory_ns, removed_ns): (u64, u64),
        journalled_ns: u64,
    ) -> FileHistory {
        if let Some(whole) = whole {
            self.covers_answer(whole);
        }
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
                || ended_ns < self.durable_write_ns
                || self.history.mapping_synced && naming == Naming::Created;
            self.history.name_acknowledged = self.name_reported_ns > ended_ns;
            self.history.name_journalled = journalled_ns > ended_ns;
        }
        let is_lost = |(_, ended_ns): &(Path, u64)| *ended_ns > removed_ns.max(whole_ns);
        self.history.removal_unsynced =
            self.history.unlinked && self.removed.as_ref().is_some_and(is_lost);
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
