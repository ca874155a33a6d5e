//! The executable parts of a process's memory, from `/proc/PID/maps` (`proc_pid_maps(5)`).

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::Arc;

use super::budget::{Budget, Exceeded, Held};
use super::reads::Lines;

/// Maximum length of a path, which the program chooses; a mapping with a longer one has no name.
const LONGEST_LINE: usize = 64 << 10;

/// An executable mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    /// The first byte after it.
    pub(super) end: u64,
    /// Offset in the file, bytes.
    pub(super) offset: u64,
    /// Device as written there, `major:minor` in hexadecimal.
    pub(super) device: String,
    /// 0 without a file.
    pub(super) inode: u64,
    /// Path, or the kernel's text instead: `[vdso]`, `//anon`, nothing.
    pub(super) name: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NoMap {
    Ended,
    Exceeded(Exceeded),
}

/// The maps of a live process, and the memory that they take.
pub(super) fn read(process: u32, budget: &Arc<Budget>) -> Result<(Vec<Mapping>, Held), NoMap> {
    let file = File::open(format!("/proc/{process}/maps")).map_err(|_gone| NoMap::Ended)?;
    parse(BufReader::with_capacity(1 << 16, file), budget)
}

pub(super) fn parse(
    text: impl BufRead,
    budget: &Arc<Budget>,
) -> Result<(Vec<Mapping>, Held), NoMap> {
    let mut lines = Lines::of(text, LONGEST_LINE);
    let mut mappings = Vec::new();
    let mut held = budget.hold(0).map_err(NoMap::Exceeded)?;
    let mut is_empty = true;
    let gone = |_: io::Error| NoMap::Ended;
    while let Some(text) = lines.next().map_err(gone)? {
        is_empty = false;
        budget.check().map_err(NoMap::Exceeded)?;
        if let Some(mapping) = line(text) {
            // Doubled, since a growing vector is copied.
            let bytes = 2 * size_of::<Mapping>() + mapping.name.len() + mapping.device.len();
            held.join(budget.hold(bytes as u64).map_err(NoMap::Exceeded)?);
            mappings.push(mapping);
        }
    }
    // A process that ends has no memory any more, and its file is empty.
    if is_empty {
        return Err(NoMap::Ended);
    }
    Ok((mappings, held))
}

/// `5581...-5582... r-xp 00001000 fe:00 1234      /usr/bin/x`
fn line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut field = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = field()?.split_once('-')?;
    if field()?.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let offset = hex(field()?)?;
    let device = field()?.to_owned();
    let inode = field()?.parse().ok()?;
    Some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        offset,
        device,
        inode,
        name: fields.next().unwrap_or_default().trim_ascii_start().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_executed_is_taken() {
        let text = b"5581a0000000-5581a0001000 r--p 00000000 fe:00 1234    /usr/bin/a program\n\
            5581a0001000-5581a0003000 r-xp 00001000 fe:00 1234    /usr/bin/a program\n\
            7f0000000000-7f0000010000 rwxp 00000000 00:00 0 \n\
            7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0      [vdso]\n";
        let (found, _) = parse(&text[..], &Arc::default()).unwrap();
        let seen: Vec<_> = found
            .iter()
            .map(|map| (map.start, map.end, map.offset, map.inode, &map.name[..]))
            .collect();
        assert_eq!(
            seen,
            [
                (
                    0x5581_a000_1000,
                    0x5581_a000_3000,
                    0x1000,
                    1234,
                    &b"/usr/bin/a program"[..]
                ),
                (0x7f00_0000_0000, 0x7f00_0001_0000, 0, 0, &b""[..]),
                (0x7ffd_0000_0000, 0x7ffd_0000_2000, 0, 0, &b"[vdso]"[..]),
            ]
        );
        assert_eq!(found[0].device, "fe:00");
    }

    #[test]
    fn nonsense_is_left_out() {
        let text = b"\nx\n1-2\n1-2 r-xp\n1-2 r-xp z fe:00 1 /a\n";
        assert_eq!(parse(&text[..], &Arc::default()).unwrap().0, []);
    }

    #[test]
    fn this_process_executes_this_program() {
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        let name = program.into_os_string().into_encoded_bytes();
        let (maps, _) = read(std::process::id(), &Arc::default()).unwrap();
        assert!(maps.iter().any(|map| map.name == name && map.inode > 0));
        let none = read(u32::MAX, &Arc::default());
        assert_eq!(none.err(), Some(NoMap::Ended));
    }
}
