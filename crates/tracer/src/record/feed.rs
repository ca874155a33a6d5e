//! What a back end saw, on its way to the thread that writes the log.

use std::ops::Range;

use iostrata_core::op::{FileId, Gap};
use iostrata_core::record::{Change, Durability};
use std::path::Path;

use super::batch::{Batch, Call, Destination, Item, Part};
use super::change::{self, Ended};
use super::mapping::Mappings;
use super::{Recording, counted};

/// Read at once from a file.
const READ_BYTES: usize = 1 << 20;

/// Feeds one recording.
#[derive(Debug)]
pub(crate) struct Feed {
    recording: Recording,
    batch: Batch,
    mappings: Mappings,
    last_ns: u64,
    /// Changes of attributes that could not be told.
    attributes: u64,
}

impl Feed {
    pub(crate) fn new(recording: Recording) -> Self {
        Self {
            recording,
            batch: Batch::default(),
            mappings: Mappings::default(),
            last_ns: 0,
            attributes: 0,
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.recording.path()
    }

    /// A call without payload.
    pub(crate) fn ended(&mut self, step: &Ended) {
        match change::item(step) {
            Some(Item::Step {
                change: Change::Mapped { node, .. },
                ..
            }) => self.mapped(node, step),
            Some(Item::Step {
                change: Change::Synced {
                    node: None, scope, ..
                },
                ..
            }) if step.call.name == "msync" => self.msync(scope, step),
            Some(item) => {
                if let Some(reached) = change::reached(&item, step) {
                    self.add(reached);
                }
                self.add(item);
            }
            None => self.attributes += u64::from(change::is_untold(step)),
        }
    }

    fn mapped(&mut self, file: FileId, step: &Ended) {
        let mapped = self.mappings.add(step.call, file, &step.argument);
        let (offset, bytes) = mapped.unwrap_or((0, step.argument[1]));
        let change = Change::Mapped {
            node: file,
            offset,
            bytes,
        };
        self.add(Item::Step {
            call: step.call,
            open: None,
            change,
        });
    }

    fn msync(&mut self, scope: Durability, step: &Ended) {
        let call = step.call;
        let [address, bytes, ..] = step.argument;
        let ranges = self.mappings.overlapping(call.process, address, bytes);
        for range in &ranges {
            if call.outcome.is_ok() {
                self.stored(call, range.number, range.offset, range.bytes);
            }
            let scope = match scope {
                Durability::Range { .. } => Durability::Range {
                    offset: range.offset,
                    bytes: range.bytes,
                },
                other => other,
            };
            let change = Change::Synced {
                node: Some(range.file),
                description: None,
                scope,
            };
            let open = None;
            self.add(Item::Step { call, open, change });
        }
    }

    /// Reads what a mapped file holds, without its holes.
    fn stored(&mut self, call: Call, number: usize, offset: u64, bytes: u64) {
        let mut at = offset;
        let mut buffer = vec![0; READ_BYTES];
        let end = offset.saturating_add(bytes);
        while let Some((from, had)) = self.mappings.read(number, at, end, &mut buffer) {
            let (Some(file), true) = (self.mappings.file(number), had > 0) else {
                return;
            };
            let held = self.hold(&buffer[..had]);
            self.add(Item::Part(Part {
                call,
                to: Destination::Mapping { file, offset: from },
                descriptor: 0,
                whole: had as u64,
                at: 0,
                bytes: had as u64,
                held: Some(held),
            }));
            at = from.saturating_add(had as u64);
        }
    }

    /// Keeps bytes for a part that is added next.
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

    /// Hands over what was gathered; waits while the log's writer does not keep up.
    pub(crate) fn hand_over(&mut self) {
        if !self.batch.is_empty() {
            self.recording.send(std::mem::take(&mut self.batch));
        }
    }

    /// Looks at all mappings a last time, and hands over the rest. Returns what is missing.
    pub(super) fn finish(mut self) -> (Recording, Option<Gap>) {
        for (number, process, thread, offset, bytes) in self.mappings.all() {
            let call = Call {
                process,
                thread,
                started_ns: self.last_ns,
                ended_ns: self.last_ns,
                name: "exit",
                outcome: Ok(0),
            };
            self.stored(call, number, offset, bytes);
        }
        self.hand_over();
        let gap = counted(
            self.attributes,
            "changes of attributes",
            "it was not told of which node, or the value was too long",
        );
        (self.recording, gap)
    }
}
