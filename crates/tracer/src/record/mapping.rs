//! Files that a program changes by storing to memory, read when it synchronizes them.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use blake3::Hash;
use iostrata_core::op::{Call, FileId};
use rustix::fs::makedev;

use crate::foreign;
use crate::kernel::page_size;

/// A file with writable shared mappings. Kept after these are gone: the stores are in the file.
#[derive(Debug)]
struct MappedFile {
    file: FileId,
    handle: File,
    /// Who mapped it last.
    process: u32,
    thread: u32,
    /// From the first mapped byte to the end, bytes of the file.
    range: Range<u64>,
    /// What it held when it was last read, by where each page begins.
    pages: HashMap<u64, Hash>,
}

/// A part of a mapped file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) number: usize,
    pub(super) file: FileId,
    pub(super) process: u32,
    pub(super) thread: u32,
    pub(super) range: Range<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Mappings {
    files: Vec<MappedFile>,
}

impl Mappings {
    /// Opens the file of a mapping, while its process is stopped: `arguments` are those of `mmap(2)`, or of another call
    /// that made a mapping writable. Returns the offset and length of the mapping.
    pub(super) fn add(
        &mut self,
        call: Call,
        file: FileId,
        arguments: &[u64; 5],
    ) -> Option<(u64, u64)> {
        // Of mprotect(2), which returns nothing, it is given.
        let address = call.outcome.ok().filter(|address| *address != 0);
        let address = address.unwrap_or(arguments[0]);
        // Names may be invalid UTF-8.
        let maps = std::fs::read(format!("/proc/{}/maps", call.thread)).ok()?;
        let (area, offset) = area_at(&String::from_utf8_lossy(&maps), address)?;
        // Whole pages are mapped (mmap(2)).
        let bytes = in_pages(arguments[1]);
        let range = offset..offset.saturating_add(bytes);
        let known = self.files.iter().position(|known| known.file == file);
        let number = known.unwrap_or(self.files.len());
        if known.is_none() {
            self.files.push(MappedFile {
                file,
                handle: open(call.thread, file, arguments[4], &area)?,
                process: call.process,
                thread: call.thread,
                range: range.clone(),
                pages: HashMap::new(),
            });
        }
        let known = &mut self.files[number];
        known.range = known.range.start.min(range.start)..known.range.end.max(range.end);
        (known.process, known.thread) = (call.process, call.thread);
        Some((offset, bytes))
    }

    /// The mapped parts of files in a range of a thread's memory, as it is now: what was mapped there may be gone, moved or
    /// inherited. msync(2) is for whole pages.
    pub(super) fn synced(&self, thread: u32, address: u64, bytes: u64) -> Vec<Mapped> {
        let range = address..address.saturating_add(in_pages(bytes));
        let Ok(maps) = std::fs::read(format!("/proc/{thread}/maps")) else {
            return Vec::new();
        };
        let maps = String::from_utf8_lossy(&maps);
        let areas = maps.lines().filter_map(Area::parse);
        let synced = areas.filter_map(|area| {
            let from = area.address.start.max(range.start);
            let bytes = area.address.end.min(range.end).checked_sub(from)?;
            if bytes == 0 || !area.is_shared || !(area.is_writable || can_write(thread, &area)) {
                return None;
            }
            let offset = area.offset.saturating_add(from - area.address.start);
            Some(self.part(self.number_of(&area)?, offset..offset.saturating_add(bytes)))
        });
        synced.collect()
    }

    /// The file that is mapped there: by its inode, and where several have the same, by its device.
    fn number_of(&self, area: &Area) -> Option<usize> {
        let files = self.files.iter().enumerate();
        let alike = files.filter(|(_, known)| known.file.inode == area.inode);
        let alike: Vec<_> = alike.collect();
        if let [(only, _)] = alike.as_slice() {
            return Some(*only);
        }
        let has_device = |known: &MappedFile| {
            let device = known.handle.metadata().map(|is| is.dev());
            device.is_ok_and(|device| device == area.device)
        };
        let mut same = alike.into_iter().filter(|(_, known)| has_device(known));
        same.next().map(|(number, _)| number)
    }

    /// All that was mapped of a file; of all files if none is given.
    pub(super) fn of(&self, file: Option<FileId>) -> Vec<Mapped> {
        let all = self.files.iter().enumerate();
        all.filter(|(_, known)| file.is_none_or(|file| file == known.file))
            .map(|(number, known)| self.part(number, known.range.clone()))
            .collect()
    }

    fn part(&self, number: usize, range: Range<u64>) -> Mapped {
        let MappedFile {
            file,
            process,
            thread,
            ..
        } = self.files[number];
        Mapped {
            number,
            file,
            process,
            thread,
            range,
        }
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
        let handle = &self.files.get(number)?.handle;
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

    /// Of bytes that were read at an offset, the ranges whose pages are not as they were when they were last asked about.
    pub(super) fn changed(
        &mut self,
        number: usize,
        offset: u64,
        bytes: &[u8],
    ) -> Vec<Range<usize>> {
        let Some(MappedFile { pages, .. }) = self.files.get_mut(number) else {
            return Vec::new();
        };
        let mut changed: Vec<Range<usize>> = Vec::new();
        for (page, at) in bytes.chunks(page_size()).zip((0..).step_by(page_size())) {
            let now = blake3::hash(page);
            if pages.insert(offset + at as u64, now) == Some(now) {
                continue;
            }
            match changed.last_mut() {
                Some(last) if last.end == at => last.end += page.len(),
                _ => changed.push(at..at + page.len()),
            }
        }
        changed
    }
}

/// Bytes of the pages that hold so many.
fn in_pages(bytes: u64) -> u64 {
    bytes
        .checked_next_multiple_of(page_size() as u64)
        .unwrap_or(bytes)
}

/// One line of `proc_pid_maps(5)`.
#[derive(Debug, PartialEq, Eq)]
struct Area {
    address: Range<u64>,
    is_writable: bool,
    is_shared: bool,
    /// The byte of the file at its begin.
    offset: u64,
    device: u64,
    inode: u64,
}

impl Area {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ');
        let (from, to) = fields.next()?.split_once('-')?;
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let permissions = fields.next()?.as_bytes();
        let offset = hexadecimal(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let [major, minor] =
            [major, minor].map(|text| u32::from_str_radix(text, 16).unwrap_or_default());
        Some(Self {
            address: hexadecimal(from)?..hexadecimal(to)?,
            is_writable: permissions.get(1) == Some(&b'w'),
            is_shared: permissions.get(3) == Some(&b's'),
            offset,
            device: makedev(major, minor),
            inode: fields.next()?.parse().ok()?,
        })
    }
}

/// Whether a shared mapping that is read only is of a file that is open for writing: else it is no shared one to msync(2)
/// (`VM_SHARED` in `do_mmap`, mm/mmap.c; `sh` of `VmFlags` in `proc_pid_smaps(5)`).
fn can_write(thread: u32, area: &Area) -> bool {
    let Ok(smaps) = std::fs::read(format!("/proc/{thread}/smaps")) else {
        return false;
    };
    let smaps = String::from_utf8_lossy(&smaps);
    let own = smaps
        .lines()
        .skip_while(|line| Area::parse(line).as_ref() != Some(area));
    let flags = own.skip(1).find_map(|line| line.strip_prefix("VmFlags:"));
    flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "sh"))
}

/// Opens the file that a thread has mapped at `area`, through the descriptor that mmap(2) was given, through the mapping,
/// which needs privileges (`proc_map_files_get_link`, fs/proc/base.c), or through any descriptor that leads to it.
fn open(thread: u32, file: FileId, descriptor: u64, area: &Range<u64>) -> Option<File> {
    let of_thread = PathBuf::from(format!("/proc/{thread}"));
    let mapping = format!("map_files/{:x}-{:x}", area.start, area.end);
    let given = [format!("fd/{descriptor}"), mapping];
    let given = given.map(|name| of_thread.join(name)).into_iter();
    let others = std::fs::read_dir(of_thread.join("fd"));
    let others = others.into_iter().flatten().flatten();
    let mut all = given.chain(others.map(|entry| entry.path()));
    all.find_map(|path| {
        let opened = foreign::open(&path).ok()?;
        let is_it = opened.metadata().is_ok_and(|is| is.ino() == file.inode);
        is_it.then_some(opened)
    })
}

/// The area around an address, and the file offset at the address.
pub(crate) fn area_at(maps: &str, address: u64) -> Option<(Range<u64>, u64)> {
    let mut areas = maps.lines().filter_map(Area::parse);
    let area = areas.find(|area| area.address.contains(&address))?;
    let offset = area.offset.checked_add(address - area.address.start)?;
    Some((area.address, offset))
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
        assert_eq!(
            area_at(maps, 0x0040_0000),
            Some((0x0040_0000..0x0045_2000, 0x1000))
        );
        assert_eq!(
            area_at(maps, 0x7f00_0000_1000),
            Some((0x7f00_0000_0000..0x7f00_0000_4000, 0x4000))
        );
        assert_eq!(area_at(maps, 0x7f00_0000_4000), None);
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
