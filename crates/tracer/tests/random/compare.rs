//! Differences between two observers of one run.
#![expect(unsafe_code, reason = "FS_IOC_GETVERSION is wrapped by no library")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use iostrata_core::op::FileId;
use rustix::fs::{Mode, OFlags};

use crate::tally::{Key, Row, Tally, Thing};

/// Differences in counts and bytes, one on a line: file, call, both rows.
pub(crate) fn rows(one: &Tally, other: &Tally, compared: impl Fn(&Key) -> bool) -> Vec<String> {
    let (one, other) = aligned(one, other);
    let none = Row::default();
    let keys: BTreeSet<&Key> = one.rows.keys().chain(other.rows.keys()).collect();
    let mut found = Vec::new();
    for key in keys.into_iter().filter(|key| compared(key)) {
        let row = one.rows.get(key).unwrap_or(&none);
        let expected = other.rows.get(key).unwrap_or(&none);
        if row != expected {
            let names = names_of(&other, &one, &key.thing);
            let source = if key.is_source { " (source)" } else { "" };
            found.push(format!(
                "{} {names}: {}{source}: {row}; expected {expected}",
                key.thing, key.call
            ));
        }
    }
    found
}

fn names_of(one: &Tally, other: &Tally, thing: &Thing) -> String {
    let mut text = String::new();
    for name in one
        .names
        .get(thing)
        .or(other.names.get(thing))
        .into_iter()
        .flatten()
    {
        write!(text, "{name} ").expect("memory");
    }
    text
}

/// Names that `one` has and `other` never saw at that file.
pub(crate) fn names(one: &Tally, other: &Tally) -> Vec<String> {
    let (one, other) = aligned(one, other);
    let mut found = Vec::new();
    let used: BTreeSet<&Thing> = other.rows.keys().map(|key| &key.thing).collect();
    for (thing, names) in one.names.iter().filter(|(thing, _)| used.contains(thing)) {
        let expected = other.names.get(thing).cloned().unwrap_or_default();
        for name in names.difference(&expected) {
            found.push(format!(
                "{thing}: named {name}; expected one of {expected:?}"
            ));
        }
    }
    found
}

/// Last names that differ from the current names of the files in `dirs`. A file that had several
/// may be shown with one that is gone.
pub(crate) fn last_names(
    last: &[(Thing, String)],
    linked: &BTreeSet<Thing>,
    dirs: &[&PathBuf],
) -> Vec<String> {
    let mut there: BTreeMap<Thing, BTreeSet<String>> = BTreeMap::new();
    for dir in dirs {
        walk(dir, &mut |path, thing| {
            let names = there.entry(thing).or_default();
            names.insert(path.to_string_lossy().into_owned());
        });
    }
    let mut found = Vec::new();
    for (thing, name) in last {
        let without = thing.without_generation();
        let expected = there.get(thing).or_else(|| there.get(&without));
        let Some(expected) = expected.filter(|_| !linked.contains(&without)) else {
            continue;
        };
        if !expected.contains(name) {
            found.push(format!(
                "{thing}: is {name} at last; expected one of {expected:?}"
            ));
        }
    }
    found
}

/// Last names on which two observers of a run do not agree.
pub(crate) fn last_names_of_both(
    one: &[(Thing, String)],
    other: &[(Thing, String)],
) -> Vec<String> {
    let mut named: BTreeMap<Thing, BTreeSet<&str>> = BTreeMap::new();
    for (thing, name) in other {
        let names = named.entry(thing.without_generation()).or_default();
        names.insert(name);
    }
    let differs = |(thing, name): &&(Thing, String)| {
        let expected = named.get(&thing.without_generation());
        expected.is_some_and(|expected| !expected.contains(name.as_str()))
    };
    let found = one.iter().filter(differs);
    found
        .map(|(thing, name)| {
            let expected = &named[&thing.without_generation()];
            format!("{thing}: is {name} at last; expected one of {expected:?}")
        })
        .collect()
}

fn walk(dir: &Path, found: &mut impl FnMut(PathBuf, Thing)) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries {
        let entry = entry.expect("an entry");
        // One of the neighbour's may be gone.
        let Ok(meta) = entry.metadata() else { continue };
        let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
        if meta.is_dir() {
            walk(&entry.path(), found);
        }
        if !meta.is_file() {
            continue;
        }
        let thing = Thing::File {
            device: FileId::kernel_device(major, minor),
            inode: meta.ino(),
            generation: generation(&entry.path()),
        };
        found(entry.path(), thing);
    }
}

/// The generation of a file's inode number, where its file system reports it.
fn generation(path: &Path) -> u32 {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else {
        return 0;
    };
    let mut generation: libc::c_long = 0;
    // SAFETY: the kernel stores an int at the address of a live long (FS_IOC_GETVERSION).
    unsafe { libc::ioctl(file.as_raw_fd(), 0x8008_7601, &raw mut generation) };
    u32::try_from(generation).unwrap_or(0)
}

/// Both with the generations that both know: some file systems report it to only one of them.
fn aligned(one: &Tally, other: &Tally) -> (Tally, Tally) {
    let lives = |tally: &Tally| {
        let things = tally.rows.keys().map(|key| &key.thing);
        things.chain(tally.names.keys()).cloned().collect()
    };
    let (mine, theirs): (BTreeSet<Thing>, BTreeSet<Thing>) = (lives(one), lives(other));
    let align = |tally: &Tally, known: &BTreeSet<Thing>| {
        tally.translated(|thing| {
            let without = thing.without_generation();
            if known.contains(&without) {
                without
            } else {
                thing.clone()
            }
        })
    };
    (align(one, &theirs), align(other, &mine))
}
