//! States that are kept: the tree, what had been printed, and how it came about.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostrata_core::crash::{Budget, Coverage, Explorer, Finding, History, Looked, Model, Told};
use iostrata_core::record::Tree;
use iostrata_lab::crash::{Log, LogError, SharedLog};
use iostrata_report::terminal;

use super::cannot;
use super::look::locked;
use crate::error::Failure;
use crate::ui;

/// How a kept state came about.
const STORY: &str = "story.txt";

/// A directory for them; new or empty.
pub(super) fn directory(path: &Path) -> Result<PathBuf, Failure> {
    let made = iostrata_lab::place::directory(path);
    made.map_err(cannot(format!("use {} for --keep", path.display())))?;
    let mut entries = fs::read_dir(path).map_err(cannot(format!("read {}", path.display())))?;
    if entries.next().is_some() {
        return Err(Failure::Usage(format!(
            "--keep {}: it is not empty; name an empty or new directory",
            path.display()
        )));
    }
    path.canonicalize()
        .map_err(cannot(format!("find {}", path.display())))
}

/// Keeps the states of findings where that was asked for. There are so many findings before them.
pub(super) fn all(log: &SharedLog, into: Option<&Path>, told: &mut [Told<'_>], before: usize) {
    let Some(into) = into else { return };
    let mut log = locked(log);
    log.ends_by_itself();
    // What was found is worth more than a copy of it.
    if let Err(Failure::Cannot(why)) = findings(&mut log, told, into, before) {
        ui::say(&format!(
            "warning: not all states are kept: {why}; free space there, or give --keep another directory"
        ));
    }
}

/// Keeps the state of each finding in a directory with its number, and says in the finding where.
fn findings(
    log: &mut Log,
    told: &mut [Told<'_>],
    into: &Path,
    before: usize,
) -> Result<(), Failure> {
    for (number, told) in told.iter_mut().enumerate() {
        let Some((tree, printed)) = log.history.tree_of(told.fault) else {
            continue;
        };
        let place = into.join((before + number + 1).to_string());
        state(log, &tree, printed, &place)?;
        let story = terminal::story(&told.finding);
        let written = fs::write(place.join(STORY), story);
        written.map_err(cannot("write story.txt"))?;
        told.finding.proof = Some(place.join("tree").to_string_lossy().into_owned());
    }
    Ok(())
}

/// Says beside each kept state how it came about.
pub(super) fn stories(findings: &[Finding]) {
    for finding in findings {
        let place = finding
            .proof
            .as_deref()
            .and_then(|proof| Path::new(proof).parent());
        if let Some(place) = place
            && let Err(error) = fs::write(place.join(STORY), terminal::story(finding))
        {
            ui::say(&format!("warning: {STORY} is not written: {error}"));
        }
    }
}

/// `tree` and `printed` in a new directory.
pub(super) fn state(log: &mut Log, tree: &Tree, told: usize, place: &Path) -> Result<(), Failure> {
    let into = place.join("tree");
    let made = fs::create_dir(place).and_then(|()| fs::create_dir(&into));
    made.map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::AlreadyExists => "; remove it, or give --keep another directory",
            _ => "",
        };
        Failure::Cannot(format!("cannot make {}: {error}{remedy}", place.display()))
    })?;
    let kept = log
        .build(tree, &into)
        .map_err(Failure::from)
        .and_then(|()| {
            let printed = log.printed(told)?;
            fs::write(place.join("printed"), printed).map_err(cannot("write printed"))
        });
    if kept.is_err() {
        // Made just now.
        drop(fs::remove_dir_all(place));
    }
    kept
}

/// Why an exploration for one state ends.
enum Ended {
    Found(Numbered),
    Not(LogError),
}

/// A state, and the model that allows it.
pub(super) struct Numbered {
    pub(super) number: u64,
    pub(super) model: Model,
    pub(super) tree: Arc<Tree>,
    pub(super) told: usize,
}

/// The first state that is the one, through all models; else how many there are.
pub(super) fn first(
    history: &History,
    models: &[Model],
    budget: Budget,
    log: &Log,
    is_one: impl Fn(u64, &Looked<'_>) -> bool,
) -> Result<Result<Numbered, u64>, LogError> {
    let mut before = 0;
    for model in models {
        let mut coverage = Coverage::default();
        let mut explorer = Explorer::new(history, *model);
        let ended = explorer.explore(budget, &mut coverage, |state, looked, _| {
            log.check_interrupt().map_err(Ended::Not)?;
            let number = before + state.number;
            if is_one(number, &looked) {
                return Err(Ended::Found(Numbered {
                    number,
                    model: *model,
                    tree: Arc::clone(looked.tree),
                    told: looked.told,
                }));
            }
            Ok(())
        });
        match ended {
            Ok(()) => before += coverage.states,
            Err(Ended::Found(found)) => return Ok(Ok(found)),
            Err(Ended::Not(error)) => return Err(error),
        }
    }
    Ok(Err(before))
}

/// The failure of a look, which names the state where its checker is not to be believed.
pub(super) fn failed(
    log: &SharedLog,
    models: &[Model],
    budget: Budget,
    error: LogError,
) -> Failure {
    let LogError::Unreliable {
        why,
        seen: Some((tree, told)),
    } = &error
    else {
        return error.into();
    };
    let log = locked(log);
    let found = first(&log.history, models, budget, &log, |_, looked| {
        looked.told == *told && looked.tree.is_same(tree)
    });
    Failure::Cannot(match found {
        Ok(Ok(Numbered { number, .. })) => {
            format!("state {number}: {why}; --state {number} rebuilds the state")
        }
        _ => format!("a state without a number, as one made smaller has none: {why}"),
    })
}
