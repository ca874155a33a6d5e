//! Reports of processes to the outside, and the files that they had changed by then.

use std::collections::HashMap;

use super::{Follower, Span};
use crate::op::{Call, FileId};
use crate::trace::Audience;

/// Maximum number of changes of one process between two reports: a report after more does not
/// concern each of them.
const CHANGES: usize = 256;
/// Maximum number of processes.
const PROCESSES: usize = 1 << 12;

/// The latest change of a file by a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changed {
    file: FileId,
    thread: u32,
    ended_ns: u64,
    /// Whether it is a mapping: stores come at any time after it.
    is_mapped: bool,
}

#[derive(Debug, Default)]
struct Process {
    /// End of its latest report, nanoseconds; 0 for none.
    last_ns: u64,
    /// Changes after this time may be what that report was about.
    last_since_ns: u64,
    /// What it has changed since a report was about that.
    changed: Vec<Changed>,
    /// The two files that it synced last, and when.
    synced: Vec<(FileId, u64)>,
}

impl Process {
    /// Whether it has synced another file since then: a log, which has what was changed here.
    fn has_log_for(&self, file: FileId, since_ns: u64) -> bool {
        let mut synced = self.synced.iter();
        synced.any(|(other, ended_ns)| *other != file && *ended_ns > since_ns)
    }
}

#[derive(Debug, Default)]
pub(super) struct Reports(HashMap<u32, Process>);

impl Reports {
    fn of(&mut self, process: u32) -> Option<&mut Process> {
        if self.0.len() >= PROCESSES && !self.0.contains_key(&process) {
            return None;
        }
        Some(self.0.entry(process).or_default())
    }

    /// A process changed a file, or gave it a name. Returns whether it has made a report since the
    /// change began: a run of writes may come late.
    fn changed(&mut self, process: u32, change: Changed, span: Span) -> bool {
        let Some(known) = self.of(process) else {
            return false;
        };
        let is_same = |old: &Changed| (old.file, old.thread) == (change.file, change.thread);
        if let Some(old) = known.changed.iter_mut().find(|old| is_same(old)) {
            old.ended_ns = old.ended_ns.max(change.ended_ns);
            old.is_mapped |= change.is_mapped;
        } else {
            if known.changed.len() >= CHANGES {
                known.changed.remove(0);
            }
            known.changed.push(change);
        }
        known.last_ns > span.started_ns && known.last_since_ns < span.ended_ns
    }

    /// A process synced a file.
    pub(super) fn synced(&mut self, process: u32, file: FileId, span: Span) {
        if let Some(known) = self.of(process) {
            known.synced.retain(|(other, _)| *other != file);
            known.synced.insert(0, (file, span.ended_ns));
            known.synced.truncate(2);
        }
    }

    /// A process made a report. Returns the changes that it may be about: an answer to a peer is about
    /// none from before the request, and about none that a log has.
    fn reported(&mut self, call: &Call, audience: Audience) -> Vec<Changed> {
        let span = Span::of(call);
        let Some(known) = self.of(call.process) else {
            return Vec::new();
        };
        let since_ns = audience.since_ns();
        known.last_ns = known.last_ns.max(span.ended_ns);
        known.last_since_ns = since_ns;
        let (told, kept) = std::mem::take(&mut known.changed)
            .into_iter()
            .partition(|change| {
                // Reports without news come late.
                let is_own = change.thread == call.thread;
                let before_ns = if is_own {
                    span.started_ns
                } else {
                    span.ended_ns
                };
                change.is_mapped || change.ended_ns > since_ns && change.ended_ns <= before_ns
            });
        known.changed = kept;
        let mut told: Vec<Changed> = told;
        if audience != Audience::Output {
            told.retain(|change| !known.has_log_for(change.file, since_ns));
        }
        told
    }

    /// End of the latest report of a process, nanoseconds; 0 for none.
    pub(super) fn last_ns(&self, process: u32) -> u64 {
        self.0.get(&process).map_or(0, |known| known.last_ns)
    }
}

impl Follower {
    /// The changed file may be the subject of the next report, or of an earlier one.
    pub(super) fn may_be_reported(&mut self, call: &Call, file: FileId, is_mapped: bool) {
        let span = Span::of(call);
        let change = Changed {
            file,
            thread: call.thread,
            ended_ns: span.ended_ns,
            is_mapped,
        };
        if self.reports.changed(call.process, change, span) {
            let last_ns = self.reports.last_ns(call.process);
            self.tell(file, last_ns, span, None);
        }
    }

    /// Standard output was written to, or a peer was answered.
    pub(super) fn reported(&mut self, call: &Call, audience: Audience) {
        let span = Span::of(call);
        let mut told = self.reports.reported(call, audience);
        // Of several threads' changes of a file, the own one first.
        told.sort_by_key(|change| (change.file, change.thread != call.thread));
        told.dedup_by_key(|change| change.file);
        for change in told {
            // What another thread writes may be for another peer.
            let is_answer = audience != Audience::Output && change.thread == call.thread;
            let written_ns = is_answer.then_some(change.ended_ns);
            self.tell(change.file, span.ended_ns, span, written_ns);
        }
    }

    /// The file was part of a report that ended at `ended_ns`; of an answer, if the thread's last write
    /// ended at `written_ns`.
    fn tell(&mut self, file: FileId, ended_ns: u64, span: Span, written_ns: Option<u64>) {
        let whole = self.whole.of(Some(file.device));
        let Some(life) = self.lives.get_mut(&file) else {
            return;
        };
        let directory_ns = life
            .named
            .as_ref()
            .map_or(0, |(path, ..)| self.directories.covered_ns(path));
        if life.reported((span, ended_ns), directory_ns, whole)
            && let Some(written_ns) = written_ns
        {
            life.answered(span, written_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::fixture::span;

    fn file(inode: u64) -> FileId {
        FileId {
            device: 8,
            inode,
            generation: 0,
        }
    }

    fn change(inode: u64, ended_ns: u64) -> Changed {
        Changed {
            file: file(inode),
            thread: 1,
            ended_ns,
            is_mapped: false,
        }
    }

    fn report(started_ns: u64, ended_ns: u64) -> Call {
        Call {
            process: 1,
            thread: 1,
            started_ns,
            ended_ns,
            name: "sendto",
            outcome: Ok(1),
        }
    }

    #[test]
    fn a_report_is_about_what_its_process_changed_since_the_last_one() {
        let mut reports = Reports::default();
        let output = Audience::Output;
        assert!(!reports.changed(1, change(5, 1), span(0, 1)));
        assert!(!reports.changed(2, change(6, 1), span(0, 1)));
        assert_eq!(reports.reported(&report(0, 0), output), [], "it was before");
        assert_eq!(reports.reported(&report(10, 11), output), [change(5, 1)]);
        assert_eq!(reports.reported(&report(20, 21), output), []);
        assert_eq!((reports.last_ns(1), reports.last_ns(2)), (21, 0));
        let late = reports.changed(1, change(5, 30), span(15, 30));
        assert!(late, "it comes late");
    }

    #[test]
    fn an_answer_is_about_what_was_changed_since_the_request_and_is_in_no_log() {
        let told = |heard_ns, synced: Option<FileId>| {
            let mut reports = Reports::default();
            reports.changed(1, change(5, 10), span(9, 10));
            if let Some(file) = synced {
                reports.synced(1, file, span(11, 12));
            }
            let told = reports.reported(&report(20, 21), Audience::Peer { heard_ns });
            told.len()
        };
        assert_eq!((told(8, None), told(15, None)), (1, 0));
        assert_eq!((told(8, Some(file(5))), told(8, Some(file(6)))), (1, 0));
    }
}
