//! Repeatedly synced files: common parts of the rules about sync cost.

use std::collections::BTreeMap;

use super::draft::{Found, cited};
use super::fault::{first_s, lasting};
use crate::trace::{Cited, FileHistory, FileRow, Happened, Remedy, TraceResult};

/// Fewer syncs than these are not a pattern.
pub(super) const LEAST_SYNCS: u64 = 10;

/// Calls that change metadata which only `fsync` makes durable, and that are not steps of a
/// history.
const METADATA: &[&str] = &[
    "fchmod",
    "fchown",
    "utimensat",
    "fsetxattr",
    "fremovexattr",
    "ioctl",
];

/// The history of all files with one name, one after the other, such as a journal that is created
/// and removed for each transaction.
#[derive(Debug, Clone)]
pub(super) struct SyncedName<'a> {
    /// The first of the files.
    pub(super) file: &'a FileRow,
    /// Their writes and syncs, added up; `syncs` are the useful ones, without those of nothing.
    pub(super) sum: FileHistory,
    /// Whether mode, owner, times or attributes may have changed, too.
    pub(super) has_metadata: bool,
    /// Bytes that turned dirty, where a mapping was synced.
    pub(super) stored_bytes: u64,
}

impl SyncedName<'_> {
    /// Average bytes of one write; at least 1.
    pub(super) fn piece_bytes(&self) -> u64 {
        let mean_bytes = self.sum.written_bytes.checked_div(self.sum.writes);
        mean_bytes.unwrap_or(0).max(1)
    }

    /// Average writes per sync of `syncs`; at least 1.
    pub(super) fn writes_per(&self, syncs: u64) -> u64 {
        self.sum.writes.checked_div(syncs).unwrap_or(0).max(1)
    }

    /// Whether most syncs were `fdatasync`.
    pub(super) fn is_data_only(&self) -> bool {
        self.sum.data_syncs * 2 > self.sum.syncs.count + self.sum.syncs_of_nothing.count
    }

    /// Whether most writes extended the file.
    pub(super) fn is_appended(&self) -> bool {
        self.sum.appends * 2 > self.sum.writes
    }

    /// The most frequent call.
    pub(super) fn call(&self) -> &'static str {
        if self.sum.msyncs * 2 > self.sum.syncs.count {
            "msync"
        } else if self.is_data_only() {
            "fdatasync"
        } else {
            "fsync"
        }
    }

    /// Evidence: these syncs, and when the first one was.
    pub(super) fn cited(&self, run: &TraceResult, what: String, happened: &Happened) -> Cited {
        Cited {
            at_s: first_s(run, happened),
            ..cited(what, self.call(), self.file, happened.count)
        }
    }

    /// The cost of these syncs; a trial measures how much the remedy saves.
    pub(super) fn found(
        &self,
        run: &TraceResult,
        (title, what): (String, String),
        happened: &Happened,
        remedy: Remedy,
    ) -> Found {
        Found {
            title,
            evidence: vec![self.cited(run, what, happened)],
            // Threads may have waited at the same time.
            cost_s: happened.took_s().min(run.wall_s),
            remedy: Some(remedy),
            ..Found::default()
        }
    }
}

/// All names whose files were synced, by their first name.
pub(super) fn synced_names(run: &TraceResult) -> Vec<SyncedName<'_>> {
    let mut names: BTreeMap<&str, SyncedName<'_>> = BTreeMap::new();
    for (file, history) in lasting(run).filter(|(_, history)| history.syncs.is_any()) {
        let name = names.entry(&file.path).or_insert_with(|| SyncedName {
            file,
            sum: FileHistory::default(),
            has_metadata: false,
            stored_bytes: 0,
        });
        let (sum, nothing) = (&mut name.sum, &history.syncs_of_nothing);
        sum.writes += history.writes;
        sum.written_bytes += history.written_bytes;
        sum.appends += history.appends;
        sum.data_syncs += history.data_syncs;
        sum.msyncs += history.msyncs;
        if history.msyncs > 0 {
            name.stored_bytes += file.evidence.cache.dirtied_bytes.unwrap_or(0);
        }
        let mut useful = history.syncs.clone();
        useful.count = useful.count.saturating_sub(nothing.count);
        useful.took_ns = useful.took_ns.saturating_sub(nothing.took_ns);
        sum.syncs.merge(&useful);
        sum.syncs_of_nothing.merge(nothing);
        sum.steady_syncs.merge(&history.steady_syncs);
        sum.growing_syncs.merge(&history.growing_syncs);
        sum.allocated |= history.allocated;
        name.has_metadata |= file
            .calls
            .iter()
            .any(|call| METADATA.contains(&call.row.name.as_str()));
    }
    names.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, file_call, run, synced};
    use super::*;

    #[test]
    fn files_of_one_name_are_added_up() {
        let journal = || {
            let mut file = changed("/db-journal", synced(2, 4, 0.5));
            let history = file.history.as_mut().unwrap();
            history.syncs_of_nothing = Happened {
                count: 1,
                took_ns: 100_000_000,
                first_ns: vec![5],
            };
            file
        };
        let mut other = changed("/other", FileHistory::default());
        other.calls.push(file_call("fchmod", 1, 0, 0.0));
        let run = run(vec![journal(), other, journal()]);
        let names = synced_names(&run);
        assert_eq!(names.len(), 1, "the other was not synced");
        let (name, sum) = (&names[0], &names[0].sum);
        assert_eq!((sum.writes, name.writes_per(sum.syncs.count)), (8, 4));
        assert_eq!((sum.syncs.count, sum.syncs_of_nothing.count), (2, 2));
        assert_eq!(sum.syncs.took_ns, 800_000_000);
        assert!(!name.has_metadata && !name.is_data_only());
        assert_eq!(name.call(), "fsync");
    }
}
