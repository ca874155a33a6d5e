//! From what the kernel handed over, nearly in order, to the operations of a log.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use iostrata_core::op::{FileId, Gap};
use iostrata_core::record::{Change, Operation, Payload, Piece, Writer};
use iostrata_core::trace::NamedFile;

use super::batch::{Batch, Call, Item, Part, Target};

/// The kernel side takes the time of a call's end before it has room in the ring, and can
/// be interrupted between the two. What comes later than this is not put in order.
const PATIENCE_NS: u64 = 100_000_000;

/// Open files that are remembered: others were last written to long ago.
const POSITIONS: usize = 65_536;

/// Puts operations in order and writes them.
pub(super) struct Order<W> {
    log: Writer<W>,
    /// Payload of which parts are still to come, by thread.
    begun: HashMap<u32, Payload>,
    /// Files that were seen, and whose being found or created is not in the log yet.
    unplaced: HashMap<FileId, NamedFile>,
    /// The last file that is known to be none of them.
    placed: Option<FileId>,
    /// In the order of their ends.
    waiting: VecDeque<Operation>,
    newest_ns: u64,
    written_ns: u64,
    /// Last write to each open file that moved its position: its thread, and its end.
    positions: HashMap<u64, (u32, u64)>,
    /// The same of the open file that was written to last.
    position: Option<(u64, u32, u64)>,
    unsure_offsets: u64,
    late: u64,
    unknown_bytes: u64,
    mapped: u64,
}

impl<W: Write> Order<W> {
    pub(super) fn new(log: Writer<W>) -> Self {
        Self {
            log,
            begun: HashMap::new(),
            unplaced: HashMap::new(),
            placed: None,
            waiting: VecDeque::new(),
            newest_ns: 0,
            written_ns: 0,
            positions: HashMap::new(),
            position: None,
            unsure_offsets: 0,
            late: 0,
            unknown_bytes: 0,
            mapped: 0,
        }
    }

    pub(super) fn take(&mut self, batch: Batch) -> io::Result<()> {
        let Batch { items, bytes } = batch;
        for item in items {
            match item {
                Item::Named(named) => {
                    self.placed = None;
                    self.unplaced.insert(named.file, named);
                }
                Item::Step { call, change } => self.step(&call, change)?,
                Item::Part(part) => self.part(&part, &bytes)?,
            }
        }
        Ok(())
    }

    fn step(&mut self, call: &Call, mut change: Change) -> io::Result<()> {
        if let Change::Opened {
            file,
            path,
            created: true,
            ..
        } = &mut change
            && let Some(named) = self.unplaced.remove(file)
        {
            *path = named.path;
        }
        self.mapped += u64::from(matches!(change, Change::Mapped { .. }) && call.outcome.is_ok());
        if let Some(file) = file_of(&change) {
            self.place(file, call)?;
        }
        self.push(call, change)
    }

    fn part(&mut self, part: &Part, bytes: &[u8]) -> io::Result<()> {
        let thread = part.call.thread;
        let mut payload = if part.at == 0 {
            Payload::default()
        } else {
            self.begun.remove(&thread).unwrap_or_default()
        };
        // A part before this one was lost; the losses say so.
        let had = payload.bytes();
        if had < part.at {
            payload.push(Piece::Unknown {
                bytes: part.at - had,
            });
        }
        match part.held.clone().and_then(|range| bytes.get(range)) {
            Some(held) => self.log.store(held, &mut payload)?,
            None => payload.push(Piece::Unknown { bytes: part.bytes }),
        }
        if part.at.saturating_add(part.bytes) < part.whole {
            self.begun.insert(thread, payload);
            return Ok(());
        }
        self.unknown_bytes = self.unknown_bytes.saturating_add(payload.unknown_bytes());
        if let Some(description) = part.description {
            self.look_at_position(description, &part.call);
        }
        let change = match part.target {
            Target::File { file, offset } => {
                self.place(file, &part.call)?;
                Change::Wrote {
                    file,
                    offset,
                    payload,
                }
            }
            Target::Mapping { file, offset } => {
                self.place(file, &part.call)?;
                Change::Stored {
                    file,
                    offset,
                    payload,
                }
            }
            Target::Output { descriptor } => Change::Printed {
                descriptor,
                payload,
            },
        };
        self.push(&part.call, change)
    }

    /// The kernel side reads the position after the call: where another thread has used
    /// the same open file meanwhile, it may be that one's.
    fn look_at_position(&mut self, description: u64, call: &Call) {
        let now = (description, call.thread, call.ended_ns);
        let last = match self.position.replace(now) {
            Some((same, thread, ended_ns)) if same == description => Some((thread, ended_ns)),
            other => {
                if self.positions.len() >= POSITIONS {
                    self.positions.clear();
                }
                if let Some((other, thread, ended_ns)) = other {
                    self.positions.insert(other, (thread, ended_ns));
                }
                self.positions.get(&description).copied()
            }
        };
        let is_unsure =
            |(thread, ended_ns): (u32, u64)| thread != call.thread && ended_ns >= call.started_ns;
        self.unsure_offsets += u64::from(last.is_some_and(is_unsure));
    }

    /// A file that the program did not create was there before.
    fn place(&mut self, file: FileId, call: &Call) -> io::Result<()> {
        if self.placed == Some(file) {
            return Ok(());
        }
        self.placed = Some(file);
        let Some(named) = self.unplaced.remove(&file) else {
            return Ok(());
        };
        let found = Change::Found {
            file,
            path: named.path,
            size_bytes: named.size_bytes,
            contents: None,
        };
        let before = Call {
            outcome: Ok(0),
            ..*call
        };
        self.push(&before, found)
    }

    fn push(&mut self, call: &Call, change: Change) -> io::Result<()> {
        self.newest_ns = self.newest_ns.max(call.ended_ns);
        let operation = Operation {
            id: 0,
            process: call.process,
            thread: call.thread,
            started_ns: call.started_ns,
            took_ns: call.ended_ns.saturating_sub(call.started_ns),
            call: Cow::Borrowed(call.name),
            outcome: call.outcome,
            change,
        };
        // Nearly in order already: the place is at the end, or close to it.
        let before = self
            .waiting
            .iter()
            .rev()
            .take_while(|other| ended_ns(other) > call.ended_ns)
            .count();
        self.waiting.insert(self.waiting.len() - before, operation);
        self.write_until(self.newest_ns.saturating_sub(PATIENCE_NS))
    }

    /// Writes what ended before, in the order of the ends.
    fn write_until(&mut self, before_ns: u64) -> io::Result<()> {
        while let Some(first) = self.waiting.front()
            && ended_ns(first) < before_ns
            && let Some(mut operation) = self.waiting.pop_front()
        {
            let ended = ended_ns(&operation);
            self.late += u64::from(ended < self.written_ns);
            self.written_ns = self.written_ns.max(ended);
            self.log.operation(&mut operation)?;
        }
        Ok(())
    }

    /// Writes the rest; gives the log back, and what is missing from it.
    pub(super) fn finish(mut self) -> io::Result<(Writer<W>, Vec<Gap>)> {
        self.write_until(u64::MAX)?;
        let gaps = self.gaps();
        Ok((self.log, gaps))
    }

    fn gaps(&self) -> Vec<Gap> {
        let cut = self.begun.len();
        [
            (
                self.unknown_bytes,
                "bytes of payload",
                "they were not in memory, and the process ended or refused before they could be read",
            ),
            (
                cut as u64,
                "operations",
                "their payload was cut off by the end of the recording",
            ),
            (
                self.unsure_offsets,
                "offsets of writes",
                "several threads wrote through one open file at the same time, and its position is read afterwards",
            ),
            (
                self.late,
                "places in the order",
                "they came more than 100 ms late",
            ),
            (
                self.mapped,
                "writable shared mappings",
                "stores are seen only as they are at msync and at the end, not in their order",
            ),
        ]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, what, why)| Gap::new(format!("{count} {what}"), why))
        .collect()
    }
}

fn ended_ns(operation: &Operation) -> u64 {
    operation.started_ns.saturating_add(operation.took_ns)
}

/// The file that a change is about, if it changes the file itself.
fn file_of(change: &Change) -> Option<FileId> {
    match change {
        Change::Opened {
            file,
            created: false,
            ..
        }
        | Change::Resized { file, .. }
        | Change::Allocated { file, .. }
        | Change::Mapped { file, .. } => Some(*file),
        Change::Synced { file, .. } => *file,
        _ => None,
    }
}
