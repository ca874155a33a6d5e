//! What of the object the kernel takes: each program on its own, so that what one kernel refuses
//! costs one stratum.

use aya::maps::MapError;
use aya::programs::iter::Iter;
use aya::programs::{BtfTracePoint, FEntry, FExit, ProgramError, RawTracePoint};
use aya::{Btf, Ebpf, EbpfLoader, include_bytes_aligned};
use aya_obj::btf::BtfKind;
use iostrata_core::op::Gap;
use rustix::thread::{CapabilitySet, capabilities};

use crate::permission::{filtered, grant};
use crate::stack::Roots;

use super::object::{OpenError, chain};
use super::types::TRACEPOINT;
use super::ways::{CHANGES, EVENTS, Hook, Probe, Way};
use super::{Limits, calls, casts, moments, told};

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

/// What the kernel took of the object.
pub(super) struct Programs {
    pub(super) ebpf: Ebpf,
    /// What may be attached, and what it is for.
    pub(super) loaded: Vec<(Stratum, Probe)>,
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
        let (mut loaded, missing, seen) = load_programs(&mut ebpf, btf, limits);
        let told = if limits.history && seen.contains(&Stratum::Device) {
            load_changes(&mut ebpf, btf, limits, &mut loaded)
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
    limits: &Limits,
) -> (Vec<(Stratum, Probe)>, Vec<Gap>, Vec<Stratum>) {
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
    let wanted = |stratum| limits.history || !matches!(stratum, Stratum::Ring | Stratum::Names);
    for event in EVENTS.iter().filter(|event| wanted(event.stratum)) {
        match load_first(ebpf, event.ways, btf, limits) {
            Ok(way) => loaded.extend(way.probes.iter().map(|probe| (event.stratum, *probe))),
            Err(why) => missing.push(Gap::new(event.stratum.as_str(), why)),
        }
    }
    let seen: Vec<Stratum> = Stratum::ALL
        .into_iter()
        .filter(|stratum| wanted(*stratum))
        .filter(|stratum| missing.iter().all(|gap| gap.what != stratum.as_str()))
        .collect();
    // Half a stratum would give half a figure: drop its other programs too.
    loaded.retain(|(stratum, _)| seen.contains(stratum));
    (loaded, missing, seen)
}

/// Loads the first way that the kernel takes whole. Fails with what it said of each.
fn load_first<'a>(
    ebpf: &mut Ebpf,
    ways: &'a [Way],
    btf: &Btf,
    limits: &Limits,
) -> Result<&'a Way, String> {
    let mut refused = Vec::new();
    for way in ways {
        match load_way(ebpf, way, btf, limits) {
            Ok(()) => return Ok(way),
            Err(why) => refused.push(why),
        }
    }
    Err(refused.join("; "))
}

fn load_way(ebpf: &mut Ebpf, way: &Way, btf: &Btf, limits: &Limits) -> Result<(), String> {
    for probe in way.probes {
        let name = probe.name();
        if limits.without.contains(&name.as_str()) {
            return Err(format!("{name}: not to be used"));
        }
        load_one(ebpf, probe, btf).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
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
fn load_changes(
    ebpf: &mut Ebpf,
    btf: &Btf,
    limits: &Limits,
    loaded: &mut Vec<(Stratum, Probe)>,
) -> Vec<&'static str> {
    let mut told = Vec::new();
    for of_one in CHANGES
        .iter()
        .filter(|of_one| is_mounted(of_one.filesystem))
    {
        if let Ok(way) = load_first(ebpf, of_one.ways, btf, limits) {
            told.push(of_one.filesystem);
            loaded.extend(way.probes.iter().map(|probe| (Stratum::Device, *probe)));
        }
    }
    told
}

fn load_one(ebpf: &mut Ebpf, probe: &Probe, btf: &Btf) -> Result<(), String> {
    let program = ebpf.program_mut(probe.program).ok_or("not in the object")?;
    let wrong = |e: ProgramError| chain(&e);
    match probe.hook {
        Hook::Tracepoint => {
            let program: &mut BtfTracePoint = program.try_into().map_err(wrong)?;
            load_anew(program, |program| program.load(probe.on, btf))
        }
        Hook::Raw => {
            // It is looked for when the program is attached only.
            let name = format!("{TRACEPOINT}{}", probe.on);
            btf.id_by_type_name_kind(&name, BtfKind::Typedef)
                .map_err(|e| chain(&e))?;
            let program: &mut RawTracePoint = program.try_into().map_err(wrong)?;
            load_anew(program, RawTracePoint::load)
        }
        Hook::Entry => {
            let program: &mut FEntry = program.try_into().map_err(wrong)?;
            load_anew(program, |program| program.load(probe.on, btf))
        }
        Hook::Exit => {
            let program: &mut FExit = program.try_into().map_err(wrong)?;
            load_anew(program, |program| program.load(probe.on, btf))
        }
    }
}

/// A program may be part of a way that was tried before.
fn load_anew<P>(
    program: &mut P,
    load: impl FnOnce(&mut P) -> Result<(), ProgramError>,
) -> Result<(), String> {
    match load(program) {
        Ok(()) | Err(ProgramError::AlreadyLoaded) => Ok(()),
        Err(error) => Err(chain(&error)),
    }
}

fn load_iterator(ebpf: &mut Ebpf, name: &str, btf: &Btf) -> Result<(), String> {
    let program = ebpf.program_mut(name).ok_or("not in the object")?;
    let program: &mut Iter = program.try_into().map_err(|e: ProgramError| chain(&e))?;
    program.load("task", btf).map_err(|e| chain(&e))
}

#[cfg(test)]
mod tests {
    use super::super::types;
    use super::super::ways::Changes;
    use super::*;

    /// A refusal of the form with casts would otherwise show as a slower trace only.
    #[test]
    fn the_kernel_takes_all_programs_in_both_forms() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("loading eBPF programs needs root");
            return;
        }
        let btf = types::read(&types::loaded()).unwrap();
        let with_casts = casts::resolve(OBJECT, &btf);
        for limits in [Limits::default(), Limits::trace(), Limits::record()] {
            let mut plain = Programs::of(OBJECT, false, &btf, &limits).unwrap();
            assert_eq!(plain.missing, []);
            let Some(object) = &with_casts else {
                crate::skip::skip("the kernel has no bpf_rdonly_cast");
                continue;
            };
            let mut casting = Programs::of(object, true, &btf, &limits).unwrap();
            assert_eq!(casting.missing, []);
            assert_eq!(
                plain.told.contains(&"ext4"),
                limits.history && is_mounted("ext4")
            );
            for programs in [&mut plain, &mut casting] {
                // Those that are modules, and not loaded, have no tracepoints.
                let known = std::fs::read_to_string("/proc/filesystems").unwrap();
                let here = |of_one: &&Changes| known.contains(of_one.filesystem);
                for of_one in CHANGES.iter().filter(here) {
                    let taken = load_first(&mut programs.ebpf, of_one.ways, &btf, &limits);
                    assert!(taken.is_ok(), "{}: {taken:?}", of_one.filesystem);
                }
            }
        }
    }
}
