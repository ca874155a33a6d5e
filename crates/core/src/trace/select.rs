//! Which rows of a trace are shown, in which order, and how many.

use std::cmp::Ordering;

use glob::Pattern;

use super::together::{FileGroup, Together, together};
use super::{CallRow, FileCall, FileRow, TaskRow, TraceResult};

/// The reader's choice; by default everything, most time first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Files whose path matches: the whole path, its part below the working directory, or the last
    /// name. `*` matches slashes too.
    pub path: Option<Pattern>,
    /// Files on which this call was made, with all their figures; among the calls only this one.
    pub call: Option<String>,
    pub sort: Sort,
    /// Maximum number of rows in each table.
    pub top: Option<usize>,
}

/// A sort column, largest first; tables without it stay sorted by time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// In calls.
    #[default]
    Time,
    Count,
    /// Calls that failed.
    Errors,
    /// Bytes read and written.
    Bytes,
    /// Time blocked in calls.
    Blocked,
    Read,
    Written,
    Syncs,
    Opens,
    /// Bytes of the page cache that became dirty.
    Dirtied,
    DeviceRead,
    /// Bytes that the device wrote.
    DeviceWritten,
    /// The name, in alphabetical order.
    Name,
}

impl Sort {
    /// All columns, by the names that users type.
    pub const ALL: [(&'static str, Self); 13] = [
        ("time", Self::Time),
        ("count", Self::Count),
        ("errors", Self::Errors),
        ("bytes", Self::Bytes),
        ("blocked", Self::Blocked),
        ("read", Self::Read),
        ("written", Self::Written),
        ("syncs", Self::Syncs),
        ("opens", Self::Opens),
        ("dirtied", Self::Dirtied),
        ("dev-read", Self::DeviceRead),
        ("dev-written", Self::DeviceWritten),
        ("name", Self::Name),
    ];

    fn of_file(self, file: &FileRow) -> Option<f64> {
        let calls = || file.calls.iter().map(|call| &call.row);
        let device = || file.evidence.exact_device();
        Some(match self {
            Self::Time => file.time_s(),
            Self::Count => calls().map(|call| call.stats.count as f64).sum(),
            Self::Errors => calls().map(|call| call.stats.errors as f64).sum(),
            Self::Bytes => file.reads.bytes as f64 + file.writes.bytes as f64,
            Self::Blocked => calls().filter_map(|call| call.blocked_s).sum(),
            Self::Read => file.reads.bytes as f64,
            Self::Written => file.writes.bytes as f64,
            Self::Syncs => file.syncs.count as f64,
            Self::Opens => file.opens as f64,
            Self::Dirtied => file.evidence.cache.dirtied_bytes? as f64,
            Self::DeviceRead => device()?.reads.bytes as f64,
            Self::DeviceWritten => device()?.writes().bytes as f64,
            Self::Name => return None,
        })
    }

    fn of_call(self, call: &CallRow) -> Option<f64> {
        Some(match self {
            Self::Count => call.stats.count as f64,
            Self::Errors => call.stats.errors as f64,
            Self::Bytes => call.stats.bytes as f64,
            Self::Blocked => call.blocked_s?,
            _ => call.stats.time_s,
        })
    }

    fn of_task(self, task: &TaskRow) -> Option<f64> {
        Some(match self {
            Self::Count => task.calls as f64,
            Self::Bytes => task.read_bytes as f64 + task.written_bytes as f64,
            Self::Blocked => task.blocked_s?,
            Self::Read => task.read_bytes as f64,
            Self::Written => task.written_bytes as f64,
            _ => task.time_s,
        })
    }

    /// Sorts rows; equal rows, and rows without a figure, stay in their order after the others.
    fn sort<T>(self, rows: &mut [T], name: fn(&T) -> &str, figure: impl Fn(&T) -> Option<f64>) {
        rows.sort_by(|one, other| self.order(one, other, name, &figure));
    }

    fn order<T>(
        self,
        one: &T,
        other: &T,
        name: fn(&T) -> &str,
        figure: &impl Fn(&T) -> Option<f64>,
    ) -> Ordering {
        match self {
            Self::Name => name(one).cmp(name(other)),
            _ => match (figure(one), figure(other)) {
                (Some(one), Some(other)) => other.total_cmp(&one),
                (one, other) => other.is_some().cmp(&one.is_some()),
            },
        }
    }
}

impl Selection {
    /// Whether some rows are filtered out.
    pub fn is_filter(&self) -> bool {
        self.path.is_some() || self.call.is_some()
    }

    /// The first rows of `rows`, as many as chosen.
    pub fn limit(&self, rows: usize) -> usize {
        self.top.map_or(rows, |top| top.min(rows))
    }

    /// The chosen files, grouped and sorted.
    pub fn files<'a>(&self, run: &'a TraceResult, by: Together) -> Vec<FileGroup<'a>> {
        let mut groups = together(self.chosen(run), by);
        let figure = |group: &FileGroup<'_>| self.sort.of_file(&group.row);
        self.sort.sort(&mut groups, |group| group.name, figure);
        let figure = |call: &FileCall| self.sort.of_call(&call.row);
        let order = |one: &FileCall, other: &FileCall| {
            self.sort.order(one, other, |call| &call.row.name, &figure)
        };
        for group in &mut groups {
            // Most are in order, and thousands of rows need not be copied for it.
            let calls = &group.row.calls;
            if !calls.is_sorted_by(|one, other| order(one, other).is_le()) {
                group.row.to_mut().calls.sort_by(order);
            }
        }
        groups
    }

    /// The chosen calls, sorted: of the whole run, or summed over the chosen files.
    pub fn calls(&self, run: &TraceResult) -> Vec<CallRow> {
        let mut calls: Vec<CallRow> = Vec::new();
        if self.path.is_none() {
            calls.clone_from(&run.syscalls);
        } else {
            let of_files = self.chosen(run).flat_map(|file| &file.calls);
            // A call between two files is counted for its destination.
            for call in of_files.filter(|call| !call.is_source) {
                match calls.iter_mut().find(|known| known.name == call.row.name) {
                    Some(known) => known.add(&call.row),
                    None => calls.push(call.row.clone()),
                }
            }
        }
        calls.retain(|call| self.has_call(&call.name));
        let figure = |call: &CallRow| self.sort.of_call(call);
        self.sort.sort(&mut calls, |call| &call.name, figure);
        calls
    }

    /// Sorts threads or processes.
    pub fn sort_tasks(&self, tasks: &mut [TaskRow]) {
        let figure = |task: &TaskRow| self.sort.of_task(task);
        self.sort.sort(tasks, |task| &task.name, figure);
    }

    pub fn has(&self, run: &TraceResult, file: &FileRow) -> bool {
        let is_called = file.calls.iter().any(|call| self.has_call(&call.row.name));
        (self.call.is_none() || is_called)
            && (self.has_path(run, &file.path)
                || file
                    .renamed_to
                    .as_ref()
                    .is_some_and(|path| self.has_path(run, path)))
    }

    pub fn has_path(&self, run: &TraceResult, path: &str) -> bool {
        let Some(pattern) = &self.path else {
            return true;
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        [path, run.below(path), name]
            .iter()
            .any(|text| pattern.matches(text))
    }

    pub fn has_call(&self, name: &str) -> bool {
        self.call.as_ref().is_none_or(|call| call == name)
    }

    fn chosen<'a>(&self, run: &'a TraceResult) -> impl Iterator<Item = &'a FileRow> {
        run.files.iter().filter(move |file| self.has(run, file))
    }
}

impl TraceResult {
    /// A path relative to the working directory, when it is below it.
    pub fn below<'p>(&self, path: &'p str) -> &'p str {
        let directory = self.environment.target.path.trim_end_matches('/');
        let below = path
            .strip_prefix(directory)
            .and_then(|rest| rest.strip_prefix('/'));
        // Everything is below the root directory, so paths stay unchanged there.
        below
            .filter(|rest| !rest.is_empty() && !directory.is_empty())
            .unwrap_or(path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, file, result};
    use super::*;
    use crate::evidence::CallStats;

    fn used(path: &str, calls: &[(&str, u64, f64)]) -> FileRow {
        let mut row = file(path);
        let calls = calls.iter().map(|(name, count, time_s)| FileCall {
            row: CallRow {
                stats: CallStats {
                    time_s: *time_s,
                    ..call(name, *count, None).stats
                },
                ..call(name, *count, None)
            },
            ..FileCall::default()
        });
        row.calls = calls.collect();
        row
    }

    /// In `/srv`.
    fn run() -> TraceResult {
        let mut run = result();
        run.files = vec![
            used("/srv/data/o.db", &[("fsync", 3, 2.0), ("pwrite64", 9, 0.1)]),
            used("/srv/app.log", &[("write", 50, 0.5)]),
            used("/etc/passwd", &[("read", 2, 0.25), ("openat", 1, 0.125)]),
        ];
        run.syscalls = vec![call("fsync", 3, None), call("write", 50, None)];
        run
    }

    fn paths(selection: &Selection) -> Vec<String> {
        let run = run();
        let files = selection.files(&run, Together::Path);
        files
            .into_iter()
            .map(|group| group.name.to_owned())
            .collect()
    }

    fn matching(pattern: &str) -> Selection {
        Selection {
            path: Some(Pattern::new(pattern).unwrap()),
            ..Selection::default()
        }
    }

    #[test]
    fn a_pattern_is_for_the_path_the_shown_path_or_the_name() {
        let all = ["/srv/data/o.db", "/srv/app.log", "/etc/passwd"];
        for (pattern, expected) in [
            ("*", &all[..]),
            ("/srv/*", &all[..2]),
            ("data/*", &all[..1]),
            ("*.db", &all[..1]),
            ("passwd", &all[2..]),
            ("etc/passwd", &[]),
            ("*.DB", &[]),
        ] {
            assert_eq!(paths(&matching(pattern)), expected, "{pattern}");
        }
    }

    #[test]
    fn a_file_is_found_by_the_name_that_it_got() {
        let mut run = run();
        run.files[1].renamed_to = Some("/srv/app.log.1".to_owned());
        assert_eq!(matching("*.1").files(&run, Together::Path).len(), 1);
    }

    #[test]
    fn a_call_chooses_files_and_calls() {
        let wanted = Selection {
            call: Some("fsync".to_owned()),
            ..Selection::default()
        };
        let everything = run();
        let files = wanted.files(&everything, Together::Path);
        assert_eq!(files.len(), 1);
        assert_eq!(
            files[0].row.calls.len(),
            2,
            "the row is that of the whole file"
        );
        let calls = wanted.calls(&run());
        assert_eq!((calls.len(), calls[0].stats.count), (1, 3));
    }

    #[test]
    fn calls_of_chosen_files_are_theirs_alone() {
        let names = |pattern: &str| -> Vec<(String, u64)> {
            let calls = matching(pattern).calls(&run()).into_iter();
            calls.map(|call| (call.name, call.stats.count)).collect()
        };
        assert_eq!(names("/etc/*"), [("read".into(), 2), ("openat".into(), 1)]);
        assert_eq!(names("nothing"), []);
    }

    #[test]
    fn rows_are_sorted_by_any_column() {
        let by = |sort| {
            paths(&Selection {
                sort,
                ..Selection::default()
            })
        };
        let [db, log, passwd] = ["/srv/data/o.db", "/srv/app.log", "/etc/passwd"];
        assert_eq!(by(Sort::Time), [db, log, passwd]);
        assert_eq!(by(Sort::Count), [log, db, passwd]);
        assert_eq!(by(Sort::Name), [passwd, log, db]);
        // The device was not observed.
        assert_eq!(by(Sort::DeviceRead), [db, log, passwd]);
    }

    #[test]
    fn a_limit_is_no_more_than_there_is() {
        let top = |top| {
            Selection {
                top,
                ..Selection::default()
            }
            .limit(7)
        };
        assert_eq!([top(None), top(Some(3)), top(Some(9))], [7, 3, 7]);
    }

    #[test]
    fn names_of_columns_differ() {
        let names: std::collections::BTreeSet<&str> =
            Sort::ALL.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), Sort::ALL.len());
    }
}
