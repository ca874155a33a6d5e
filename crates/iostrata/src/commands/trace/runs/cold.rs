//! Evicting the files of a program before each of its runs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use iostrata_core::bytes::unhex;
use iostrata_core::cache::{CacheFile, is_in_memory};
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::trace::{Cold, FileKind, FileRow, Stayed, TraceResult, answers};
use iostrata_lab::engine::Silent;

use super::super::super::cache::{Survey, evict};
use crate::error::Failure;

/// Paths that a gap names.
const NAMED: usize = 3;

/// The files of a program, and those that could not be evicted.
#[derive(Debug)]
pub(super) struct Files {
    paths: Vec<PathBuf>,
    evicted_bytes: u64,
    left_bytes: u64,
    /// By path, the most bytes that stayed before any run.
    left: BTreeMap<String, Stayed>,
}

impl Files {
    pub(super) fn of(learned: &TraceResult) -> Self {
        let used = learned
            .files
            .iter()
            .filter(|file| file.kind == FileKind::Regular && !answers(&file.filesystem));
        let paths: BTreeSet<PathBuf> = used.filter_map(path).collect();
        Self {
            paths: paths.into_iter().collect(),
            evicted_bytes: 0,
            left_bytes: 0,
            left: BTreeMap::new(),
        }
    }

    /// Writes back and evicts all existing files, and verifies it.
    pub(super) fn evict(&mut self, stop: &dyn Fn() -> bool) -> Result<(), Failure> {
        let mut survey = Survey::of_files(&self.paths, stop)?;
        evict::all(&mut survey, true, &mut Silent, stop);
        let rows = || survey.entries.iter().map(|entry| &entry.row);
        let resident = |row: &CacheFile| row.now().map(|now| now.resident_bytes);
        self.evicted_bytes = rows()
            .filter_map(|row| Some(row.before?.resident_bytes.saturating_sub(resident(row)?)))
            .sum();
        self.left_bytes = self.left_bytes.max(rows().filter_map(resident).sum());
        for row in rows().filter(|row| resident(row) != Some(0)) {
            self.stayed(row, resident(row));
        }
        Ok(())
    }

    fn stayed(&mut self, row: &CacheFile, bytes: Option<u64>) {
        let why = row.reasons.iter().map(|reason| reason.why.as_str());
        let stayed = Stayed {
            path: row.path.clone(),
            bytes,
            why: why.collect::<Vec<_>>().join("; "),
        };
        let known = self
            .left
            .entry(row.path.clone())
            .or_insert_with(|| stayed.clone());
        if known.bytes < bytes {
            *known = stayed;
        }
    }

    pub(super) fn told(self) -> Cold {
        let mut left: Vec<Stayed> = self.left.into_values().collect();
        left.sort_by_key(|file| Reverse(file.bytes));
        Cold {
            files: self.paths.len() as u64,
            evicted_bytes: self.evicted_bytes,
            left_bytes: self.left_bytes,
            left,
        }
    }

    /// Files that the observed run read and that no run before it had named: nobody evicted them.
    pub(super) fn not_evicted(&self, observed: &TraceResult) -> Option<Gap> {
        let is_new = |file: &&FileRow| {
            file.kind == FileKind::Regular
                && file.reads.bytes > 0
                && file.size_before_bytes > 0
                && !is_in_memory(&file.filesystem)
                && !answers(&file.filesystem)
                && path(file).is_some_and(|path| self.paths.binary_search(&path).is_err())
        };
        let new: Vec<&str> = observed
            .files
            .iter()
            .filter(is_new)
            .map(|file| &*file.path)
            .collect();
        let first = new.iter().take(NAMED).map(|path| (*path).to_owned());
        let why = Reason::NotUsedBefore {
            first: first.collect(),
            more: new.len().saturating_sub(NAMED) as u64,
        };
        (!new.is_empty()).then(|| Gap::new(Missing::ColdCache, why))
    }
}

/// Where a file is now, as far as the run knows.
fn path(file: &FileRow) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    match (&file.renamed_to, &file.path_hex) {
        (Some(renamed), _) => Some(PathBuf::from(renamed)),
        (None, None) => Some(PathBuf::from(&file.path)),
        (None, Some(hex)) => {
            let bytes = unhex(hex)?;
            Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
        }
    }
}
