//! What a program completes, and what its reports vouch for: the run, followed from its beginning.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Digest, Hashes, Version, place_of};
use crate::crash::effect::{Effect, Piece};
use crate::crash::history::{History, Sync, Thread, below};
use crate::crash::names::Names;
use crate::crash::result::FormatRow;
use crate::crash::state;
use crate::op::FileId;
use crate::record::{Body, Contents, Tree};

/// The run, followed from its beginning.
pub(super) struct Run<'r, D> {
    pub(super) hashes: Hashes<D>,
    names: Names,
    tree: Tree,
    /// The tree at the end.
    end: Tree,
    pub(super) versions: BTreeMap<Vec<u8>, Vec<Version>>,
    /// Paths that are there at both ends, and that the program has removed in between: a crash may not leave their
    /// absence, unless a report vouches for it.
    removed: BTreeSet<Vec<u8>>,
    /// The last change of each path that no report vouches for yet.
    changed: BTreeMap<Vec<u8>, Changed>,
    pub(super) rebuilt: BTreeSet<FileId>,
    /// Files that others look at.
    known: &'r [FormatRow],
    history: &'r History,
}

/// A change of what is at a path.
#[derive(Clone, Copy)]
struct Changed {
    /// The step that made it.
    step: usize,
    /// Syncs of these make it durable: of a file, and of the directory of a name.
    by: [FileId; 2],
}

impl<'r, D, E> Run<'r, D>
where
    D: FnMut(&Contents) -> Result<Digest, E>,
{
    /// From the beginning to the end, with the times of its reports.
    pub(super) fn of(
        history: &'r History,
        hashes: Hashes<D>,
        known: &'r [FormatRow],
    ) -> Result<(Vec<usize>, Self), E> {
        let (base, end) = history.ends();
        let mut run = Self {
            hashes,
            names: Names::of(&base),
            tree: base,
            end,
            versions: BTreeMap::new(),
            removed: BTreeSet::new(),
            changed: BTreeMap::new(),
            rebuilt: history.rebuilt_nodes(),
            known,
            history,
        };
        for (path, node) in below(&run.tree, history.root) {
            run.complete(path, node, Some(0))?;
        }
        let goes_on = GoesOn::of(history);
        let mut told = Vec::new();
        for (number, step) in history.steps.iter().enumerate() {
            run.follow(history, number);
            for node in &step.settles {
                run.settle(*node, step.sync.is_none())?;
            }
            if step.printed.is_some() {
                told.push(step.end);
                run.vouch(history, number, &goes_on)?;
            }
        }
        for (path, node) in below(&run.tree, history.root) {
            run.complete(path, node, None)?;
        }
        Ok((told, run))
    }

    fn follow(&mut self, history: &History, number: usize) {
        let step = &history.steps[number];
        let effects = &history.effects[step.effects.clone()];
        let mut paths = BTreeSet::new();
        // All at once: a directory loses its old name when it gets the new one.
        let before: Vec<BTreeSet<Vec<u8>>> = effects.iter().map(|one| self.paths(one)).collect();
        for (effect, mut own) in effects.iter().zip(before) {
            let node = effect.node();
            let mut by = [node; 2];
            if let Piece::Entry { name, node, .. } = &effect.piece {
                let before = self.tree.entry(name.parent, &name.name);
                state::replay(&mut self.tree, [effect]);
                let is_directory = node.is_some_and(|node| self.is_directory(node));
                self.names.change(name, before, *node, is_directory);
                by[1] = node.unwrap_or(by[1]);
            } else {
                state::replay(&mut self.tree, [effect]);
            }
            own.extend(self.paths(effect));
            let changed = Changed { step: number, by };
            self.changed
                .extend(own.iter().map(|path| (path.clone(), changed)));
            paths.extend(own);
        }
        // What was renamed is under another name.
        let is_rename = effects.iter().any(|effect| effect.group.is_some());
        for path in paths {
            let node = self.tree.below(self.history.root, &path);
            if node.is_some_and(|node| self.is_looked_at(&path, node)) {
                self.removed.remove(&path);
            } else {
                self.gone(path, is_rename);
            }
        }
    }

    /// The paths that an effect changes: of a directory those below it.
    fn paths(&self, effect: &Effect) -> BTreeSet<Vec<u8>> {
        let Piece::Entry { name, .. } = &effect.piece else {
            return self
                .names
                .paths(effect.node(), self.history.root)
                .into_iter()
                .collect();
        };
        let node = self.tree.entry(name.parent, &name.name);
        let (Some(node), Some(path)) = (node, self.names.path(name, self.history.root)) else {
            return BTreeSet::new();
        };
        if !self.is_directory(node) {
            return [path].into();
        }
        let all = below(&self.tree, node).into_iter();
        all.map(|(inner, _)| [path.as_slice(), b"/", &inner].concat())
            .collect()
    }

    fn is_directory(&self, node: FileId) -> bool {
        let body = self.tree.node(node).map(|node| &node.body);
        matches!(body, Some(Body::Directory(_)))
    }

    fn is_looked_at(&self, path: &[u8], node: FileId) -> bool {
        !self.is_directory(node)
            && !self.rebuilt.contains(&node)
            && !self.history.is_ignored(path)
            && !self.known.iter().any(|row| row.covers(path))
    }

    fn gone(&mut self, path: Vec<u8>, is_rename: bool) {
        let Some(versions) = self.versions.get_mut(&path) else {
            return;
        };
        if versions.last().is_none_or(|last| last.file.is_none()) {
            return;
        }
        let began = versions.first().is_some_and(|first| first.file.is_some());
        let ends = self.end.below(self.history.root, &path);
        let ends = ends.and_then(|node| self.end.node(node));
        let is_file = ends.is_some_and(|node| !matches!(node.body, Body::Directory(_)));
        if began && !is_rename && is_file {
            self.removed.insert(path);
        } else {
            versions.push(Version::absent(usize::MAX));
        }
    }

    /// A file is complete; a directory that was given a name is with all that is in it.
    fn settle(&mut self, node: FileId, is_named: bool) -> Result<(), E> {
        let is_directory = self.is_directory(node);
        if is_directory && !is_named {
            return Ok(());
        }
        // A shell opens a file and closes its own descriptor before the program writes to the other.
        let body = self.tree.node(node).map(|node| &node.body);
        if matches!(body, Some(Body::File(contents)) if contents.size_bytes() == 0) {
            return Ok(());
        }
        for path in self.names.paths(node, self.history.root) {
            if is_directory {
                for (inner, child) in below(&self.tree, node) {
                    let path = [path.as_slice(), b"/", &inner].concat();
                    self.complete(path, child, None)?;
                }
            } else {
                self.complete(path, node, None)?;
            }
        }
        Ok(())
    }

    /// A report vouches for all that was changed, though the program may not close it: a shell closes by dup2(2), a log
    /// stays open. Another thread may be in the middle of a change, unless it is at its end, or nobody syncs it.
    fn vouch(&mut self, history: &History, number: usize, goes_on: &GoesOn) -> Result<(), E> {
        let step = &history.steps[number];
        let is_told = |_: &Vec<u8>, changed: &mut Changed| {
            let by = history.steps[changed.step].thread;
            by == step.thread || goes_on.threads[&by] < number || !goes_on.is_synced(changed)
        };
        let told: Vec<Vec<u8>> = self
            .changed
            .extract_if(.., is_told)
            .map(|(path, _)| path)
            .collect();
        for path in told {
            if let Some(node) = self.tree.below(self.history.root, &path) {
                self.complete(path, node, Some(step.end))?;
            } else if let Some(versions) = self.versions.get_mut(&path) {
                if self.removed.remove(&path) {
                    versions.push(Version::absent(usize::MAX));
                }
                vouch_for_last(versions, step.end);
            }
        }
        Ok(())
    }

    /// Notes that a file is complete, and the report that vouches for it.
    fn complete(&mut self, path: Vec<u8>, node: FileId, told: Option<usize>) -> Result<(), E> {
        if !self.is_looked_at(&path, node) {
            return Ok(());
        }
        let Some(body) = self.tree.node(node).map(|node| &node.body) else {
            return Ok(());
        };
        let file = Some(self.hashes.held(body)?);
        let place = match body {
            Body::File(contents) => place_of(contents),
            _ => 0,
        };
        let versions = self.versions.entry(path).or_default();
        if versions.is_empty() && told != Some(0) {
            versions.push(Version::absent(0));
        }
        if versions.last().is_none_or(|last| last.file != file) {
            let told = usize::MAX;
            versions.push(Version { told, file, place });
        }
        if let Some(told) = told {
            vouch_for_last(versions, told);
        }
        Ok(())
    }
}

fn vouch_for_last(versions: &mut [Version], told: usize) {
    if let Some(last) = versions.last_mut() {
        last.told = last.told.min(told);
    }
}

impl Version {
    fn absent(told: usize) -> Self {
        Self {
            told,
            file: None,
            place: 0,
        }
    }
}

/// What the threads still do, and what is still synced.
struct GoesOn {
    /// The last step of each thread.
    threads: HashMap<Thread, usize>,
    /// The last sync of each node, and the last one of everything.
    syncs: HashMap<FileId, usize>,
    sync_of_all: Option<usize>,
}

impl GoesOn {
    fn of(history: &History) -> Self {
        let mut goes_on = Self {
            threads: HashMap::new(),
            syncs: HashMap::new(),
            sync_of_all: None,
        };
        for (number, step) in history.steps.iter().enumerate() {
            goes_on.threads.insert(step.thread, number);
            match step.sync {
                Some(Sync::File(node) | Sync::Data(node) | Sync::Range { file: node, .. }) => {
                    goes_on.syncs.insert(node, number);
                }
                Some(Sync::All) => goes_on.sync_of_all = Some(number),
                None => {}
            }
        }
        goes_on
    }

    /// Whether a sync of the change comes after it.
    fn is_synced(&self, changed: &Changed) -> bool {
        let syncs = changed.by.iter().filter_map(|node| self.syncs.get(node));
        syncs.copied().max().max(self.sync_of_all) > Some(changed.step)
    }
}
