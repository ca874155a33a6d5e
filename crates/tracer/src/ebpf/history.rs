//! From the kernel side's names, steps, runs and tasks to the history of a run.

use std::collections::HashMap;

use iostrata_core::op::FileId;
use iostrata_core::trace::timeline::Moments;
use iostrata_core::trace::{Event, FileKind, Follower, NamedFile, Scope, Seen, Step, Task};
use zerocopy::{FromBytes as _, IntoBytes as _};

use super::calls;
use super::stream::file_id;
use super::wire::{FileKey, NameEvent, ReportEvent, RunEvent, StepEvent, TaskEvent};
use crate::paths;
use crate::sites::Sites;
use crate::steps::{self, Asked};

/// include/linux/fs.h
pub(super) const FMODE_CREATED: u32 = 0x10_0000;

/// Follows a session. Memory grows with the files and threads, not with the calls.
#[derive(Debug, Default)]
pub(super) struct History {
    names: Vec<NamedFile>,
    tasks: Vec<Task>,
    follower: Follower,
    /// Where relative paths begin.
    directories: HashMap<FileId, Vec<u8>>,
    /// For calls that name a file by its path only.
    by_path: HashMap<Vec<u8>, FileId>,
    /// Names in directories whose own name has not arrived: another CPU is sending it.
    waiting: Vec<(NameEvent, Vec<u8>)>,
}

/// A step with its paths made absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) event: StepEvent,
    pub(super) file: Option<FileId>,
    pub(super) first: Option<Vec<u8>>,
    pub(super) second: Option<Vec<u8>>,
    /// The second path as it was given: what a symbolic link says.
    pub(super) second_text: Vec<u8>,
    /// The file of the first path, if that is known.
    pub(super) by_path: Option<FileId>,
}

impl History {
    pub(super) fn finish(self, sites: Sites, moments: Moments) -> Seen {
        Seen {
            names: self.names,
            tasks: self.tasks,
            followed: self.follower.finish(),
            sites: sites.finish(),
            moments,
        }
    }

    /// A file gets its name. Returns the files that are known by it: none while the name of
    /// its directory is missing, several when it is the directory that others waited for.
    pub(super) fn name(&mut self, record: &[u8]) -> &[NamedFile] {
        let known = self.names.len();
        self.add_name(record);
        &self.names[known..]
    }

    fn add_name(&mut self, record: &[u8]) -> Option<()> {
        let (event, text) = NameEvent::read_from_prefix(record).ok()?;
        let text = text.get(..event.bytes as usize).unwrap_or(text);
        let file = file_id(&event.file)?;
        let kind = FileKind::from_mode(event.mode);
        let path = match file_id(&event.base).map(|base| self.directories.get(&base)) {
            None => path_of(kind, file.inode, text, event.complete != 0),
            Some(Some(directory)) => {
                paths::normal(&[directory, &b"/"[..], up_to_nul(text)].concat())
            }
            Some(None) => {
                self.waiting.push((event, text.to_vec()));
                return None;
            }
        };
        if kind == FileKind::Directory {
            self.directories.insert(file, path.clone());
        }
        if event.as_base != 0 {
            self.name_those_in(file);
            return None;
        }
        let named = NamedFile {
            file,
            path,
            kind,
            filesystem: String::from_utf8_lossy(up_to_nul(&event.filesystem)).into_owned(),
            size_bytes: event.size,
        };
        self.by_path.insert(named.path.clone(), file);
        self.follower.named(&named);
        self.names.push(named);
        self.name_those_in(file);
        Some(())
    }

    /// The name of a directory has arrived: so those in it are known.
    fn name_those_in(&mut self, directory: FileId) {
        if self.waiting.is_empty() {
            return;
        }
        let in_it = |event: &NameEvent| file_id(&event.base) == Some(directory);
        let waiting = std::mem::take(&mut self.waiting);
        let (now, later) = waiting.into_iter().partition(|(event, _)| in_it(event));
        self.waiting = later;
        let now: Vec<(NameEvent, Vec<u8>)> = now;
        for (event, text) in now {
            self.add_name(&[event.as_bytes(), &text].concat());
        }
    }

    pub(super) fn task(&mut self, record: &[u8]) {
        let Ok(event) = TaskEvent::read_from_bytes(record) else {
            return;
        };
        self.tasks.push(Task {
            thread: event.thread,
            process: event.process,
            parent: event.parent,
            name: up_to_nul(&event.name).to_vec(),
            started_ns: event.started_ns,
            ended_ns: (event.ended_ns > 0).then_some(event.ended_ns),
            on_cpu_ns: event.on_cpu_ns,
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
        let call = calls::name(event.nr);
        let step = if call == "io_uring.fsync" {
            Step::Synced {
                file: Some(file),
                scope: Scope::File,
            }
        } else {
            Step::Wrote {
                file,
                count: event.count,
                bytes: event.bytes,
                from: event.from,
                to: event.to,
                sequential: event.sequential,
                durable: event.durable != 0,
            }
        };
        self.follower.event(&Event {
            process: event.process,
            thread: event.thread,
            started_ns: event.started_ns,
            ended_ns: event.ended_ns,
            call,
            step,
            // Only operations of io_uring come as a run without a write.
            error: (event.count == 0).then_some(libc::EIO),
        });
    }

    pub(super) fn report(&mut self, record: &[u8]) {
        let Ok(event) = ReportEvent::read_from_bytes(record) else {
            return;
        };
        self.follower.event(&Event {
            process: event.process,
            thread: event.thread,
            started_ns: event.started_ns,
            ended_ns: event.ended_ns,
            call: calls::name(event.nr),
            step: Step::Reported { count: event.count },
            error: None,
        });
    }

    /// A step for the operation log, with its paths as they are before it.
    pub(super) fn resolve(&self, record: &[u8]) -> Option<Resolved> {
        let (event, text) = StepEvent::read_from_prefix(record).ok()?;
        let (first, second) = text.split_at_checked(event.bytes[0] as usize)?;
        let first = self.absolute(&event.base[0], first);
        Some(Resolved {
            file: file_id(&event.file),
            by_path: first
                .as_ref()
                .and_then(|path| self.by_path.get(path).copied()),
            first,
            second: self.absolute(&event.base[1], second),
            second_text: up_to_nul(second).to_vec(),
            event,
        })
    }

    pub(super) fn step(&mut self, record: &[u8]) {
        let Ok((event, text)) = StepEvent::read_from_prefix(record) else {
            return;
        };
        let call = calls::name(event.nr);
        let (first, second) = text
            .split_at_checked(event.bytes[0] as usize)
            .unwrap_or((text, &[]));
        let linked = file_id(&event.base[0])
            .filter(|_| call == "linkat" && paths::is_of_descriptor(up_to_nul(first)));
        let first = self.absolute(&event.base[0], first);
        let second = self.absolute(&event.base[1], second);
        let file_by_path = first.as_ref().and_then(|path| self.by_path.get(path));
        let asked = Asked {
            call,
            argument: &event.argument,
            failed: event.result < 0,
            file: file_id(&event.file),
            created: event.mode & FMODE_CREATED != 0,
            flags: event.flags,
            linked,
            file_by_path: file_by_path.copied(),
            first,
            second,
        };
        let Some(step) = steps::step(asked) else {
            return;
        };
        if let (Step::Renamed { from, to, exchange }, 0..) = (&step, event.result) {
            self.rename(from, to, *exchange);
        }
        let failed = i32::try_from(-event.result).unwrap_or(i32::MAX);
        self.follower.event(&Event {
            process: event.process,
            thread: event.thread,
            started_ns: event.entered_ns,
            ended_ns: event.left_ns,
            call,
            step,
            error: (event.result < 0).then_some(failed),
        });
    }

    /// A path as it was given, made absolute; `None` when there is none.
    fn absolute(&self, base: &FileKey, text: &[u8]) -> Option<Vec<u8>> {
        let text = up_to_nul(text);
        let base = file_id(base).and_then(|base| self.directories.get(&base));
        match (text.first(), base) {
            (Some(b'/'), _) => Some(paths::normal(text)),
            (Some(_), Some(base)) => Some(paths::normal(&[base, &b"/"[..], text].concat())),
            (Some(_), None) => Some(text.to_vec()),
            (None, _) => None,
        }
    }

    /// Keeps the names of directories, where relative paths begin, and of files.
    fn rename(&mut self, from: &[u8], to: &[u8], exchange: bool) {
        let moved = |path: &[u8]| {
            let other = if exchange { Some((to, from)) } else { None };
            [Some((from, to)), other]
                .into_iter()
                .flatten()
                .find_map(|(old, new)| paths::moved(path, old, new))
        };
        for path in self.directories.values_mut() {
            if let Some(new) = moved(path) {
                *path = new;
            }
        }
        let (one, other) = (self.by_path.remove(from), self.by_path.remove(to));
        if let Some(file) = one {
            self.by_path.insert(to.to_vec(), file);
        }
        if let Some(file) = other.filter(|_| exchange) {
            self.by_path.insert(from.to_vec(), file);
        }
    }
}

/// What is seen is the names from the file up to the root of all mounts, each with its NUL. A
/// path that is too long to be walked to its end begins with an ellipsis.
fn path_of(kind: FileKind, inode: u64, text: &[u8], complete: bool) -> Vec<u8> {
    let mut names: Vec<&[u8]> = text
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .collect();
    names.reverse();
    match kind {
        // As /proc/PID/fd shows them (fs/pipe.c pipefs_dname, net/socket.c sockfs_dname).
        FileKind::Pipe if names.is_empty() => format!("pipe:[{inode}]").into_bytes(),
        FileKind::Socket if names.len() < 2 => format!("socket:[{inode}]").into_bytes(),
        FileKind::Anonymous => [b"anon_inode:", names.concat().as_slice()].concat(),
        _ if complete => [b"/", names.join(&b'/').as_slice()].concat(),
        _ => ["…/".as_bytes(), names.join(&b'/').as_slice()].concat(),
    }
}

fn up_to_nul(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == 0);
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: u32 = 0o100_644;
    const DIRECTORY: u32 = 0o040_755;

    fn event(inode: u64, base: u64, mode: u32, as_base: u16, text: &[u8]) -> Vec<u8> {
        let key = |inode| FileKey {
            inode,
            device: u32::from(inode > 0),
            generation: 0,
        };
        let event = NameEvent {
            kind: 3,
            mode,
            file: key(inode),
            base: key(base),
            size: 0,
            bytes: u32::try_from(text.len()).unwrap(),
            complete: 1,
            as_base,
            filesystem: [0; 16],
        };
        [event.as_bytes(), text].concat()
    }

    #[test]
    fn a_name_waits_for_that_of_its_directory() {
        let mut history = History::default();
        assert!(history.name(&event(2, 1, FILE, 0, b"leaf\0")).is_empty());
        let paths = |named: &[NamedFile]| -> Vec<Vec<u8>> {
            named.iter().map(|named| named.path.clone()).collect()
        };
        let named = history.name(&event(1, 0, DIRECTORY, 1, b"dir\0mnt\0"));
        assert_eq!(
            paths(named),
            [b"/mnt/dir/leaf"],
            "nobody used the directory itself"
        );
        let named = history.name(&event(3, 1, FILE, 0, b"other\0"));
        assert_eq!(paths(named), [b"/mnt/dir/other"]);
        history.rename(b"/mnt/dir", b"/mnt/moved", false);
        let named = history.name(&event(1, 9, DIRECTORY, 0, b"moved\0"));
        assert!(named.is_empty());
        let named = history.name(&event(9, 0, DIRECTORY, 1, b"mnt\0"));
        assert_eq!(paths(named), [b"/mnt/moved"], "used under its later name");
    }

    #[test]
    fn names_from_the_leaf_up_make_a_path() {
        let path = path_of(FileKind::Regular, 1, b"file\0dir\0mnt\0", true);
        assert_eq!(path, b"/mnt/dir/file");
        let cut = path_of(FileKind::Regular, 1, b"file\0dir\0", false);
        assert_eq!(cut, "…/dir/file".as_bytes());
        assert_eq!(path_of(FileKind::Directory, 2, b"", true), b"/");
        assert_eq!(path_of(FileKind::Pipe, 7, b"", true), b"pipe:[7]");
        assert_eq!(
            path_of(FileKind::Pipe, 7, b"fifo\0tmp\0", true),
            b"/tmp/fifo"
        );
        assert_eq!(path_of(FileKind::Socket, 9, b"UNIX\0", true), b"socket:[9]");
        let epoll = path_of(FileKind::Anonymous, 3, b"[eventpoll]\0", true);
        assert_eq!(epoll, b"anon_inode:[eventpoll]");
    }
}
