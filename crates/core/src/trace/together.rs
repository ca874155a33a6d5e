//! Files grouped into one row: those of one path, one directory or one extension.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Deref;

use super::{Bounds, FileCall, FileRow};
use crate::evidence::Evidence;

/// Files that share a path, directory or extension.
#[derive(Debug, Clone, PartialEq)]
pub struct FileGroup<'a> {
    /// Their path, directory or extension.
    pub name: &'a str,
    /// Number of files; each life of an inode number is one.
    pub files: u64,
    /// Their sums. Properties that only one file can have (its inode, its history) are those of the
    /// first. Percentiles are missing where calls of several files are joined.
    pub row: GroupRow<'a>,
}

/// A row takes nearly 1 KiB, and most groups have one file: those are not copied.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRow<'a> {
    first: &'a FileRow,
    own: Option<Box<FileRow>>,
}

impl<'a> GroupRow<'a> {
    fn of(first: &'a FileRow) -> Self {
        Self { first, own: None }
    }

    /// The row for changes; the first change copies it.
    pub(super) fn to_mut(&mut self) -> &mut FileRow {
        self.own.get_or_insert_with(|| Box::new(self.first.clone()))
    }
}

impl Deref for GroupRow<'_> {
    type Target = FileRow;

    fn deref(&self) -> &FileRow {
        self.own.as_deref().unwrap_or(self.first)
    }
}

/// The key by which files are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Together {
    /// Their path: a reused name is one row.
    Path,
    Directory,
    /// Their extension, such as `.rs`.
    Extension,
}

/// Groups files; groups come in the order of their first file.
pub fn together<'a>(
    files: impl IntoIterator<Item = &'a FileRow>,
    by: Together,
) -> Vec<FileGroup<'a>> {
    let mut groups: Vec<FileGroup<'a>> = Vec::new();
    let mut places: HashMap<(&str, bool, bool), usize> = HashMap::new();
    for file in files {
        let (name, shown) = name(file, by);
        let is_deleted = file.deleted && by == Together::Path;
        match places.entry((name, file.kind.is_stored(), is_deleted)) {
            Entry::Vacant(place) => {
                place.insert(groups.len());
                groups.push(FileGroup {
                    name: shown,
                    files: 1,
                    row: GroupRow::of(file),
                });
            }
            Entry::Occupied(place) => {
                let group = &mut groups[*place.get()];
                group.files += 1;
                add(group.row.to_mut(), file);
            }
        }
    }
    groups
}

/// The key of a group, and its name.
fn name(file: &FileRow, by: Together) -> (&str, &str) {
    let path = file.path.as_str();
    let name = match by {
        // A path that is not text is distinguished only by its bytes.
        Together::Path => return (file.path_hex.as_deref().unwrap_or(path), path),
        _ if !file.kind.is_stored() => "pipes, sockets, terminals",
        Together::Directory => directory(path),
        Together::Extension => extension(path),
    };
    (name, name)
}

fn directory(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(slash) => &path[..slash],
        None => path,
    }
}

/// `.so` of `/lib/libc.so.6`: numbers at the end are versions.
fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut end = name.len();
    while let Some(dot) = name[..end].rfind('.').filter(|dot| *dot > 0) {
        if !is_number(&name[dot + 1..end]) {
            return &name[dot..end];
        }
        end = dot;
    }
    "no extension"
}

fn add(sum: &mut FileRow, file: &FileRow) {
    if sum.renamed_to != file.renamed_to {
        sum.renamed_to = None;
    }
    sum.opens = sum.opens.saturating_add(file.opens);
    sum.reads += file.reads;
    sum.writes += file.writes;
    sum.syncs += file.syncs;
    for call in &file.calls {
        let same = |known: &&mut FileCall| {
            known.row.name == call.row.name && known.is_source == call.is_source
        };
        match sum.calls.iter_mut().find(same) {
            Some(known) => called(known, call),
            None => sum.calls.push(call.clone()),
        }
    }
    evidence(&mut sum.evidence, &file.evidence);
    let dirty = sum.dirty_at_exit().zip(file.dirty_at_exit());
    (sum.dirty_at_exit_bytes, sum.dirty_at_exit_bytes_shared) =
        Bounds::told(dirty.map(|(one, other)| one.plus(other)));
    sum.residency = None;
    sum.history = None;
}

fn called(sum: &mut FileCall, more: &FileCall) {
    sum.row.add(&more.row);
    sum.shape = None;
    sum.sites.clear();
}

fn evidence(sum: &mut Evidence, more: &Evidence) {
    sum.cache = sum.cache.plus(&more.cache);
    let devices = sum.device.zip(more.device);
    sum.device = devices.map(|(one, other)| one.plus(other));
    let after = sum.device_after_exit.zip(more.device_after_exit);
    sum.device_after_exit = after.map(|(one, other)| one.plus(other));
}

/// The sum is unknown if a part is unknown.
#[cfg(test)]
mod tests {
    use super::super::fixture::{call, file};
    use super::*;
    use crate::evidence::CallStats;
    use crate::trace::{CallRow, FileKind};

    fn used(path: &str, inode: u64, opens: u64, dirtied_bytes: Option<u64>) -> FileRow {
        let mut row = FileRow {
            inode,
            opens,
            ..file(path)
        };
        row.calls = vec![FileCall {
            row: CallRow {
                stats: CallStats {
                    time_s: 0.5,
                    ..call("openat", opens, Some(0.25)).stats
                },
                p50_s: Some(0.1),
                ..call("openat", opens, Some(0.25))
            },
            ..FileCall::default()
        }];
        row.evidence.cache.dirtied_bytes = dirtied_bytes;
        row
    }

    fn named<'a>(groups: &[FileGroup<'a>]) -> Vec<(&'a str, u64)> {
        groups
            .iter()
            .map(|group| (group.name, group.files))
            .collect()
    }

    #[test]
    fn files_of_one_path_are_one_row() {
        let files = [
            used("/srv/o.db-journal", 12, 1, Some(4096)),
            used("/srv/o.db", 13, 2, Some(8192)),
            used("/srv/o.db-journal", 14, 3, Some(4096)),
            used("/srv/o.db-journal", 12, 4, None),
        ];
        let groups = together(&files, Together::Path);
        assert_eq!(named(&groups), [("/srv/o.db-journal", 3), ("/srv/o.db", 1)]);
        let row = &groups[0].row;
        assert_eq!((row.opens, row.calls.len()), (8, 1));
        let opens = &row.calls[0].row;
        assert_eq!(
            (opens.stats.count, opens.blocked_s, opens.p50_s),
            (8, Some(0.75), None)
        );
        assert!((row.time_s() - 1.5).abs() < 1e-9);
        // One of them was not observed there.
        assert_eq!(row.evidence.cache.dirtied_bytes, None);
        assert_eq!(*groups[1].row, files[1]);
    }

    #[test]
    fn paths_that_are_no_text_are_told_by_their_bytes() {
        let mut files = [
            used("/d/\u{fffd}", 1, 1, None),
            used("/d/\u{fffd}", 2, 1, None),
        ];
        files[0].path_hex = Some("2f642fff".to_owned());
        files[1].path_hex = Some("2f642ffe".to_owned());
        assert_eq!(together(&files, Together::Path).len(), 2);
    }

    #[test]
    fn a_directory_and_an_extension_sum_their_files() {
        let mut pipe = used("pipe:[7]", 3, 0, None);
        pipe.kind = FileKind::Pipe;
        let files = [
            used("/srv/a.rs", 1, 1, Some(1)),
            used("/srv/b.rs", 2, 1, Some(2)),
            pipe,
            used("/lib/libc.so.6", 4, 1, Some(4)),
            used("/.profile", 5, 1, Some(8)),
        ];
        assert_eq!(
            named(&together(&files, Together::Directory)),
            [
                ("/srv", 2),
                ("pipes, sockets, terminals", 1),
                ("/lib", 1),
                ("/", 1)
            ]
        );
        let by_extension = together(&files, Together::Extension);
        assert_eq!(
            named(&by_extension),
            [
                (".rs", 2),
                ("pipes, sockets, terminals", 1),
                (".so", 1),
                ("no extension", 1)
            ]
        );
        assert_eq!(by_extension[0].row.evidence.cache.dirtied_bytes, Some(3));
    }

    #[test]
    fn files_of_one_path_were_used_from_the_first_to_the_last() {
        let used = |first_s, last_s| {
            let mut row = file("/srv/a");
            row.calls = vec![FileCall {
                row: CallRow {
                    first_s,
                    last_s,
                    ..call("read", 1, None)
                },
                ..FileCall::default()
            }];
            row
        };
        let span = |files: [FileRow; 2]| together(&files, Together::Path)[0].row.span_s();
        let one = used(Some(1.0), Some(2.0));
        let other = used(Some(0.5), Some(0.75));
        assert_eq!(one.span_s(), Some((1.0, 2.0)));
        assert_eq!(span([one.clone(), other]), Some((0.5, 2.0)));
        assert_eq!(span([one, used(None, None)]), None);
        assert_eq!(file("/srv/b").span_s(), None);
    }
}
