//! The executable parts of a process's memory, from `/proc/PID/maps` (`proc_pid_maps(5)`).

use std::io;

/// An executable mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    /// The first byte behind it.
    pub(super) end: u64,
    /// Offset in the file, bytes.
    pub(super) offset: u64,
    /// Device as written there, `major:minor` in hexadecimal.
    pub(super) device: String,
    /// 0 without a file.
    pub(super) inode: u64,
    /// Path, or what the kernel writes instead: `[vdso]`, `//anon`, nothing.
    pub(super) name: Vec<u8>,
}

/// Those of a process that lives.
pub(super) fn read(process: u32) -> io::Result<Vec<Mapping>> {
    let text = std::fs::read(format!("/proc/{process}/maps"))?;
    // A process that ends has no memory any more, and its file is empty.
    if text.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(parse(&text))
}

fn parse(text: &[u8]) -> Vec<Mapping> {
    text.split(|byte| *byte == b'\n').filter_map(line).collect()
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
        let found = parse(text);
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
        assert_eq!(parse(b"\nx\n1-2\n1-2 r-xp\n1-2 r-xp z fe:00 1 /a\n"), []);
    }

    #[test]
    fn this_process_executes_this_program() {
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        let name = program.into_os_string().into_encoded_bytes();
        let maps = read(std::process::id()).unwrap();
        assert!(maps.iter().any(|map| map.name == name && map.inode > 0));
        assert!(read(u32::MAX).is_err());
    }
}
