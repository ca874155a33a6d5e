//! Turns the kernel's nearly ordered events into the operations of a log.

mod reads;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use blake3::Hasher;
use iostrata_core::gap::{Countable, Gap, Reason};
use iostrata_core::op::{Call, FileId, FileKind};
use iostrata_core::record::{
    Change, Description, Operation, Payload, Piece, Place, RENAME_EXCHANGE, Writer,
};
use iostrata_core::trace::{Did, Event, Located, NameChange, NodeSeen, OpenFile};

use crate::decode::TMPFILE;
use crate::record::batch::{Batch, Destination, Item, Part};
use crate::record::before::{self, Outside};
use crate::record::descriptions::Descriptions;
use crate::record::doubt::{Doubt, Doubts};
use crate::record::nodes::Nodes;
use crate::record::offsets::{self, Landing};
use crate::record::queue::Queue;

/// include/uapi/linux/fs.h
const RENAME_WHITEOUT: u32 = 4;

/// Payload whose parts are still incomplete.
#[derive(Debug, Default)]
struct Begun {
    payload: Payload,
    /// Payload that may have to be searched for in the file.
    hasher: Option<Hasher>,
}

/// Puts operations in order and writes them.
pub(in crate::record) struct Order<W> {
    log: Writer<W>,
    /// By thread.
    begun: HashMap<u32, Begun>,
    nodes: Nodes,
    descriptions: Descriptions,
    doubts: Doubts,
    queue: Queue,
    unknown_bytes: u64,
    whiteouts: u64,
    unsettled_reads: u64,
    /// Gaps in the previous contents.
    not_kept: Vec<Gap>,
    outside: Outside,
}

impl<W: Write> Order<W> {
    pub(in crate::record) fn new(log: Writer<W>) -> Self {
        Self {
            log,
            begun: HashMap::new(),
            nodes: Nodes::default(),
            descriptions: Descriptions::default(),
            doubts: Doubts::default(),
            queue: Queue::default(),
            unknown_bytes: 0,
            whiteouts: 0,
            unsettled_reads: 0,
            not_kept: Vec::new(),
            outside: Outside::default(),
        }
    }

    /// Records everything in directories before the program begins.
    pub(in crate::record) fn keep(
        &mut self,
        directories: &[PathBuf],
        limit_bytes: u64,
        log_file: impl AsFd,
    ) -> io::Result<()> {
        let to = (&mut self.log, &mut self.nodes);
        self.not_kept = before::keep(directories, limit_bytes, log_file, to)?;
        self.outside = Outside::asked(self.nodes.left.clone());
        Ok(())
    }

    pub(in crate::record) fn take(&mut self, batch: Batch) -> io::Result<()> {
        let Batch { items, bytes } = batch;
        for item in items {
            match item {
                Item::Named(named) => self.nodes.saw(named),
                Item::Event(Event { call, open, did }) => match did {
                    Did::Changed(change) => self.changed(&call, open, change),
                    Did::Named(names) => self.named(&call, open, names),
                    // The log has the payload of writes, and the text of reports.
                    Did::Wrote(_) | Did::Reported(_) => {}
                },
                Item::Reached { at, node } => {
                    if let Some(name) = self.nodes.name(&at) {
                        self.nodes.reached(&name, node);
                    }
                }
                Item::Part(part) => self.part(&part, &bytes)?,
                Item::Read(read) => self.read(&read),
                Item::OpenedToRead { call, file, open } => self.opened_to_read(&call, file, open),
            }
        }
        self.queue.write_old(&mut self.log, &mut self.doubts)
    }

    fn changed(&mut self, call: &Call, open: Option<OpenFile>, change: Change) {
        let Some(file) = change.node() else {
            return self.push(call, change, None);
        };
        if !self.nodes.has_contents(file) {
            return;
        }
        let node = self.nodes.file(file);
        let change = of_node(change, node);
        if let (Change::Described { .. }, Some(open)) = (&change, open) {
            self.description(call, node, open);
            return;
        }
        let change = match open {
            Some(open) => change.through(self.description(call, node, open)),
            None => change,
        };
        self.push(call, change, None);
    }

    /// The description of an open file, recorded if it is new.
    fn description(&mut self, call: &Call, node: FileId, open: OpenFile) -> Description {
        let (description, is_new) = self.descriptions.used(node, open);
        if is_new {
            let change = Change::Described {
                node,
                description,
                flags: open.flags,
            };
            self.push(&done(call), change, None);
        }
        description
    }

    fn named(&mut self, call: &Call, open: Option<OpenFile>, names: NameChange) {
        let change = match names {
            NameChange::Opened { file, .. } if !self.nodes.has_contents(file) => None,
            NameChange::Opened { .. } => open.and_then(|open| self.opened(open, names)),
            names => self.changed_names(names),
        };
        if let Some(change) = change {
            self.push(call, change, None);
        }
    }

    fn opened(&mut self, open: OpenFile, names: NameChange) -> Option<Change> {
        let NameChange::Opened {
            file,
            at,
            mode,
            created,
            truncated,
        } = names
        else {
            return None;
        };
        let nameless = open.flags & TMPFILE == TMPFILE;
        let created = created || nameless;
        let at = at.filter(|_| created && !nameless);
        let name = at.and_then(|at| self.nodes.name(&at));
        let node = if created {
            self.nodes.made(name.as_ref(), Some(file))
        } else {
            self.nodes.file(file)
        };
        let place = name.map_or(Place::Nowhere, Place::Name);
        Some(Change::Opened {
            node,
            description: self.descriptions.opened(node, open),
            flags: open.flags,
            created: created.then_some(place),
            mode: Some(mode),
            truncated: truncated && !created,
        })
    }

    /// Replaces paths by nodes and names.
    fn changed_names(&mut self, names: NameChange) -> Option<Change> {
        Some(match names {
            NameChange::Opened { .. } => return None,
            NameChange::Renamed {
                node,
                from,
                to,
                flags,
            } => return self.renamed(node, &from, &to, flags),
            NameChange::Linked { node, from, to } => {
                // A path through /proc is not a name of the file, which may have none yet.
                let from = from.filter(|at| !at.path.starts_with(b"/proc/"));
                let from = from.and_then(|from| self.nodes.name(&from));
                let name = self.nodes.name(&to)?;
                let node = match (from, node) {
                    (Some(from), node) => self.nodes.at(&from, node, FileKind::Regular),
                    (None, Some(node)) => self.nodes.file(node.id),
                    (None, None) => self.nodes.at(&name, None, FileKind::Regular),
                };
                self.nodes.made(Some(&name), Some(node));
                Change::Linked { node, name }
            }
            NameChange::Unlinked {
                node,
                at,
                directory,
            } => {
                let name = self.nodes.name(&at)?;
                let kind = if directory {
                    FileKind::Directory
                } else {
                    FileKind::Regular
                };
                let node = self.nodes.at(&name, node, kind);
                self.nodes.removed(&name);
                Change::Unlinked {
                    node,
                    name,
                    directory,
                }
            }
            NameChange::Made {
                node,
                at,
                kind,
                device_number,
                target,
            } => {
                let name = self.nodes.name(&at)?;
                let mode = node.and_then(|node| node.mode);
                let node = self.nodes.made(Some(&name), node.map(|node| node.id));
                if kind == FileKind::Directory {
                    self.nodes.listed(node);
                }
                Change::Made {
                    node,
                    kind,
                    name,
                    mode,
                    device_number,
                    target,
                }
            }
        })
    }

    fn renamed(
        &mut self,
        node: Option<NodeSeen>,
        from: &Located,
        to: &Located,
        flags: u32,
    ) -> Option<Change> {
        let (from, to) = (self.nodes.name(from), self.nodes.name(to));
        let (from, to) = (from?, to?);
        let node = self.nodes.at(&from, node, FileKind::Regular);
        let exchange = flags & RENAME_EXCHANGE != 0;
        self.whiteouts += u64::from(flags & RENAME_WHITEOUT != 0);
        let other = self.nodes.renamed(node, &from, &to, exchange);
        Some(Change::Renamed {
            node,
            from,
            to,
            other,
            flags,
        })
    }

    fn part(&mut self, part: &Part, bytes: &[u8]) -> io::Result<()> {
        let thread = part.call.thread;
        let mut begun = if part.at == 0 {
            Begun {
                hasher: is_in_doubt(&part.to).then(Hasher::new),
                ..Begun::default()
            }
        } else {
            self.begun.remove(&thread).unwrap_or_default()
        };
        // A part before this one was lost; the losses say so.
        let had = begun.payload.bytes();
        if had < part.at {
            begun.payload.push(Piece::Unknown {
                bytes: part.at - had,
            });
        }
        match part.held.clone().and_then(|range| bytes.get(range)) {
            Some(held) => {
                if let Some(hasher) = &mut begun.hasher {
                    hasher.update(held);
                }
                self.log.store(held, &mut begun.payload)?;
            }
            None => begun.payload.push(Piece::Unknown { bytes: part.bytes }),
        }
        if part.at.saturating_add(part.bytes) < part.whole {
            self.begun.insert(thread, begun);
            return Ok(());
        }
        self.whole(part, begun);
        Ok(())
    }

    /// A payload is complete.
    fn whole(&mut self, part: &Part, begun: Begun) {
        let Begun { payload, hasher } = begun;
        let call = &part.call;
        let node = match part.to {
            Destination::File { file, .. } | Destination::Mapping { file, .. } => {
                if !self.nodes.has_contents(file) {
                    return;
                }
                Some(self.nodes.file(file))
            }
            Destination::Output { .. } => None,
        };
        self.unknown_bytes = self.unknown_bytes.saturating_add(payload.unknown_bytes());
        match (part.to, node) {
            (
                Destination::File {
                    open,
                    landing,
                    flags,
                    ..
                },
                Some(node),
            ) => {
                let (started_ns, ended_ns) = match landing {
                    Landing::At(_) => (call.started_ns, call.ended_ns),
                    Landing::Within { between_ns, .. } => between_ns,
                };
                let write = offsets::Write {
                    started_ns,
                    ended_ns,
                    bytes: part.whole,
                    landing,
                };
                let through = (call.thread, part.descriptor);
                self.doubts
                    .saw(node, write, through, || self.nodes.path_of(node));
                let description = open.map(|open| self.description(call, node, open));
                let (offset, doubt) = match (landing, hasher) {
                    (Landing::At(offset), _) => (offset, None),
                    (Landing::Within { .. }, hasher) => {
                        let payload = hasher.unwrap_or_default().finalize();
                        (0, Some(Doubt { write, payload }))
                    }
                };
                let change = Change::Wrote {
                    node,
                    description,
                    offset,
                    flags,
                    payload,
                };
                self.push(call, change, doubt);
            }
            (Destination::Mapping { offset, .. }, Some(node)) => {
                let change = Change::Stored {
                    node,
                    offset,
                    payload,
                };
                self.push(call, change, None);
            }
            (Destination::Output { descriptor }, _) => {
                let change = Change::Printed {
                    descriptor,
                    payload,
                };
                self.push(call, change, None);
            }
            _ => {}
        }
    }

    /// An operation in its position, after the records that it needs.
    fn push(&mut self, call: &Call, change: Change, doubt: Option<Doubt>) {
        self.tell_found(call);
        let operation = operation(call, change);
        self.outside.saw(&operation, &self.nodes);
        self.queue.push(operation, doubt);
    }

    fn tell_found(&mut self, call: &Call) {
        for found in self.nodes.found() {
            let operation = operation(&done(call), found);
            self.outside.saw(&operation, &self.nodes);
            self.queue.first(operation);
        }
    }

    /// Writes the rest; returns the log and its gaps.
    pub(in crate::record) fn finish(mut self) -> io::Result<(Writer<W>, Vec<Gap>)> {
        self.queue
            .write_until(u64::MAX, &mut self.log, &mut self.doubts)?;
        let gaps = self.gaps();
        Ok((self.log, gaps))
    }

    fn gaps(&self) -> Vec<Gap> {
        [
            (
                self.unknown_bytes,
                Countable::PayloadBytes,
                Reason::NotInMemory,
            ),
            (
                self.begun.len() as u64,
                Countable::Operations,
                Reason::RecordingEnded,
            ),
            (
                self.doubts.unsettled,
                Countable::WriteOffsets,
                Reason::ConcurrentWrites,
            ),
            (
                self.unsettled_reads,
                Countable::ReadOffsets,
                Reason::ConcurrentReads,
            ),
            (self.queue.late, Countable::PlacesInOrder, Reason::Late),
            (
                self.whiteouts,
                Countable::Whiteouts,
                Reason::WhiteoutsUnseen,
            ),
        ]
        .into_iter()
        .filter_map(|(count, of, why)| Gap::counted(count, of, why))
        .chain(self.not_kept.iter().cloned())
        .chain(self.outside.gaps())
        .collect()
    }
}

fn is_in_doubt(to: &Destination) -> bool {
    matches!(
        to,
        Destination::File {
            landing: Landing::Within { .. },
            ..
        }
    )
}

fn operation(call: &Call, change: Change) -> Operation {
    Operation {
        id: 0,
        process: call.process,
        thread: call.thread,
        started_ns: call.started_ns,
        took_ns: call.took_ns(),
        call: Cow::Borrowed(call.name),
        outcome: call.outcome,
        change,
    }
}

/// The same call, for the records that must precede it.
fn done(call: &Call) -> Call {
    Call {
        outcome: Ok(0),
        ..*call
    }
}

/// The change, with the log's node.
fn of_node(mut change: Change, id: FileId) -> Change {
    match &mut change {
        Change::Resized { node, .. }
        | Change::Wrote { node, .. }
        | Change::Allocated { node, .. }
        | Change::Changed { node, .. }
        | Change::Deduplicated { node, .. }
        | Change::Mapped { node, .. }
        | Change::Read { node, .. }
        | Change::MappedToRead { node, .. }
        | Change::Touched { node, .. }
        | Change::Closed { node, .. } => *node = id,
        Change::Synced { node, .. } => *node = Some(id),
        _ => {}
    }
    change
}
