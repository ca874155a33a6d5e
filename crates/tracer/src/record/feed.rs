//! Passes the back end's events to the thread that writes the log.

use std::ops::Range;

use iostrata_core::gap::{Countable, Gap, Listed, Reason};
use iostrata_core::op::{Call, FileId};
use iostrata_core::record::{Change, Durability, Examples, STORE};
use iostrata_core::trace::{Did, Event};

use super::Recording;
use super::attributes;
use super::batch::{Batch, Destination, Item, Part};
use super::mapping::{Mapped, Mappings};
use crate::clock::now_ns;
use crate::decode::{self, Ended};

const READ_BYTES: usize = 1 << 20;

/// So much of mapped files is read in all at reports, or before and after calls: a program may make them without end.
const READ_IN_ALL: u64 = 4 << 30;

#[derive(Debug)]
pub(crate) struct Feed {
    recording: Recording,
    batch: Batch,
    mappings: Mappings,
    last_ns: u64,
    /// Attribute changes that could not be recorded.
    attributes: Examples,
    /// Bytes of mapped files that were read at reports, or before and after calls.
    read: u64,
    /// Writable shared mappings.
    mapped: u64,
    around: Around,
}

/// Whether mapped files are read before and after each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    /// The program does not stop before its calls.
    No,
    /// Last at this time.
    Since { at_ns: u64 },
    /// Until there was too much, or a file could not be opened.
    NoMore,
}

impl Feed {
    pub(crate) fn new(recording: Recording) -> Self {
        Self {
            recording,
            batch: Batch::default(),
            mappings: Mappings::default(),
            last_ns: 0,
            attributes: Examples::default(),
            read: 0,
            mapped: 0,
            around: Around::No,
        }
    }

    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    pub(crate) fn ended(&mut self, mut ended: Ended) {
        let (call, argument) = (ended.call, ended.argument);
        let Some(event) = decode::logged(&mut ended) else {
            if is_untold(&ended) {
                self.attributes.add(|| named(&ended));
            }
            return;
        };
        match event.did {
            Did::Changed(Change::Mapped { node, .. }) => {
                self.mapped += u64::from(call.outcome.is_ok());
                let mapped = self.mappings.add(call, node, &argument);
                if mapped.is_none() && call.outcome.is_ok() {
                    self.around = Around::NoMore;
                }
                let (offset, bytes) = mapped.unwrap_or((0, argument[1]));
                self.changed(
                    call,
                    Change::Mapped {
                        node,
                        offset,
                        bytes,
                    },
                );
            }
            Did::Changed(Change::Synced { scope, .. }) if call.name == "msync" => {
                self.msync(scope, call, argument);
            }
            Did::Changed(Change::Synced { node, scope, .. }) => {
                self.before_sync(call, node, scope);
                self.add(Item::Event(event));
            }
            Did::Changed(Change::Changed { .. } | Change::Resized { .. }) => {
                if let Some((at, node)) = decode::reached(&ended) {
                    self.add(Item::Reached { at, node });
                }
                self.add(Item::Event(event));
            }
            _ => self.add(Item::Event(event)),
        }
    }

    /// The effect of a call that used no open file, or an unknown one.
    pub(crate) fn changed(&mut self, call: Call, change: Change) {
        let (open, did) = (None, Did::Changed(change));
        self.add(Item::Event(Event { call, open, did }));
    }

    fn msync(&mut self, scope: Durability, call: Call, [address, bytes, ..]: [u64; 5]) {
        for part in self.mappings.synced(call.thread, address, bytes) {
            if call.outcome.is_ok() && !self.is_around() {
                self.stored(call, &part);
            }
            let Range { start, end } = part.range;
            let scope = match scope {
                Durability::Range { .. } => Durability::Range {
                    offset: start,
                    bytes: end - start,
                },
                other => other,
            };
            let change = Change::Synced {
                node: Some(part.file),
                description: None,
                scope,
            };
            self.changed(call, change);
        }
    }

    /// What was stored before a sync is durable with it.
    pub(crate) fn before_sync(&mut self, call: Call, node: Option<FileId>, scope: Durability) {
        let parts = match scope {
            _ if call.outcome.is_err() || self.is_around() => return,
            Durability::File | Durability::Data => match node {
                Some(file) => self.mappings.of(Some(file)),
                None => return,
            },
            Durability::FileSystem | Durability::Everything => self.mappings.of(None),
            Durability::Range { .. } | Durability::Hint => return,
        };
        for part in parts {
            self.stored(call, &part);
        }
    }

    /// What was stored before a report may not be lost after it.
    pub(crate) fn before_report(&mut self, call: Call) {
        if self.read < READ_IN_ALL && !self.is_around() {
            for part in self.mappings.of(None) {
                self.read += self.stored(call, &part);
            }
        }
    }

    fn is_around(&self) -> bool {
        matches!(self.around, Around::Since { .. })
    }

    /// Reads what is mapped, before or after a call of a program that stops at both ends of its calls. What differs from
    /// the last time was stored in between: a thread that made no call did, or another one during this call.
    pub(crate) fn look(&mut self) {
        let since = match self.around {
            Around::NoMore => return,
            Around::No => 0,
            Around::Since { at_ns } => at_ns,
        };
        if self.read >= READ_IN_ALL {
            self.around = Around::NoMore;
            return;
        }
        // Another thread may store to what has been read while the rest is.
        let at_ns = now_ns();
        for part in self.mappings.of(None) {
            let call = Call {
                process: part.process,
                thread: part.thread,
                started_ns: since,
                ended_ns: at_ns,
                name: STORE,
                outcome: Ok(0),
            };
            self.read += self.stored(call, &part);
        }
        self.around = Around::Since { at_ns };
    }

    /// Reads the contents of a mapped file, without its holes and, where they are read before and after each call, without
    /// pages that are as they were; gives the number of bytes.
    fn stored(&mut self, call: Call, part: &Mapped) -> u64 {
        let mut bytes = 0;
        let mut at = part.range.start;
        let mut buffer = vec![0; READ_BYTES];
        while let Some((from, had)) =
            self.mappings
                .read(part.number, at, part.range.end, &mut buffer)
        {
            let mut call = call;
            let mut changed = Vec::new();
            if call.name == STORE {
                call.ended_ns = now_ns();
                changed = self.mappings.changed(part.number, from, &buffer[..had]);
            } else {
                changed.push(0..had);
            }
            for range in changed {
                let held = self.hold(&buffer[range.clone()]);
                self.add(Item::Part(Part {
                    call,
                    to: Destination::Mapping {
                        file: part.file,
                        offset: from + range.start as u64,
                    },
                    descriptor: 0,
                    whole: range.len() as u64,
                    at: 0,
                    bytes: range.len() as u64,
                    held: Some(held),
                }));
            }
            at = from.saturating_add(had as u64);
            bytes += had as u64;
        }
        bytes
    }

    /// Stores bytes for a part that is added next.
    pub(crate) fn hold(&mut self, bytes: &[u8]) -> Range<usize> {
        self.batch.hold(bytes)
    }

    pub(crate) fn add(&mut self, item: Item) {
        self.last_ns = self.last_ns.max(item.ended_ns());
        self.batch.items.push(item);
        if self.batch.is_full() {
            self.hand_over();
        }
    }

    /// Passes on the gathered events; waits while the log's writer cannot keep up.
    pub(crate) fn hand_over(&mut self) {
        if !self.batch.is_empty() {
            self.recording.send(std::mem::take(&mut self.batch));
        }
    }

    /// Checks all mappings one last time, and passes on the rest. Returns the gaps.
    pub(super) fn finish(mut self) -> (Recording, Vec<Gap>) {
        if self.is_around() {
            self.look();
        }
        let unread = if self.is_around() {
            Vec::new()
        } else {
            self.mappings.of(None)
        };
        for part in unread {
            let call = Call {
                process: part.process,
                thread: part.thread,
                started_ns: self.last_ns,
                ended_ns: self.last_ns,
                name: "exit",
                outcome: Ok(0),
            };
            self.stored(call, &part);
        }
        self.hand_over();
        let attributes = self
            .attributes
            .gap(Listed::AttributeChanges, Reason::NodeUnknown);
        let why = match self.around {
            Around::Since { .. } => Reason::BetweenCalls,
            Around::No | Around::NoMore => Reason::NotInOrder,
        };
        let mapped = Gap::counted(self.mapped, Countable::SharedMappings, why);
        (
            self.recording,
            attributes.into_iter().chain(mapped).collect(),
        )
    }
}

/// Whether the call changed attributes that the log does not have.
fn is_untold(ended: &Ended) -> bool {
    // Removing an access list, unlike other removals, succeeds where there is none, and then sets
    // no change time (fs/posix_acl.c, `vfs_remove_acl`).
    let name = decode::system_call(ended.call.name);
    let is_nothing = name.ends_with("removexattr")
        && ended.second_text.starts_with(b"system.posix_acl_")
        && ended.node.is_none();
    ended.call.outcome.is_ok() && attributes::is_one(name) && !is_nothing
}

/// What a call was on, by its path or its descriptor as far as these are known, and its name.
fn named(ended: &Ended) -> String {
    let name = ended.call.name;
    let is_of_descriptor = match decode::system_call(name) {
        "fchmod" | "fchown" | "fsetxattr" | "fremovexattr" | "ioctl" | "fcntl" => true,
        // Without a path (utimensat(2)).
        "utimensat" => ended.argument[1] == 0,
        _ => false,
    };
    match &ended.first {
        Some(at) => format!("{} ({name})", String::from_utf8_lossy(&at.path)),
        None if is_of_descriptor => format!("descriptor {} ({name})", ended.argument[0]),
        None => name.to_owned(),
    }
}
