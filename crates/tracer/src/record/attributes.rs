//! Calls that change attributes: their arguments.

use iostrata_core::record::{Attribute, Time};

/// include/uapi/linux/stat.h
const UTIME_NOW: i64 = (1 << 30) - 1;
const UTIME_OMIT: i64 = (1 << 30) - 2;

/// include/uapi/asm-generic/fcntl.h, include/uapi/linux/fs.h
pub(crate) const F_SETFL: u64 = 4;
/// `O_APPEND`, `O_NONBLOCK`, `O_DIRECT`, `O_NOATIME`, `FASYNC`: the flags that `F_SETFL` can change
/// (fs/fcntl.c, `SETFL_MASK`).
pub(crate) const SETTABLE: u32 = 0o2_000 | 0o4_000 | 0o40_000 | 0o1_000_000 | 0o20_000;
const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;

/// Whether the call changes attributes, or something similar through a command.
pub(crate) fn is_one(call: &str) -> bool {
    matches!(
        call,
        "chmod"
            | "fchmod"
            | "fchmodat"
            | "fchmodat2"
            | "chown"
            | "lchown"
            | "fchown"
            | "fchownat"
            | "utime"
            | "utimes"
            | "futimesat"
            | "utimensat"
            | "setxattr"
            | "lsetxattr"
            | "fsetxattr"
            | "removexattr"
            | "lremovexattr"
            | "fremovexattr"
            | "ioctl"
            | "fcntl"
    )
}

/// Whether a request of `ioctl(2)` changes attributes.
pub(crate) fn is_request(request: u64) -> bool {
    matches!(request, FS_IOC_SETFLAGS | FS_IOC_FSSETXATTR)
}

/// The attributes that a call changed; `None` for other calls, or unreadable arguments.
pub(crate) fn of(call: &str, argument: &[u64; 5], name: &[u8], extra: &[u8]) -> Option<Attribute> {
    let low = |which: usize| u32::try_from(argument[which] & u64::from(u32::MAX)).unwrap_or(0);
    let mode = |which| Attribute::Mode {
        mode: low(which) & 0o7777,
    };
    // chown(2): -1 leaves the id unchanged.
    let id = |which| Some(low(which)).filter(|id| *id != u32::MAX);
    let owner = |which| Attribute::Owner {
        user: id(which),
        group: id(which + 1),
    };
    Some(match call {
        "chmod" | "fchmod" => mode(1),
        "fchmodat" | "fchmodat2" => mode(2),
        "chown" | "lchown" | "fchown" => owner(1),
        "fchownat" => owner(2),
        "utime" => times(argument[1], extra, [1, 0])?,
        "utimes" => times(argument[1], extra, [2, 1_000])?,
        "futimesat" => times(argument[2], extra, [2, 1_000])?,
        "utimensat" => times(argument[2], extra, [2, 1])?,
        "setxattr" | "lsetxattr" | "fsetxattr" => Attribute::Extended {
            name: name.to_vec(),
            value: Some(value(argument[3], extra)?),
            flags: low(4),
        },
        "removexattr" | "lremovexattr" | "fremovexattr" => Attribute::Extended {
            name: name.to_vec(),
            value: None,
            flags: 0,
        },
        "ioctl" if argument[1] == FS_IOC_SETFLAGS => Attribute::Flags {
            flags: number(extra, 0)?,
        },
        "ioctl" if argument[1] == FS_IOC_FSSETXATTR => Attribute::ExtendedFlags {
            flags: number(extra, 0)?,
        },
        _ => return None,
    })
}

fn value(bytes: u64, extra: &[u8]) -> Option<Vec<u8>> {
    (bytes == extra.len() as u64).then(|| extra.to_vec())
}

/// Two times: the words of each, and the nanoseconds per unit of the second word.
fn times(address: u64, extra: &[u8], [words, unit]: [usize; 2]) -> Option<Attribute> {
    if address == 0 {
        return Some(Attribute::Times {
            accessed: Time::Now,
            modified: Time::Now,
        });
    }
    let time = |which: usize| {
        let seconds = word(extra, which * words)?;
        if words == 1 {
            return Some(at(seconds, 0));
        }
        let rest = word(extra, which * words + 1)?;
        Some(match rest {
            UTIME_NOW if unit == 1 => Time::Now,
            UTIME_OMIT if unit == 1 => Time::Kept,
            rest => at(
                seconds,
                rest.saturating_mul(i64::try_from(unit).unwrap_or(1)),
            ),
        })
    };
    Some(Attribute::Times {
        accessed: time(0)?,
        modified: time(1)?,
    })
}

fn at(seconds: i64, nanoseconds: i64) -> Time {
    Time::At {
        seconds,
        nanoseconds: u32::try_from(nanoseconds).unwrap_or(0),
    }
}

pub(crate) fn word(bytes: &[u8], which: usize) -> Option<i64> {
    let bytes = bytes.get(which * 8..which * 8 + 8)?;
    Some(i64::from_le_bytes(bytes.try_into().ok()?))
}

fn number(bytes: &[u8], which: usize) -> Option<u32> {
    let bytes = bytes.get(which * 4..which * 4 + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(call: &str, argument: [u64; 5], extra: &[u64]) -> Option<Attribute> {
        let extra: Vec<u8> = extra.iter().flat_map(|word| word.to_le_bytes()).collect();
        super::of(call, &argument, b"user.x", &extra)
    }

    #[test]
    fn modes_and_owners_are_arguments() {
        let mode = Some(Attribute::Mode { mode: 0o4755 });
        assert_eq!(of("chmod", [1, 0o104_755, 0, 0, 0], &[]), mode);
        assert_eq!(of("fchmodat", [1, 1, 0o4755, 0, 0], &[]), mode);
        let owner = Attribute::Owner {
            user: None,
            group: Some(5),
        };
        assert_eq!(of("fchownat", [1, 1, u64::MAX, 5, 0], &[]), Some(owner));
    }

    #[test]
    fn times_lie_in_memory() {
        let now = Attribute::Times {
            accessed: Time::Now,
            modified: Time::Now,
        };
        assert_eq!(of("utimensat", [0; 5], &[]), Some(now));
        let omit = UTIME_OMIT.unsigned_abs();
        let given = Attribute::Times {
            accessed: Time::Kept,
            modified: at(7, 8),
        };
        let extra = [1, omit, 7, 8];
        assert_eq!(of("utimensat", [0, 0, 9, 0, 0], &extra), Some(given));
        let coarse = Attribute::Times {
            accessed: at(1, 2_000),
            modified: at(3, 4_000),
        };
        assert_eq!(of("utimes", [0, 9, 0, 0, 0], &[1, 2, 3, 4]), Some(coarse));
        assert_eq!(of("utimensat", [0, 0, 9, 0, 0], &[1, 2]), None);
    }

    #[test]
    fn extended_attributes_are_whole_or_missing() {
        let set = of("fsetxattr", [3, 0, 9, 8, 1], &[0x6f6c_6c65]);
        let expected = Attribute::Extended {
            name: b"user.x".to_vec(),
            value: Some(b"ello\0\0\0\0".to_vec()),
            flags: 1,
        };
        assert_eq!(set, Some(expected));
        assert_eq!(of("fsetxattr", [3, 0, 9, 9_000, 1], &[0]), None);
        let flags = of("ioctl", [3, FS_IOC_SETFLAGS, 9, 0, 0], &[0x20]);
        assert_eq!(flags, Some(Attribute::Flags { flags: 0x20 }));
        assert_eq!(of("ioctl", [3, 0x5401, 9, 0, 0], &[0x20]), None);
    }
}
