//! Files that a program changes by storing to memory, read when it synchronizes them.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use iostrata_core::op::{Call, FileId};

use crate::foreign;

/// One writable shared mapping. Kept after it was unmapped: the stores are in the file.
#[derive(Debug)]
struct Mapping {
    process: u32,
    thread: u32,
    address: u64,
    bytes: u64,
    file: FileId,
    offset: u64,
    handle: File,
}

/// A part of a mapped file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) number: usize,
    pub(super) file: FileId,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Mappings {
    all: Vec<Mapping>,
}

impl Mappings {
    /// Opens the file of a mapping, while its process is stopped: `arguments` are those of
    /// `mmap(2)`. Returns the offset and length of the mapping.
    pub(super) fn add(
        &mut self,
        call: Call,
        file: FileId,
        arguments: &[u64; 5],
    ) -> Option<(u64, u64)> {
        let address = call.outcome.ok()?;
        // Names may be invalid UTF-8.
        let maps = std::fs::read(format!("/proc/{}/maps", call.thread)).ok()?;
        let offset = offset_at(&String::from_utf8_lossy(&maps), address)?;
        let path = format!("/proc/{}/fd/{}", call.thread, arguments[4]);
        let bytes = arguments[1];
        self.all.push(Mapping {
            process: call.process,
            thread: call.thread,
            address,
            bytes,
            file,
            offset,
            handle: foreign::open(Path::new(&path)).ok()?,
        });
        Some((offset, bytes))
    }

    pub(super) fn file(&self, number: usize) -> Option<FileId> {
        self.all.get(number).map(|mapping| mapping.file)
    }

    /// The mappings in a range of a process's memory.
    pub(super) fn overlapping(&self, process: u32, address: u64, bytes: u64) -> Vec<Mapped> {
        let end = address.saturating_add(bytes);
        let part = |(number, mapping): (usize, &Mapping)| {
            let from = address.max(mapping.address);
            let to = end.min(mapping.address.saturating_add(mapping.bytes));
            (mapping.process == process && from < to).then(|| Mapped {
                number,
                file: mapping.file,
                offset: mapping.offset.saturating_add(from - mapping.address),
                bytes: to - from,
            })
        };
        self.all.iter().enumerate().filter_map(part).collect()
    }

    /// All mappings in full: number, process, thread, offset and length.
    pub(super) fn all(&self) -> Vec<(usize, u32, u32, u64, u64)> {
        let whole = |(number, mapping): (usize, &Mapping)| {
            (
                number,
                mapping.process,
                mapping.thread,
                mapping.offset,
                mapping.bytes,
            )
        };
        self.all.iter().enumerate().map(whole).collect()
    }

    /// The next bytes of the file between `at` and `to` outside of holes: their offset and how many
    /// were read; `None` when there are none.
    pub(super) fn read(
        &self,
        number: usize,
        at: u64,
        to: u64,
        buffer: &mut [u8],
    ) -> Option<(u64, usize)> {
        let handle = &self.all.get(number)?.handle;
        if at >= to {
            return None;
        }
        // ENXIO: no data after this offset (lseek(2)).
        let from = rustix::fs::seek(handle, rustix::fs::SeekFrom::Data(at)).ok()?;
        let hole = rustix::fs::seek(handle, rustix::fs::SeekFrom::Hole(from)).ok()?;
        let end = hole.min(to);
        let wanted = usize::try_from(end.checked_sub(from)?).unwrap_or(buffer.len());
        let wanted = wanted.min(buffer.len());
        let had = handle.read_at(&mut buffer[..wanted], from).ok()?;
        (had > 0).then_some((from, had))
    }
}

/// The file offset mapped at an address (`proc_pid_maps(5)`).
pub(crate) fn offset_at(maps: &str, address: u64) -> Option<u64> {
    maps.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (from, to) = fields.next()?.split_once('-')?;
        let from = u64::from_str_radix(from, 16).ok()?;
        let to = u64::from_str_radix(to, 16).ok()?;
        let offset = u64::from_str_radix(fields.nth(1)?, 16).ok()?;
        (from..to)
            .contains(&address)
            .then(|| offset.checked_add(address - from))?
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};

    use super::*;

    #[test]
    fn an_address_is_found_in_the_maps() {
        let maps = "00400000-00452000 r-xp 00001000 08:02 173521 /usr/bin/dbus-daemon\n\
                    7f0000000000-7f0000004000 rw-s 00003000 08:02 7 /a b\n";
        assert_eq!(offset_at(maps, 0x0040_0000), Some(0x1000));
        assert_eq!(offset_at(maps, 0x7f00_0000_1000), Some(0x4000));
        assert_eq!(offset_at(maps, 0x7f00_0000_4000), None);
    }

    /// Opening it would wait for a writer.
    #[test]
    fn a_descriptor_that_became_a_fifo_is_not_waited_for() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = directory.path().join("fifo");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let fifo = open(&path, OFlags::PATH, Mode::empty()).unwrap();
        let file = FileId {
            device: 1,
            inode: 2,
            generation: 0,
        };
        let call = Call {
            process: std::process::id(),
            thread: std::process::id(),
            started_ns: 0,
            ended_ns: 1,
            name: "mmap",
            outcome: Ok(std::ptr::from_ref(&path) as u64),
        };
        let mut arguments = [0; 5];
        arguments[4] = fifo.as_raw_fd().try_into().unwrap();
        assert_eq!(Mappings::default().add(call, file, &arguments), None);
    }
}
