//! Which threads may be inside the kernel at one time, while an operation log is written.
//!
//! Calls that change the same file, or names, are admitted one after the other: so their order is
//! known, and the offset of each write follows from position and length before and after it. Where
//! reads are recorded, the same holds for calls that move the position of the same description. A
//! waiting thread stays at the entry of its call.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use iostrata_core::op::FileId;

use super::request::{Stop, Tid};

/// A thread that sleeps interruptibly for this long may wait for something that a waiting thread
/// must do: the writer of a pipe, a holder of a lease, a file system in user space.
const ASLEEP: Duration = Duration::from_millis(20);

/// Any call may take this long, such as the removal of a large file on a slow disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// The contents that a call changes, or the file in which it moves a position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Contents {
    #[default]
    None,
    /// It moves the position of an open file of this one.
    Moves(FileId),
    Changes(FileId),
    /// A file that is unknown before the call.
    ChangesAny,
}

impl Contents {
    fn excludes(self, other: Self) -> bool {
        match (self, other) {
            (Self::None, _) | (_, Self::None) | (Self::Moves(_), Self::Moves(_)) => false,
            (Self::ChangesAny, _) | (_, Self::ChangesAny) => true,
            (Self::Changes(one) | Self::Moves(one), Self::Changes(other) | Self::Moves(other)) => {
                one == other
            }
        }
    }
}

/// What a call needs exclusively.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) names: bool,
    pub(super) contents: Contents,
    /// The file from which it takes its bytes inside the kernel: it may move a position there.
    pub(super) source: Option<FileId>,
    /// The open file description whose position it moves, where reads are recorded.
    pub(super) position: Option<u64>,
}

impl Claim {
    pub(super) fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Whether it changes names or contents.
    pub(super) fn is_change(self) -> bool {
        self.names || matches!(self.contents, Contents::Changes(_) | Contents::ChangesAny)
    }

    /// The one file that it changes, if it is known and no name is changed.
    pub(super) fn changed(self) -> Option<FileId> {
        match self.contents {
            Contents::Changes(file) if !self.names => Some(file),
            _ => None,
        }
    }

    fn all_contents(self) -> [Contents; 2] {
        let source = self.source.map_or(Contents::None, Contents::Moves);
        [self.contents, source]
    }

    /// Whether the log has its place, which is in doubt when another call overtakes it.
    fn has_a_place(self) -> bool {
        self.is_change() || self.position.is_some()
    }

    fn excludes(self, other: Self) -> bool {
        let of_contents = self.all_contents().into_iter().any(|one| {
            other
                .all_contents()
                .into_iter()
                .any(|two| one.excludes(two))
        });
        let of_position = self.position.is_some() && self.position == other.position;
        of_contents || of_position || self.names && other.names
    }
}

#[derive(Debug)]
struct Inside {
    tid: Tid,
    claim: Claim,
    since: Instant,
}

#[derive(Debug)]
struct Waiting {
    tid: Tid,
    stop: Stop,
    claim: Claim,
}

/// Threads inside, and threads that wait to be admitted.
#[derive(Debug, Default)]
pub(super) struct Turns {
    inside: Vec<Inside>,
    waiting: VecDeque<Waiting>,
    /// Calls admitted before another one had ended.
    pub(super) overlaps: u64,
}

impl Turns {
    /// Whether the call may begin; otherwise its thread waits.
    pub(super) fn enter(&mut self, tid: Tid, stop: Stop, claim: Claim) -> bool {
        if claim.is_nothing() {
            return true;
        }
        let is_free = !self.inside.iter().any(|one| one.claim.excludes(claim))
            && !self.waiting.iter().any(|one| one.claim.excludes(claim));
        if is_free {
            self.let_in(tid, claim);
        } else {
            self.waiting.push_back(Waiting { tid, stop, claim });
        }
        is_free
    }

    fn let_in(&mut self, tid: Tid, claim: Claim) {
        let since = Instant::now();
        self.inside.push(Inside { tid, claim, since });
    }

    /// The thread has left its call, or no longer exists.
    pub(super) fn left(&mut self, tid: Tid) {
        self.inside.retain(|one| one.tid != tid);
        self.waiting.retain(|one| one.tid != tid);
    }

    pub(super) fn anybody_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next thread whose turn it is. `is_asleep` returns whether a signal could wake a thread
    /// that is inside.
    pub(super) fn next(&mut self, is_asleep: impl Fn(Tid) -> bool) -> Option<(Tid, Stop)> {
        let at = (0..self.waiting.len()).find(|at| self.is_free(*at));
        let overdue = || {
            let first = self.waiting.front()?.claim;
            let mut before = self.inside.iter().filter(|one| one.claim.excludes(first));
            before
                .all(|one| {
                    let inside = one.since.elapsed();
                    inside > PATIENCE || inside > ASLEEP && is_asleep(one.tid)
                })
                .then_some(0)
        };
        let at = match at {
            Some(at) => at,
            None => overdue()?,
        };
        let Waiting { tid, stop, claim } = self.waiting.remove(at)?;
        let mut inside = self.inside.iter().map(|one| one.claim);
        let overtakes = inside.any(|one| one.excludes(claim) && one.has_a_place());
        self.overlaps += u64::from(overtakes);
        self.let_in(tid, claim);
        Some((tid, stop))
    }

    /// Whether no thread inside, and none waiting before it, blocks it.
    fn is_free(&self, at: usize) -> bool {
        let claim = self.waiting[at].claim;
        !self.inside.iter().any(|one| one.claim.excludes(claim))
            && !self
                .waiting
                .iter()
                .take(at)
                .any(|one| one.claim.excludes(claim))
    }

    /// All waiting threads: nothing is recorded any more.
    pub(super) fn release(&mut self) -> Vec<(Tid, Stop)> {
        self.inside.clear();
        self.waiting
            .drain(..)
            .map(|one| (one.tid, one.stop))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: u64) -> FileId {
        FileId {
            device: 1,
            inode,
            generation: 0,
        }
    }

    fn of(contents: Contents) -> Claim {
        Claim {
            names: false,
            contents,
            ..Claim::default()
        }
    }

    const NAMES: Claim = Claim {
        names: true,
        contents: Contents::None,
        source: None,
        position: None,
    };

    fn enter(turns: &mut Turns, tid: Tid, claim: Claim) -> bool {
        turns.enter(tid, Stop::Filtered, claim)
    }

    #[test]
    fn who_changes_one_file_does_so_alone() {
        let mut turns = Turns::default();
        let (one, other) = (Contents::Changes(file(1)), Contents::Changes(file(2)));
        assert!(enter(&mut turns, 1, of(one)));
        assert!(enter(&mut turns, 2, of(other)));
        assert!(enter(&mut turns, 3, NAMES));
        assert!(!enter(&mut turns, 4, of(Contents::Moves(file(1)))));
        assert!(!enter(&mut turns, 5, of(one)));
        assert!(!enter(&mut turns, 6, NAMES));
        assert!(enter(&mut turns, 7, Claim::default()));
        assert_eq!(turns.next(|_| false), None);
        turns.left(1);
        assert_eq!(turns.next(|_| false), Some((4, Stop::Filtered)));
        assert_eq!(
            turns.next(|_| false),
            None,
            "in the order in which they came"
        );
        turns.left(4);
        turns.left(3);
        assert_eq!(turns.next(|_| false), Some((5, Stop::Filtered)));
        assert_eq!(turns.next(|_| false), Some((6, Stop::Filtered)));
        assert_eq!((turns.next(|_| false), turns.overlaps), (None, 0));
    }

    #[test]
    fn two_who_move_positions_do_not_wait_for_each_other() {
        let mut turns = Turns::default();
        assert!(enter(&mut turns, 1, of(Contents::Moves(file(1)))));
        assert!(enter(&mut turns, 2, of(Contents::Moves(file(1)))));
        assert!(!enter(&mut turns, 3, of(Contents::ChangesAny)));
        assert!(
            !enter(&mut turns, 4, of(Contents::Moves(file(1)))),
            "behind 3"
        );
    }

    #[test]
    fn who_moves_one_position_does_so_alone() {
        let mut turns = Turns::default();
        let at = |inode, position| Claim {
            position,
            ..of(Contents::Moves(file(inode)))
        };
        assert!(enter(&mut turns, 1, at(1, Some(7))));
        assert!(enter(&mut turns, 2, at(1, Some(8))));
        assert!(enter(&mut turns, 3, at(1, None)));
        assert!(!enter(&mut turns, 4, at(1, Some(7))));
        turns.left(1);
        assert_eq!(turns.next(|_| false), Some((4, Stop::Filtered)));
    }

    #[test]
    fn who_sleeps_for_long_is_overtaken_and_that_is_counted() {
        let mut turns = Turns::default();
        assert!(enter(&mut turns, 1, of(Contents::Changes(file(1)))));
        assert!(!enter(&mut turns, 2, of(Contents::Changes(file(1)))));
        turns.inside[0].since = Instant::now().checked_sub(2 * ASLEEP).unwrap();
        assert_eq!(turns.next(|_| false), None, "it works");
        assert_eq!(turns.next(|tid| tid == 1), Some((2, Stop::Filtered)));
        assert_eq!(turns.overlaps, 1);
    }

    #[test]
    fn who_copies_inside_the_kernel_moves_a_position_of_the_source() {
        let mut turns = Turns::default();
        let copies = |from| Claim {
            source: Some(file(from)),
            ..of(Contents::Changes(file(9)))
        };
        let sends = Claim {
            source: Some(file(1)),
            ..Claim::default()
        };
        assert!(enter(&mut turns, 1, sends));
        assert!(enter(&mut turns, 2, copies(1)), "two who read");
        assert!(!enter(&mut turns, 3, of(Contents::Changes(file(1)))));
        turns.left(2);
        turns.inside[0].since = Instant::now().checked_sub(2 * ASLEEP).unwrap();
        assert_eq!(turns.next(|tid| tid == 1), Some((3, Stop::Filtered)));
        assert_eq!(turns.overlaps, 0, "nothing of 1 has a place in the log");
        assert!(!enter(&mut turns, 4, copies(1)));
        turns.left(3);
        assert_eq!(turns.next(|_| false), Some((4, Stop::Filtered)));
    }

    #[test]
    fn who_is_killed_waits_no_more() {
        let mut turns = Turns::default();
        assert!(enter(&mut turns, 1, NAMES));
        assert!(!enter(&mut turns, 2, NAMES));
        assert!(!enter(&mut turns, 3, NAMES));
        turns.left(2);
        assert_eq!(turns.release(), [(3, Stop::Filtered)]);
        assert!(!turns.anybody_waits());
    }
}
