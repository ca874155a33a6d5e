//! Finding the files under the given paths.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use iostrata_core::cache::{Action, RANGES_AT_MOST, Skipped};
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_lab::engine::{Progress as _, Step};
use iostrata_tracer::identity::KernelFile;
use iostrata_tracer::page_cache::{FileSystems, LookedAt, look_at};

use super::found::Entry;
use crate::error::Failure;
use crate::progress::Bar;
use iostrata_report::words;

/// The files found, each once.
#[derive(Debug)]
pub(in super::super) struct Survey {
    pub(super) systems: FileSystems,
    pub(in super::super) entries: Vec<Entry>,
    pub(super) skipped: Skipped,
    pub(super) missing: Vec<Gap>,
    known: BTreeSet<KernelFile>,
    ranges: u64,
    /// Whether at least one named path is readable.
    is_there: bool,
}

impl Survey {
    /// Walks through `paths` and counts resident bytes, until `stop` is set.
    pub(super) fn of(
        paths: &[PathBuf],
        cross: bool,
        action: Action,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, Failure> {
        // Maps show what is there at the end.
        let ranges = if action == Action::Show {
            RANGES_AT_MOST
        } else {
            1
        };
        let mut survey = Self::empty(ranges)?;
        let mut bar = Bar::counting("cache", "files");
        for path in paths {
            survey.named(path, cross, &mut bar, stop);
        }
        bar.finished();
        survey.check(paths)?;
        Ok(survey)
    }

    /// Counts resident bytes of the regular files with these paths, until `stop` is set.
    pub(in super::super) fn of_files(
        paths: &[PathBuf],
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, Failure> {
        let mut survey = Self::empty(1)?;
        for path in paths.iter().take_while(|_| !stop()) {
            let found = look_at(path, false, &mut survey.systems);
            survey.take(path.clone(), found, None);
        }
        Ok(survey)
    }

    fn empty(ranges: u64) -> Result<Self, Failure> {
        Ok(Self {
            systems: FileSystems::read()?,
            entries: Vec::new(),
            skipped: Skipped::default(),
            missing: Vec::new(),
            known: BTreeSet::new(),
            ranges,
            is_there: false,
        })
    }

    /// A named path: a symbolic link stands for its target.
    fn named(&mut self, path: &Path, cross: bool, bar: &mut Bar, stop: &dyn Fn() -> bool) {
        match look_at(path, true, &mut self.systems) {
            Ok(LookedAt::Directory(device)) => {
                let device = (!cross).then_some(device);
                self.is_there = true;
                self.tree(path, device, bar, stop);
            }
            Ok(LookedAt::Special | LookedAt::SymbolicLink) => {
                self.miss(path, Reason::NotFileOrDirectory);
            }
            found => {
                self.is_there |= found.is_ok();
                self.take(path.to_owned(), found, None);
            }
        }
    }

    /// If no path is readable, there is nothing to show.
    fn check(&self, paths: &[PathBuf]) -> Result<(), Failure> {
        if self.is_there || paths.is_empty() {
            return Ok(());
        }
        let gaps = self.missing.iter();
        let gaps: Vec<String> = gaps.map(|gap| words::gap(gap).to_string()).collect();
        Err(Failure::Cannot(format!(
            "{}; name a file or a directory that is there",
            gaps.join("; ")
        )))
    }

    /// All below a directory, without following links, on the file system of `device` if one
    /// is given.
    fn tree(&mut self, root: &Path, device: Option<u32>, bar: &mut Bar, stop: &dyn Fn() -> bool) {
        let mut directories = vec![root.to_owned()];
        while let Some(directory) = directories.pop() {
            let mut paths = match listed(&directory) {
                Ok(paths) => paths,
                Err(error) => {
                    self.miss(&directory, Reason::NotListed(error.to_string()));
                    continue;
                }
            };
            bar.step(&Step {
                label: &directory.to_string_lossy(),
                done: self.entries.len(),
                total: 0,
            });
            // Of two names of a file, the same one is listed each time.
            paths.sort_unstable();
            for path in paths {
                if stop() {
                    return;
                }
                match look_at(&path, false, &mut self.systems) {
                    Ok(LookedAt::Directory(own)) if device.is_none_or(|wanted| wanted == own) => {
                        directories.push(path);
                    }
                    found => self.take(path, found, device),
                }
            }
        }
    }

    fn take(&mut self, path: PathBuf, found: io::Result<LookedAt>, device: Option<u32>) {
        match found {
            Ok(LookedAt::Regular(regular)) => {
                // A file can be mounted over another one.
                if device.is_some_and(|wanted| wanted != regular.identity.device) {
                    self.skipped.other_file_systems += 1;
                } else if self.known.insert(regular.identity) {
                    self.entries.push(Entry::new(path, &regular, self.ranges));
                } else {
                    self.skipped.hard_links += 1;
                }
            }
            Ok(LookedAt::Directory(_)) => self.skipped.other_file_systems += 1,
            Ok(LookedAt::SymbolicLink) => self.skipped.symbolic_links += 1,
            Ok(LookedAt::Special) => self.skipped.special_files += 1,
            Err(error) => self.miss(&path, Reason::NotOpened(error.to_string())),
        }
    }

    fn miss(&mut self, path: &Path, why: Reason) {
        let path = path.to_string_lossy().into_owned();
        self.missing.push(Gap::new(Missing::File { path }, why));
    }
}

fn listed(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}
