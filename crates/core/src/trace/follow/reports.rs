//! Reports of processes to the outside, and the files that they had changed by then.

use std::collections::HashMap;

use super::{Follower, Span};
use crate::op::{Call, FileId};

/// Maximum number of files of one process between two reports: a report after more changes does not
/// concern each of them.
const FILES: usize = 256;
/// Maximum number of processes.
const PROCESSES: usize = 1 << 12;

#[derive(Debug, Default)]
struct Process {
    /// End of its latest report, nanoseconds; 0 for none.
    last_ns: u64,
    /// Files that it has changed since then.
    changed: Vec<FileId>,
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
    pub(super) fn changed(&mut self, process: u32, file: FileId, span: Span) -> bool {
        let Some(known) = self.of(process) else {
            return false;
        };
        if known.changed.len() < FILES && !known.changed.contains(&file) {
            known.changed.push(file);
        }
        known.last_ns > span.started_ns
    }

    /// A process made a report. Returns the files that it had changed since the last one.
    pub(super) fn reported(&mut self, process: u32, span: Span) -> Vec<FileId> {
        self.of(process).map_or_else(Vec::new, |known| {
            known.last_ns = known.last_ns.max(span.ended_ns);
            std::mem::take(&mut known.changed)
        })
    }

    /// End of the latest report of a process, nanoseconds; 0 for none.
    pub(super) fn last_ns(&self, process: u32) -> u64 {
        self.0.get(&process).map_or(0, |known| known.last_ns)
    }
}

impl Follower {
    /// The changed file may be the subject of the next report, or of an earlier one.
    pub(super) fn may_be_reported(&mut self, call: &Call, file: FileId) {
        let span = Span::of(call);
        if self.reports.changed(call.process, file, span) {
            let last_ns = self.reports.last_ns(call.process);
            self.tell(file, last_ns, span);
        }
    }

    /// Standard output or a socket was written to.
    pub(super) fn reported(&mut self, call: &Call) {
        let span = Span::of(call);
        for file in self.reports.reported(call.process, span) {
            self.tell(file, span.ended_ns, span);
        }
    }

    /// The file was part of a report that ended at `ended_ns`.
    fn tell(&mut self, file: FileId, ended_ns: u64, span: Span) {
        let whole = self.whole.of(Some(file.device));
        let Some(life) = self.lives.get_mut(&file) else {
            return;
        };
        let directory_ns = life
            .named
            .as_ref()
            .map_or(0, |(path, ..)| self.directories.covered_ns(path));
        life.reported((span, ended_ns), directory_ns, whole);
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

    #[test]
    fn a_report_is_about_what_its_process_changed_since_the_last_one() {
        let mut reports = Reports::default();
        assert!(!reports.changed(1, file(5), span(0, 1)));
        assert!(!reports.changed(2, file(6), span(0, 1)));
        assert_eq!(reports.reported(1, span(10, 11)), [file(5)]);
        assert_eq!(reports.reported(1, span(20, 21)), []);
        assert_eq!((reports.last_ns(1), reports.last_ns(2)), (21, 0));
        assert!(reports.changed(1, file(5), span(15, 30)), "it comes late");
    }
}
