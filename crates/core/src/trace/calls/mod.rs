//! Every call by which a program can access files: its effect on them, and how it is observed.
//!
//! One table, [`GROUPS`], contains each system call, io_uring opcode and libaio operation once. The
//! purposes of a call ([`super::direction()`], [`super::CallGroup`], [`super::timeline::Purpose`])
//! and the gaps it leaves ([`unfollowed`]) come from it. It is calls.json, ordered by the effect on files.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::evidence::SyscallRow;
use crate::gap::{Gap, Missing, NotFollowed, Reason};

/// The effect of a call on files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
pub enum Effect {
    /// Moves bytes of a file to the program.
    Reads,
    /// Moves bytes of the program to a file.
    Writes,
    /// Moves bytes of one file to another, inside the kernel.
    Copies,
    /// Makes data durable, or requests it.
    Syncs,
    /// Opens a name as a descriptor.
    Opens,
    Closes,
    /// Maps a file's pages into the program, or makes memory writable.
    Maps,
    /// Changes a file's length or its allocated space.
    Resizes,
    Names,
    /// Changes attributes: mode, owner, times, extended attributes.
    Attributes,
    /// Reads names or attributes.
    Looks,
    /// Acts on a descriptor, on pages in memory or on the start of paths, and changes no file.
    Handles,
    Mounts,
    /// Makes the kernel itself write to a file from then on.
    Delegates,
    /// Submits operations to a kernel queue, or fetches their results.
    Queues,
    /// Sleeps for reasons other than files.
    Waits,
    Nothing,
}

/// Where a call is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub enum Counted {
    ByName,
    AtFile,
}

/// The treatment of a call in the history and in the operation log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub enum Following {
    /// It changes nothing that they record.
    NotNeeded,
    Both,
    /// The history records it; the log is incomplete after it, for this reason.
    HistoryOnly(NotFollowed),
    /// Neither records it; both are incomplete after it, for this reason.
    Neither(NotFollowed),
}

/// Calls that share all of this.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Group {
    pub effect: Effect,
    pub counted: Counted,
    pub following: Following,
    /// Their names, separated by white space: system calls, `io_uring.<operation>`,
    /// `aio.<operation>`, and requests identified by their arguments, `ioctl(FICLONE)`.
    pub calls: &'static str,
}

impl Group {
    /// Names of its calls.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.calls.split_ascii_whitespace()
    }
}

/// All groups.
pub static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("calls.json")).expect("tests read the table")
});

static BY_NAME: LazyLock<HashMap<&'static str, &'static Group>> = LazyLock::new(|| {
    let entries = GROUPS.iter();
    let entries = entries.flat_map(|group| group.names().map(move |name| (name, group)));
    entries.collect()
});

/// The group of a call by its name; `None` for an unclassified name.
pub fn group(name: &str) -> Option<&'static Group> {
    BY_NAME.get(name).copied()
}

/// The effect of a call on files, by its name.
pub fn effect(name: &str) -> Option<Effect> {
    group(name).map(|group| group.effect)
}

/// The history's gaps in a run with these calls: successful calls that are not followed, by name.
pub fn unfollowed(rows: &[SyscallRow]) -> Vec<Gap> {
    gaps(rows, |following| match following {
        Following::Neither(why) => Some(why),
        _ => None,
    })
}

/// The operation log's gaps in a run with these calls.
pub fn unrecorded(rows: &[SyscallRow]) -> Vec<Gap> {
    gaps(rows, |following| match following {
        Following::Neither(why) | Following::HistoryOnly(why) => Some(why),
        _ => None,
    })
}

fn gaps(rows: &[SyscallRow], why: impl Fn(Following) -> Option<NotFollowed>) -> Vec<Gap> {
    let mut found: BTreeMap<&str, (u64, NotFollowed)> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.is_source) {
        let following = group(row.name).map_or(UNKNOWN, |group| group.following);
        let Some(why) = why(following) else {
            continue;
        };
        let made = row.count.saturating_sub(row.errors);
        let entry = found.entry(row.name).or_insert((0, why));
        entry.0 = entry.0.saturating_add(made);
    }
    found
        .into_iter()
        .filter(|(_, (count, _))| *count > 0)
        .map(|(name, (count, why))| {
            let name = name.to_owned();
            Gap::new(Missing::Calls { count, name }, Reason::NotFollowed(why))
        })
        .collect()
}

/// For a call that is in no table: newer than this program.
const UNKNOWN: Following = Following::Neither(NotFollowed::UnknownCall);

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, count: u64, errors: u64) -> SyscallRow {
        SyscallRow {
            name,
            file: None,
            count,
            errors,
            returned: 0,
            time_ns: 0,
            blocked_ns: 0,
            alone_ns: 0,
            histogram: Vec::new(),
            shape: None,
            span_ns: None,
            is_source: false,
        }
    }

    #[test]
    fn every_name_stands_once() {
        let mut seen = std::collections::BTreeSet::new();
        for name in GROUPS.iter().flat_map(Group::names) {
            assert!(seen.insert(name), "{name} stands twice");
        }
        assert_eq!(BY_NAME.len(), seen.len());
    }

    #[test]
    fn what_was_not_followed_is_named_with_how_often_it_succeeded() {
        let rows = [
            row("write", 7, 0),
            row("ioctl(space)", 3, 1),
            row("ioctl(exchange)", 2, 2),
            row("open_by_handle_at", 4, 0),
            row("a call of tomorrow", 1, 0),
        ];
        let what = |gaps: Vec<Gap>| gaps.into_iter().map(|gap| gap.what).collect::<Vec<_>>();
        let calls = |count, name: &str| Missing::Calls {
            count,
            name: name.to_owned(),
        };
        let history = [calls(1, "a call of tomorrow"), calls(2, "ioctl(space)")];
        assert_eq!(what(unfollowed(&rows)), history);
        let log = [
            calls(1, "a call of tomorrow"),
            calls(2, "ioctl(space)"),
            calls(4, "open_by_handle_at"),
        ];
        assert_eq!(what(unrecorded(&rows)), log);
        assert_eq!(unfollowed(&rows[..1]), []);
    }
}
