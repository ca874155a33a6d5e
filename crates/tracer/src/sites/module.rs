//! Programs and libraries: their position in memory, and how to unwind their stacks.

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
use object::{Object as _, ObjectSection as _, ObjectSegment, SegmentFlags, elf};

use super::budget::{Budget, Exceeded, Held};
use super::maps::Mapping;
use super::reads::Reads;
use super::symbols::{self, Symbols};
use crate::foreign;

/// Maximum number of files kept open; each is a descriptor.
pub(super) const MOST_MODULES: usize = 256;

/// The bytes of an unwind table, shared by all processes that map the file.
pub(super) type Bytes = Arc<[u8]>;

type Segments = Vec<(Range<u64>, u64)>;

/// A file with code.
#[derive(Debug)]
pub(super) struct Module {
    /// Last part of its path.
    pub(super) name: String,
    file: File,
    /// Executable segments: offset in the file, and address in the program's own terms. Two
    /// segments may share a page of the file, so the others are left out.
    segments: Segments,
    tables: Tables,
    /// The memory of both.
    _held: Held,
}

/// Why a mapping is not a [`Module`]: the exhausted resource, or `None` when it is not a file with
/// code.
pub(super) type NoModule = Option<Exceeded>;

/// The unwinder's data about a module, for one process.
pub(super) struct Mapped {
    pub(super) index: usize,
    pub(super) bias: u64,
    pub(super) unwindable: Unwindable<Bytes>,
    /// The memory of an index, built for tables that have none.
    pub(super) held: Held,
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
    fn read(file: File, path: &[u8], budget: &Arc<Budget>) -> Result<Self, NoModule> {
        let reads = Reads::of(file, budget).map_err(|_unread| None)?;
        let read = Self::parse(&reads);
        if let Some(exceeded) = reads.exceeded() {
            return Err(Some(exceeded));
        }
        let (segments, tables) = read.ok_or(None)?;
        let bytes = tables.bytes() + (segments.capacity() * size_of::<(Range<u64>, u64)>()) as u64;
        Ok(Self {
            name: last_part(path),
            segments,
            tables,
            _held: budget.hold(bytes).map_err(Some)?,
            file: reads.into_file(),
        })
    }

    fn parse(reads: &Reads) -> Option<(Segments, Tables)> {
        let object = object::File::parse(reads).ok()?;
        let segments = object.segments().filter(is_executed).map(|segment| {
            let (offset, size) = segment.file_range();
            (offset..offset.saturating_add(size), segment.address())
        });
        Some((segments.collect(), Tables::read(&object)))
    }

    /// The load bias: added to an address in the program it gives the one in memory. A mapping
    /// begins at a page, the segment somewhere after that.
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
    fn unwindable(
        &self,
        mapping: &Mapping,
        budget: &Arc<Budget>,
    ) -> Result<(u64, Unwindable<Bytes>, Held), NoModule> {
        let bias = self.bias(mapping).ok_or(None)?;
        budget.check().map_err(Some)?;
        let held = budget.hold(self.tables.indexed_bytes()).map_err(Some)?;
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
        Ok((bias, module, held))
    }

    /// Names of functions at addresses of the program, which are sorted.
    pub(super) fn names(&self, addresses: &[u64], budget: &Arc<Budget>) -> Symbols {
        match self.file.try_clone() {
            Ok(file) => symbols::names(file, addresses, budget),
            Err(_no_descriptor) => Symbols::default(),
        }
    }
}

impl Tables {
    fn bytes(&self) -> u64 {
        let parts = [&self.eh_frame_hdr, &self.eh_frame];
        let parts = parts.into_iter().flatten().map(|(_, bytes)| bytes);
        parts
            .chain(&self.debug_frame)
            .map(|part| part.len() as u64)
            .sum()
    }

    /// The memory of a table for which framehop builds an index when a process maps the file: an
    /// index entry takes some 16 bytes for each entry of at least as many.
    fn indexed_bytes(&self) -> u64 {
        match (&self.eh_frame_hdr, &self.eh_frame, &self.debug_frame) {
            (None, Some((_, table)), _) | (_, None, Some(table)) => table.len() as u64,
            _ => 0,
        }
    }

    fn read<'data>(object: &object::File<'data, &'data Reads>) -> Self {
        let range = |name: &str| {
            let section = object.section_by_name(name)?;
            let start = section.address();
            Some(start..start.saturating_add(section.size()))
        };
        let bytes = |name: &str| -> Option<Bytes> {
            let section = object.section_by_name(name)?;
            let bytes = section.data().ok()?;
            (!bytes.is_empty()).then(|| bytes.into())
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

#[derive(Debug)]
pub(super) struct Modules {
    pub(super) all: Vec<Module>,
    by_file: HashMap<(String, u64), Result<usize, NoModule>>,
    pub(super) budget: Arc<Budget>,
}

impl Modules {
    pub(super) fn within(budget: Arc<Budget>) -> Self {
        Self {
            all: Vec::new(),
            by_file: HashMap::new(),
            budget,
        }
    }

    /// The file of a mapping in the form that a process's unwinder needs.
    pub(super) fn find(&mut self, process: u32, mapping: &Mapping) -> Result<Mapped, NoModule> {
        if mapping.inode == 0 {
            return Err(None);
        }
        let key = (mapping.device.clone(), mapping.inode);
        let index = if let Some(known) = self.by_file.get(&key) {
            (*known)?
        } else {
            // Another process may still have it when this one has ended.
            let file = open_mapped(process, mapping).map_err(|_unread| None)?;
            let module = self.add(file, &mapping.name);
            // Files beyond the limit are not remembered.
            if self.by_file.len() < 16 * MOST_MODULES {
                self.by_file.insert(key, module);
            }
            module?
        };
        let (bias, unwindable, held) = self.all[index].unwindable(mapping, &self.budget)?;
        Ok(Mapped {
            index,
            bias,
            unwindable,
            held,
        })
    }

    fn add(&mut self, file: File, path: &[u8]) -> Result<usize, NoModule> {
        if self.all.len() >= MOST_MODULES {
            return Err(Some(Exceeded::Files));
        }
        self.budget.check().map_err(Some)?;
        self.all.push(Module::read(file, path, &self.budget)?);
        Ok(self.all.len() - 1)
    }
}

/// The exact file that is mapped, even if it was removed (`map_files`, `proc_pid_map_files(5)`),
/// which needs a privilege; otherwise the file with its name in the process's mounts, or in those
/// of this program when the process has ended, if it has the same inode number.
fn open_mapped(process: u32, mapping: &Mapping) -> io::Result<File> {
    let (start, end) = (mapping.start, mapping.end);
    let mapped = format!("/proc/{process}/map_files/{start:x}-{end:x}");
    if let Ok(file) = foreign::open(Path::new(&mapped)) {
        return Ok(file);
    }
    let path = Path::new(OsStr::from_bytes(&mapping.name));
    let root = format!("/proc/{process}/root");
    let root = if std::fs::exists(&root).unwrap_or(false) {
        root.as_str()
    } else {
        "/"
    };
    let file = foreign::open_beneath(root, path, true)?;
    if file.metadata()?.ino() != mapping.inode {
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
        let mut module = Module::read(file, b"/bin/x", &Arc::default()).unwrap();
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
        let maps = super::super::maps::read(std::process::id(), &Arc::default())
            .unwrap()
            .0;
        let program = maps.iter().find(|map| map.inode > 0).unwrap();
        let mut modules = Modules::within(Arc::default());
        let index = modules.find(std::process::id(), program).unwrap().index;
        assert!(modules.find(std::process::id(), program).is_ok());
        assert_eq!(modules.all.len(), 1);
        assert!(modules.all[index].tables.eh_frame_hdr.is_some());
        let ended = modules.find(u32::MAX, program).map(|found| found.index);
        assert_eq!(ended.ok(), Some(index), "known from another process");
        let file = open_mapped(u32::MAX, program);
        assert!(file.is_ok(), "found by its path when the process has ended");
    }

    #[test]
    fn what_is_no_program_is_no_module() {
        let file = File::open("/proc/self/maps").unwrap();
        assert_eq!(Module::read(file, b"x", &Arc::default()).err(), Some(None));
        assert_eq!(last_part(b"/a/libc.so.6 (deleted)"), "libc.so.6");
    }
}
