//! Recovers images side by side: most of the time of a mount and its end is waiting, for threads of the kernel to start
//! and for RCU grace periods.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use blake3::Hash;
use iostrata_core::crash::block::ContentHash;

use super::BlockError;
use super::foundation::Site;
use super::images::{Image, Images};
use super::record::Recording;
use super::recover::{Bay, Mountable};
use super::tree::{Observed, observe};
use crate::interrupt::Interrupt;
use crate::scratch::ImageKind;

/// Images that are recovered at the same time.
const BAYS: usize = 16;

#[derive(Debug)]
pub(super) struct Job {
    pub(super) image: Image,
    pub(super) content: ContentHash,
    /// Number of acknowledgements with which its tree is checked.
    pub(super) told: BTreeSet<usize>,
}

#[derive(Debug, Clone, Copy)]
pub struct Recovered<'a> {
    /// The directory, on the recovered file system.
    pub work: &'a Path,
    pub observed: &'a Observed,
}

/// Checks a tree against the number of acknowledgements; returns what is broken. Several threads call it.
pub trait Look<E>: Fn(Recovered<'_>, usize) -> Result<Option<String>, E> + Sync {}
impl<E, F: Fn(Recovered<'_>, usize) -> Result<Option<String>, E> + Sync> Look<E> for F {}

/// What is known of a tree at some time.
#[derive(Debug, Clone, Default)]
pub(super) struct Verdict {
    pub(super) message: Option<String>,
    pub(super) is_lost_after_ack: bool,
}

/// Verdicts by tree and number of acknowledgements.
pub(super) type Verdicts = HashMap<(Hash, usize), Verdict>;

/// Places where images are recovered, and what is known of them.
pub(super) struct Crew<'r, L> {
    interrupt: Interrupt,
    bays: Vec<Slot<'r>>,
    images: Images<'r>,
    look: L,
    /// No image is begun later.
    pub(super) until: Option<Instant>,
    /// So many side by side, at most.
    pub(super) beside: usize,
    /// Those under way included.
    verdicts: Mutex<Verdicts>,
    recovered: AtomicU64,
}

impl<'r, L> Crew<'r, L> {
    pub(super) fn new(
        site: Site<'_>,
        recording: &'r Recording,
        look: L,
    ) -> Result<Self, BlockError> {
        let bays = (0..bays(recording.kind)).map(|number| {
            Ok(Slot {
                path: site.place(&format!("recovered-{number}"))?,
                recording,
                bay: None,
            })
        });
        Ok(Self {
            interrupt: site.interrupt.clone(),
            bays: bays.collect::<Result<_, BlockError>>()?,
            images: Images::new(recording)?,
            look,
            until: None,
            beside: BAYS,
            verdicts: Mutex::default(),
            recovered: AtomicU64::new(0),
        })
    }

    pub(super) fn verdicts(&mut self) -> &Verdicts {
        self.verdicts
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn recovered(&self) -> u64 {
        self.recovered.load(Ordering::Relaxed)
    }

    /// Recovers these images, in this order, and has their trees looked at; gives the tree of each that was, also when
    /// that ends early or the time is over.
    pub(super) fn recover<E: From<BlockError> + Send>(
        &mut self,
        jobs: Vec<Job>,
        progress: &(impl Fn(u64) + Sync),
    ) -> (Vec<(ContentHash, Hash)>, Result<(), E>)
    where
        L: Look<E>,
    {
        let count = jobs.len();
        let mut bays = std::mem::take(&mut self.bays);
        let work = Work {
            crew: self,
            jobs: Mutex::new(jobs.into()),
            is_over: AtomicBool::new(false),
            progress,
        };
        let done = on_each(&mut bays, count.min(self.beside), |slot| {
            let mut trees = Vec::new();
            let ended = work.all(slot, &mut trees);
            (trees, ended)
        });
        self.bays = bays;
        let mut trees = Vec::with_capacity(count);
        let mut ended = Ok(());
        for (some, how) in done {
            trees.extend(some);
            ended = ended.and(how);
        }
        (trees, ended)
    }

    /// Recovers images once more; gives what is in each, and nothing of one that cannot be mounted.
    pub(super) fn observe(
        &mut self,
        images: &[Image],
    ) -> Result<Vec<Option<Observed>>, BlockError> {
        let mut bays = std::mem::take(&mut self.bays);
        let next = AtomicUsize::new(0);
        let seen: Vec<Result<Vec<_>, BlockError>> = on_each(&mut bays, images.len(), |slot| {
            let bay = slot.bay()?;
            let mut seen = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(image) = images.get(number) else {
                    return Ok(seen);
                };
                self.interrupt.check()?;
                let mountable = bay.ready()?;
                self.images.make(image, mountable.disk())?;
                let recovery = mountable.mount()?.ok();
                seen.push((number, recovery.map(|recovery| observe(recovery.work()))));
            }
        });
        self.bays = bays;
        let mut of: Vec<Option<Observed>> = images.iter().map(|_| None).collect();
        for some in seen {
            for (number, observed) in some? {
                of[number] = observed;
            }
        }
        Ok(of)
    }
}

impl<L> Drop for Crew<'_, L> {
    fn drop(&mut self) {
        // The end of a loop device waits too.
        thread::scope(|scope| {
            for slot in self.bays.drain(..) {
                scope.spawn(|| drop(slot));
            }
        });
    }
}

/// Does something in a thread for each bay, of at most so many.
fn on_each<'r, R: Send>(
    bays: &mut [Slot<'r>],
    most: usize,
    one: impl Fn(&mut Slot<'r>) -> R + Sync,
) -> Vec<R> {
    thread::scope(|scope| {
        let bays = bays.iter_mut().take(most);
        let threads: Vec<_> = bays.map(|slot| scope.spawn(|| one(slot))).collect();
        let done = threads.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.collect()
    })
}

/// Room for a bay, which the thread makes that works there: the begin of a loop device is a wait.
struct Slot<'r> {
    path: PathBuf,
    recording: &'r Recording,
    bay: Option<Bay<'r>>,
}

impl<'r> Slot<'r> {
    fn bay(&mut self) -> Result<&mut Bay<'r>, BlockError> {
        let bay = match self.bay.take() {
            Some(bay) => bay,
            None => Bay::new(self.path.clone(), self.recording)?,
        };
        Ok(self.bay.insert(bay))
    }
}

/// The images that a crew recovers now.
struct Work<'c, 'r, L, P> {
    crew: &'c Crew<'r, L>,
    jobs: Mutex<VecDeque<Job>>,
    /// One of them failed.
    is_over: AtomicBool,
    progress: &'c P,
}

impl<L, P: Fn(u64) + Sync> Work<'_, '_, L, P> {
    /// One image after the other, until there is none.
    fn all<E: From<BlockError>>(
        &self,
        slot: &mut Slot<'_>,
        trees: &mut Vec<(ContentHash, Hash)>,
    ) -> Result<(), E>
    where
        L: Look<E>,
    {
        let bay = slot.bay()?;
        let is_late = || self.crew.until.is_some_and(|until| Instant::now() >= until);
        while !self.is_over.load(Ordering::Relaxed) && !is_late() {
            match self.one(bay) {
                Ok(Some(tree)) => trees.push(tree),
                Ok(None) => break,
                Err(error) => {
                    self.is_over.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn one<E: From<BlockError>>(&self, bay: &mut Bay<'_>) -> Result<Option<(ContentHash, Hash)>, E>
    where
        L: Look<E>,
    {
        self.crew.interrupt.check().map_err(BlockError::from)?;
        let Some((job, mountable)) = self.next(bay)? else {
            return Ok(None);
        };
        let recovery = mountable.mount()?;
        (self.progress)(self.crew.recovered.fetch_add(1, Ordering::Relaxed) + 1);
        let tree = match &recovery {
            Ok(recovery) => {
                let observed = observe(recovery.work());
                let recovered = Recovered {
                    work: recovery.work(),
                    observed: &observed,
                };
                for told in job.told {
                    self.look(recovered, told)?;
                }
                observed.hash
            }
            Err(error) => self.refused(error, &job.told),
        };
        Ok(Some((job.content, tree)))
    }

    /// The next image, on a disk.
    fn next<'b, 'r>(
        &self,
        bay: &'b mut Bay<'r>,
    ) -> Result<Option<(Job, Mountable<'b, 'r>)>, BlockError> {
        let mountable = bay.ready()?;
        let Some(job) = locked(&self.jobs).pop_front() else {
            return Ok(None);
        };
        self.crew.images.make(&job.image, mountable.disk())?;
        Ok(Some((job, mountable)))
    }

    /// Has a tree checked, unless another thread does or did.
    fn look<E>(&self, recovered: Recovered<'_>, told: usize) -> Result<(), E>
    where
        L: Look<E>,
    {
        let key = (recovered.observed.hash, told);
        if !self.claims(key, Verdict::default()) {
            return Ok(());
        }
        match self.verdict(recovered, told) {
            Ok(verdict) => {
                locked(&self.crew.verdicts).insert(key, verdict);
                Ok(())
            }
            Err(error) => {
                // Nobody has looked at it.
                locked(&self.crew.verdicts).remove(&key);
                Err(error)
            }
        }
    }

    fn verdict<E>(&self, recovered: Recovered<'_>, told: usize) -> Result<Verdict, E>
    where
        L: Look<E>,
    {
        if let Some((path, error)) = &recovered.observed.unreadable {
            let message = format!("{} cannot be read after recovery: {error}", shown(path));
            return Ok(Verdict {
                message: Some(message),
                is_lost_after_ack: false,
            });
        }
        let look = &self.crew.look;
        let message = look(recovered, told)?;
        // Without the report it is fine, or something else is broken.
        let is_lost_after_ack = message.is_some() && told > 0 && look(recovered, 0)? != message;
        Ok(Verdict {
            message,
            is_lost_after_ack,
        })
    }

    fn refused(&self, error: &io::Error, told: &BTreeSet<usize>) -> Hash {
        let message = format!("the file system cannot be mounted: {error}");
        let tree = blake3::hash(message.as_bytes());
        for told in told {
            let verdict = Verdict {
                message: Some(message.clone()),
                is_lost_after_ack: false,
            };
            self.claims((tree, *told), verdict);
        }
        tree
    }

    /// Whether nobody was there before.
    fn claims(&self, key: (Hash, usize), verdict: Verdict) -> bool {
        let mut verdicts = locked(&self.crew.verdicts);
        let is_new = !verdicts.contains_key(&key);
        if is_new {
            verdicts.insert(key, verdict);
        }
        is_new
    }
}

/// btrfs mounts a second file system with the same number since Linux 6.7 only (`find_fsid_by_device`,
/// fs/btrfs/volumes.c).
fn bays(kind: ImageKind) -> usize {
    let has_temporary_numbers = || fs::exists("/sys/fs/btrfs/features/temp_fsid").unwrap_or(false);
    match kind {
        ImageKind::Btrfs if !has_temporary_numbers() => 1,
        _ => BAYS,
    }
}

fn shown(path: &[u8]) -> String {
    match path {
        b"" => "the directory".to_owned(),
        path => String::from_utf8_lossy(path).into_owned(),
    }
}

/// A thread that panicked ends all of them.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
