//! Programs and libraries: where they are in memory, and how their stacks are unwound.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use framehop::{ExplicitModuleSectionInfo, Module as Unwindable};
use object::{Object as _, ObjectSection as _, ObjectSegment, ReadCache, SegmentFlags, elf};
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};

use super::maps::Mapping;
use super::symbols;

/// Files that are kept open; each is a descriptor.
const MOST_MODULES: usize = 256;

/// More unwind tables than any program has.
const MOST_TABLE_BYTES: u64 = 64 << 20;

/// The bytes of an unwind table, shared by all processes that map the file.
pub(super) type Bytes = Arc<[u8]>;

/// A file with code.
#[derive(Debug)]
pub(super) struct Module {
    /// Last part of its path.
    pub(super) name: String,
    file: ReadCache<File>,
    /// Those that are executed: place in the file, address in the program's own terms. Two
    /// segments may share a page of the file, so the others are left out.
    segments: Vec<(Range<u64>, u64)>,
    tables: Tables,
}

/// Sections with their addresses in the program's own terms.
#[derive(Debug, Default)]
struct Tables {
    eh_frame_hdr: Option<(Range<u64>, Bytes)>,
    eh_frame: Option<(Range<u64>, Bytes)>,
    debug_frame: Option<Bytes>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
}

impl Module {
    fn read(file: File, path: &[u8]) -> Option<Self> {
        let file = ReadCache::new(file);
        let object = object::File::parse(&file).ok()?;
        let segments = object.segments().filter(is_executed).map(|segment| {
            let (offset, size) = segment.file_range();
            (offset..offset.saturating_add(size), segment.address())
        });
        let segments = segments.collect();
        let tables = Tables::read(&object);
        Some(Self {
            name: last_part(path),
            segments,
            tables,
            file,
        })
    }

    /// What is added to an address of the program to get the one in memory. A mapping
    /// begins at a page, the segment in it somewhere behind.
    fn bias(&self, mapping: &Mapping) -> Option<u64> {
        let length = mapping.end.saturating_sub(mapping.start);
        let inside = |segment: &&(Range<u64>, u64)| {
            let (range, _) = segment;
            range.start < mapping.offset.saturating_add(length) && range.end > mapping.offset
        };
        let (range, address) = self.segments.iter().find(inside)?;
        let begin = mapping
            .start
            .wrapping_add(range.start.wrapping_sub(mapping.offset));
        Some(begin.wrapping_sub(*address))
    }

    /// For the unwinder of a process that maps it.
    fn unwindable(&self, mapping: &Mapping) -> Option<(u64, Unwindable<Bytes>)> {
        let bias = self.bias(mapping)?;
        let part = |part: &Option<(Range<u64>, Bytes)>| part.clone().unzip();
        let (eh_frame_svma, eh_frame) = part(&self.tables.eh_frame);
        let (eh_frame_hdr_svma, eh_frame_hdr) = part(&self.tables.eh_frame_hdr);
        let sections = ExplicitModuleSectionInfo {
            text_svma: self.tables.text.clone(),
            got_svma: self.tables.got.clone(),
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            debug_frame: self.tables.debug_frame.clone(),
            ..ExplicitModuleSectionInfo::default()
        };
        let range = mapping.start..mapping.end;
        let module = Unwindable::new(self.name.clone(), range, bias, sections);
        Some((bias, module))
    }

    /// Names of functions at addresses of the program.
    pub(super) fn names(&self, addresses: &[u64]) -> HashMap<u64, String> {
        symbols::names(&self.file, addresses)
    }
}

impl Tables {
    fn read<'data>(object: &object::File<'data, &'data ReadCache<File>>) -> Self {
        let range = |name: &str| {
            let section = object.section_by_name(name)?;
            let start = section.address();
            Some(start..start.saturating_add(section.size()))
        };
        let bytes = |name: &str| -> Option<Bytes> {
            let section = object.section_by_name(name)?;
            if section.size() == 0 || section.size() > MOST_TABLE_BYTES {
                return None;
            }
            Some(section.data().ok()?.into())
        };
        let part = |name: &str| Some((range(name)?, bytes(name)?));
        Self {
            eh_frame_hdr: part(".eh_frame_hdr"),
            eh_frame: part(".eh_frame"),
            debug_frame: bytes(".debug_frame"),
            text: range(".text"),
            got: range(".got"),
        }
    }
}

fn is_executed<'data>(segment: &impl ObjectSegment<'data>) -> bool {
    matches!(segment.flags(), SegmentFlags::Elf { p_flags } if p_flags & elf::PF_X != 0)
}

/// All files with code that were seen, each once.
#[derive(Debug, Default)]
pub(super) struct Modules {
    pub(super) all: Vec<Module>,
    by_file: HashMap<(String, u64), Option<usize>>,
}

impl Modules {
    /// The file of a mapping, what is added to its addresses, and what a process's unwinder
    /// needs; `None` when it cannot be read as one with code.
    pub(super) fn find(
        &mut self,
        process: u32,
        mapping: &Mapping,
    ) -> Option<(usize, u64, Unwindable<Bytes>)> {
        if mapping.inode == 0 {
            return None;
        }
        let key = (mapping.device.clone(), mapping.inode);
        let known = self.by_file.get(&key).copied();
        let index = known.unwrap_or_else(|| {
            if self.all.len() >= MOST_MODULES {
                return None;
            }
            // Another process may have it at hand when this one has ended.
            let file = open_mapped(process, mapping).ok()?;
            let module = Module::read(file, &mapping.name).map(|module| {
                self.all.push(module);
                self.all.len() - 1
            });
            self.by_file.insert(key, module);
            module
        })?;
        let (bias, module) = self.all[index].unwindable(mapping)?;
        Some((index, bias, module))
    }
}

/// The very file that is mapped, also when it was removed (`map_files`, `proc_pid_map_files(5)`),
/// which needs a privilege; else the one of its name in the process's mounts, or in those of
/// this program when the process has ended, if it has the same inode number.
fn open_mapped(process: u32, mapping: &Mapping) -> io::Result<File> {
    let (start, end) = (mapping.start, mapping.end);
    if let Ok(file) = File::open(format!("/proc/{process}/map_files/{start:x}-{end:x}")) {
        return Ok(file);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(format!("/proc/{process}/root"), flags, Mode::empty())
        .or_else(|_| open("/", flags, Mode::empty()))?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = Path::new(OsStr::from_bytes(&mapping.name));
    let file = openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?;
    let file = File::from(file);
    let found = file.metadata()?;
    if !found.is_file() || found.ino() != mapping.inode {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(file)
}

pub(super) fn last_part(path: &[u8]) -> String {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let name = String::from_utf8_lossy(name);
    name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, offset: u64) -> Mapping {
        Mapping {
            start,
            end,
            offset,
            device: "fe:00".to_owned(),
            inode: 1,
            name: b"/usr/lib/libx.so.1".to_vec(),
        }
    }

    #[test]
    fn a_segment_in_the_middle_of_a_page_keeps_its_distance() {
        let file = File::open("/proc/self/exe").unwrap();
        let mut module = Module::read(file, b"/bin/x").unwrap();
        // As ld places it: file offset 0x1234 at address 0x402234.
        module.segments = vec![(0x1234..0x3000, 0x40_2234)];
        let fixed = mapping(0x40_2000, 0x40_4000, 0x1000);
        assert_eq!(module.bias(&fixed), Some(0));
        let moved = mapping(0x5555_0000_2000, 0x5555_0000_4000, 0x1000);
        assert_eq!(module.bias(&moved), Some(0x5555_0000_2000 - 0x40_2000));
        assert_eq!(module.bias(&mapping(0, 0x1000, 0x9000)), None);
    }

    #[test]
    fn this_program_has_unwind_tables_and_is_read_once() {
        let maps = super::super::maps::read(std::process::id()).unwrap();
        let program = maps.iter().find(|map| map.inode > 0).unwrap();
        let mut modules = Modules::default();
        let (index, _, _) = modules.find(std::process::id(), program).unwrap();
        assert!(modules.find(std::process::id(), program).is_some());
        assert_eq!(modules.all.len(), 1);
        assert!(modules.all[index].tables.eh_frame_hdr.is_some());
        let ended = modules.find(u32::MAX, program).map(|(index, _, _)| index);
        assert_eq!(ended, Some(index), "known from another process");
        let file = open_mapped(u32::MAX, program);
        assert!(file.is_ok(), "found by its path when the process has ended");
    }

    #[test]
    fn what_is_no_program_is_no_module() {
        let file = File::open("/proc/self/maps").unwrap();
        assert!(Module::read(file, b"x").is_none());
        assert_eq!(last_part(b"/a/libc.so.6 (deleted)"), "libc.so.6");
    }
}
