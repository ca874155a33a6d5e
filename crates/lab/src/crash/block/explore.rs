//! Goes through what a power failure could have left of a recording: recovers each image, and has
//! each different tree looked at once.
//!
//! First every boundary: everything that a flush covered, and nothing after it. Then, where an epoch changes the
//! tree, subsets of its blocks. Of both those first during which the program reported something.

use std::collections::{BTreeSet, HashMap};
use std::iter;
use std::marker::PhantomData;
use std::time::Instant;

use blake3::Hash;
use iostrata_core::crash::block::{ContentHash, Failure, Place, SubsetBudget, Subsets, subsets};

use super::BlockError;
use super::alike::{Alike, relevant};
use super::crew::{Crew, Job, Look};
use super::foundation::Site;
use super::images::Image;
use super::record::Recording;
use super::tree::Observed;

#[derive(Debug, Clone, Copy)]
pub struct ExploreBudget {
    pub images: u64,
    /// Of each epoch.
    pub subsets: SubsetBudget,
    /// One of so many epochs, and each with a report.
    pub every: u64,
    /// Epochs that ended later, nanoseconds of the log's clock.
    pub after_ns: Option<u64>,
    pub until: Option<Instant>,
    /// Images that are recovered side by side, at most: each may wait for a checker when the time is over.
    pub beside: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explored {
    /// Images that were made up, equal ones included.
    pub states: u64,
    pub images: u64,
    /// Different in the tree, or in what had been printed.
    pub distinct: u64,
    /// Of these, those that break something.
    pub failing: u64,
    pub epochs: u64,
    /// Epochs that were asked for.
    pub points: u64,
    /// Epochs that write to the journal alone: none or all of their blocks stand for all subsets.
    pub journal_epochs: u64,
    /// Epochs that leave the tree as it is, whole or not there: no subsets were tried.
    pub quiet_epochs: u64,
    /// Epochs of which not all subsets were tried.
    pub sampled_epochs: u64,
    /// Epochs that were asked for and not tried whole and not at all, and, where that makes a difference, in part.
    pub skipped_epochs: u64,
    /// Whether the limit on images left something out.
    pub limit_reached: bool,
    /// Whether the time was over before all was looked at.
    pub time_over: bool,
    /// What is broken in the tree before the program: then the checker says nothing about a crash.
    pub refused_before: Option<String>,
    /// What is broken in the tree after it, without a crash.
    pub refused_after: Option<String>,
    /// What broke, each message once, also by whether it breaks only what had been printed.
    pub failures: Vec<Failure>,
    /// An image of each.
    pub examples: Vec<Image>,
    /// What is there before the program, and after it without a crash; only where something broke.
    pub ends: Option<(Observed, Observed)>,
    /// What is in each example; nothing of one that cannot be mounted, and none where there are no ends.
    pub observed: Vec<Option<Observed>>,
}

/// Tries what the budget allows; gives what it came to, also when it ends early. `told_at` gives the number of
/// acknowledgements at a time; `progress` gets the number of images recovered so far.
pub fn explore<E: From<BlockError> + Send>(
    site: Site<'_>,
    recording: &Recording,
    budget: ExploreBudget,
    told_at: impl Fn(u64) -> usize,
    look: impl Look<E>,
    progress: impl Fn(u64) + Sync,
) -> (Explored, Result<(), E>) {
    let told = recording.epochs.iter().map(|epoch| told_at(epoch.ended_ns));
    let crew = match Crew::new(site, recording, look) {
        Ok(crew) => crew,
        Err(error) => return (Explored::default(), Err(error.into())),
    };
    let mut explorer = Explorer {
        recording,
        crew,
        progress,
        told: told.collect(),
        trees: HashMap::new(),
        counted: HashMap::new(),
        explored: Explored {
            epochs: recording.epochs.len() as u64,
            ..Explored::default()
        },
        failure: PhantomData,
    };
    let ended = explorer.all(told_at(u64::MAX), budget);
    let ended = ended.and_then(|()| Ok(explorer.observe_examples()?));
    (explorer.finished(), ended)
}

/// An image, and when.
struct State {
    image: Image,
    content: ContentHash,
    /// Number of acknowledgements.
    told: usize,
}

/// Both ends of an epoch.
struct Boundary {
    number: usize,
    places: Vec<Place>,
    before: State,
    whole: State,
}

impl Boundary {
    fn both(&self) -> [&State; 2] {
        [&self.before, &self.whole]
    }
}

struct Explorer<'r, L, P, E> {
    recording: &'r Recording,
    crew: Crew<'r, L>,
    progress: P,
    /// Number of acknowledgements at the end of each epoch.
    told: Vec<usize>,
    trees: HashMap<ContentHash, Hash>,
    /// Different states that a crash leaves, and whether they break something.
    counted: HashMap<(Hash, usize), bool>,
    explored: Explored,
    /// How `look` fails.
    failure: PhantomData<E>,
}

impl<L, P, E> Explorer<'_, L, P, E>
where
    L: Look<E>,
    P: Fn(u64) + Sync,
    E: From<BlockError> + Send,
{
    /// Goes through everything; `told` is the number of acknowledgements at the end.
    fn all(&mut self, told: usize, budget: ExploreBudget) -> Result<(), E> {
        if self.accepts_both_ends(told)? {
            (self.crew.until, self.crew.beside) = (budget.until, budget.beside);
            let open = self.boundaries(budget)?;
            self.inside(&open, budget)?;
        }
        Ok(())
    }

    /// Looks at what is there before the program, and after it without a crash.
    fn accepts_both_ends(&mut self, told: usize) -> Result<bool, E> {
        let mut alike = Alike::new(self.recording);
        let before = state(0, Vec::new(), alike.settled(), 0);
        let count = self.recording.epochs.len();
        for number in 0..count {
            let places = alike.places(number);
            alike.settle(number, &places)?;
        }
        // The program is not notified of what waits for a commit.
        // Of a cut log nobody knows what would have been there.
        let after =
            (self.recording.cut.is_none()).then(|| state(count, Vec::new(), alike.settled(), told));
        self.recover(iter::once(&before).chain(&after))?;
        let mut refused = |state: &State| {
            let key = (self.trees[&state.content], state.told);
            self.crew.verdicts().get(&key)?.message.clone()
        };
        let refused_before = refused(&before);
        let refused_after = after.as_ref().and_then(refused);
        self.explored.refused_before = refused_before;
        self.explored.refused_after = refused_after;
        Ok(self.explored.refused_before.is_none() && self.explored.refused_after.is_none())
    }

    /// Epochs that are asked for: those with a report, and all others.
    fn chosen(&self, budget: ExploreBudget) -> [Vec<usize>; 2] {
        let epochs = self.recording.epochs.iter().enumerate();
        let later =
            epochs.filter(|(_, epoch)| budget.after_ns.is_none_or(|mark| epoch.ended_ns > mark));
        let turns = (0..budget.every).cycle();
        let asked = turns
            .zip(later)
            .map(|(turn, (number, _))| (turn == 0, number));
        let (reports, others): (Vec<_>, Vec<_>) = asked
            .filter(|(is_asked, number)| *is_asked || self.has_report(*number))
            .map(|(_, number)| number)
            .partition(|number| self.has_report(*number));
        [reports, others]
    }

    fn has_report(&self, epoch: usize) -> bool {
        let before = epoch.checked_sub(1).map_or(0, |before| self.told[before]);
        self.told[epoch] > before
    }

    /// Tries the epochs that are asked for not there and there; gives those whose subsets matter.
    fn boundaries(&mut self, budget: ExploreBudget) -> Result<Vec<usize>, E> {
        let [reports, others] = self.chosen(budget);
        self.explored.points = (reports.len() + others.len()) as u64;
        // Half of the budget is for subsets. Epochs in a row share an image.
        let half = usize::try_from(budget.images / 2).unwrap_or(usize::MAX);
        let all = reports.len() + others.len();
        let are_in_a_row = budget.every == 1 && all <= half;
        let most = if are_in_a_row { half } else { half / 2 }.max(1);
        let left = most.saturating_sub(reports.len());
        let picked: BTreeSet<usize> = apart(&reports, most).chain(apart(&others, left)).collect();
        let mut alike = Alike::new(self.recording);
        let mut tried = Vec::new();
        for number in 0..self.recording.epochs.len() {
            let places = alike.places(number);
            let before = alike.settled();
            alike.settle(number, &places)?;
            if !picked.contains(&number) {
                continue;
            }
            let told = self.told[number];
            let all = vec![true; places.len()];
            tried.push(Boundary {
                number,
                before: state(number, Vec::new(), before, told),
                whole: state(number, all, alike.settled(), told),
                places,
            });
        }
        tried.sort_by_key(|boundary| !self.has_report(boundary.number));
        let recovered = self.recover(tried.iter().flat_map(Boundary::both));
        for state in tried.iter().flat_map(Boundary::both) {
            self.count(state);
        }
        tried.retain(|boundary| boundary.both().iter().all(|state| self.is_known(state)));
        self.explored.skipped_epochs = self.explored.points - tried.len() as u64;
        self.explored.limit_reached = (picked.len() as u64) < self.explored.points;
        recovered?;
        let mut open = Vec::new();
        for boundary in &tried {
            let trees = boundary.both().map(|state| self.trees[&state.content]);
            if boundary.places.len() < 2 {
                continue;
            }
            if !boundary.places.contains(&Place::Outside) {
                self.explored.journal_epochs += 1;
            } else if trees[0] == trees[1] {
                self.explored.quiet_epochs += 1;
            } else {
                open.push(boundary.number);
            }
        }
        open.sort_unstable();
        Ok(open)
    }

    /// Tries subsets of these epochs' blocks.
    fn inside(&mut self, open: &[usize], budget: ExploreBudget) -> Result<(), E> {
        let mut alike = Alike::new(self.recording);
        let mut states = Vec::new();
        let mut wanted: BTreeSet<ContentHash> = BTreeSet::new();
        let mut sampled: BTreeSet<usize> = BTreeSet::new();
        let mut lacking: BTreeSet<usize> = BTreeSet::new();
        let mut settled = 0;
        for (turn, &number) in open.iter().enumerate() {
            for before in settled..number {
                let places = alike.places(before);
                alike.settle(before, &places)?;
            }
            settled = number;
            let places = alike.places(number);
            let relevant = relevant(&places);
            let images = self.crew.recovered() + wanted.len() as u64;
            let left = usize::try_from(budget.images.saturating_sub(images)).unwrap_or(usize::MAX);
            let share = left / (open.len() - turn);
            let some = within(budget, share, relevant.len(), number);
            if !some.all {
                sampled.insert(number);
                self.explored.limit_reached |= some.kept.len() == share;
            }
            if !some.all || !some.kept.is_empty() {
                lacking.insert(number);
            }
            for subset in some.kept {
                let mut kept = vec![false; places.len()];
                for (at, is_kept) in relevant.iter().zip(subset) {
                    kept[*at] = is_kept;
                }
                let content = alike.with(number, &places, &kept)?;
                let state = state(number, kept, content, self.told[number]);
                if !self.trees.contains_key(&content) {
                    wanted.insert(content);
                }
                states.push(state);
            }
        }
        states.sort_by_key(|state| !self.has_report(state.image.epoch));
        let recovered = self.recover(&states);
        for state in &states {
            self.count(state);
            if self.is_known(state) {
                lacking.remove(&state.image.epoch);
            } else {
                sampled.insert(state.image.epoch);
            }
        }
        self.explored.skipped_epochs += lacking.len() as u64;
        self.explored.sampled_epochs = sampled.len() as u64;
        recovered
    }

    /// Whether a state was looked at.
    fn is_known(&mut self, state: &State) -> bool {
        let tree = self.trees.get(&state.content);
        let verdicts = self.crew.verdicts();
        tree.is_some_and(|tree| verdicts.contains_key(&(*tree, state.told)))
    }

    /// Has each of these looked at that is not known.
    fn recover<'s>(&mut self, states: impl IntoIterator<Item = &'s State>) -> Result<(), E> {
        let mut jobs: Vec<Job> = Vec::new();
        let mut by_content = HashMap::new();
        for state in states {
            if self.is_known(state) {
                continue;
            }
            let at = *by_content.entry(state.content).or_insert(jobs.len());
            if at == jobs.len() {
                jobs.push(Job {
                    image: state.image.clone(),
                    content: state.content,
                    told: BTreeSet::new(),
                });
            }
            jobs[at].told.insert(state.told);
        }
        let count = jobs.len();
        let (trees, ended) = self.crew.recover(jobs, &self.progress);
        self.explored.time_over |= ended.is_ok() && trees.len() < count;
        self.trees.extend(trees);
        ended
    }

    /// Counts a state, if it was looked at.
    fn count(&mut self, state: &State) {
        let Some(tree) = self.trees.get(&state.content) else {
            return;
        };
        let key = (*tree, state.told);
        let Some(verdict) = self.crew.verdicts().get(&key).cloned() else {
            return;
        };
        self.explored.states += 1;
        let is_new = self
            .counted
            .insert(key, verdict.message.is_some())
            .is_none();
        let Some(message) = verdict.message else {
            return;
        };
        let kept = &state.image.kept;
        let kept_blocks = kept.iter().filter(|kept| **kept).count();
        let epoch = &self.recording.epochs[state.image.epoch];
        let failures = &mut self.explored.failures;
        let same = failures.iter_mut().find(|known| {
            (&known.message, known.is_lost_after_ack) == (&message, verdict.is_lost_after_ack)
        });
        if let Some(known) = same {
            known.states += u64::from(is_new);
        } else {
            failures.push(Failure {
                message,
                is_lost_after_ack: verdict.is_lost_after_ack,
                is_boundary: kept_blocks == 0 || kept_blocks == kept.len(),
                ended_ns: epoch.ended_ns,
                told: state.told,
                kept_blocks,
                blocks: epoch.blocks.len(),
                states: 1,
                files: Vec::new(),
                proof: None,
            });
            self.explored.examples.push(state.image.clone());
        }
    }

    /// Recovers the example of each failure once more, and both ends.
    fn observe_examples(&mut self) -> Result<(), BlockError> {
        // Of a cut log nobody knows what would have been there without a crash.
        if self.explored.failures.is_empty() || self.recording.cut.is_some() {
            return Ok(());
        }
        let end = |epoch| Image {
            epoch,
            kept: Vec::new(),
        };
        let mut images = self.explored.examples.clone();
        images.extend([end(0), end(self.recording.epochs.len())]);
        let mut seen = self.crew.observe(&images)?;
        if let (Some(Some(after)), Some(Some(before))) = (seen.pop(), seen.pop()) {
            self.explored.ends = Some((before, after));
            self.explored.observed = seen;
        }
        Ok(())
    }

    fn finished(self) -> Explored {
        let failing = self.counted.values().filter(|is_broken| **is_broken);
        Explored {
            images: self.crew.recovered(),
            distinct: self.counted.len() as u64,
            failing: failing.count() as u64,
            ..self.explored
        }
    }
}

/// At most so many of these, evenly apart.
fn apart(all: &[usize], most: usize) -> impl Iterator<Item = usize> {
    let some = all.len().min(most);
    (0..some).map(move |turn| all[turn * all.len() / some])
}

fn state(epoch: usize, kept: Vec<bool>, content: ContentHash, told: usize) -> State {
    State {
        image: Image { epoch, kept },
        content,
        told,
    }
}

/// Subsets of so many blocks of an epoch, at most as many as its share of the budget.
fn within(budget: ExploreBudget, share: usize, blocks: usize, number: usize) -> Subsets {
    let mut of_epoch = budget.subsets;
    if blocks > of_epoch.exhaustive_blocks || (1_usize << blocks).saturating_sub(2) > share {
        of_epoch.exhaustive_blocks = 0;
        of_epoch.sampled = of_epoch.sampled.min(share);
    }
    subsets(blocks, number, of_epoch)
}
