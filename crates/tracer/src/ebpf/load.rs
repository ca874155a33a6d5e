//! What of the object the kernel takes: each program on its own, so that what one kernel refuses
//! costs one stratum.

use aya::maps::MapError;
use aya::programs::iter::Iter;
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, include_bytes_aligned};
use iostrata_core::op::Gap;
use rustix::thread::{CapabilitySet, capabilities};

use crate::permission::grant;
use crate::stack::Roots;

use super::object::{OpenError, chain};
use super::{Limits, calls, casts, moments, told};
use crate::permission::filtered;

/// The committed object; `make bpf` rebuilds it from `bpf/`.
static OBJECT: &[u8] = include_bytes_aligned!("iostrata.bpf.o");

/// What a program observes. A stratum is seen when all its programs are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stratum {
    /// The process tree itself; without it nothing else can be charged.
    Tasks,
    /// System calls per file.
    Syscalls,
    /// Blocked time inside calls.
    Blocked,
    /// Page-cache look-ups, misses, fills, dirtying.
    PageCache,
    /// Block requests.
    Device,
    /// Operations of io_uring.
    Ring,
    /// Directories in which names are changed.
    Names,
}

impl Stratum {
    /// All strata.
    pub const ALL: [Self; 7] = [
        Self::Tasks,
        Self::Syscalls,
        Self::Blocked,
        Self::PageCache,
        Self::Device,
        Self::Ring,
        Self::Names,
    ];

    /// What the user loses without it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "process tree",
            Self::Syscalls => "system calls",
            Self::Blocked => "blocked time",
            Self::PageCache => "page cache",
            Self::Device => "device requests",
            Self::Ring => "io_uring operations",
            Self::Names => "directories of changed names",
        }
    }
}

/// Program in the object, tracepoint it is attached to, what it is for.
pub(super) const PROGRAMS: [(&str, &str, Stratum); 21] = [
    ("queued", "block_bio_queue", Stratum::Device),
    ("issued", "block_rq_issue", Stratum::Device),
    ("completed", "block_rq_complete", Stratum::Device),
    ("looked_up", "mm_filemap_get_pages", Stratum::PageCache),
    ("missed", "page_cache_sync_ra", Stratum::PageCache),
    ("fetched_ahead", "page_cache_async_ra", Stratum::PageCache),
    ("faulted", "mm_filemap_fault", Stratum::PageCache),
    ("mapped", "mm_filemap_map_pages", Stratum::PageCache),
    ("filled", "mm_filemap_add_to_page_cache", Stratum::PageCache),
    ("dirtied", "writeback_dirty_folio", Stratum::PageCache),
    ("switched", "sched_switch", Stratum::Blocked),
    // Whoever is marked from its fork on is seen ending.
    ("exited", "sched_process_exit", Stratum::Tasks),
    ("executed", "sched_process_exec", Stratum::Tasks),
    ("forked", "sched_process_fork", Stratum::Tasks),
    ("ring_completed", "io_uring_complete", Stratum::Ring),
    ("ring_submitted", "io_uring_submit_req", Stratum::Ring),
    ("touched_set", "inode_set_ctime_to_ts", Stratum::Names),
    ("touched_exchanged", "ctime_ns_xchg", Stratum::Names),
    ("touched_again", "ctime_xchg_skip", Stratum::Names),
    ("call_left", "sys_exit", Stratum::Syscalls),
    ("call_entered", "sys_enter", Stratum::Syscalls),
];

/// Programs that see every change and every sync of a file system, its tracepoint, and its type.
/// A kernel that has its file systems as modules refuses them; then nobody can tell who shares
/// such a file system's requests.
pub(super) const CHANGES: [(&str, &str, &str); 10] = [
    ("ext4_changed", "ext4_journal_start_inode", "ext4"),
    ("ext4_changed_whole", "ext4_journal_start_sb", "ext4"),
    ("ext4_synced", "ext4_sync_file_enter", "ext4"),
    ("ext4_synced_whole", "ext4_sync_fs", "ext4"),
    ("xfs_changed", "xfs_trans_alloc", "xfs"),
    ("xfs_synced", "xfs_file_fsync", "xfs"),
    ("xfs_synced_whole", "xfs_fs_sync_fs", "xfs"),
    ("btrfs_changed", "btrfs_space_reservation", "btrfs"),
    ("btrfs_synced", "btrfs_sync_file", "btrfs"),
    ("btrfs_synced_whole", "btrfs_sync_fs", "btrfs"),
];

/// The program for kernels on which another one is refused.
const OLDER: (&str, &str) = ("ring_completed", "ring_completed_old");

/// What the kernel took of the object.
pub(super) struct Programs {
    pub(super) ebpf: Ebpf,
    pub(super) loaded: Vec<&'static str>,
    pub(super) missing: Vec<Gap>,
    pub(super) seen: Vec<Stratum>,
    /// Types of file systems of which every change is seen.
    pub(super) told: Vec<&'static str>,
}

impl Programs {
    /// With the kernel's function for reading where it has it. A kernel may have it and yet refuse
    /// a program that calls it; then all go without.
    pub(super) fn load(btf: &Btf, limits: &Limits) -> Result<Self, OpenError> {
        let object = limits.casts.then(|| casts::resolve(OBJECT, btf)).flatten();
        let mut casting = object.and_then(|object| Self::of(&object, true, btf, limits).ok());
        if let Some(programs) = casting.take_if(|programs| programs.missing.is_empty()) {
            return Ok(programs);
        }
        let plain = Self::of(OBJECT, false, btf, limits).map_err(|e| not_loaded(&e))?;
        // What this kernel takes in neither form is no reason to read slowly.
        let as_much = |casting: &Self| casting.missing.len() <= plain.missing.len();
        Ok(casting.filter(as_much).unwrap_or(plain))
    }

    fn of(object: &[u8], casts: bool, btf: &Btf, limits: &Limits) -> Result<Self, aya::EbpfError> {
        let mut ebpf = load_object(object, casts, btf, limits)?;
        let (mut loaded, missing, seen) = load_programs(&mut ebpf, btf, limits.history);
        let told = if limits.history && seen.contains(&Stratum::Device) {
            load_changes(&mut ebpf, btf, &mut loaded)
        } else {
            Vec::new()
        };
        Ok(Self {
            ebpf,
            loaded,
            missing,
            seen,
            told,
        })
    }
}

fn load_object(
    object: &[u8],
    casts: bool,
    btf: &Btf,
    limits: &Limits,
) -> Result<Ebpf, aya::EbpfError> {
    let table = calls::table(limits.record);
    EbpfLoader::new()
        .btf(Some(btf))
        // Task storage has no user-space interface in aya; none is needed.
        .allow_unsupported_maps()
        .override_global("CASTS", &u32::from(casts), true)
        .override_global("CALLS", &table, true)
        .override_global("TOLD_BY", &calls::told(), true)
        .override_global("REQUEST", &told::requests(), true)
        .override_global("PATHS", &calls::paths(limits.record), true)
        .override_global("EXTRAS", &calls::extras(), true)
        .override_global("PURPOSE_OF", &calls::purposes(), true)
        .override_global("HISTORY", &u32::from(limits.history), true)
        .override_global("RECORD", &u32::from(limits.record), true)
        .override_global("READS", &u32::from(limits.record && limits.reads), true)
        .override_global("HIGH_WATER", &u64::from(limits.ring_bytes / 2), true)
        .map_max_entries("named", limits.calls)
        .map_max_entries("moments", moments::room(limits.history))
        .map_max_entries("calls", limits.calls)
        .map_max_entries("cache", limits.files)
        .map_max_entries("block", limits.files)
        .map_max_entries("in_flight", limits.in_flight)
        .map_max_entries("events", limits.ring_bytes)
        .load(object)
}

/// Creating a map is the first thing that needs privileges, `bpf(2)`. Where even the least program
/// is refused, Aya takes the kernel for one without global data, and misses their section.
fn not_loaded(error: &aya::EbpfError) -> OpenError {
    match error {
        aya::EbpfError::MapError(MapError::CreateError { io_error, .. })
            if refuses(io_error) && is_filtered() =>
        {
            OpenError::Filtered
        }
        aya::EbpfError::MapError(MapError::CreateError { io_error, .. })
            if io_error.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            OpenError::NotPermitted {
                error: io_error.to_string(),
                remedy: grant::here(&Roots::default()).remedy,
            }
        }
        aya::EbpfError::RelocationError(_) => OpenError::Programs,
        other => OpenError::Maps(chain(other)),
    }
}

/// As filters do: those of Docker with `EPERM`, others of whatever they do not know with `ENOSYS`.
fn refuses(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

/// Whether this process has a filter and what the kernel asks for (`bpf_capable`,
/// include/linux/capability.h).
fn is_filtered() -> bool {
    let able = CapabilitySet::BPF | CapabilitySet::SYS_ADMIN;
    let is_able = capabilities(None).is_ok_and(|sets| sets.effective.intersects(able));
    is_able && filtered::is_filtered()
}

/// Operations of io_uring and names are decoded with the history only: experiments know their own.
fn load_programs(
    ebpf: &mut Ebpf,
    btf: &Btf,
    history: bool,
) -> (Vec<&'static str>, Vec<Gap>, Vec<Stratum>) {
    let mut loaded = Vec::new();
    let mut missing: Vec<Gap> = Vec::new();
    for name in ["adopt", "look"] {
        if let Err(why) = load_iterator(ebpf, name, btf) {
            missing.push(Gap::new(
                Stratum::Tasks.as_str(),
                format!("iter/task: {why}"),
            ));
        }
    }
    let wanted = |stratum| history || !matches!(stratum, Stratum::Ring | Stratum::Names);
    for (name, tracepoint, stratum) in PROGRAMS.into_iter().filter(|one| wanted(one.2)) {
        match load_either(ebpf, name, tracepoint, btf) {
            Ok(name) => loaded.push(name),
            Err(why) => missing.push(Gap::new(
                stratum.as_str(),
                format!("tp_btf/{tracepoint}: {why}"),
            )),
        }
    }
    let seen: Vec<Stratum> = Stratum::ALL
        .into_iter()
        .filter(|stratum| wanted(*stratum))
        .filter(|stratum| missing.iter().all(|gap| gap.what != stratum.as_str()))
        .collect();
    // Half a stratum would give half a figure: drop its other programs too.
    loaded.retain(|name| {
        PROGRAMS.iter().any(|(program, _, stratum)| {
            (program == name || *name == OLDER.1 && *program == OLDER.0) && seen.contains(stratum)
        })
    });
    (loaded, missing, seen)
}

/// Whether a file system of this type is mounted, in whatever namespace. Of others nothing has to be
/// told, and each program takes some milliseconds to load.
fn is_mounted(kind: &str) -> bool {
    // The kernel's own entries beside the mounted ones (fs/ext4/sysfs.c, fs/xfs/xfs_super.c,
    // fs/btrfs/sysfs.c).
    let of_kernel = ["features", "stats", "debug"];
    let entries = std::fs::read_dir(format!("/sys/fs/{kind}"));
    entries.is_ok_and(|mut entries| {
        entries.any(|entry| {
            let name = entry.map(|entry| entry.file_name());
            name.is_ok_and(|name| of_kernel.iter().all(|known| name != *known))
        })
    })
}

/// Those of a file system together: half of its changes tell nothing.
fn load_changes(ebpf: &mut Ebpf, btf: &Btf, loaded: &mut Vec<&'static str>) -> Vec<&'static str> {
    let mut told = Vec::new();
    let by_kind = CHANGES.chunk_by(|one, next| one.2 == next.2);
    for of_one in by_kind.filter(|of_one| is_mounted(of_one[0].2)) {
        let all = of_one
            .iter()
            .all(|(name, tracepoint, _)| load_one(ebpf, name, tracepoint, btf).is_ok());
        if let Some((.., filesystem)) = of_one.first().filter(|_| all) {
            told.push(*filesystem);
            loaded.extend(of_one.iter().map(|(name, ..)| *name));
        }
    }
    told
}

/// The older program first: a kernel that it is not made for refuses it, while the newer
/// one would be taken by both and read the wrong argument.
fn load_either(
    ebpf: &mut Ebpf,
    name: &'static str,
    tracepoint: &str,
    btf: &Btf,
) -> Result<&'static str, String> {
    if name == OLDER.0 && load_one(ebpf, OLDER.1, tracepoint, btf).is_ok() {
        return Ok(OLDER.1);
    }
    load_one(ebpf, name, tracepoint, btf).map(|()| name)
}

fn load_one(ebpf: &mut Ebpf, name: &str, tracepoint: &str, btf: &Btf) -> Result<(), String> {
    let program = ebpf.program_mut(name).ok_or("not in the object")?;
    let program: &mut BtfTracePoint = program.try_into().map_err(|e: ProgramError| chain(&e))?;
    program.load(tracepoint, btf).map_err(|e| chain(&e))
}

fn load_iterator(ebpf: &mut Ebpf, name: &str, btf: &Btf) -> Result<(), String> {
    let program = ebpf.program_mut(name).ok_or("not in the object")?;
    let program: &mut Iter = program.try_into().map_err(|e: ProgramError| chain(&e))?;
    program.load("task", btf).map_err(|e| chain(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refusal of the form with casts would otherwise show as a slower trace only.
    #[test]
    fn the_kernel_takes_all_programs_in_both_forms() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: loading eBPF programs needs root");
            return;
        }
        let btf = Btf::from_sys_fs().unwrap();
        let with_casts = casts::resolve(OBJECT, &btf);
        for limits in [Limits::default(), Limits::trace(), Limits::record()] {
            let mut plain = Programs::of(OBJECT, false, &btf, &limits).unwrap();
            assert_eq!(plain.missing, []);
            let Some(object) = &with_casts else {
                eprintln!("skipped: the kernel has no bpf_rdonly_cast");
                continue;
            };
            let mut casting = Programs::of(object, true, &btf, &limits).unwrap();
            assert_eq!(casting.missing, []);
            assert_eq!(
                plain.told.contains(&"ext4"),
                limits.history && is_mounted("ext4")
            );
            for programs in [&mut plain, &mut casting] {
                let loaded = &programs.loaded;
                let others = CHANGES.iter().filter(|(name, ..)| !loaded.contains(name));
                for (name, tracepoint, _) in others {
                    let taken = load_one(&mut programs.ebpf, name, tracepoint, &btf);
                    assert_eq!(taken, Ok(()), "{name}");
                }
            }
        }
    }
}
