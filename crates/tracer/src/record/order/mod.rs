//! From what the kernel handed over, nearly in order, to the operations of a log.

mod reads;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use blake3::Hasher;
use iostrata_core::op::{FileId, Gap};
use iostrata_core::record::{Change, Description, Kind, Operation, Payload, Piece, Place, Writer};

use crate::record::batch::{Batch, Call, Destination, Item, Names, Open, Part};
use crate::record::before::{self, Outside};
use crate::record::descriptions::Descriptions;
use crate::record::doubt::{Doubt, Doubts};
use crate::record::nodes::Nodes;
use crate::record::offsets::{self, Landing};
use crate::record::queue::Queue;

/// include/uapi/linux/fs.h
const RENAME_EXCHANGE: u32 = 2;
const RENAME_WHITEOUT: u32 = 4;

/// Payload of which parts are still to come.
#[derive(Debug, Default)]
struct Begun {
    payload: Payload,
    /// Of what may have to be looked for in the file.
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
    mapped: u64,
    whiteouts: u64,
    unsettled_reads: u64,
    /// What is missing of what was before.
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
            mapped: 0,
            whiteouts: 0,
            unsettled_reads: 0,
            not_kept: Vec::new(),
            outside: Outside::default(),
        }
    }

    /// Tells of everything in directories before the program begins.
    pub(in crate::record) fn keep(
        &mut self,
        directories: &[PathBuf],
        limit_bytes: u64,
        log_file: impl AsFd,
    ) -> io::Result<()> {
        let to = (&mut self.log, &mut self.nodes);
        self.not_kept = before::keep(directories, limit_bytes, log_file, to)?;
        self.outside = Outside::asked(self.nodes.all_left());
        Ok(())
    }

    pub(in crate::record) fn take(&mut self, batch: Batch) -> io::Result<()> {
        let Batch { items, bytes } = batch;
        for item in items {
            match item {
                Item::Named(named) => self.nodes.saw(named),
                Item::Step { call, open, change } => self.step(&call, open, change),
                Item::Reached { at, target } => {
                    if let Some(name) = self.nodes.name(&at) {
                        self.nodes.reached(&name, target);
                    }
                }
                Item::Names { call, names } => self.names(&call, names),
                Item::Part(part) => self.part(&part, &bytes)?,
                Item::Read(read) => self.read(&read),
                Item::OpenedToRead { call, file, open } => self.opened(&call, file, open),
            }
        }
        self.queue.write_old(&mut self.log, &mut self.doubts)
    }

    fn step(&mut self, call: &Call, open: Option<Open>, change: Change) {
        self.mapped += u64::from(matches!(change, Change::Mapped { .. }) && call.outcome.is_ok());
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

    /// The description of an open file, told of where that is new.
    fn description(&mut self, call: &Call, node: FileId, open: Open) -> Description {
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

    fn names(&mut self, call: &Call, names: Names) {
        match names {
            Names::Opened {
                file,
                open,
                at,
                mode,
                created,
                truncated,
            } => {
                if !self.nodes.has_contents(file) {
                    return;
                }
                let name = at.filter(|_| created).map(|at| self.nodes.name(&at));
                let node = match &name {
                    Some(name) => self.nodes.made(name.as_ref(), Some(file)),
                    None if created => self.nodes.made(None, Some(file)),
                    None => self.nodes.file(file),
                };
                let place = name.flatten().map_or(Place::Nowhere, Place::Name);
                let change = Change::Opened {
                    node,
                    description: self.descriptions.opened(node, open),
                    flags: open.flags,
                    created: created.then_some(place),
                    mode,
                    truncated,
                };
                self.push(call, change, created.then_some(node));
            }
            Names::Renamed {
                node,
                from,
                to,
                flags,
            } => {
                let (Some(from), Some(to)) = (self.nodes.name(&from), self.nodes.name(&to)) else {
                    return;
                };
                let node = self.nodes.at(&from, node, Kind::Regular);
                let exchange = flags & RENAME_EXCHANGE != 0;
                self.whiteouts += u64::from(flags & RENAME_WHITEOUT != 0);
                let other = self.nodes.renamed(node, &from, &to, exchange);
                let change = Change::Renamed {
                    node,
                    from,
                    to,
                    other,
                    flags,
                };
                self.push(call, change, None);
            }
            other => self.other_names(call, other),
        }
    }

    fn other_names(&mut self, call: &Call, names: Names) {
        match names {
            Names::Linked { node, from, to } => {
                let from = from.and_then(|from| self.nodes.name(&from));
                let Some(name) = self.nodes.name(&to) else {
                    return;
                };
                let node = match (from, node) {
                    (Some(from), node) => self.nodes.at(&from, node, Kind::Regular),
                    (None, Some(node)) => self.nodes.file(node.id),
                    (None, None) => self.nodes.at(&name, None, Kind::Regular),
                };
                self.nodes.made(Some(&name), Some(node));
                self.push(call, Change::Linked { node, name }, None);
            }
            Names::Unlinked {
                node,
                at,
                directory,
            } => {
                let Some(name) = self.nodes.name(&at) else {
                    return;
                };
                let kind = if directory {
                    Kind::Directory
                } else {
                    Kind::Regular
                };
                let node = self.nodes.at(&name, node, kind);
                self.nodes.removed(&name);
                let change = Change::Unlinked {
                    node,
                    name,
                    directory,
                };
                self.push(call, change, None);
            }
            Names::Made {
                node,
                at,
                kind,
                device_number,
                target,
            } => {
                let Some(name) = self.nodes.name(&at) else {
                    return;
                };
                let mode = node.and_then(|node| node.mode);
                let node = self.nodes.made(Some(&name), node.map(|node| node.id));
                if kind == Kind::Directory {
                    self.nodes.listed(node);
                }
                let change = Change::Made {
                    node,
                    kind,
                    name,
                    mode,
                    device_number,
                    target,
                };
                self.push(call, change, Some(node));
            }
            Names::Opened { .. } | Names::Renamed { .. } => {}
        }
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

    /// All of a payload has come.
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
                self.push_write(call, change, doubt);
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

    /// An operation in its place, behind what has to be told before it. `made`: the node that
    /// it made.
    fn push(&mut self, call: &Call, change: Change, made: Option<FileId>) {
        self.tell_found(call);
        let operation = operation(call, change);
        self.outside.saw(&operation, &self.nodes);
        match made {
            Some(node) => self.queue.push_made(operation, node),
            None => self.queue.push(operation, None),
        }
    }

    fn push_write(&mut self, call: &Call, change: Change, doubt: Option<Doubt>) {
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

    /// Writes the rest; gives the log back, and what is missing from it.
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
                "bytes of payload",
                "they were not in memory, and the process ended or refused before they could be read",
            ),
            (
                self.begun.len() as u64,
                "operations",
                "their payload was cut off by the end of the recording",
            ),
            (
                self.doubts.unsettled,
                "offsets of writes",
                "several writes went to one file at the same time, and neither their order nor what the file holds tells which is where",
            ),
            (
                self.unsettled_reads,
                "offsets of reads",
                "others moved the position of the open file at the same time, and nothing tells where each read began",
            ),
            (
                self.queue.late,
                "places in the order",
                "they came more than 100 ms late",
            ),
            (
                self.mapped,
                "writable shared mappings",
                "stores are seen only as they are at msync and at the end, not in their order",
            ),
            (
                self.whiteouts,
                "whiteouts",
                "the node that a rename left behind is not seen",
            ),
        ]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, what, why)| Gap::new(format!("{count} {what}"), why))
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
        took_ns: call.ended_ns.saturating_sub(call.started_ns),
        call: Cow::Borrowed(call.name),
        outcome: call.outcome,
        change,
    }
}

/// The same call, to tell what was so before it.
fn done(call: &Call) -> Call {
    Call {
        outcome: Ok(0),
        ..*call
    }
}

/// The change, of the node that the log calls so.
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
