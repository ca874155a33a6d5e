//! Turns the kernel side's steps, runs and tasks into the history of a run.

use std::collections::HashSet;

use iostrata_core::gap::{Countable, Gap, Reason};
use iostrata_core::op::{Call, FileId};
use iostrata_core::record::RENAME_EXCHANGE;
use iostrata_core::trace::timeline::Moments;
use iostrata_core::trace::{
    Audience, Did, Event, Follower, Located, NamedFile, OpenFile, Seen, Task, Threads, Writes,
    is_open, is_sync,
};
use zerocopy::FromBytes as _;

use super::calls;
use super::names::{Names, Place, beneath, normal, up_to_nul};
use super::stream::file_id;
use super::touched::{self, By, Meant, Requests, Touch, Touches};
use super::wire::{
    FileKey, NOT_KNOWN, ReportEvent, RunEvent, StepEvent, Submission, TaskEvent, run,
};
use crate::decode::{self, Ended, Inode, TMPFILE, outcome, synced};
use crate::record::attributes;
use crate::sites::Sites;

/// include/linux/fs.h
const FMODE_CREATED: u32 = 0x10_0000;

/// Follows a session. Memory grows with the number of files and threads, not of calls.
#[derive(Debug, Default)]
pub(super) struct History {
    names: Names,
    touches: Touches,
    requests: Requests,
    tasks: Threads,
    follower: Follower,
    /// Opened without a name (`O_TMPFILE`), and not linked since.
    nameless: HashSet<FileId>,
    /// Names whose directory the kernel side did not report.
    as_text: u64,
    /// Calls of `truncate` whose file was not known: it names one only by a path.
    truncated: u64,
    /// Operations of `io_uring` whose paths the kernel did not expose: since Linux 7.0 it reads them when it starts one.
    untold: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// Absolute. From the kernel's own names where `place` is known, otherwise as the program
    /// passed it.
    pub(super) path: Vec<u8>,
    /// The directory, and the name in it, that a name change affects.
    pub(super) place: Option<Place>,
}

/// A step with its paths as the kernel resolved them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) event: StepEvent,
    pub(super) file: Option<FileId>,
    pub(super) first: Option<Named>,
    pub(super) second: Option<Named>,
    /// The second path as the program passed it: the target of a symbolic link.
    pub(super) second_text: Vec<u8>,
    /// The file that was renamed, linked, removed, created, or changed through its path.
    pub(super) node: Option<FileId>,
    /// The file that had the second name before.
    pub(super) other: Option<FileId>,
    pub(super) inode: Option<Inode>,
    /// Other arguments that the call passed in memory.
    pub(super) extra: Vec<u8>,
}

impl History {
    pub(super) fn missing(&self) -> Vec<Gap> {
        let as_text = Gap::counted(
            self.as_text,
            Countable::DirectoriesOfNames,
            Reason::PathsAsGiven,
        );
        as_text
            .into_iter()
            .chain(Gap::counted(
                self.truncated,
                Countable::Truncates,
                Reason::TruncatedUnknown,
            ))
            .chain(Gap::counted(
                self.untold,
                Countable::RingNameOperations,
                Reason::PathsUnseen,
            ))
            .collect()
    }

    pub(super) fn finish(self, sites: Sites, moments: Moments) -> Seen {
        let mut missing = self.missing();
        let (tasks, lived, summed) = self.tasks.finish();
        missing.extend(summed);
        Seen {
            names: self.names.finish(),
            tasks,
            lived,
            followed: self.follower.finish(),
            sites: sites.finish(),
            moments,
            missing,
        }
    }

    /// A file gets its name. Returns the files whose names this completes.
    pub(super) fn name(&mut self, record: &[u8]) -> &[NamedFile] {
        let named = self.names.add(record);
        for named in named {
            self.follower.named(named);
        }
        named
    }

    pub(super) fn touched(&mut self, record: &[u8]) {
        self.touches.add(record);
    }

    /// An operation of `io_uring` was submitted.
    pub(super) fn asked(&mut self, record: &[u8]) {
        self.requests.add(record);
    }

    pub(super) fn task(&mut self, record: &[u8]) {
        let Ok(event) = TaskEvent::read_from_bytes(record) else {
            return;
        };
        self.tasks.add(Task {
            thread: event.thread,
            process: event.process,
            parent: event.parent,
            name: up_to_nul(&event.name).to_vec(),
            started_ns: event.started_ns,
            ended_ns: (event.ended_ns > 0).then_some(event.ended_ns),
            on_cpu_ns: (event.on_cpu_ns != NOT_KNOWN).then_some(event.on_cpu_ns),
            minor_faults: event.minor_faults,
            major_faults: event.major_faults,
            calls: event.calls,
            time_ns: event.time_ns,
            blocked_ns: event.blocked_ns,
            read_bytes: event.read_bytes,
            written_bytes: event.written_bytes,
        });
    }

    pub(super) fn run(&mut self, record: &[u8]) {
        let Ok(event) = RunEvent::read_from_bytes(record) else {
            return;
        };
        let Some(file) = file_id(&event.file) else {
            return;
        };
        let name = calls::name(event.nr);
        let did = if is_sync(name) {
            Did::Changed(synced(Some(file), event.is_data_only()))
        } else {
            Did::Wrote(Writes {
                file,
                count: event.count,
                bytes: event.bytes,
                from: event.from,
                to: event.to,
                durable: event.flags & run::DURABLE != 0,
                appends: event.flags & run::APPENDS != 0,
                size_bytes: (event.size != NOT_KNOWN).then_some(event.size),
            })
        };
        let call = event.call();
        self.follow(call, did);
    }

    pub(super) fn report(&mut self, record: &[u8]) {
        let Ok(event) = ReportEvent::read_from_bytes(record) else {
            return;
        };
        let call = Call {
            process: event.process,
            thread: event.thread,
            started_ns: event.started_ns,
            ended_ns: event.ended_ns,
            name: calls::name(event.nr),
            outcome: Ok(0),
        };
        let audience = match event.heard_ns {
            NOT_KNOWN => Audience::Output,
            heard_ns => Audience::Peer { heard_ns },
        };
        self.follow(call, Did::Reported(audience));
    }

    fn follow(&mut self, call: Call, did: Did) {
        let open = None;
        self.follower.event(&Event { call, open, did });
    }

    /// A libaio operation of which only the submission is known.
    pub(super) fn submission(&mut self, submission: &Submission) {
        if let Some(event) = submission.event() {
            self.follower.event(&event);
        }
    }

    /// A step with its paths as they were before the step.
    pub(super) fn resolve(&mut self, record: &[u8]) -> Option<Resolved> {
        let (event, text) = StepEvent::read_from_prefix(record).ok()?;
        let touches = self.touches.take(By::new(event.thread, event.request));
        let Some((event, text)) = self.requests.whole(event, text) else {
            self.untold += u64::from(event.result >= 0);
            return None;
        };
        let paths = event.bytes[0].checked_add(event.bytes[1])?;
        let (paths, extra) = text.split_at_checked(paths as usize)?;
        let extra = extra.get(..event.extra as usize)?;
        let (first, second) = paths.split_at_checked(event.bytes[0] as usize)?;
        let (first, second) = (up_to_nul(first), up_to_nul(second));
        let call = decode::system_call(calls::name(event.nr));
        let mut resolved = Resolved {
            file: file_id(&event.file),
            first: self.absolute(&event.base[0], first),
            second: self.absolute(&event.base[1], second),
            second_text: second.to_vec(),
            node: None,
            other: None,
            inode: None,
            extra: extra.to_vec(),
            event,
        };
        if event.result < 0 {
            return Some(resolved);
        }
        match names_of(call, first, second) {
            Some(names) => {
                let meant = touched::meant(names, &touches);
                self.place(&mut resolved, names, &meant, (first, second));
            }
            None if attributes::is_one(call) => {
                resolved.node = resolved.file.or_else(|| touched::only_one(&touches));
            }
            None => {}
        }
        if call == "truncate" {
            resolved.node = resolved.node.or(resolved.file);
        }
        if attributes::is_one(call) || call == "truncate" {
            self.place_of_node(&mut resolved, &touches);
        }
        if is_open(call) && event.mode & FMODE_CREATED != 0 {
            self.place_of_made(&mut resolved);
        }
        resolved.inode = resolved
            .node
            .and_then(|node| touched::inode(&touches, node));
        Some(resolved)
    }

    /// The path may lead through links: the name of the changed file counts.
    fn place_of_node(&self, step: &mut Resolved, touches: &[Touch]) {
        let named = step.node.and_then(|node| touched::name(touches, node));
        let place = named.map(|(directory, name)| Place { directory, name });
        if let Some(place) = place
            && let Some(path) = self.names.path_at(&place)
        {
            let place = Some(place);
            step.first = Some(Named { path, place });
        }
    }

    /// A created file has the name of its dentry, whatever links the path went through.
    fn place_of_made(&self, step: &mut Resolved) {
        let place = step.file.and_then(|file| self.names.place_of(file));
        if let Some(place) = place
            && let Some(path) = self.names.path_at(place)
        {
            let place = Some(place.clone());
            step.first = Some(Named { path, place });
        }
    }

    /// Fills in the directories that the call's paths led to.
    fn place(
        &mut self,
        step: &mut Resolved,
        names: touched::Names<'_>,
        meant: &Meant,
        (first, second): (&[u8], &[u8]),
    ) {
        let base = step.event.base.map(|base| file_id(&base));
        step.node = meant.node;
        step.other = meant.other;
        let meant = self.in_order(*meant, names);
        let (from, to) = match names {
            touched::Names::Removed(_) => (Some(meant.from), None),
            touched::Names::Made(_) => (Some(meant.to), None),
            touched::Names::Linked(_) => (None, Some(meant.to)),
            touched::Names::Renamed(..) => (Some(meant.from), Some(meant.to)),
            touched::Names::Kept => (None, None),
        };
        if let Some(directory) = from {
            self.put(&mut step.first, (first, base[0]), directory);
        }
        if let Some(directory) = to {
            self.put(&mut step.second, (second, base[1]), directory);
        }
        if matches!(names, touched::Names::Linked(_))
            && let Some(place) = meant.node.and_then(|node| self.names.place_of(node))
            && let Some(path) = self.names.path_at(place)
        {
            let place = Some(place.clone());
            step.first = Some(Named { path, place });
        }
        let known = step.first.as_ref().and_then(|named| named.place.as_ref());
        step.node = step
            .node
            .or_else(|| known.and_then(|place| self.names.file_at(place)));
    }

    /// The directory from which a rename removed the name: of two, the one where the file had that
    /// name.
    fn in_order(&self, meant: Meant, names: touched::Names<'_>) -> Meant {
        let (Some([one, two]), touched::Names::Renamed(old, _)) = (meant.between, names) else {
            return meant;
        };
        let had = |directory| {
            let name = old.to_vec();
            let file = self.names.file_at(&Place { directory, name });
            file.is_some() && file == meant.node
        };
        let (from, to) = match (had(one), had(two)) {
            (true, false) => (one, two),
            (false, true) => (two, one),
            _ => return meant,
        };
        Meant {
            from: Some(from),
            to: Some(to),
            ..meant
        }
    }

    /// One of the paths. Its directory is the one that the kernel changed or, where the path is
    /// only a name, the starting directory.
    fn put(
        &mut self,
        named: &mut Option<Named>,
        (text, base): (&[u8], Option<FileId>),
        directory: Option<FileId>,
    ) {
        let Some(named) = named else { return };
        let (above, name) = split(text);
        let known = directory.or(base.filter(|_| above.is_empty()));
        let place = known.map(|directory| Place {
            directory,
            name: name.to_vec(),
        });
        match place.as_ref().and_then(|place| self.names.path_at(place)) {
            Some(path) => *named = Named { path, place },
            None => self.as_text += u64::from(!matches!(above, b"" | b"/")),
        }
    }

    pub(super) fn step(&mut self, resolved: Resolved) {
        let event = resolved.event;
        let call = decode::system_call(calls::name(event.nr));
        if attributes::is_one(call) && event.result >= 0 {
            return;
        }
        self.follow_names(call, &resolved);
        let is_truncate = call == "truncate" && event.result >= 0;
        match decode::event(&mut resolved.into()) {
            Some(event) => self.follower.event(&event),
            None => self.truncated += u64::from(is_truncate),
        }
    }

    /// Updates the names to the state after the step.
    fn follow_names(&mut self, call: &str, step: &Resolved) {
        if step.event.result < 0 {
            return;
        }
        // The flag stays with the open file even after the file got a name.
        let is_nameless = is_open(call) && step.event.flags & TMPFILE == TMPFILE;
        if let Some(file) = step.file.filter(|_| is_nameless) {
            self.nameless.insert(file);
        }
        let place = |named: &Option<Named>| named.as_ref().and_then(|named| named.place.clone());
        self.know(step.first.as_ref(), step.node);
        self.know(step.second.as_ref(), step.other);
        match (call, &step.first, &step.second) {
            ("rename" | "renameat" | "renameat2", Some(from), Some(to)) => {
                let exchange =
                    call == "renameat2" && step.event.argument[4] & u64::from(RENAME_EXCHANGE) != 0;
                self.names.moved(&from.path, &to.path, exchange);
                if let (Some(from), Some(to)) = (&from.place, &to.place) {
                    self.names.renamed(from, to, exchange);
                }
            }
            ("link" | "linkat", ..) => {
                if let (Some(node), Some(to)) = (step.node, place(&step.second)) {
                    let had_none = self.nameless.remove(&node);
                    self.names.linked(node, to, had_none);
                }
            }
            ("mkdir" | "mkdirat", Some(path), _) => {
                if let Some(node) = step.node {
                    self.names.made(node, &path.path);
                }
            }
            ("unlink" | "unlinkat", ..) => {
                let gone = place(&step.first).and_then(|place| self.names.file_at(&place));
                if let Some(file) = gone {
                    self.names.removed(file);
                }
            }
            _ => {}
        }
    }

    /// A name that a step removes belongs to this file, whichever name the program used.
    fn know(&mut self, named: Option<&Named>, file: Option<FileId>) {
        let (
            Some(Named {
                path,
                place: Some(place),
            }),
            Some(file),
        ) = (named, file)
        else {
            return;
        };
        self.names.put(file, place.clone());
        self.follower.is_at(path, file);
    }

    /// A path as the program passed it, made absolute; `None` when there is none.
    fn absolute(&self, base: &FileKey, text: &[u8]) -> Option<Named> {
        let base = file_id(base).and_then(|base| self.names.directory(base));
        let path = match (text.first()?, base) {
            // A program that has called chroot(2) has another root.
            (_, Some(base)) => normal(&beneath(base, text)),
            (b'/', None) => normal(text),
            (_, None) => text.to_vec(),
        };
        Some(Named { path, place: None })
    }
}

impl RunEvent {
    pub(super) fn call(&self) -> Call {
        Call {
            process: self.process,
            thread: self.thread,
            started_ns: self.started_ns,
            ended_ns: self.ended_ns,
            name: calls::name(self.nr),
            outcome: match self.error {
                0 => Ok(0),
                error => Err(error),
            },
        }
    }
}

impl From<Resolved> for Ended {
    fn from(step: Resolved) -> Self {
        let event = &step.event;
        let located = |named: Named| Located {
            path: named.path,
            directory: named.place.map(|place| place.directory),
        };
        Self {
            call: Call {
                process: event.process,
                thread: event.thread,
                started_ns: event.entered_ns,
                ended_ns: event.left_ns,
                name: calls::name(event.nr),
                outcome: outcome(event.result),
            },
            argument: event.argument,
            file: step.file,
            open: (event.open_file != 0).then_some(OpenFile {
                address: event.open_file,
                flags: event.flags,
            }),
            created: event.mode & FMODE_CREATED != 0,
            mode: event.inode_mode,
            first: step.first.map(located),
            second: step.second.map(located),
            second_text: step.second_text,
            node: step.node,
            inode: step.inode,
            extra: step.extra,
        }
    }
}

/// The last name of a path, and the part before it.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(0, |at| at + 1);
    let path = &path[..end];
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..=at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// The effect of the call on names; `None` for calls that change no names and no file by its path.
fn names_of<'a>(call: &str, first: &'a [u8], second: &'a [u8]) -> Option<touched::Names<'a>> {
    let (first, second) = (split(first).1, split(second).1);
    Some(match call {
        "rename" | "renameat" | "renameat2" => touched::Names::Renamed(first, second),
        "link" | "linkat" => touched::Names::Linked(second),
        "unlink" | "unlinkat" | "rmdir" => touched::Names::Removed(first),
        "mkdir" | "mkdirat" | "mknod" | "mknodat" | "symlink" | "symlinkat" => {
            touched::Names::Made(first)
        }
        "truncate" => touched::Names::Kept,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_end_in_a_name() {
        assert_eq!(split(b"a"), (&b""[..], &b"a"[..]));
        assert_eq!(split(b"/a"), (&b"/"[..], &b"a"[..]));
        assert_eq!(split(b"link/../b//"), (&b"link/../"[..], &b"b"[..]));
        assert_eq!(split(b"/"), (&b""[..], &b""[..]));
    }
}
