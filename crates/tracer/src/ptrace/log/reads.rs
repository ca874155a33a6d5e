//! Reads, and readable mappings, where the user wants them recorded.

use iostrata_core::evidence::SyscallRow;
use iostrata_core::gap::{Countable, Gap, Missing, Reason};
use iostrata_core::op::Call;
use iostrata_core::record::Change;
use iostrata_core::trace::OpenFile;
use syscalls::Sysno;

use super::landing::{Aim, Moment, landing};
use super::told::is_step;
use super::{Before, Log};
use crate::ptrace::calls::{call, call_flags};
use crate::ptrace::identity::Open;
use crate::ptrace::memory;
use crate::ptrace::place::descriptor;
use crate::ptrace::recorder::{Recorder, low};
use crate::ptrace::request::Tid;
use crate::ptrace::tasks::Entered;
use crate::record::batch::{Item, Read};
use crate::record::offsets::Landing;

/// The state of a call that reads from a regular file.
#[derive(Debug)]
pub(super) struct Reading {
    fd: i32,
    open: Open,
    aim: Aim,
    moment: Option<Moment>,
    /// Queried before the call, since another thread may close the descriptor.
    description: Option<u64>,
    /// `RWF_*`.
    flags: u32,
}

impl Recorder {
    fn records_reads(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.reads)
    }

    /// The description whose position a call advances by reading, or sets.
    pub(super) fn moved_position(
        &mut self,
        tid: Tid,
        number: Sysno,
        meaning: u32,
        arguments: &[u64; 6],
    ) -> Option<u64> {
        if !self.records_reads() {
            return None;
        }
        let fd = if number == Sysno::lseek {
            descriptor(arguments[0])
        } else {
            let (fd, aim) = source(tid, number, meaning, arguments)?;
            matches!(aim, Aim::Position { .. }).then_some(fd)?
        };
        let open = self.resolve(tid, fd).filter(Open::is_regular)?;
        self.description(tid, fd, open.file)
    }

    /// Records the position before a read.
    pub(super) fn before_read(
        &mut self,
        tid: Tid,
        (number, meaning): (Sysno, u32),
        arguments: &[u64; 6],
    ) -> Option<Reading> {
        if !self.records_reads() {
            return None;
        }
        let (fd, aim) = source(tid, number, meaning, arguments)?;
        let open = self.resolve(tid, fd).filter(Open::is_regular)?;
        self.introduce(tid, fd, &open);
        Some(Reading {
            fd,
            open,
            aim,
            moment: Moment::of(tid, fd),
            description: self.description(tid, fd, open.file),
            flags: if meaning & call::WRITES == 0 {
                call_flags(meaning, arguments)
            } else {
                0
            },
        })
    }

    /// What a completed call has read, opened for reading, or mapped.
    pub(super) fn log_read(&mut self, call: Call, entered: &Entered) {
        if !self.records_reads() {
            return;
        }
        if let Some(before) = entered.before.as_deref()
            && let Before {
                read: Some(reading),
                ..
            } = before
        {
            self.has_read(call, reading);
        } else if entered.number == Sysno::mmap {
            self.mapped(call, entered);
        } else if entered.meaning & call::FD_RETURNED != 0 && !is_step(entered, false) {
            self.opened_to_read(call, entered);
        }
    }

    fn has_read(&mut self, call: Call, reading: &Reading) {
        let bytes = call.outcome.unwrap_or(0);
        let after = || Moment::of(call.thread, reading.fd);
        let landing = match (reading.aim, reading.moment) {
            (Aim::At(offset), _) => Some(Landing::At(offset)),
            // A call that moved nothing.
            (_, Some(before)) if call.outcome.is_err() => Some(Landing::At(before.position())),
            (aim, Some(before)) => after().map(|after| landing(aim, before, after, bytes)),
            (_, None) => None,
        };
        let Some(landing) = landing else {
            // Its process is being killed.
            self.lose_change();
            return;
        };
        let flags = reading
            .moment
            .map_or(reading.open.flags.bits(), |it| it.flags);
        let read = Read {
            call,
            file: reading.open.file,
            open: reading
                .description
                .map(|address| OpenFile { address, flags }),
            landing,
            bytes,
            flags: reading.flags,
        };
        if let Some(log) = &mut self.log {
            log.feed.add(Item::Read(read));
        }
    }

    fn mapped(&mut self, call: Call, entered: &Entered) {
        let [_, bytes, protection, flags, _, offset] = entered.arguments;
        let Some((fd, open)) = entered.file.filter(|(_, open)| open.is_regular()) else {
            return;
        };
        // mmap(2): anonymous then, whatever the descriptor is.
        let is_of_file = flags & libc::MAP_ANONYMOUS as u64 == 0;
        if call.outcome.is_err() || !is_of_file {
            return;
        }
        self.introduce(call.thread, fd, &open);
        let Some(log) = &mut self.log else { return };
        log.maps = true;
        let change = Change::MappedToRead {
            node: open.file,
            offset,
            bytes,
            protection: low(protection),
            flags: low(flags),
        };
        log.feed.changed(call, change);
    }

    fn opened_to_read(&mut self, call: Call, entered: &Entered) {
        let Some((fd, file)) = entered.file.filter(|(_, open)| open.is_regular()) else {
            return;
        };
        let tid = call.thread;
        self.introduce(tid, fd, &file);
        let Some(address) = self.opened(tid, fd, file.file) else {
            return;
        };
        let flags = file.flags.bits();
        if let Some(log) = &mut self.log {
            log.feed.add(Item::OpenedToRead {
                call,
                file: file.file,
                open: OpenFile { address, flags },
            });
        }
    }
}

/// The descriptor that a call reads from, and the offset that it specifies.
fn source(tid: Tid, number: Sysno, meaning: u32, arguments: &[u64; 6]) -> Option<(i32, Aim)> {
    let position = Aim::Position { appends: false };
    // The call advances the value behind the pointer.
    let pointed_at = |address: u64| match address {
        0 => position,
        address => Aim::At(memory::word(tid, address).unwrap_or(0)),
    };
    match number {
        Sysno::sendfile => Some((descriptor(arguments[1]), pointed_at(arguments[2]))),
        Sysno::copy_file_range | Sysno::splice => {
            Some((descriptor(arguments[0]), pointed_at(arguments[1])))
        }
        _ if meaning & call::MOVES == 0 || meaning & call::WRITES != 0 => None,
        // preadv2 takes -1 for the current position.
        _ if meaning & call::OFFSET != 0 && arguments[3] != u64::MAX => {
            Some((descriptor(arguments[0]), Aim::At(arguments[3])))
        }
        _ => Some((descriptor(arguments[0]), position)),
    }
}

impl Log {
    /// Reads through libaio are counted, but not followed.
    pub(in crate::ptrace) fn reads_of_aio(&self, rows: &[SyscallRow]) -> Option<Gap> {
        let rows = rows.iter().filter(|row| self.reads && !row.is_source);
        let reads = rows.filter(|row| matches!(row.name, "aio.pread" | "aio.preadv"));
        let count = reads.map(|row| row.count).fold(0, u64::saturating_add);
        Gap::counted(count, Countable::AioReads, Reason::AioUnseen)
    }
}

/// Reads from mappings are not seen.
pub(super) fn faults() -> Gap {
    Gap::new(Missing::MappedReads, Reason::FaultsUnseen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptrace::calls;

    #[test]
    fn where_a_call_reads_is_told_by_its_arguments() {
        let offset = std::hint::black_box(4096_u64);
        let at = (&raw const offset).addr() as u64;
        let of = |number, arguments: [u64; 6]| {
            let found = source(
                std::process::id(),
                number,
                calls::meaning(number),
                &arguments,
            );
            found.map(|(fd, aim)| match aim {
                Aim::At(offset) => (fd, Some(offset)),
                _ => (fd, None),
            })
        };
        assert_eq!(of(Sysno::read, [3, 0, 9, 9, 0, 0]), Some((3, None)));
        assert_eq!(of(Sysno::pread64, [3, 0, 9, 7, 0, 0]), Some((3, Some(7))));
        let current = [3, 0, 9, u64::MAX, 0, 0];
        assert_eq!(of(Sysno::preadv2, current), Some((3, None)));
        assert_eq!(
            of(Sysno::sendfile, [4, 3, at, 9, 0, 0]),
            Some((3, Some(4096)))
        );
        assert_eq!(of(Sysno::sendfile, [4, 3, 0, 9, 0, 0]), Some((3, None)));
        assert_eq!(
            of(Sysno::splice, [3, at, 4, 0, 9, 0]),
            Some((3, Some(4096)))
        );
        let copies = [3, 0, 4, at, 9, 0];
        assert_eq!(of(Sysno::copy_file_range, copies), Some((3, None)));
        assert_eq!(of(Sysno::write, [3, 0, 9, 0, 0, 0]), None);
        assert_eq!(of(Sysno::readahead, [3, 0, 9, 0, 0, 0]), None);
    }
}
