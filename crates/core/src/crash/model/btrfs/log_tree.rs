//! Which names btrfs's log tree may have without the metadata that was changed before them.
//!
//! A sync logs one file in the tree of its subvolume's log, and the next sync of *any* file writes all of that tree.
//! What else gets into it (fs/btrfs/tree-log.c, fs/btrfs/inode.c):
//!
//! - A new name of a file that was logged, or that is moved out of a directory that was logged, is logged at once
//!   (`btrfs_log_new_name`).
//! - A name that is taken from a logged file is taken out of the log at once (`btrfs_del_inode_ref_in_log`). A rename over
//!   a logged file does so too, and is itself not logged unless the renamed file was.
//! - With a file whose names have changed, the directories of its names are logged (`btrfs_log_all_parents`), and of a
//!   directory all its changed names and the files that these lead to (`log_new_dir_dentries`).
//! - With a name that another file had, that file is logged (`log_conflicting_inodes`), and with a file new
//!   directories above it (`log_new_ancestors`).
//!
//! A transaction ends the log. When the next one comes nobody knows, so nothing here ends.

use std::collections::{HashMap, HashSet};

use super::super::super::effect::{BLOCK_BYTES, Effect, Piece};
use super::super::super::history::{History, Sync};
use super::super::Exempt;
use crate::op::FileId;
use crate::record::{Name, Tree};

/// What the log tree may have alone.
pub(in super::super) fn exempt(history: &History) -> Exempt {
    let count = history.effects.len();
    let mut log = LogTree {
        names: Names::of(history),
        history,
        logged: HashMap::new(),
        synced: HashMap::new(),
        exempt: Exempt {
            alone: vec![false; count],
            parted: vec![false; count],
        },
    };
    for (_, step) in events(history) {
        let step = &history.steps[step];
        match step.sync {
            Some(Sync::File(node) | Sync::Data(node) | Sync::Range { file: node, .. }) => {
                log.synced.insert(node, step.end);
                log.sync(node, step.end);
            }
            Some(Sync::All) | None => {}
        }
        for at in step.effects.clone() {
            log.change(at, step.end);
        }
    }
    log.exempt
}

/// Steps in the order in which the log has them: a sync from its begin on, and all that it may have met.
fn events(history: &History) -> Vec<(usize, usize)> {
    let steps = history.steps.iter().enumerate();
    let mut events: Vec<_> = steps
        .map(|(number, step)| (step.sync.map_or(step.end, |_| step.begin), number))
        .collect();
    events.sort_unstable();
    events
}

struct LogTree<'h> {
    history: &'h History,
    names: Names<'h>,
    /// What may have been logged so far, and when last.
    logged: HashMap<FileId, usize>,
    /// What was logged for certain.
    synced: HashMap<FileId, usize>,
    exempt: Exempt,
}

impl LogTree<'_> {
    /// An `fsync`, or the logging of a new name, which meets what began before a time.
    fn sync(&mut self, node: FileId, until: usize) {
        let mut visited = Visited::default();
        self.log(node, until, &mut visited);
        if self.names.is_directory(node) {
            self.log_directory(node, until, &mut visited);
        }
        for directory in self.parents(node, until) {
            self.log_directory(directory, until, &mut visited);
        }
    }

    /// A file with its names.
    fn log(&mut self, node: FileId, until: usize, visited: &mut Visited) {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            if !visited.files.insert(node) {
                continue;
            }
            self.logged.insert(node, until);
            for &at in self.names.of_node(node) {
                if !self.is_begun(at, until) {
                    continue;
                }
                let Piece::Entry {
                    name, node: given, ..
                } = &self.history.effects[at].piece
                else {
                    self.exempt.alone[at] = true;
                    continue;
                };
                if *given == Some(node) {
                    self.exempt.alone[at] = true;
                    waiting.extend(self.names.that_had(name));
                    if self.names.is_new(name.parent) {
                        waiting.push(name.parent);
                    }
                } else if given.is_none() {
                    self.exempt.alone[at] = true;
                }
            }
        }
    }

    /// A directory with what has changed in it.
    fn log_directory(&mut self, directory: FileId, until: usize, visited: &mut Visited) {
        let mut waiting = vec![directory];
        while let Some(directory) = waiting.pop() {
            if !visited.directories.insert(directory) {
                continue;
            }
            self.log(directory, until, visited);
            for at in self.names.in_directory(directory).to_vec() {
                if !self.is_begun(at, until) {
                    continue;
                }
                self.exempt.alone[at] = true;
                let Piece::Entry {
                    node: Some(node), ..
                } = self.history.effects[at].piece
                else {
                    continue;
                };
                self.log(node, until, visited);
                // The other directory of a move is not logged with it.
                if self.is_moved(at) {
                    self.exempt.parted[at] = true;
                }
                if self.names.is_directory(node) {
                    waiting.push(node);
                }
            }
        }
    }

    /// A change of a name, or of an attribute, that finds what was logged before it.
    fn change(&mut self, at: usize, until: usize) {
        match &self.history.effects[at].piece {
            Piece::Entry {
                node: Some(node), ..
            } if self.names.first_of(*node) != Some(at) => {
                let whole = self.group(at);
                let mut sources = self.sources(*node, &whole).into_iter();
                if sources.any(|source| self.logged.contains_key(&source)) {
                    for one in whole {
                        self.exempt.alone[one] = true;
                    }
                    self.sync(*node, until);
                }
            }
            Piece::Entry {
                node: None,
                before: Some(before),
                ..
            } => {
                if let Some(logged) = self.logged.get(before).copied() {
                    self.exempt.alone[at] = true;
                    self.exempt.parted[at] = self.is_replaced_outside(at, logged);
                }
            }
            Piece::Attribute { node, .. } if self.logged.contains_key(node) => {
                self.exempt.alone[at] = true;
            }
            _ => {}
        }
    }

    /// Whether a rename takes this name, of a file that was logged then, and the log may not have the rename: it has
    /// it if the renamed file, or the directory that it comes from, was synced since.
    fn is_replaced_outside(&self, at: usize, logged: usize) -> bool {
        let whole = self.group(at);
        let given = whole.iter().find_map(|one| {
            let other = &self.history.effects[*one];
            match other.piece {
                Piece::Entry { node, .. }
                    if other.shares(&self.history.effects[at], BLOCK_BYTES) =>
                {
                    node
                }
                _ => None,
            }
        });
        given.is_some_and(|node| {
            let mut sources = self.sources(node, &whole).into_iter();
            !sources.any(|source| self.synced.get(&source).is_some_and(|at| *at >= logged))
        })
    }

    /// What has a new name logged: the file, and the directories that the same operation takes it from.
    fn sources(&self, node: FileId, whole: &[usize]) -> Vec<FileId> {
        let effects = whole.iter().map(|one| &self.history.effects[*one]);
        let left = effects
            .filter_map(taken)
            .filter(|(_, taken)| *taken == node);
        left.map(|(from, _)| from.parent).chain([node]).collect()
    }

    /// Directories that had a name of a file before its names were changed last; none where they never were. They are
    /// those of its references in the last transaction.
    fn parents(&self, node: FileId, until: usize) -> Vec<FileId> {
        let (mut count, mut given, mut parents) = (0, Vec::new(), Vec::new());
        for &at in self.names.of_node(node) {
            let Piece::Entry { name, node: to, .. } = &self.history.effects[at].piece else {
                continue;
            };
            if self.is_begun(at, until) {
                count += 1;
                let all = if *to == Some(node) {
                    &mut given
                } else {
                    &mut parents
                };
                all.push(name.parent);
            }
        }
        if count == 0 || count == 1 && self.names.is_new(node) {
            return Vec::new();
        }
        // The last one is new.
        given.pop();
        parents.extend(given);
        parents.extend(self.names.base.get(&node).into_iter().flatten());
        parents
    }

    fn is_begun(&self, at: usize, until: usize) -> bool {
        self.history.steps[self.history.effects[at].step].begin < until
    }

    /// Effects of the same operation that belong together, this one included.
    fn group(&self, at: usize) -> Vec<usize> {
        let effect = &self.history.effects[at];
        let all = self.history.steps[effect.step].effects.clone();
        all.filter(|other| {
            *other == at || super::super::same_group(effect, &self.history.effects[*other])
        })
        .collect()
    }

    /// Whether a name is given by a move from another directory.
    fn is_moved(&self, at: usize) -> bool {
        let parent = self.history.effects[at].node();
        let group = self.group(at).into_iter();
        let mut taken = group.filter_map(|one| taken(&self.history.effects[one]));
        taken.any(|(name, _)| name.parent != parent)
    }
}

fn taken(effect: &Effect) -> Option<(&Name, FileId)> {
    match &effect.piece {
        Piece::Entry {
            name,
            node: None,
            before: Some(node),
            ..
        } => Some((name, *node)),
        _ => None,
    }
}

/// What one sync has logged.
#[derive(Default)]
struct Visited {
    files: HashSet<FileId>,
    directories: HashSet<FileId>,
}

/// Changes of names and attributes by what they are about, as places in the history's effects.
struct Names<'h> {
    by_node: HashMap<FileId, Vec<usize>>,
    by_directory: HashMap<FileId, Vec<usize>>,
    nodes_by_name: HashMap<&'h Name, Vec<FileId>>,
    /// Where files were before the program.
    base: HashMap<FileId, Vec<FileId>>,
    root: FileId,
    history: &'h History,
}

impl<'h> Names<'h> {
    fn of(history: &'h History) -> Self {
        let mut names = Self {
            by_node: HashMap::new(),
            by_directory: HashMap::new(),
            nodes_by_name: HashMap::new(),
            base: HashMap::new(),
            root: history.root,
            history,
        };
        if history.steps.iter().any(|step| step.sync.is_some()) {
            names.add_base(&history.base, history.root);
        }
        for (at, effect) in history.effects.iter().enumerate() {
            match &effect.piece {
                Piece::Entry {
                    name, node, before, ..
                } => {
                    for one in [node, before].into_iter().flatten() {
                        names.by_node.entry(*one).or_default().push(at);
                        names.nodes_by_name.entry(name).or_default().push(*one);
                    }
                    names.by_directory.entry(name.parent).or_default().push(at);
                }
                Piece::Attribute { node, .. } => {
                    names.by_node.entry(*node).or_default().push(at);
                }
                _ => {}
            }
        }
        names
    }

    fn add_base(&mut self, base: &Tree, root: FileId) {
        let mut waiting = vec![root];
        while let Some(directory) = waiting.pop() {
            for (_, child) in base.entries(directory) {
                self.base.entry(child).or_default().push(directory);
                waiting.push(child);
            }
        }
    }

    fn of_node(&self, node: FileId) -> &[usize] {
        self.by_node.get(&node).map_or(&[], Vec::as_slice)
    }

    fn in_directory(&self, directory: FileId) -> &[usize] {
        self.by_directory.get(&directory).map_or(&[], Vec::as_slice)
    }

    fn that_had(&self, name: &Name) -> Vec<FileId> {
        self.nodes_by_name.get(name).cloned().unwrap_or_default()
    }

    fn is_directory(&self, node: FileId) -> bool {
        self.by_directory.contains_key(&node)
    }

    /// Whether the program made it.
    fn is_new(&self, node: FileId) -> bool {
        node != self.root && !self.base.contains_key(&node)
    }

    /// The effect that made it, if the program did.
    fn first_of(&self, node: FileId) -> Option<usize> {
        let mut given = self.of_node(node).iter().filter(|at| {
            matches!(self.history.effects[**at].piece, Piece::Entry { node: Some(given), .. } if given == node)
        });
        given.next().copied().filter(|_| self.is_new(node))
    }
}
