//! Operations of libaio whose results no call fetched: the program read them in memory that it
//! shares with the kernel, or never did.

use aya::Ebpf;
use aya::maps::{HashMap, MapError};
use iostrata_core::op::Gap;
use iostrata_core::trace::timeline::{CallMoment, Purpose, moment_of};
use iostrata_core::trace::{Direction, Event, Scope, Step, direction, is_sync};

use super::calls;
use super::readout::map;
use super::stream::file_id;
use super::wire::{CallValue, HISTOGRAM_BUCKETS, Submission, SubmissionKey, TOLD_BASE, run};

/// include/uapi/linux/stat.h
const S_IFMT: u32 = 0o170_000;
const S_IFREG: u32 = 0o100_000;
const S_IFBLK: u32 = 0o060_000;

/// All that are left when the session ends, in their order.
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

/// When they were handed over.
pub(super) fn moments(left: &[Submission], started_ns: u64) -> Vec<CallMoment> {
    let moment = |one: &Submission| {
        let purpose = Purpose::of(one.name())?;
        let is_stored = matches!(one.mode & S_IFMT, S_IFREG | S_IFBLK);
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

/// What is not known of them.
pub(crate) fn gap(operations: u64) -> Option<Gap> {
    (operations > 0).then(|| {
        Gap::counted(
            operations,
            "operation of libaio without result and time",
            "operations of libaio without results and times",
            "the program fetched them from memory that it shares with the kernel, or not at all: \
             they count with the bytes that they asked for, and as ended when they were handed over",
        )
    })
}

/// Reads whose results are not known, of a log that has reads.
pub(super) fn unread(left: &[Submission]) -> Option<Gap> {
    let read = |one: &&Submission| {
        one.mode & S_IFMT == S_IFREG && direction(one.name()) == Some(Direction::Read)
    };
    let count = left.iter().filter(read).count();
    (count > 0).then(|| {
        Gap::new(
            format!("{count} reads of libaio"),
            "the program fetched their results from memory that it shares with the kernel, or not at all",
        )
    })
}

impl Submission {
    /// What it is counted as.
    pub(super) fn number(&self) -> u32 {
        u32::try_from(TOLD_BASE).unwrap_or(0) + self.opcode
    }

    fn name(&self) -> &'static str {
        calls::name(self.number())
    }

    /// One call that moved what it asked for.
    pub(super) fn value(&self) -> CallValue {
        let mut histogram = [0; HISTOGRAM_BUCKETS];
        histogram[0] = 1;
        CallValue {
            count: 1,
            returned: self.bytes,
            histogram,
            ..CallValue::ZERO
        }
    }

    /// What it is in the history.
    pub(super) fn event(&self) -> Option<Event> {
        let (file, call) = (file_id(&self.file)?, self.name());
        let step = if is_sync(call) {
            let is_data = self.flags & run::DATA_ONLY != 0;
            Step::Synced {
                file: Some(file),
                scope: if is_data { Scope::Data } else { Scope::File },
            }
        } else {
            let is_write = direction(call) == Some(Direction::Write);
            (is_write && self.mode & S_IFMT == S_IFREG && self.bytes > 0).then_some(())?;
            let from = u64::try_from(self.offset).ok()?;
            Step::Wrote {
                file,
                count: 1,
                bytes: self.bytes,
                from,
                to: from.saturating_add(self.bytes),
                sequential: 0,
                durable: self.flags & run::DURABLE != 0,
            }
        };
        Some(Event {
            process: self.process,
            thread: self.thread,
            started_ns: self.entered_ns,
            ended_ns: self.entered_ns,
            call,
            step,
            error: None,
        })
    }
}

#[cfg(test)]
mod tests {
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
        let step = write.event().map(|event| event.step);
        let Some(Step::Wrote {
            from, to, durable, ..
        }) = step
        else {
            panic!("{step:?}");
        };
        assert_eq!((from, to, durable), (8_192, 12_288, true));
        assert_eq!(submission(0).event(), None, "a read changes nothing");
        let sync = Submission {
            flags: run::DATA_ONLY,
            ..submission(3)
        };
        let sync = sync.event().map(|event| event.step);
        assert!(matches!(
            sync,
            Some(Step::Synced {
                scope: Scope::Data,
                ..
            })
        ));
        assert_eq!(gap(0), None);
        let calls = moments(&[write, submission(5)], 0);
        assert_eq!(calls.len(), 1, "a poll has no purpose");
        assert_eq!((calls[0].purpose, calls[0].bytes), (Purpose::Write, 4_096));
    }
}
