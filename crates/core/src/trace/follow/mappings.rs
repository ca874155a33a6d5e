//! Files that a process has mapped so that stores change them.

use std::collections::HashMap;

use crate::op::FileId;

/// Maximum number of files of one process.
const FILES: usize = 1 << 10;
/// Maximum number of processes.
const PROCESSES: usize = 1 << 10;

/// The mappings of all processes.
#[derive(Debug, Default)]
pub(super) struct Mappings(HashMap<u32, Vec<FileId>>);

impl Mappings {
    pub(super) fn add(&mut self, process: u32, file: FileId) {
        if self.0.len() >= PROCESSES && !self.0.contains_key(&process) {
            return;
        }
        let files = self.0.entry(process).or_default();
        if files.len() < FILES && !files.contains(&file) {
            files.push(file);
        }
    }

    /// `msync` does not identify a file: it may be any that the process has mapped. A process
    /// without mappings of its own has inherited them.
    pub(super) fn of(&self, process: u32) -> Vec<FileId> {
        match self.0.get(&process) {
            Some(files) => files.clone(),
            None => self.0.values().flatten().copied().collect(),
        }
    }
}
