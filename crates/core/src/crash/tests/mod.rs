//! Small logs, typed by hand, and what each model makes of a crash in them.

mod builtin;
mod calls;
mod known;
mod litmus;
mod reference;
mod search;
mod sectors;
mod smaller;
mod told;

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::litmus::{Left, left, outcome};
pub(super) use super::litmus::{Log, ROOT, id, letters};
use super::state;
use super::{
    Added, Budget, Builtin, Coverage, Digest, Explorer, Found, History, Looked, Model, NoFix, Seen,
    State, Stopped, Verdicts, fix,
};
use crate::op::FileId;
use crate::record::{Attribute, Change, Contents, Durability, Tree};

impl Log {
    pub(super) fn fsync(&mut self, node: FileId) {
        self.sync(node, Durability::File);
    }

    pub(super) fn chmod(&mut self, node: FileId, mode: u32) {
        let attribute = Attribute::Mode { mode };
        self.push("chmod", Change::Changed { node, attribute });
    }
}

/// All files below the root as text: `d/ d/g=empty f=a*2500+b*4`.
pub(super) fn shown(tree: &Tree) -> String {
    let mut all = Vec::new();
    add_shown(tree, ROOT, "", &mut all);
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    outcome(&all)
}

fn add_shown(tree: &Tree, directory: FileId, path: &str, all: &mut Vec<(String, Left)>) {
    for (name, child) in tree.entries(directory) {
        let name = format!("{path}{}", String::from_utf8_lossy(name));
        let left = left(&tree.node(child).unwrap().body);
        let is_directory = left == Left::Directory;
        all.push((name.clone(), left));
        if is_directory {
            add_shown(tree, child, &format!("{name}/"), all);
        }
    }
}

/// Every state, with the number of acknowledgements by then.
pub(super) fn states(history: &History, model: Model, budget: Budget) -> BTreeSet<(String, usize)> {
    let mut all = BTreeSet::new();
    let mut explorer = Explorer::new(history, model);
    let seen = |_: &State, Looked { tree, told, hash }: Looked<'_>, _: &Coverage| {
        // The digest went along with the tree.
        assert_eq!(hash, state::digest(tree, history.root));
        all.insert((shown(tree), told));
        Ok::<(), Infallible>(())
    };
    let mut coverage = Coverage::default();
    explorer.explore(budget, &mut coverage, seen).unwrap();
    assert!(!coverage.limit_reached);
    all
}

/// The trees at any time; all of them.
pub(super) fn trees(log: &Log, model: Model) -> BTreeSet<String> {
    let budget = Budget {
        exhaustive: 1 << 20,
        ..Budget::default()
    };
    let mut history = log.history();
    if model == Model::Ext4Journal {
        history.grow_by_pages();
    }
    let states = states(&history, model, budget);
    states.into_iter().map(|(tree, _)| tree).collect()
}

/// The syncs that help where `look` says that a state is broken.
pub(super) fn fixed(
    history: &History,
    models: &[Model],
    look: impl Fn(&Seen) -> Option<String>,
) -> Result<Vec<Added>, NoFix> {
    let mut check = |seen: &[Seen], _: &Coverage| {
        Ok::<_, Stopped<Infallible>>(seen.iter().map(&look).collect())
    };
    let (budget, mut verdicts, mut faults) = (Budget::default(), Verdicts::new(4), Vec::new());
    for model in models {
        let mut found = Found::default();
        super::search(
            history,
            *model,
            budget,
            &mut verdicts,
            &mut check,
            &mut found,
        )
        .unwrap();
        faults.extend(found.faults);
    }
    fix(history, models, budget, &faults, &mut verdicts, &mut check).unwrap()
}

/// What the built-in rules say of the states that a model allows, and the number of these.
pub(super) fn said(history: &History, model: Model) -> (BTreeSet<String>, u64) {
    // Where the bytes are in the log stands for them.
    let digest = |contents: &Contents| -> Result<Digest, Infallible> {
        let extents: Vec<_> = contents.extents().collect();
        Ok(*blake3::hash(format!("{extents:?}").as_bytes()).as_bytes())
    };
    assert!(history.is_whole);
    let mut rules = Builtin::new(history, digest, &[]).unwrap();
    let mut said = BTreeSet::new();
    let look = |_: &_, Looked { tree, told, .. }: Looked<'_>, _: &Coverage| {
        said.extend(rules.check(tree, told).unwrap());
        Ok::<(), Infallible>(())
    };
    let mut coverage = Coverage::default();
    let mut explorer = Explorer::new(history, model);
    explorer
        .explore(Budget::default(), &mut coverage, look)
        .unwrap();
    (said, coverage.states)
}
