//! Libaio operations whose results no call fetched: the program read them in memory that it shares
//! with the kernel, or never did.

use aya::maps::{HashMap, MapError};
use iostrata_core::gap::{Countable, Gap, Reason};
use iostrata_core::op::{Call, FileKind};
use iostrata_core::trace::timeline::{CallMoment, Purpose, moment_of};
use iostrata_core::trace::{Did, Direction, Event, Writes, direction, is_sync};
use zerocopy::FromZeros as _;

use super::calls;
use super::made::Ebpf;
use super::readout::map;
use super::stream::file_id;
use super::wire::{CallValue, HISTOGRAM_BUCKETS, Submission, SubmissionKey, TOLD_BASE, run};
use crate::decode::synced;

/// All operations left at the end of the session, in order.
pub(super) fn left(ebpf: &Ebpf) -> Result<Vec<Submission>, MapError> {
    let table = HashMap::<_, SubmissionKey, Submission>::try_from(map(ebpf, "submissions")?)?;
    let left: Result<Vec<Submission>, MapError> = table
        .iter()
        .map(|entry| entry.map(|(_, submission)| submission))
        .collect();
    let mut left = left?;
    left.sort_by_key(|submission| submission.entered_ns);
    Ok(left)
}

/// The time of their submission.
pub(super) fn moments(left: &[Submission], started_ns: u64) -> Vec<CallMoment> {
    let moment = |one: &Submission| {
        let purpose = Purpose::of(one.name())?;
        let is_stored = matches!(one.kind(), FileKind::Regular | FileKind::BlockDevice);
        (is_stored || !purpose.moves()).then(|| CallMoment {
            moment: moment_of(one.entered_ns.saturating_sub(started_ns)),
            purpose,
            count: 1,
            bytes: one.bytes,
            time_ns: 0,
        })
    };
    left.iter().filter_map(moment).collect()
}

pub(crate) fn gap(operations: u64) -> Option<Gap> {
    Gap::counted(operations, Countable::AioOperations, Reason::AioResults)
}

/// Reads without a known result, for a log that records reads.
pub(super) fn unread(left: &[Submission]) -> Option<Gap> {
    let read = |one: &&Submission| {
        one.kind() == FileKind::Regular && direction(one.name()) == Some(Direction::Read)
    };
    let count = left.iter().filter(read).count();
    Gap::counted(count as u64, Countable::AioReads, Reason::AioResultsUnread)
}

impl Submission {
    /// The call under which it is counted.
    pub(super) fn number(&self) -> u32 {
        u32::try_from(TOLD_BASE).unwrap_or(0) + self.opcode
    }

    fn name(&self) -> &'static str {
        calls::name(self.number())
    }

    fn kind(&self) -> FileKind {
        FileKind::from_mode(self.mode)
    }

    /// One call that moved all requested bytes.
    pub(super) fn value(&self) -> CallValue {
        let mut histogram = [0; HISTOGRAM_BUCKETS];
        histogram[0] = 1;
        CallValue {
            count: 1,
            returned: self.bytes,
            histogram,
            ..CallValue::new_zeroed()
        }
    }

    pub(super) fn event(&self) -> Option<Event> {
        let (file, name) = (file_id(&self.file)?, self.name());
        let did = if is_sync(name) {
            Did::Changed(synced(Some(file), self.flags & run::DATA_ONLY != 0))
        } else {
            let is_write = direction(name) == Some(Direction::Write);
            (is_write && self.kind() == FileKind::Regular && self.bytes > 0).then_some(())?;
            let from = u64::try_from(self.offset).ok()?;
            Did::Wrote(Writes {
                file,
                count: 1,
                bytes: self.bytes,
                from,
                to: from.saturating_add(self.bytes),
                durable: self.flags & run::DURABLE != 0,
                appends: self.flags & run::APPENDS != 0,
                size_bytes: None,
            })
        };
        let call = Call {
            process: self.process,
            thread: self.thread,
            started_ns: self.entered_ns,
            ended_ns: self.entered_ns,
            name,
            outcome: Ok(self.bytes),
        };
        let open = None;
        Some(Event { call, open, did })
    }
}

#[cfg(test)]
mod tests {
    use iostrata_core::record::{Change, Durability};

    use super::*;
    use crate::ebpf::wire::FileKey;

    fn submission(opcode: u32) -> Submission {
        Submission {
            entered_ns: 7,
            process: 1,
            thread: 2,
            opcode,
            mode: 0o100_644,
            file: FileKey {
                inode: 3,
                device: 4,
                generation: 5,
            },
            offset: 8_192,
            bytes: 4_096,
            flags: run::DURABLE,
            pad: 0,
        }
    }

    #[test]
    fn what_was_asked_for_is_what_is_known() {
        let write = submission(1);
        assert_eq!((write.name(), write.number()), ("aio.pwrite", 641));
        assert_eq!((write.value().count, write.value().returned), (1, 4_096));
        let did = write.event().map(|event| event.did);
        let Some(Did::Wrote(writes)) = did else {
            panic!("{did:?}");
        };
        let range = (writes.from, writes.to, writes.durable);
        assert_eq!(range, (8_192, 12_288, true));
        assert_eq!(submission(0).event(), None, "a read changes nothing");
        let sync = Submission {
            flags: run::DATA_ONLY,
            ..submission(3)
        };
        let sync = sync.event().map(|event| event.did);
        let scope = match sync {
            Some(Did::Changed(Change::Synced { scope, .. })) => Some(scope),
            _ => None,
        };
        assert_eq!(scope, Some(Durability::Data));
        assert_eq!(gap(0), None);
        let calls = moments(&[write, submission(5)], 0);
        assert_eq!(calls.len(), 1, "a poll has no purpose");
        assert_eq!((calls[0].purpose, calls[0].bytes), (Purpose::Write, 4_096));
    }
}
