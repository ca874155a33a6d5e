//! The offset of a write, or of a read: derived from position and length before and after it.

use std::fs::File;
use std::io::Read as _;

use syscalls::Sysno;

use crate::clock::now_ns;
use crate::decode;
use crate::ptrace::calls::{call, call_flags};
use crate::ptrace::memory;
use crate::ptrace::request::Tid;
use crate::record::offsets::Landing;

/// An open file at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    position: u64,
    /// `O_*`, possibly changed by `F_SETFL`.
    pub(super) flags: u32,
    size_bytes: u64,
    at_ns: u64,
}

impl Moment {
    pub(super) fn position(self) -> u64 {
        self.position
    }

    pub(super) fn of(tid: Tid, fd: i32) -> Option<Self> {
        let mut text = String::new();
        let mut info = File::open(format!("/proc/{tid}/fdinfo/{fd}")).ok()?;
        info.read_to_string(&mut text).ok()?;
        let (position, flags) = parse(&text)?;
        let file = std::fs::metadata(format!("/proc/{tid}/fd/{fd}")).ok()?;
        Some(Self {
            position,
            flags,
            size_bytes: file.len(),
            at_ns: now_ns(),
        })
    }
}

/// Position and flags, which are octal (`proc_pid_fdinfo(5)`).
pub(in crate::ptrace) fn parse(info: &str) -> Option<(u64, u32)> {
    let field = |name| {
        let mut lines = info.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.trim()))
    };
    let position = field("pos:")?.parse().ok()?;
    let flags = u32::from_str_radix(field("flags:")?, 8).ok()?;
    Some((position, flags))
}

/// How a call specifies its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    At(u64),
    /// At the position of the open file; with `appends` at the end of the file, where the position
    /// then moves.
    Position {
        appends: bool,
    },
    /// At the end of the file, without moving the position.
    End,
}

impl Aim {
    /// `flags` are `O_*` of the open file.
    pub(super) fn of(
        tid: Tid,
        number: Sysno,
        meaning: u32,
        arguments: &[u64; 6],
        flags: u32,
    ) -> Self {
        let argument = arguments[3];
        let appends = decode::appends(flags, call_flags(meaning, arguments).into());
        if matches!(number, Sysno::copy_file_range | Sysno::splice) {
            let given = (argument != 0)
                .then(|| memory::word(tid, argument))
                .flatten();
            return given.map_or(Self::Position { appends }, Self::At);
        }
        // pwritev2 takes -1 for the current position.
        let has_offset =
            meaning & call::OFFSET != 0 && !(meaning & call::FLAGS != 0 && argument == u64::MAX);
        match (has_offset, appends) {
            // pwrite(2), "BUGS": with O_APPEND the offset is ignored.
            (true, true) => Self::End,
            (true, false) => Self::At(argument),
            (false, appends) => Self::Position { appends },
        }
    }
}

/// The offset of the `bytes` written.
pub(super) fn landing(aim: Aim, before: Moment, after: Moment, bytes: u64) -> Landing {
    let (begins, lowest, end, appends) = match aim {
        Aim::At(offset) => return Landing::At(offset),
        Aim::Position { appends: false } => {
            (before.position, before.position, after.position, false)
        }
        Aim::Position { appends: true } => {
            (before.size_bytes, before.size_bytes, after.position, true)
        }
        Aim::End => (before.size_bytes, before.size_bytes, after.size_bytes, true),
    };
    if begins.checked_add(bytes) == Some(end) {
        return Landing::At(begins);
    }
    // A process that is not recorded has moved it meanwhile.
    Landing::Within {
        lowest,
        end,
        appends,
        between_ns: (before.at_ns, after.at_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{O_APPEND, RWF_APPEND, RWF_NOAPPEND};

    fn moment(position: u64, size_bytes: u64) -> Moment {
        Moment {
            position,
            flags: 0,
            size_bytes,
            at_ns: 1,
        }
    }

    #[test]
    fn positions_and_flags_are_read() {
        assert_eq!(
            parse("pos:\t17\nflags:\t0102001\nmnt_id:\t1\n"),
            Some((17, 0o102_001))
        );
        assert_eq!(parse("pos:\t17\n"), None);
    }

    #[test]
    fn a_write_is_where_position_or_length_moved_over() {
        let position = Aim::Position { appends: false };
        let (before, after) = (moment(5, 100), moment(15, 100));
        assert_eq!(landing(position, before, after, 10), Landing::At(5));
        let appends = Aim::Position { appends: true };
        let after = moment(110, 110);
        assert_eq!(landing(appends, before, after, 10), Landing::At(100));
        assert_eq!(
            landing(Aim::End, before, moment(5, 110), 10),
            Landing::At(100)
        );
        assert_eq!(landing(Aim::At(7), before, after, 10), Landing::At(7));
        let moved = Landing::Within {
            lowest: 100,
            end: 120,
            appends: true,
            between_ns: (1, 1),
        };
        assert_eq!(landing(appends, before, moment(120, 120), 10), moved);
    }

    #[test]
    fn how_a_call_writes_is_told_by_it_and_by_the_open_file() {
        let me = std::process::id();
        let offset = call::OFFSET | call::FLAGS;
        let aim = |number, meaning, argument, flags, call_flags| {
            Aim::of(
                me,
                number,
                meaning,
                &[3, 0, 1, argument, 0, call_flags],
                flags,
            )
        };
        let plain = Aim::Position { appends: false };
        assert_eq!(aim(Sysno::write, call::POSITION, 9, 0, 0), plain);
        let appends = Aim::Position { appends: true };
        assert_eq!(aim(Sysno::write, call::POSITION, 9, O_APPEND, 0), appends);
        assert_eq!(aim(Sysno::pwrite64, call::OFFSET, 9, 0, 0x10), Aim::At(9));
        assert_eq!(aim(Sysno::pwrite64, call::OFFSET, 9, O_APPEND, 0), Aim::End);
        assert_eq!(aim(Sysno::pwritev2, offset, 9, 0, RWF_APPEND), Aim::End);
        assert_eq!(
            aim(Sysno::pwritev2, offset, u64::MAX, 0, RWF_APPEND),
            appends
        );
        assert_eq!(
            aim(Sysno::pwritev2, offset, 9, O_APPEND, RWF_NOAPPEND),
            Aim::At(9)
        );
        let word = std::hint::black_box(4096_u64);
        let address = (&raw const word).addr() as u64;
        assert_eq!(aim(Sysno::splice, 0, address, 0, 0), Aim::At(4096));
    }
}
