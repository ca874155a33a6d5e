//! The state of a thread: the ends of its transfers, and its run of writes.

use super::Ended;
use crate::op::{Call, FileId};
use crate::trace::{Did, Direction, Event, Task, Writes};

/// Pairs of call and file whose last transfer is remembered for each thread; another one replaces
/// the least recently used. The kernel side has as many (`SLOTS`, `bpf/maps.h`).
const SLOTS: usize = 8;

/// First number of the rows of source files (`SOURCE_BASE`, `bpf/wire.h`).
const SOURCE_BASE: u32 = 512 + 128 + 32;

/// The usage of a thread at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    /// Its name (`comm`).
    pub name: Vec<u8>,
    /// CPU time, nanoseconds.
    pub on_cpu_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// The last transfer of one call on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    number: u32,
    file: Option<FileId>,
    end: Option<u64>,
    /// The thread's calls until then.
    used: u64,
}

/// Consecutive writes to one file.
#[derive(Debug)]
struct Run {
    call: Call,
    writes: Writes,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) task: Task,
    slots: Vec<Slot>,
    run: Option<Run>,
}

impl Thread {
    pub(super) fn new(thread: u32, process: u32, parent: u32, started_ns: u64) -> Self {
        Self {
            task: Task {
                thread,
                process,
                parent,
                started_ns,
                ..Task::default()
            },
            slots: Vec::with_capacity(SLOTS),
            run: None,
        }
    }

    /// Adds the call to the thread's sums, and remembers the end of its transfer. Returns the end
    /// of the previous transfer.
    pub(super) fn account(&mut self, ended: &Ended) -> Option<u64> {
        let previous_end = self.slot(ended.number, ended.file).end;
        self.task.calls += 1;
        if ended.file.is_some() {
            self.task.time_ns = self.task.time_ns.saturating_add(ended.call.took_ns());
        }
        let Ok(bytes) = ended.call.outcome else {
            return previous_end;
        };
        if let Some(transfer) = ended.transfer {
            let sum = match transfer.direction {
                Direction::Read => &mut self.task.read_bytes,
                Direction::Write => &mut self.task.written_bytes,
            };
            *sum = sum.saturating_add(bytes);
            if let Some(offset) = transfer.offset {
                self.slot(ended.number, ended.file).end = Some(offset.saturating_add(bytes));
            }
        }
        if ended.source.is_some() {
            self.task.read_bytes = self.task.read_bytes.saturating_add(bytes);
            self.slot(SOURCE_BASE + ended.number, ended.source);
        }
        previous_end
    }

    /// The slot of this call and file; it replaces the contents of the least recently used one.
    fn slot(&mut self, number: u32, file: Option<FileId>) -> &mut Slot {
        let is_its = |slot: &Slot| (slot.number, slot.file) == (number, file);
        let fresh = Slot {
            number,
            file,
            end: None,
            used: self.task.calls,
        };
        let index = match self.slots.iter().position(is_its) {
            Some(index) => index,
            None if self.slots.len() < SLOTS => {
                self.slots.push(fresh);
                self.slots.len() - 1
            }
            None => {
                let ages = self.slots.iter().enumerate();
                let oldest = ages.min_by_key(|(_, slot)| slot.used);
                let index = oldest.map_or(0, |(index, _)| index);
                self.slots[index] = fresh;
                index
            }
        };
        let slot = &mut self.slots[index];
        slot.used = self.task.calls;
        slot
    }

    /// Extends the run of writes by this call. Returns the run that it ends, if the call writes to
    /// another file, or has another name.
    pub(super) fn lengthen_run(&mut self, ended: &Ended) -> Option<Event> {
        let one = written(ended)?;
        let goes_on = self.run.as_ref().is_some_and(|run| {
            let of = |writes: &Writes| (writes.file, writes.durable, writes.appends);
            // Otherwise others have cut the file meanwhile.
            let is_as_long = one.size_bytes.is_none_or(|bytes| bytes >= run.writes.to);
            of(&run.writes) == of(&one) && run.call.name == ended.call.name && is_as_long
        });
        let before = if goes_on { None } else { self.end_run() };
        if let Some(Run { call, writes }) = &mut self.run {
            call.ended_ns = ended.call.ended_ns;
            writes.count += 1;
            writes.bytes = writes.bytes.saturating_add(one.bytes);
            writes.from = writes.from.min(one.from);
            writes.to = writes.to.max(one.to);
        } else {
            let call = ended.call;
            self.run = Some(Run { call, writes: one });
        }
        before
    }

    /// The finished run of writes.
    pub(super) fn end_run(&mut self) -> Option<Event> {
        self.run.take().map(|Run { call, writes }| Event {
            call,
            open: None,
            did: Did::Wrote(writes),
        })
    }

    pub(super) fn use_up(&mut self, used: Option<Used>) {
        self.task.on_cpu_ns = used.as_ref().map(|used| used.on_cpu_ns);
        let Some(used) = used else { return };
        self.task.name = used.name;
        self.task.minor_faults = used.minor_faults;
        self.task.major_faults = used.major_faults;
    }
}

/// A write that belongs to a run.
fn written(ended: &Ended) -> Option<Writes> {
    let transfer = ended.transfer?;
    let bytes = ended.call.outcome.ok().filter(|bytes| *bytes > 0)?;
    (transfer.direction == Direction::Write).then_some(())?;
    let from = transfer.offset?;
    Some(Writes {
        file: ended.file?,
        count: 1,
        bytes,
        from,
        to: from.saturating_add(bytes),
        durable: transfer.durable,
        appends: transfer.appends,
        size_bytes: transfer.size_bytes,
    })
}
