//! The targets of a call's paths: the directories and the file whose change times it set.
//!
//! A path may lead through symbolic links, a chroot, or directories that were moved meanwhile. The
//! inodes that the kernel changed show which directory it meant (`bpf/touched.h`). An `io_uring` operation reports its paths
//! at submission, and becomes a step at completion (`bpf/ring_names.h`).

use std::collections::HashMap;

use iostrata_core::op::FileId;
use iostrata_core::trace::FileKind;
use zerocopy::FromBytes as _;

use super::stream::file_id;
use super::wire::{StepEvent, TouchedEvent, touched};
use crate::decode::Inode;

/// One inode, at the time of the change or at the end of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touch {
    file: FileId,
    is_directory: bool,
    /// Bits of [`touched`].
    flags: u32,
    /// Its name and directory; of several names the first.
    name: Option<(FileId, Vec<u8>)>,
    inode: Inode,
}

/// The last reading of a touched file.
pub(super) fn inode(touches: &[Touch], file: FileId) -> Option<Inode> {
    let last = touches.iter().rfind(|touch| touch.file == file);
    last.map(|touch| touch.inode)
}

/// The previous name of a file, and its directory.
pub(super) fn name(touches: &[Touch], file: FileId) -> Option<(FileId, Vec<u8>)> {
    let touch = touches.iter().find(|touch| touch.file == file)?;
    touch.name.clone()
}

/// The node whose attributes were changed.
pub(super) fn only_one(touches: &[Touch]) -> Option<FileId> {
    let meant = meant(Names::Kept, touches).node;
    // An inode without a name was only looked up, as in /proc/self/fd.
    let directories = touches
        .iter()
        .filter(|touch| touch.is_directory && touch.name.is_some() && !touch.is(touched::AFTER));
    meant.or_else(|| only(directories.map(|touch| touch.file)))
}

impl Touch {
    fn is(&self, bit: u32) -> bool {
        self.flags & bit != 0
    }
}

/// What changed an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum By {
    /// The current call of a thread.
    Thread(u32),
    /// An `io_uring` operation, by the address of its request.
    Request(u64),
}

impl By {
    /// From the kernel side's encoding.
    pub(super) fn new(thread: u32, request: u64) -> Self {
        match request {
            0 => Self::Thread(thread),
            request => Self::Request(request),
        }
    }
}

/// Inodes that the calls and operations under way have changed.
#[derive(Debug, Default)]
pub(super) struct Touches {
    changed: HashMap<By, Vec<Touch>>,
}

impl Touches {
    pub(super) fn add(&mut self, record: &[u8]) {
        let Ok((event, text)) = TouchedEvent::read_from_prefix(record) else {
            return;
        };
        let Some(touch) = touch(&event, text) else {
            return;
        };
        let by = By::new(event.thread, event.request);
        self.changed.entry(by).or_default().push(touch);
    }

    /// The inodes of a call or operation that has ended.
    pub(super) fn take(&mut self, by: By) -> Vec<Touch> {
        self.changed.remove(&by).unwrap_or_default()
    }
}

fn touch(event: &TouchedEvent, text: &[u8]) -> Option<Touch> {
    let length = usize::try_from(event.bytes).ok()?.checked_sub(1);
    let name = length.and_then(|length| text.get(..length));
    Some(Touch {
        file: file_id(&event.file)?,
        is_directory: FileKind::from_mode(event.mode) == FileKind::Directory,
        flags: event.flags,
        inode: Inode {
            mode: event.mode,
            size_bytes: event.size,
            device: event.device,
        },
        name: name
            .filter(|_| event.flags & touched::NAMED != 0)
            .and_then(|name| Some((file_id(&event.parent)?, name.to_vec()))),
    })
}

/// The effect of a call on the last names of its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names<'a> {
    Removed(&'a [u8]),
    /// Gives one to a new file.
    Made(&'a [u8]),
    /// Gives another one to a file.
    Linked(&'a [u8]),
    /// Removes the first and adds the second.
    Renamed(&'a [u8], &'a [u8]),
    /// No names: it changes the file itself.
    Kept,
}

/// The targets of a call's paths, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Meant {
    /// Directory of the name before the call.
    pub(super) from: Option<FileId>,
    /// Directory of the name after the call.
    pub(super) to: Option<FileId>,
    /// The file with that name.
    pub(super) node: Option<FileId>,
    /// The file that previously had the new name.
    pub(super) other: Option<FileId>,
    /// The two directories, when their order is unknown: the kernel side sees only one of several
    /// names of a file.
    pub(super) between: Option<[FileId; 2]>,
}

/// Derives the targets from the touched inodes.
pub(super) fn meant(names: Names<'_>, touches: &[Touch]) -> Meant {
    // The layers below are touched too; the program sees the overlay.
    let overlay = touches.iter().any(|touch| touch.is(touched::OVERLAY));
    let meant = Changed::on(touches, overlay).by(names);
    if overlay && meant.node.is_none() && matches!(names, Names::Linked(_)) {
        // The overlay's own inode is not touched. Files, unlike directories, belong to a layer.
        let node = Changed::on(touches, false).by(names).node;
        return Meant { node, ..meant };
    }
    meant
}

struct Changed<'a> {
    before: Vec<&'a Touch>,
    after: Vec<&'a Touch>,
}

impl<'a> Changed<'a> {
    /// The touched inodes of overlays, or of other file systems.
    fn on(touches: &'a [Touch], overlay: bool) -> Self {
        let (after, before) = touches
            .iter()
            .filter(|touch| touch.is(touched::OVERLAY) == overlay)
            .partition(|touch| touch.is(touched::AFTER));
        Self { before, after }
    }

    fn by(&self, names: Names<'_>) -> Meant {
        match names {
            Names::Removed(name) => self.removed(name),
            Names::Made(name) => self.made(name),
            Names::Linked(name) => self.linked(name),
            Names::Renamed(from, to) => self.renamed(from, to),
            Names::Kept => Meant {
                node: self.only_file(),
                ..Meant::default()
            },
        }
    }

    fn removed(&self, name: &[u8]) -> Meant {
        let named = self.before.iter().filter(|touch| {
            let parent = touch.name.as_ref().filter(|(_, own)| own == name);
            parent.is_some_and(|(parent, _)| self.is_directory(*parent))
        });
        match only(named.filter_map(|touch| Some((touch.file, touch.name.as_ref()?.0)))) {
            Some((node, parent)) => Meant {
                from: Some(parent),
                node: Some(node),
                ..Meant::default()
            },
            // One of several names of a file, and not the first.
            None => Meant {
                from: self.only_directory(),
                node: self.only_file(),
                ..Meant::default()
            },
        }
    }

    fn made(&self, name: &[u8]) -> Meant {
        let node = self.now_named(name);
        Meant {
            to: node.map(|(_, parent)| parent).or(self.only_directory()),
            node: node.map(|(node, _)| node),
            ..Meant::default()
        }
    }

    /// The newest name of a file is its first (`__d_instantiate`, fs/dcache.c).
    fn linked(&self, name: &[u8]) -> Meant {
        let node = self.now_named(name);
        Meant {
            to: node.map(|(_, parent)| parent).or(self.only_directory()),
            node: node.map(|(node, _)| node).or(self.only_file()),
            ..Meant::default()
        }
    }

    fn renamed(&self, old: &[u8], new: &[u8]) -> Meant {
        let Some((node, to)) = self.now_named(new) else {
            let both = self.only_directory();
            return Meant {
                from: both,
                to: both,
                node: self.only_file(),
                between: self.two_directories(),
                ..Meant::default()
            };
        };
        let before = self.before.iter().find(|touch| touch.file == node);
        let had = before.and_then(|touch| touch.name.as_ref());
        let others = self
            .before
            .iter()
            .filter(|touch| touch.is_directory && touch.file != node && touch.file != to);
        let from = match had {
            Some((parent, name)) if name == old => Some(*parent),
            // Another of its names was seen: use the remaining directory, if there is one.
            _ => match only(others.map(|touch| touch.file)) {
                None => self.only_directory(),
                other => other,
            },
        };
        Meant {
            from,
            to: Some(to),
            node: Some(node),
            other: self.had_name(new, to).filter(|other| *other != node),
            ..Meant::default()
        }
    }

    /// The file that previously had a name in a directory.
    fn had_name(&self, name: &[u8], directory: FileId) -> Option<FileId> {
        let had = self.before.iter().find(|touch| {
            let own = touch.name.as_ref();
            own.is_some_and(|(parent, own)| *parent == directory && own == name)
        });
        had.map(|touch| touch.file)
    }

    fn two_directories(&self) -> Option<[FileId; 2]> {
        let mut found = Vec::new();
        for touch in &self.before {
            if touch.is_directory && touch.name.is_some() && !found.contains(&touch.file) {
                found.push(touch.file);
            }
        }
        found.try_into().ok()
    }

    /// The file now found under the name, in a touched directory.
    fn now_named(&self, name: &[u8]) -> Option<(FileId, FileId)> {
        let found = self.after.iter().find_map(|touch| {
            let (parent, own) = touch.name.as_ref()?;
            let is_it = touch.is(touched::HASHED) && own == name && self.is_directory(*parent);
            is_it.then_some((touch.file, *parent))
        });
        found.filter(|(file, parent)| file != parent)
    }

    fn is_directory(&self, file: FileId) -> bool {
        self.before
            .iter()
            .any(|touch| touch.is_directory && touch.file == file)
    }

    fn only_directory(&self) -> Option<FileId> {
        self.only_named(true)
    }

    fn only_file(&self) -> Option<FileId> {
        self.only_named(false)
    }

    /// An inode without a name is new, perhaps only to the kernel's cache: a lookup sets times too.
    fn only_named(&self, directory: bool) -> Option<FileId> {
        let of_kind = |touch: &&&Touch| touch.is_directory == directory && touch.name.is_some();
        only(self.before.iter().filter(of_kind).map(|touch| touch.file))
    }
}

/// The only value; `None` if there are several different ones.
fn only<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// Operations under way, by the address of their request.
#[derive(Debug, Default)]
pub(super) struct Requests {
    asked: HashMap<u64, Vec<u8>>,
}

impl Requests {
    pub(super) fn add(&mut self, record: &[u8]) {
        if let Ok((event, _)) = StepEvent::read_from_prefix(record) {
            self.asked.insert(event.request, record.to_vec());
        }
    }

    /// A step with its arguments and their text; `None` where the kernel side could not report the
    /// arguments of an operation.
    pub(super) fn whole(&mut self, ended: StepEvent, text: &[u8]) -> Option<(StepEvent, Vec<u8>)> {
        if ended.request == 0 {
            return Some((ended, text.to_vec()));
        }
        let asked = self.asked.remove(&ended.request)?;
        let (asked, text) = StepEvent::read_from_prefix(&asked).ok()?;
        let whole = StepEvent {
            argument: asked.argument,
            base: asked.base,
            bytes: asked.bytes,
            extra: asked.extra,
            ..ended
        };
        Some((whole, text.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::{FromZeros as _, IntoBytes as _};

    use super::*;

    fn id(inode: u64) -> FileId {
        FileId {
            device: 1,
            inode,
            generation: 0,
        }
    }

    const A: u64 = 1;
    const B: u64 = 2;

    fn directory(inode: u64) -> Touch {
        Touch {
            file: id(inode),
            is_directory: true,
            flags: touched::HASHED,
            name: Some((id(99), b"dir".to_vec())),
            inode: Inode::default(),
        }
    }

    fn file(inode: u64, parent: u64, name: &str) -> Touch {
        Touch {
            is_directory: false,
            name: Some((id(parent), name.into())),
            ..directory(inode)
        }
    }

    fn after(touch: Touch) -> Touch {
        Touch {
            flags: touch.flags | touched::AFTER,
            ..touch
        }
    }

    fn all(from: Option<u64>, to: Option<u64>, node: Option<u64>) -> Meant {
        Meant {
            from: from.map(id),
            to: to.map(id),
            node: node.map(id),
            ..Meant::default()
        }
    }

    #[test]
    fn a_removal_names_its_directory() {
        let removed = [directory(A), file(7, A, "x")];
        let expected = all(Some(A), None, Some(7));
        assert_eq!(meant(Names::Removed(b"x"), &removed), expected);
        // A directory inside a directory: the one that contains the other.
        let child = Touch {
            name: Some((id(A), b"b".to_vec())),
            ..directory(B)
        };
        let expected = all(Some(A), None, Some(B));
        assert_eq!(
            meant(Names::Removed(b"b"), &[child, directory(A)]),
            expected
        );
        // The kernel lists another name of the file first.
        let linked = [directory(A), file(7, B, "y")];
        let expected = all(Some(A), None, Some(7));
        assert_eq!(meant(Names::Removed(b"x"), &linked), expected);
    }

    #[test]
    fn what_was_made_has_its_name_afterwards() {
        let fresh = Touch {
            name: None,
            ..directory(B)
        };
        let made = after(Touch {
            name: Some((id(A), b"new".to_vec())),
            ..directory(B)
        });
        let touched = [fresh.clone(), directory(A), made];
        let expected = all(None, Some(A), Some(B));
        assert_eq!(meant(Names::Made(b"new"), &touched), expected);
        let unseen = meant(Names::Made(b"new"), &[fresh, directory(A)]);
        assert_eq!(unseen, all(None, Some(A), None));
    }

    #[test]
    fn another_name_of_a_file_that_was_found_through_proc() {
        let looked_up = Touch {
            name: None,
            ..file(40, A, "6")
        };
        let touched = [
            looked_up,
            file(7, A, "#7"),
            directory(A),
            after(file(7, A, "published")),
        ];
        let expected = all(None, Some(A), Some(7));
        assert_eq!(meant(Names::Linked(b"published"), &touched), expected);
        assert_eq!(meant(Names::Linked(b"published"), &touched[..3]), expected);
    }

    #[test]
    fn a_rename_over_a_file_of_the_same_name() {
        let gone = Touch {
            flags: touched::AFTER,
            ..file(8, B, "x")
        };
        let touched = [
            directory(A),
            directory(B),
            file(7, A, "x"),
            file(8, B, "x"),
            gone,
            after(file(7, B, "x")),
        ];
        let expected = Meant {
            other: Some(id(8)),
            ..all(Some(A), Some(B), Some(7))
        };
        assert_eq!(meant(Names::Renamed(b"x", b"x"), &touched), expected);
    }

    #[test]
    fn a_rename_of_one_of_several_names() {
        let touched = [
            directory(A),
            directory(B),
            file(7, 50, "other"),
            after(file(7, B, "new")),
        ];
        let expected = all(Some(A), Some(B), Some(7));
        assert_eq!(meant(Names::Renamed(b"old", b"new"), &touched), expected);
        let hidden = [
            directory(A),
            directory(B),
            file(7, 50, "other"),
            after(file(7, 50, "other")),
        ];
        let expected = Meant {
            between: Some([id(A), id(B)]),
            ..all(None, None, Some(7))
        };
        assert_eq!(meant(Names::Renamed(b"old", b"new"), &hidden), expected);
        let within = [
            directory(A),
            file(7, 50, "other"),
            after(file(7, 50, "other")),
        ];
        let expected = all(Some(A), Some(A), Some(7));
        assert_eq!(meant(Names::Renamed(b"old", b"new"), &within), expected);
    }

    #[test]
    fn a_directory_that_moves() {
        let moved = |parent: u64, name: &str| Touch {
            name: Some((id(parent), name.into())),
            ..directory(3)
        };
        let touched = [
            directory(A),
            directory(B),
            moved(A, "d"),
            after(moved(B, "e")),
        ];
        let expected = all(Some(A), Some(B), Some(3));
        assert_eq!(meant(Names::Renamed(b"d", b"e"), &touched), expected);
    }

    #[test]
    fn layers_below_an_overlay_do_not_count() {
        let above = |touch: Touch| Touch {
            flags: touch.flags | touched::OVERLAY,
            ..touch
        };
        let touched = [
            directory(50),
            file(7, 50, "x"),
            above(directory(A)),
            above(file(7, A, "x")),
        ];
        let expected = all(Some(A), None, Some(7));
        assert_eq!(meant(Names::Removed(b"x"), &touched), expected);
    }

    #[test]
    fn nothing_is_known_of_what_was_not_touched() {
        assert_eq!(meant(Names::Renamed(b"a", b"b"), &[]), Meant::default());
        let two = [directory(A), directory(B)];
        assert_eq!(meant(Names::Removed(b"x"), &two), Meant::default());
        let resized = [file(7, A, "x")];
        assert_eq!(meant(Names::Kept, &resized).node, Some(id(7)));
    }

    fn event(request: u64, flags: u64) -> StepEvent {
        StepEvent {
            request,
            argument: [0, 0, 0, 0, flags],
            ..StepEvent::new_zeroed()
        }
    }

    #[test]
    fn an_operation_is_told_in_two_parts() {
        let mut requests = Requests::default();
        let asked = StepEvent {
            bytes: [2, 2],
            ..event(7, 1)
        };
        requests.add(&[asked.as_bytes(), b"a\0b\0"].concat());
        let ended = StepEvent {
            result: -2,
            ..event(7, 0)
        };
        let (whole, text) = requests.whole(ended, b"").unwrap();
        assert_eq!((whole.result, whole.argument[4]), (-2, 1));
        assert_eq!(text, b"a\0b\0");
        assert_eq!(requests.whole(ended, b""), None, "the memory is used again");
    }

    #[test]
    fn a_call_is_told_at_once() {
        let told = Requests::default().whole(event(0, 3), b"a\0");
        assert_eq!(told, Some((event(0, 3), b"a\0".to_vec())));
    }
}
