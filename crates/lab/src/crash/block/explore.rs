//! Goes through what a power failure could have left of a recording: makes each image, recovers it, and has
//! each different tree looked at once.
//!
//! First every boundary: everything that a flush covered, and nothing after it. Then, where an epoch changes the
//! tree, subsets of its blocks.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use blake3::Hash;
use iostrata_core::crash::block::{
    Block, Content, ContentHash, Failure, Journal, SubsetBudget, subsets,
};

use super::BlockError;
use super::foundation::Room;
use super::record::Recording;
use super::recover::MountPoint;
use super::tree::{Observed, observe};
use crate::device::{DiskImage, RequestLog};
use crate::interrupt::Interrupt;

/// How much is tried.
#[derive(Debug, Clone, Copy)]
pub struct ExploreBudget {
    /// Images to recover.
    pub images: u64,
    /// Of each epoch.
    pub subsets: SubsetBudget,
}

/// What exploring a recording came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explored {
    /// Images that were made up, equal ones included.
    pub states: u64,
    /// Images that were recovered.
    pub images: u64,
    /// Different in the tree, or in what had been printed.
    pub distinct: u64,
    /// Of these, those that break something.
    pub failing: u64,
    /// Epochs of the recording.
    pub epochs: u64,
    /// Epochs that write to the journal alone: none or all of their blocks stand for all subsets.
    pub journal_epochs: u64,
    /// Epochs that leave the tree as it is, whole or not there: no subsets were tried.
    pub quiet_epochs: u64,
    /// Epochs of which not all subsets were tried.
    pub sampled_epochs: u64,
    /// Epochs of which nothing was tried, since there are too many for the limit on images.
    pub skipped_epochs: u64,
    /// What is broken in the tree before the program: then the checker says nothing about a crash.
    pub refused_before: Option<String>,
    /// What is broken in the tree after it, without a crash.
    pub refused_after: Option<String>,
    /// What broke, each message once, also by whether it breaks only what had been printed.
    pub failures: Vec<Failure>,
}

/// A recovered tree.
#[derive(Debug, Clone, Copy)]
pub struct Recovered<'a> {
    /// The directory, on the recovered file system.
    pub work: &'a Path,
    /// What is in it.
    pub observed: &'a Observed,
}

/// Looks at a tree, and at how many steps had told somebody something; gives what is broken.
pub trait Look<E>: FnMut(Recovered<'_>, usize) -> Result<Option<String>, E> {}
impl<E, F: FnMut(Recovered<'_>, usize) -> Result<Option<String>, E>> Look<E> for F {}

/// What is known of a tree at some time.
#[derive(Debug, Clone)]
struct Verdict {
    message: Option<String>,
    is_lost_after_ack: bool,
}

/// Tries what the budget allows. `told_at` gives how many steps had told somebody something at a time.
///
/// # Errors
/// When an image cannot be made, `look` fails, or an end was asked for.
pub fn explore<E: From<BlockError>>(
    room: &Room<'_>,
    recording: &Recording,
    budget: ExploreBudget,
    told_at: impl Fn(u64) -> usize,
    look: impl Look<E>,
) -> Result<Explored, E> {
    let base = recording.base.copy();
    let current = DiskImage::new(recording.base.size_bytes());
    let in_memory = || BlockError::io("make a disk in memory");
    let told = recording.epochs.iter().map(|epoch| told_at(epoch.ended_ns));
    let mut explorer = Explorer {
        recording,
        interrupt: room.interrupt,
        mount: MountPoint::new(room, recording.kind)?,
        base: base.map_err(in_memory())?,
        current: current.map_err(in_memory())?,
        content: Content::default(),
        told: told.collect(),
        trees: HashMap::new(),
        verdicts: HashMap::new(),
        look,
        explored: Explored {
            epochs: recording.epochs.len() as u64,
            ..Explored::default()
        },
    };
    explorer.explored.refused_before = explorer.whole(0)?;
    let open = explorer.boundaries(budget)?;
    explorer.explored.refused_after = explorer.whole(told_at(u64::MAX))?;
    explorer.restart()?;
    explorer.inside(&open, budget)?;
    let mut explored = explorer.explored;
    explored.distinct = explorer.verdicts.len() as u64;
    let failing = explorer
        .verdicts
        .values()
        .filter(|verdict| verdict.message.is_some());
    explored.failing = failing.count() as u64;
    Ok(explored)
}

struct Explorer<'r, L> {
    recording: &'r Recording,
    interrupt: &'r Interrupt,
    mount: MountPoint,
    /// Everything of the epochs before.
    base: DiskImage,
    /// The image that is recovered.
    current: DiskImage,
    /// Of `base`.
    content: Content,
    /// Of each epoch, how many steps had told somebody something at its end.
    told: Vec<usize>,
    trees: HashMap<ContentHash, Hash>,
    verdicts: HashMap<(Hash, usize), Verdict>,
    look: L,
    explored: Explored,
}

impl<L> Explorer<'_, L> {
    /// Tries every epoch not there and there; gives those whose subsets matter.
    fn boundaries<E: From<BlockError>>(&mut self, budget: ExploreBudget) -> Result<Vec<usize>, E>
    where
        L: Look<E>,
    {
        let count = self.recording.epochs.len();
        // Half of the budget is for subsets.
        let most = usize::try_from(budget.images / 2)
            .unwrap_or(usize::MAX)
            .max(2);
        let stride = (count + 1).div_ceil(most).max(1);
        let journal = self.journal();
        let mut open = Vec::new();
        for number in 0..count {
            let is_tried = number.is_multiple_of(stride) || number + 1 == count;
            let before = if is_tried {
                Some(self.state(number, None)?)
            } else {
                None
            };
            self.settle(number)?;
            let Some(before) = before else {
                self.explored.skipped_epochs += 1;
                continue;
            };
            let blocks = self.recording.epochs[number].blocks.len();
            let after = self.state(number, Some(&vec![true; blocks]))?;
            if blocks < 2 {
                continue;
            }
            if self.is_of_journal(journal.as_ref(), number) {
                self.explored.journal_epochs += 1;
            } else if before == after {
                self.explored.quiet_epochs += 1;
            } else {
                open.push(number);
            }
        }
        Ok(open)
    }

    /// Looks at everything that is settled, when so many steps have told somebody something.
    fn whole<E: From<BlockError>>(&mut self, told: usize) -> Result<Option<String>, E>
    where
        L: Look<E>,
    {
        let fresh = self.base.copy_to(&self.current);
        fresh.map_err(BlockError::io("make a disk in memory"))?;
        self.explored.images += 1;
        let tree = self.recover(told)?;
        let verdict = self.verdicts.get(&(tree, told));
        Ok(verdict.and_then(|verdict| verdict.message.clone()))
    }

    /// Tries subsets of these epochs' blocks.
    fn inside<E: From<BlockError>>(
        &mut self,
        open: &[usize],
        budget: ExploreBudget,
    ) -> Result<(), E>
    where
        L: Look<E>,
    {
        let mut settled = 0;
        for (turn, &number) in open.iter().enumerate() {
            for before in settled..number {
                self.settle(before)?;
            }
            settled = number;
            let left = budget.images.saturating_sub(self.explored.images);
            let share = usize::try_from(left).unwrap_or(usize::MAX) / (open.len() - turn);
            let blocks = self.recording.epochs[number].blocks.len();
            let mut of_epoch = budget.subsets;
            if blocks > of_epoch.exhaustive_blocks || (1 << blocks) - 2 > share {
                of_epoch.exhaustive_blocks = 0;
                of_epoch.sampled = of_epoch.sampled.min(share);
            }
            let some = subsets(blocks, number, of_epoch);
            self.explored.sampled_epochs += u64::from(!some.all);
            for kept in &some.kept {
                self.state(number, Some(kept))?;
            }
        }
        Ok(())
    }

    /// Applies an epoch for good.
    fn settle(&mut self, number: usize) -> Result<(), BlockError> {
        let recording = self.recording;
        for block in &recording.epochs[number].blocks {
            apply(&self.base, &recording.log, block)?;
            note(&mut self.content, &recording.log, block)?;
        }
        Ok(())
    }

    /// Begins anew with nothing of the recording on disk.
    fn restart(&mut self) -> Result<(), BlockError> {
        let restored = self.recording.base.copy_to(&self.base);
        restored.map_err(BlockError::io("make a disk in memory"))?;
        self.content = Content::default();
        Ok(())
    }

    /// Recovers an image of what is settled and these blocks of an epoch; gives its tree.
    fn state<E: From<BlockError>>(
        &mut self,
        number: usize,
        kept: Option<&[bool]>,
    ) -> Result<Hash, E>
    where
        L: Look<E>,
    {
        self.interrupt.check().map_err(BlockError::from)?;
        self.explored.states += 1;
        let recording = self.recording;
        let epoch = &recording.epochs[number];
        let kept = kept.unwrap_or_default();
        let blocks = || {
            let chosen = epoch.blocks.iter().zip(kept).filter(|(_, kept)| **kept);
            chosen.map(|(block, _)| block)
        };
        let mut content = self.content.clone();
        for block in blocks() {
            note(&mut content, &recording.log, block)?;
        }
        let told = self.told[number];
        let known = self.trees.get(&content.hash()).copied();
        let tree = match known {
            Some(tree) if self.verdicts.contains_key(&(tree, told)) => tree,
            _ => {
                let fresh = self.base.copy_to(&self.current);
                fresh.map_err(BlockError::io("make a disk in memory"))?;
                for block in blocks() {
                    apply(&self.current, &recording.log, block)?;
                }
                self.explored.images += 1;
                self.recover(told)?
            }
        };
        self.trees.insert(content.hash(), tree);
        self.count(number, kept, (tree, told));
        Ok(tree)
    }

    /// Mounts the current image and looks at its tree, unless that is known.
    fn recover<E: From<BlockError>>(&mut self, told: usize) -> Result<Hash, E>
    where
        L: Look<E>,
    {
        let recovery = match self.mount.recover(&self.current)? {
            Ok(recovery) => recovery,
            Err(error) => {
                let message = format!("the file system cannot be mounted: {error}");
                let tree = blake3::hash(message.as_bytes());
                self.verdicts.entry((tree, told)).or_insert(Verdict {
                    message: Some(message),
                    is_lost_after_ack: false,
                });
                return Ok(tree);
            }
        };
        let observed = observe(recovery.work());
        let tree = observed.hash;
        if let Entry::Vacant(vacant) = self.verdicts.entry((tree, told)) {
            let recovered = Recovered {
                work: recovery.work(),
                observed: &observed,
            };
            let message = match &observed.unreadable {
                Some((path, error)) => Some(format!(
                    "{} cannot be read after recovery: {error}",
                    shown(path)
                )),
                None => (self.look)(recovered, told)?,
            };
            let is_lost_after_ack = message.is_some()
                && told > 0
                && observed.unreadable.is_none()
                && (self.look)(recovered, 0)?.is_none();
            vacant.insert(Verdict {
                message,
                is_lost_after_ack,
            });
        }
        Ok(tree)
    }

    /// Counts a state that fails.
    fn count(&mut self, number: usize, kept: &[bool], key: (Hash, usize)) {
        let Some(verdict) = self.verdicts.get(&key) else {
            return;
        };
        let Some(message) = &verdict.message else {
            return;
        };
        let kept_blocks = kept.iter().filter(|kept| **kept).count();
        let failure = Failure {
            message: message.clone(),
            is_lost_after_ack: verdict.is_lost_after_ack,
            is_boundary: kept_blocks == 0 || kept_blocks == kept.len(),
            ended_ns: self.recording.epochs[number].ended_ns,
            told: key.1,
            kept_blocks,
            blocks: self.recording.epochs[number].blocks.len(),
            states: 1,
        };
        let failures = &mut self.explored.failures;
        let same = failures.iter_mut().find(|known| {
            (&known.message, known.is_lost_after_ack)
                == (&failure.message, failure.is_lost_after_ack)
        });
        match same {
            Some(known) => known.states += 1,
            None => failures.push(failure),
        }
    }

    fn journal(&self) -> Option<Journal> {
        let mut begin = vec![0; 4096];
        self.recording.base.read(&mut begin, 0).ok()?;
        Journal::of(&begin)
    }

    fn is_of_journal(&self, journal: Option<&Journal>, number: usize) -> bool {
        let recording = self.recording;
        journal.is_some_and(|journal| {
            journal.has_all_of(&recording.epochs[number], |at| {
                let mut first = [0; 4];
                recording.log.read(&mut first, at).ok()?;
                Some(first)
            })
        })
    }
}

fn shown(path: &[u8]) -> String {
    match path {
        b"" => "the directory".to_owned(),
        path => String::from_utf8_lossy(path).into_owned(),
    }
}

/// Puts a block on an image.
pub(super) fn apply(image: &DiskImage, log: &RequestLog, block: &Block) -> Result<(), BlockError> {
    let written = match bytes_of(log, block)? {
        Some(bytes) => image.write(&bytes, block.offset),
        None => image.zero(block.offset, block.bytes),
    };
    written.map_err(BlockError::io("write to a disk in memory"))
}

fn note(content: &mut Content, log: &RequestLog, block: &Block) -> Result<(), BlockError> {
    content.set(block, bytes_of(log, block)?.as_deref());
    Ok(())
}

fn bytes_of(log: &RequestLog, block: &Block) -> Result<Option<Vec<u8>>, BlockError> {
    let Some(at) = block.at else { return Ok(None) };
    // A block that a request wrote is at most 4 KiB long.
    let mut bytes = vec![0; usize::try_from(block.bytes).unwrap_or(0)];
    let read = log.read(&mut bytes, at);
    read.map_err(BlockError::io("read the log of the device"))?;
    Ok(Some(bytes))
}
