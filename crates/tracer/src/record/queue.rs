//! Operations that wait until all operations that ended before them have arrived.

use std::collections::VecDeque;
use std::io::{self, Write};

use iostrata_core::op::FileId;
use iostrata_core::record::{Change, Operation, Writer};

use super::doubt::{Doubt, Doubts};

/// The kernel side takes the end time of a call before it reserves space in the ring, and can be
/// interrupted in between. Events that arrive later than this are not reordered.
const PATIENCE_NS: u64 = 100_000_000;

#[derive(Debug)]
struct Waiting {
    operation: Operation,
    doubt: Option<Doubt>,
}

/// Ordered by their ends; existing nodes come first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    /// How many of the first ones record existing nodes.
    found: usize,
    newest_ns: u64,
    written_ns: u64,
    pub(super) late: u64,
}

impl Queue {
    /// Records due before all waiting operations.
    pub(super) fn first(&mut self, operation: Operation) {
        let next = self.waiting.get(self.found);
        let before = next.map_or(operation.started_ns, |next| next.operation.ended_ns());
        let operation = Operation {
            started_ns: operation.started_ns.min(before),
            took_ns: 0,
            ..operation
        };
        let doubt = None;
        self.waiting
            .insert(self.found, Waiting { operation, doubt });
        self.found += 1;
    }

    /// Inserts an operation in order. The input is nearly ordered, so that is at the end or close
    /// to it. An operation that created a node precedes all that used it, although its call may
    /// have ended after them.
    pub(super) fn push(&mut self, operation: Operation, doubt: Option<Doubt>) {
        let made = operation.change.made();
        if let Some(node) = made {
            self.forget_found(node);
        }
        self.newest_ns = self.newest_ns.max(operation.ended_ns());
        let mut at = self.waiting.len();
        let mut place = at;
        for other in self.behind_found() {
            let is_later = other.ended_ns() > operation.ended_ns();
            if made.map_or(!is_later, |_| other.ended_ns() <= operation.started_ns) {
                break;
            }
            at -= 1;
            if is_later || made.is_some_and(|node| uses(&other.change, node)) {
                place = at;
            }
        }
        self.waiting.insert(place, Waiting { operation, doubt });
    }

    /// It was mistaken for an existing node.
    fn forget_found(&mut self, node: FileId) {
        let found = self.waiting.iter().take(self.found);
        let at = found.enumerate().find_map(|(at, waiting)| {
            let is_it = matches!(waiting.operation.change, Change::Found { node: other, .. } if other == node);
            is_it.then_some(at)
        });
        if let Some(at) = at {
            self.waiting.remove(at);
            self.found -= 1;
        }
    }

    fn behind_found(&self) -> impl Iterator<Item = &Operation> {
        let count = self.waiting.len() - self.found;
        self.waiting
            .iter()
            .rev()
            .take(count)
            .map(|waiting| &waiting.operation)
    }

    /// Writes operations that ended long enough ago that no earlier one can arrive.
    pub(super) fn write_old<W: Write>(
        &mut self,
        log: &mut Writer<W>,
        doubts: &mut Doubts,
    ) -> io::Result<()> {
        self.write_until(self.newest_ns.saturating_sub(PATIENCE_NS), log, doubts)
    }

    /// Writes operations with an earlier end, in order.
    pub(super) fn write_until<W: Write>(
        &mut self,
        before_ns: u64,
        log: &mut Writer<W>,
        doubts: &mut Doubts,
    ) -> io::Result<()> {
        while let Some(first) = self.waiting.front()
            && first.operation.ended_ns() < before_ns
            && let Some(Waiting {
                mut operation,
                doubt,
            }) = self.waiting.pop_front()
        {
            let ended = operation.ended_ns();
            if self.found > 0 {
                self.found -= 1;
            } else {
                self.late += u64::from(ended < self.written_ns);
            }
            self.written_ns = self.written_ns.max(ended);
            if let Some(doubt) = doubt
                && let Change::Wrote { node, offset, .. } = &mut operation.change
            {
                *offset = doubts.settle(*node, &doubt);
            }
            log.operation(&mut operation)?;
        }
        Ok(())
    }
}

/// Whether a change requires the node to exist.
fn uses(change: &Change, node: FileId) -> bool {
    let in_it =
        |name: Option<&iostrata_core::record::Name>| name.is_some_and(|name| name.parent == node);
    change.node() == Some(node)
        || change.other_node() == Some(node)
        || in_it(change.name())
        || in_it(change.other_name())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::io::Cursor;

    use iostrata_core::record::{
        Begin, Check, Completeness, Description, End, Entry, FileKind, Name, Place, Reader,
    };

    use super::*;

    fn id(inode: u64) -> FileId {
        FileId {
            device: 8,
            inode,
            generation: 0,
        }
    }

    fn operation(started_ns: u64, ended_ns: u64, change: Change) -> Operation {
        Operation {
            id: 0,
            process: 1,
            thread: 1,
            started_ns,
            took_ns: ended_ns - started_ns,
            call: Cow::Borrowed("call"),
            outcome: Ok(0),
            change,
        }
    }

    fn closed(inode: u64) -> Change {
        Change::Closed {
            node: id(inode),
            description: Description(inode),
        }
    }

    fn found(inode: u64) -> Change {
        Change::Found {
            node: id(inode),
            kind: FileKind::Regular,
            place: Place::Nowhere,
            mode: None,
            size_bytes: 0,
            contents: None,
        }
    }

    fn made(inode: u64) -> Change {
        Change::Made {
            node: id(inode),
            kind: FileKind::Directory,
            name: Name::new(id(1), "d"),
            mode: None,
            device_number: 0,
            target: Vec::new(),
        }
    }

    fn written(mut queue: Queue) -> Vec<String> {
        let begin = Begin {
            command: Vec::new(),
            directory: Vec::new(),
            started_ns: 0,
            reads: false,
        };
        let mut log = Writer::new(Vec::new(), &begin).unwrap();
        queue
            .write_until(u64::MAX, &mut log, &mut Doubts::default())
            .unwrap();
        let end = End {
            operations: 0,
            stops: 0,
            completeness: Completeness::Complete,
            check: Check::Skipped {
                because: iostrata_core::gap::Reason::StillRunning,
            },
        };
        let mut reader = Reader::new(Cursor::new(log.finish(end).unwrap())).unwrap();
        let mut all = Vec::new();
        while let Some(entry) = reader.next_entry().unwrap() {
            if let Entry::Operation(operation) = entry {
                let node = operation.change.node().unwrap();
                all.push(format!("{} {}", operation.change.kind(), node.inode));
            }
        }
        all
    }

    #[test]
    fn what_was_found_comes_first_and_the_rest_in_the_order_of_the_ends() {
        let mut queue = Queue::default();
        queue.push(operation(1, 5, closed(5)), None);
        queue.first(operation(4, 4, found(9)));
        queue.push(operation(1, 3, closed(3)), None);
        queue.first(operation(4, 4, found(8)));
        queue.push(operation(2, 4, closed(4)), None);
        let order = written(queue);
        assert_eq!(
            order,
            ["found 9", "found 8", "closed 3", "closed 4", "closed 5"]
        );
    }

    #[test]
    fn what_was_made_comes_before_its_use_even_if_its_call_ended_later() {
        let mut queue = Queue::default();
        queue.push(operation(0, 2, closed(2)), None);
        queue.first(operation(4, 4, found(7)));
        queue.push(operation(4, 6, closed(7)), None);
        queue.push(operation(5, 7, closed(3)), None);
        queue.push(operation(3, 8, made(7)), None);
        assert_eq!(
            written(queue),
            ["closed 2", "made 7", "closed 7", "closed 3"],
            "and it was not found"
        );
    }
}
