//! The state that a program leaves: the disks under its files, and bytes not yet written back.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iostrata_core::cache::{ResidencyMap, is_in_memory};
use iostrata_core::doctor::{LayerKind, Stack};
use iostrata_core::evidence::{CacheRow, RawEvidence, SyscallRow};
use iostrata_core::halves;
use iostrata_core::ledger::is_of_run;
use iostrata_core::op::FileId;
use iostrata_core::trace::{AtExit, FileKind, NamedFile, Seen, Storage, is_resize};
use rustix::fs::{Mode, OFlags};

use crate::handle::{ByHandle, Entrances};
use crate::identity::{is_observed, observed_file};
use crate::kernel::cachestat;
use crate::page_cache::{FileSystems, LookedAt, count_by_cachestat, look_at};
use crate::stack::{self, Roots};

/// The storage under the named files, under the file systems that any program changed, and below the disks that got
/// requests of the run: file systems may be mounted elsewhere, or not any more, and a disk may be used without one.
pub fn storage(names: &[NamedFile], raw: &RawEvidence) -> Storage {
    let mut storage = Storage::default();
    let roots = Roots::default();
    let stored = [FileKind::Regular, FileKind::Directory];
    for named in names.iter().filter(|named| stored.contains(&named.kind)) {
        let device = named.file.device;
        if storage.disks.contains_key(&device) {
            continue;
        }
        let stack = stack_of(named, raw, &roots);
        if is_unseen(named, stack.as_ref()) {
            storage.unseen.insert(device, named.filesystem.clone());
        }
        let Some(stack) = stack else { continue };
        storage.below.extend(stack.disks_below());
        let mounted = stack.charged_file_systems();
        if mounted.is_empty() {
            for disk in stack.charged_disks() {
                let kinds = storage.kinds.entry(disk).or_default();
                kinds.insert(named.filesystem.clone());
            }
        }
        for (disk, kind) in mounted {
            storage.kinds.entry(disk).or_default().insert(kind);
        }
        storage.disks.insert(device, stack.charged_disks());
    }
    let of_run = raw.block.iter().flatten().filter(|row| is_of_run(row));
    let requested: BTreeSet<u32> = of_run.map(|row| row.disk).collect();
    for disk in requested {
        if let Some(stack) = attached(disk, raw, &roots) {
            storage.below.extend(stack.disks_below());
            storage.requested.insert(disk);
        }
    }
    let sharing = raw.sharing.as_ref();
    let changed = sharing.map(|sharing| sharing.tree_changed.union(&sharing.others_changed));
    for device in changed.into_iter().flatten() {
        if let Some(stack) = stack::under(*device, &roots) {
            storage.changed.insert(*device, stack.charged_disks());
        }
    }
    storage
}

/// The storage under a file. That of a block device is found by its number, wherever it is mounted; that of others by the
/// path, unless this leads to another file system from here.
fn stack_of(named: &NamedFile, raw: &RawEvidence, roots: &Roots) -> Option<Stack> {
    let device = named.file.device;
    if FileId::device_numbers(device).0 != 0 {
        return attached(device, raw, roots);
    }
    let path = existing(&path_of(&named.path));
    let stack = stack::inspect(&path, roots).ok()?;
    (stack.file_system()?.name == named.filesystem).then_some(stack)
}

/// The storage under a block device. That of a loop device that was detached meanwhile, and may have another file by now,
/// does not say which disk repeats its requests.
fn attached(device: u32, raw: &RawEvidence, roots: &Roots) -> Option<Stack> {
    let stack = stack::under(device, roots).filter(|stack| !stack.is_detached())?;
    let is_as_before = |(disk, attachment): (&u32, &u64)| {
        !stack.charged_disks().contains(disk)
            || stack::attachment(*disk, roots) == Some(*attachment)
    };
    raw.attachments.iter().all(is_as_before).then_some(stack)
}

/// Whether what is written there reaches a disk by requests that are not seen.
fn is_unseen(named: &NamedFile, stack: Option<&Stack>) -> bool {
    let served = |kind: &str| stack::served(kind).is_some();
    let is_served = stack.is_some_and(|stack| {
        let mut layers = stack.layers.iter();
        layers.any(|layer| layer.kind == LayerKind::FileSystem && served(&layer.name))
    });
    let has_device = FileId::device_numbers(named.file.device).0 != 0;
    let has_disk = stack.is_some_and(|stack| !stack.charged_disks().is_empty());
    is_served || served(&named.filesystem) || (has_device && !has_disk)
}

/// Names of files that were used without a descriptor and that iostrata maps as well: the dynamic
/// linker, which the kernel maps into every program (`load_elf_interp`, `fs/binfmt_elf.c`), and
/// libraries of a program that started before iostrata attached to it.
pub fn name_mapped(seen: &mut Seen, used: &[CacheRow]) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let paths = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]));
    let paths: BTreeSet<&str> = paths.collect();
    for path in paths {
        let Ok(found) = std::fs::metadata(path) else {
            continue;
        };
        let (major, minor) = (
            rustix::fs::major(found.dev()),
            rustix::fs::minor(found.dev()),
        );
        let place = (FileId::kernel_device(major, minor), found.ino());
        let is_named = |file: FileId| seen.names.iter().any(|named| named.file == file);
        let mut rows = (used.iter()).filter(|row| (row.file.device, row.file.inode) == place);
        if let Some(row) = rows.find(|row| !is_named(row.file)) {
            let mut beside = seen.names.iter();
            let beside = beside.find(|named| named.file.device == row.file.device);
            let filesystem = beside.map(|named| named.filesystem.clone());
            seen.names.push(NamedFile {
                file: row.file,
                path: path.as_bytes().to_vec(),
                kind: FileKind::Regular,
                filesystem: filesystem.unwrap_or_default(),
                size_bytes: found.len(),
                is_removed: false,
                shown: place,
            });
        }
    }
}

/// What is dirty or under write-back now, for each file that the run wrote, cut or dirtied, by a handle or by its last
/// name. A write to pages that are dirty already dirties none.
pub fn at_exit(seen: &Seen, raw: &RawEvidence) -> BTreeMap<FileId, AtExit> {
    let dirtied = raw.cache.iter().flatten();
    let dirtied = dirtied.filter(|row| row.dirtied_bytes > 0 && !row.metadata);
    let mut wanted: HashSet<FileId> = dirtied.map(|row| row.file).collect();
    let changed = seen.followed.files.iter();
    let changed =
        changed.filter(|(_, history)| history.writes > 0 || history.mapped_to_write.is_any());
    wanted.extend(changed.map(|(file, _)| *file));
    // A cut within a page clears its rest.
    let cut = raw.syscalls.iter().flatten();
    let cut = cut.filter(|row| !row.is_source && is_resize(row.name) && row.count > row.errors);
    wanted.extend(cut.filter_map(|row| row.file));
    let named: HashMap<FileId, &NamedFile> = seen
        .names
        .iter()
        .filter(|named| wanted.contains(&named.file))
        .map(|named| (named.file, named))
        .collect();
    let is_asked = |file: &FileId| {
        named
            .get(file)
            .is_none_or(|named| named.kind == FileKind::Regular && !is_in_memory(&named.filesystem))
    };
    let asked: Vec<Asked<'_>> = wanted
        .into_iter()
        .filter(is_asked)
        .map(|file| {
            let named = named.get(&file).copied();
            let renamed = seen.followed.renamed_to.get(&file);
            let path = renamed.or(named.map(|named| &named.path));
            Asked {
                file,
                pages: raw.copies.get(&file).copied().unwrap_or(file),
                named,
                path: path.map(|path| path_of(path)),
            }
        })
        .collect();
    let devices = asked
        .iter()
        .map(|asked| (asked.pages.device, asked.path.as_deref()));
    let entrances = Entrances::of(devices);
    // Querying many files takes the kernel some microseconds each, and the user waits.
    let answers = halves::both(&asked, |files| -> Vec<_> {
        let answer = |asked: &Asked<'_>| Some((asked.file, asked.left(&entrances)?));
        files.iter().filter_map(answer).collect()
    });
    answers.into_iter().flatten().collect()
}

/// A file that is asked for its dirty pages.
struct Asked<'a> {
    file: FileId,
    /// The one that has its pages.
    pages: FileId,
    named: Option<&'a NamedFile>,
    path: Option<PathBuf>,
}

impl Asked<'_> {
    /// `None` of what is no file of a disk.
    fn left(&self, entrances: &Entrances) -> Option<AtExit> {
        let file = match entrances.open(self.pages) {
            ByHandle::Gone => {
                return Some(AtExit {
                    dirty_bytes: Some(0),
                    has_blocks: false,
                });
            }
            ByHandle::Open(file) => Some(file),
            ByHandle::NotKnown => self.by_name(),
        };
        let Some(file) = file else {
            let is_stored = self.named.is_some() || FileId::device_numbers(self.file.device).0 != 0;
            return is_stored.then(AtExit::default);
        };
        let dirty = cachestat(file.as_fd(), 0..u64::MAX).ok().map(|pages| {
            let dirty = pages.dirty_pages.saturating_add(pages.writeback_pages);
            dirty.saturating_mul(crate::kernel::page_size() as u64)
        });
        Some(AtExit {
            dirty_bytes: dirty,
            has_blocks: rustix::fs::fstat(&file).is_ok_and(|found| found.st_blocks > 0),
        })
    }

    /// A file of overlayfs has no pages of its own (`ovl_mmap`, fs/overlayfs/file.c).
    fn by_name(&self) -> Option<OwnedFd> {
        let named = self.named.filter(|named| named.filesystem != "overlay")?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        // The last name, or the first, if it has lost another one since.
        let first = path_of(&named.path);
        let mut paths = self.path.iter().chain([&first]);
        paths.find_map(|path| {
            let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
            is_observed(&file, named.file).then_some(file)
        })
    }
}

/// How many files have their residency reported: those with the most time.
const MAPPED_FILES: usize = 20;

const MAP_RANGES: u64 = 64;

/// After this time no further map starts: the user waits, and the cache changes meanwhile.
const MAPS_TIME: Duration = Duration::from_millis(50);

/// Opening a file here may involve another machine or a program, which may never answer.
const FAR: [&str; 8] = ["nfs", "fuse", "cifs", "smb", "9p", "ceph", "afs", "autofs"];

/// Resident ranges of the regular files with the most time, if they still have their last name and
/// `cachestat(2)` is permitted for this user.
pub fn residency(seen: &Seen, calls: &[SyscallRow]) -> BTreeMap<FileId, ResidencyMap> {
    let mut time_ns: HashMap<FileId, u64> = HashMap::new();
    for row in calls {
        if let Some(file) = row.file {
            let sum: &mut u64 = time_ns.entry(file).or_default();
            *sum = sum.saturating_add(row.time_ns);
        }
    }
    let took = |named: &NamedFile| time_ns.get(&named.file).copied();
    let near = |named: &NamedFile| !FAR.iter().any(|far| named.filesystem.starts_with(far));
    let mut files: Vec<&NamedFile> = seen
        .names
        .iter()
        .filter(|named| named.kind == FileKind::Regular && took(named).is_some() && near(named))
        .collect();
    files.sort_by_cached_key(|named| Reverse(took(named)));
    let Ok(mut systems) = FileSystems::read() else {
        return BTreeMap::new();
    };
    let begun = Instant::now();
    let files = files.into_iter().take(MAPPED_FILES);
    files
        .take_while(|_| begun.elapsed() < MAPS_TIME)
        .filter_map(|named| {
            let renamed = seen.followed.renamed_to.get(&named.file);
            let path = path_of(renamed.unwrap_or(&named.path));
            let Ok(LookedAt::Regular(regular)) = look_at(&path, false, &mut systems) else {
                return None;
            };
            let found = observed_file(&path).ok()?;
            let same = (found.device, found.inode) == (named.file.device, named.file.inode);
            let counted = same.then(|| count_by_cachestat(&regular, MAP_RANGES))?;
            Some((named.file, counted.ok()?.map?))
        })
        .collect()
}

fn path_of(path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(path))
}

/// The path, or the nearest directory above it that exists.
fn existing(path: &Path) -> PathBuf {
    path.ancestors()
        .find(|above| above.exists())
        .unwrap_or(Path::new("/"))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_elsewhere_reaches_no_disk_that_is_seen() {
        let named = |filesystem: &str, major: u32| NamedFile {
            file: FileId {
                device: FileId::kernel_device(major, 40),
                inode: 12,
                generation: 0,
            },
            path: b"/mnt/file".to_vec(),
            kind: FileKind::Regular,
            filesystem: filesystem.to_owned(),
            size_bytes: 0,
            is_removed: false,
            shown: (0, 12),
        };
        for served in ["fuse", "fuseblk", "nfs4", "9p", "virtiofs"] {
            assert!(is_unseen(&named(served, 0), None), "{served}");
        }
        // In memory, and made up by the kernel.
        for other in ["tmpfs", "proc", "btrfs"] {
            assert!(!is_unseen(&named(other, 0), None), "{other}");
        }
        // A device that is gone.
        assert!(is_unseen(&named("ext4", 7), None));
    }
}
