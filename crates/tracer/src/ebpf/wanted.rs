//! Who belongs to the tree besides one root: several processes, control groups, names.

use aya::maps::{HashMap, MapError};
use iostrata_core::gap::{Countable, Gap, Reason};
use iostrata_core::observe::{ObserveError, Stream};
use iostrata_core::trace::{Joined, MatchedBy};

use super::entries::each;
use super::made::Ebpf;
use super::readout::{clear_hash, map, map_mut};
use super::wire::{self, JoinedKey, Observer, WANTED, WantedName, joined_by, wants};
use super::{EbpfObserver, error, unread};

/// Who is to be observed besides the processes that are named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Control groups of version 2, by the inode of their directory.
    pub groups: Vec<u64>,
    /// Names of programs: the last of a path.
    pub names: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joiner {
    pub process: u32,
    /// Name of the thread then.
    pub name: String,
    pub by: Vec<MatchedBy>,
    pub joined: Joined,
}

/// No process has this number (`PID_MAX_LIMIT`, include/linux/threads.h).
const NOBODY: u32 = u32::MAX;

impl Wanted {
    /// The longest name that can be told from a longer one.
    pub const LONGEST_NAME_BYTES: usize = size_of::<WantedName>() - 2;
    /// Control groups, and names.
    pub const MOST: usize = WANTED;

    fn bits(&self) -> u32 {
        let groups = u32::from(!self.groups.is_empty()) * wants::GROUPS;
        let names = u32::from(!self.names.is_empty()) * wants::NAMES;
        wants::ROOTS | groups | names
    }
}

impl EbpfObserver {
    /// Begins to watch processes that run already, all they have started, and processes that join them.
    /// `find` is asked for processes while the programs are attached: none that begins meanwhile is
    /// missed.
    pub fn attach(
        &mut self,
        whom: &str,
        wanted: &Wanted,
        find: &mut dyn FnMut() -> Vec<u32>,
    ) -> Result<(), ObserveError> {
        self.prepare(Stream::default())?;
        self.config.root = NOBODY;
        self.config.wants = wanted.bits();
        self.want(wanted)
            .map_err(|e| error("configure the observer", &e))?;
        self.adopt_tree(whom, find)
    }

    fn want(&mut self, wanted: &Wanted) -> Result<(), MapError> {
        let has_run = self.object.has_run();
        let ebpf = &mut self.object.ebpf;
        if has_run {
            clear(ebpf)?;
        }
        let mut groups = HashMap::<_, u64, u8>::try_from(map_mut(ebpf, "wanted_groups")?)?;
        for group in &wanted.groups {
            groups.insert(group, 1, 0)?;
        }
        let mut names = HashMap::<_, WantedName, u8>::try_from(map_mut(ebpf, "wanted_names")?)?;
        for name in &wanted.names {
            names.insert(key_of(name), 1, 0)?;
        }
        Ok(())
    }

    pub(super) fn want_processes(&mut self, processes: &[u32]) -> Result<(), ObserveError> {
        let map = map_mut(&mut self.object.ebpf, "wanted_roots");
        let roots = map.and_then(HashMap::<_, u32, u8>::try_from);
        let mut roots = roots.map_err(|e| unread(&e))?;
        for process in processes {
            let wanted = roots.insert(process, 1, 0);
            wanted.map_err(|e| error("name a process to the kernel side", &e))?;
        }
        Ok(())
    }

    /// Who joined in the last session, and how many more than there is room for.
    pub fn joined(&self) -> Result<(Vec<Joiner>, u64), ObserveError> {
        let mut joiners = Vec::new();
        let table = map(&self.object.ebpf, "joined").map_err(|e| unread(&e))?;
        let listed = each(table, |key: &JoinedKey, how: &wire::Joined| {
            joiners.push((key.started, joiner(key, how)));
        });
        listed.map_err(|e| unread(&e))?;
        joiners.sort_by_key(|(started, joiner)| (*started, joiner.process));
        let joiners = joiners.into_iter().map(|(_, joiner)| joiner);
        Ok((joiners.collect(), self.known()?.unlisted))
    }
}

fn clear(ebpf: &mut Ebpf) -> Result<(), MapError> {
    clear_hash::<u32, u8>(ebpf, "wanted_roots")?;
    clear_hash::<u64, u8>(ebpf, "wanted_groups")?;
    clear_hash::<WantedName, u8>(ebpf, "wanted_names")?;
    clear_hash::<JoinedKey, wire::Joined>(ebpf, "joined")
}

fn key_of(name: &[u8]) -> WantedName {
    let mut key = WantedName { name: [0; 64] };
    for (to, byte) in key.name.iter_mut().zip(name) {
        *to = *byte;
    }
    key
}

fn joiner(key: &JoinedKey, how: &wire::Joined) -> Joiner {
    let by = [
        (joined_by::FORK | joined_by::MOVE, MatchedBy::Cgroup),
        (joined_by::COMM, MatchedBy::Comm),
        (joined_by::EXECUTABLE, MatchedBy::Executable),
        (joined_by::ARGUMENT, MatchedBy::Argument),
    ];
    let by = by.into_iter().filter(|(bits, _)| how.by & bits != 0);
    let joined = match how.by {
        joined_by::FORK => Joined::Fork,
        joined_by::MOVE => Joined::Move,
        _ => Joined::Exec,
    };
    Joiner {
        process: u32::try_from(key.numbers >> 32).unwrap_or(NOBODY),
        name: text(&how.name),
        by: by.map(|(_, by)| by).collect(),
        joined,
    }
}

/// The name of a thread.
pub(super) fn text(comm: &[u8; 16]) -> String {
    let name = comm.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// Calls that the other threads of a moved process made until they were found.
pub(super) fn late(known: &Observer) -> Option<Gap> {
    Gap::counted(known.moved, Countable::MovedThreads, Reason::FirstMoveOnly)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_followed_by_zeros() {
        let key = key_of(b"dd").name;
        assert_eq!((&key[..2], &key[2..]), (&b"dd"[..], &[0; 62][..]));
        let longest = [b'x'; Wanted::LONGEST_NAME_BYTES];
        assert_eq!(key_of(&longest).name[60..], [b'x', b'x', 0, 0]);
    }

    #[test]
    fn one_may_join_by_several_names() {
        let key = JoinedKey {
            numbers: 7 << 32 | 9,
            started: 1,
        };
        let mut name = [0; 16];
        name[..2].copy_from_slice(b"dd");
        let told = |by| {
            let how = wire::Joined { by, pad: 0, name };
            joiner(&key, &how)
        };
        let by_names = told(joined_by::COMM | joined_by::EXECUTABLE);
        assert_eq!((by_names.process, by_names.name.as_str()), (7, "dd"));
        assert_eq!(by_names.by, [MatchedBy::Comm, MatchedBy::Executable]);
        assert_eq!(by_names.joined, Joined::Exec);
        let moved = told(joined_by::MOVE);
        assert_eq!(
            (moved.by, moved.joined),
            (vec![MatchedBy::Cgroup], Joined::Move)
        );
    }

    #[test]
    fn what_is_wanted_is_told_in_bits() {
        let all = Wanted {
            groups: vec![1],
            names: vec![b"dd".to_vec()],
        };
        assert_eq!(all.bits(), 7);
        assert_eq!(Wanted::default().bits(), wants::ROOTS);
    }
}
