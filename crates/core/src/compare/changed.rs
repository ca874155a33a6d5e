//! Files whose I/O differs between two traced runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Sides;
use super::trace::Path;

/// The I/O on the files of one path.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FileWork {
    pub time_s: f64,
    pub calls: u64,
    pub opens: u64,
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub syncs: u64,
}

impl FileWork {
    /// Its I/O; calls such as `fstat` do not count.
    fn counts(self) -> [u64; 6] {
        [
            self.opens,
            self.reads,
            self.writes,
            self.read_bytes,
            self.written_bytes,
            self.syncs,
        ]
    }
}

/// A path whose I/O differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ChangedFile {
    pub path: String,
    /// The path in hexadecimal, where `path` has replaced bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
    /// Its I/O; `null` in a run that did not use the path.
    #[serde(flatten)]
    pub work: Sides<Option<FileWork>>,
}

impl ChangedFile {
    /// The difference of the seconds in calls on it.
    fn apart_s(&self) -> f64 {
        let time_s = |work: Option<FileWork>| work.map_or(0.0, |work| work.time_s);
        (time_s(self.work.base) - time_s(self.work.new)).abs()
    }

    fn differs(&self) -> bool {
        let counts = |work: Option<FileWork>| work.unwrap_or_default().counts();
        counts(self.work.base) != counts(self.work.new)
    }
}

type Key<'a> = (&'a str, Option<&'a str>);

/// Paths whose opens, reads, writes or syncs differ, largest difference in time first.
pub(super) fn changed(
    base: &BTreeMap<Key<'_>, Path<'_>>,
    new: &BTreeMap<Key<'_>, Path<'_>>,
) -> Vec<ChangedFile> {
    let later = new.keys().filter(|key| !base.contains_key(*key));
    let files = base.keys().chain(later).map(|key| ChangedFile {
        path: key.0.to_owned(),
        path_hex: key.1.map(str::to_owned),
        work: Sides::of(base, new, |paths| paths.get(key).map(Path::work)),
    });
    let mut files: Vec<ChangedFile> = files.filter(ChangedFile::differs).collect();
    files.sort_by(|a, b| b.apart_s().total_cmp(&a.apart_s()));
    files
}
