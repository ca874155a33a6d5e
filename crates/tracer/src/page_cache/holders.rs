//! Who holds pages of files: processes that map them, and loop devices backed by them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use iostrata_core::cache::Process;
use iostrata_core::op::FileId;

use crate::identity::{KernelFile, kernel_file};
use crate::stack::Roots;

#[derive(Debug, Default)]
pub struct Mappers {
    pub of: BTreeMap<KernelFile, Vec<Process>>,
    /// Processes whose mappings this user may not see.
    pub hidden_processes: u64,
}

/// Searches all processes once for mappings of any of these files.
pub fn mappers(wanted: &BTreeSet<KernelFile>) -> io::Result<Mappers> {
    let mut found = Mappers::default();
    for process in fs::read_dir("/proc")?.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let directory = process.path();
        match fs::read(directory.join("maps")) {
            Ok(maps) => {
                let maps = Regions::parse(&maps, wanted);
                if !maps.0.is_empty() {
                    found.add(pid, &directory, maps, wanted);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                found.hidden_processes += 1;
            }
            // The process has ended.
            Err(_) => {}
        }
    }
    Ok(found)
}

impl Mappers {
    /// `maps` lists the mapped files; only `smaps`, which takes the kernel longer, shows how much
    /// of them is resident.
    fn add(&mut self, pid: u32, directory: &Path, maps: Regions, wanted: &BTreeSet<KernelFile>) {
        let command = fs::read(directory.join("comm")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).trim_end().to_owned();
        let exact = fs::read(directory.join("smaps")).ok();
        let exact = exact.map(|text| Regions::parse(&text, wanted));
        for (file, _) in maps.0 {
            // A mapping that appears in only one of the two is unknown.
            let region = exact.as_ref().and_then(|exact| exact.0.get(&file)).copied();
            // A mapping without touched pages holds none.
            if region.is_some_and(|region| region.mapped_bytes == 0) {
                continue;
            }
            self.of.entry(file).or_default().push(Process {
                pid,
                command: command.clone(),
                mapped_bytes: region.map(|region| region.mapped_bytes),
                locked_bytes: region.map(|region| region.locked_bytes),
            });
        }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Region {
    mapped_bytes: u64,
    locked_bytes: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Regions(BTreeMap<KernelFile, Region>);

impl Regions {
    /// Reads `/proc/PID/maps` or, with figures, `smaps` (`show_map_vma` and `show_smap`,
    /// `fs/proc/task_mmu.c`): a line for each mapping, followed in `smaps` by lines `Name: figure`.
    fn parse(text: &[u8], wanted: &BTreeSet<KernelFile>) -> Self {
        let mut regions = Self::default();
        let mut current: Option<KernelFile> = None;
        let mut bytes = 0_u64;
        for line in text.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let mut fields = line.split_ascii_whitespace();
            let Some(first) = fields.next() else {
                continue;
            };
            // Paths can contain a line break only as \012, so no line of a path ends in a colon.
            let Some(name) = first.strip_suffix(':') else {
                current = mapped_file(&line).filter(|file| wanted.contains(file));
                bytes = 0;
                if let Some(file) = current {
                    regions.0.entry(file).or_default();
                }
                continue;
            };
            let Some(region) = current.and_then(|file| regions.0.get_mut(&file)) else {
                continue;
            };
            let figure = |field: Option<&str>| field.and_then(|text| text.parse::<u64>().ok());
            match name {
                "Rss" => {
                    bytes = figure(fields.next()).unwrap_or(0).saturating_mul(1024);
                    region.mapped_bytes += bytes;
                }
                // Copies made by a private mapping are no longer pages of the file.
                "Anonymous" => {
                    let copies = figure(fields.next()).unwrap_or(0).saturating_mul(1024);
                    region.mapped_bytes = region.mapped_bytes.saturating_sub(copies);
                    bytes = bytes.saturating_sub(copies);
                }
                "VmFlags" if fields.any(|flag| flag == "lo") => region.locked_bytes += bytes,
                _ => {}
            }
        }
        regions
    }
}

/// The file of a line of `maps`: its fourth field is the superblock's device in hexadecimal,
/// its fifth the inode number (`show_map_vma`, `fs/proc/task_mmu.c`).
fn mapped_file(line: &str) -> Option<KernelFile> {
    let mut fields = line.split_ascii_whitespace().skip(3);
    let (major, minor) = fields.next()?.split_once(':')?;
    let part = |text| u32::from_str_radix(text, 16).ok();
    let device = FileId::kernel_device(part(major)?, part(minor)?);
    let inode = fields.next()?.parse().ok()?;
    Some(KernelFile { device, inode })
}

/// Loop devices whose image is one of these files, by name.
pub fn loop_devices(wanted: &BTreeSet<KernelFile>) -> BTreeMap<KernelFile, Vec<String>> {
    let mut found: BTreeMap<KernelFile, Vec<String>> = BTreeMap::new();
    for device in fs::read_dir(Roots::default().sys.join("block"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let Ok(mut path) = fs::read(device.path().join("loop/backing_file")) else {
            continue;
        };
        if path.last() == Some(&b'\n') {
            path.pop();
        }
        let path = PathBuf::from(OsString::from_vec(path));
        if let Some(image) = kernel_file(&path).ok().filter(|file| wanted.contains(file)) {
            let name = device.file_name().to_string_lossy().into_owned();
            found.entry(image).or_default().push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: KernelFile = KernelFile {
        device: 0xfe << 20,
        inode: 1234,
    };

    fn parsed(text: &str) -> Option<(u64, u64)> {
        let regions = Regions::parse(text.as_bytes(), &BTreeSet::from([WANTED]));
        let region = regions.0.get(&WANTED)?;
        Some((region.mapped_bytes, region.locked_bytes))
    }

    #[test]
    fn a_mapping_is_told_by_device_and_inode() {
        let line = |device, inode| format!("7f00-7f01 r--s 00000000 {device} {inode}    /a b\n");
        assert_eq!(parsed(&line("fe:00", 1234)), Some((0, 0)));
        for other in [line("fe:01", 1234), line("fe:00", 7), "nonsense".to_owned()] {
            assert_eq!(parsed(&other), None, "{other}");
        }
    }

    #[test]
    fn pages_are_summed_without_private_copies() {
        let text = "7f00-7f10 rw-p 00000000 fe:00 1234    /a\n\
            Size:                 64 kB\nRss:                  64 kB\nAnonymous:            24 kB\n\
            VmFlags: rd wr mr mw me ac\n\
            7f10-7f20 r--s 00000000 fe:00 99    /b\nRss:                  512 kB\n\
            VmFlags: rd lo\n\
            7f20-7f30 r--s 00000000 fe:00 1234    /a\nRss:                  8 kB\n\
            Anonymous:            0 kB\nVmFlags: rd sh mr me ms lo\n";
        assert_eq!(parsed(text), Some((48 * 1024, 8 * 1024)));
    }

    #[test]
    fn only_who_holds_pages_is_named() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("f");
        fs::write(&path, vec![7; 64 * 4096]).unwrap();
        let mapping = crate::kernel::Mapping::of(&fs::File::open(&path).unwrap()).unwrap();
        let file = kernel_file(&path).unwrap();
        let own = || {
            let found = mappers(&BTreeSet::from([file])).unwrap();
            found.of.get(&file).cloned().unwrap_or_default()
        };
        assert_eq!(own(), []);
        mapping.advise(crate::kernel::Advice::PopulateRead).unwrap();
        let holders = own();
        assert_eq!(holders.len(), 1, "{holders:?}");
        assert_eq!(holders[0].pid, std::process::id());
        assert_eq!(holders[0].mapped_bytes, Some(64 * 4096));
        assert_eq!(holders[0].locked_bytes, Some(0));
    }

    #[test]
    fn no_loop_device_works_on_an_ordinary_file() {
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        let wanted = BTreeSet::from([kernel_file(file.path()).unwrap()]);
        assert!(loop_devices(&wanted).is_empty());
    }
}
