//! Loading: each program on its own, so that what one kernel refuses costs one stratum.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use aya::maps::{Array, Map, MapData, MapError, RingBuf};
use aya::programs::iter::Iter;
use aya::programs::tp_btf::BtfTracePointLink;
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, include_bytes_aligned};
use iostrata_core::op::Gap;

use super::Limits;
use super::payload::Stops;
use super::symbols;
use super::wire::{Config, END_IOS};
use super::{calls, moments};

/// The committed object; `make bpf` rebuilds it from `bpf/`.
static OBJECT: &[u8] = include_bytes_aligned!("../../../../bpf/iostrata.bpf.o");

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
}

impl Stratum {
    /// All strata.
    pub const ALL: [Self; 6] = [
        Self::Tasks,
        Self::Syscalls,
        Self::Blocked,
        Self::PageCache,
        Self::Device,
        Self::Ring,
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
        }
    }
}

/// Program in the object, tracepoint it is attached to, what it is for.
const PROGRAMS: [(&str, &str, Stratum); 18] = [
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
    ("forked", "sched_process_fork", Stratum::Tasks),
    ("executed", "sched_process_exec", Stratum::Tasks),
    ("exited", "sched_process_exit", Stratum::Tasks),
    ("ring_completed", "io_uring_complete", Stratum::Ring),
    ("ring_submitted", "io_uring_submit_req", Stratum::Ring),
    ("call_left", "sys_exit", Stratum::Syscalls),
    ("call_entered", "sys_enter", Stratum::Syscalls),
];

/// The program for kernels on which another one is refused.
const OLDER: (&str, &str) = ("ring_completed", "ring_completed_old");

/// The loaded object.
pub(super) struct Object {
    pub(super) ebpf: Ebpf,
    /// Programs that loaded, and may be attached.
    loaded: Vec<&'static str>,
    links: Vec<BtfTracePointLink>,
    pub(super) end_io: [u64; END_IOS],
    pub(super) seen: Vec<Stratum>,
    pub(super) missing: Vec<Gap>,
}

/// Why nothing at all can be observed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No type information: kernels are built without it, or `/sys` is not mounted.
    #[error(
        "the kernel gives no type information ({0}); mount sysfs on /sys, or run a kernel built \
         with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf(String),
    /// Tracing programs are root's.
    #[error(
        "eBPF is not permitted to this user ({0}); run as root, or give iostrata CAP_BPF and \
         CAP_PERFMON"
    )]
    NotPermitted(String),
    /// The object could not be loaded at all.
    #[error("the kernel refused the eBPF maps: {0}; iostrata doctor tells what it allows")]
    Maps(String),
    /// Programs of any kind.
    #[error("the kernel refused the least eBPF program; iostrata doctor tells what it allows")]
    Programs,
    /// The programs that follow the process tree were refused.
    #[error(
        "the kernel refused the eBPF programs that follow processes: {0}; iostrata doctor tells \
         what it allows"
    )]
    Tasks(String),
}

impl Object {
    pub(super) fn load(limits: &Limits) -> Result<Self, OpenError> {
        // Reading 120,000 symbols takes half as long as loading, and both cores are free.
        let addresses = std::thread::spawn(symbols::read);
        let btf = type_information().map_err(OpenError::NoBtf)?;
        let mut ebpf = load_object(&btf, limits).map_err(|e| not_loaded(&e))?;
        let (loaded, mut missing, seen) = load_programs(&mut ebpf, &btf, limits.history);
        if !seen.contains(&Stratum::Tasks) {
            let why = missing
                .iter()
                .find(|gap| gap.what == Stratum::Tasks.as_str());
            return Err(OpenError::Tasks(
                why.map_or_else(String::new, |gap| gap.why.clone()),
            ));
        }
        let end_io = addresses.join().unwrap_or_default();
        if !symbols::known(&end_io) {
            missing.push(Gap::new(
                "journal and log writes by their completion function",
                "kernel addresses are hidden (kptr_restrict, CAP_SYSLOG); request flags are used instead",
            ));
        }
        Ok(Self {
            ebpf,
            loaded,
            links: Vec::new(),
            end_io,
            seen,
            missing,
        })
    }

    pub(super) fn ring(&mut self) -> Result<RingBuf<MapData>, MapError> {
        let map = self
            .ebpf
            .take_map("events")
            .ok_or_else(|| absent("events"))?;
        RingBuf::try_from(map)
    }

    /// How often each process was stopped, from now on: an entry for each process.
    pub(super) fn stops(&mut self) -> Result<Stops, MapError> {
        let fd = self.stops_fd()?;
        let mut stops = Stops::try_from(Map::HashMap(MapData::from_fd(fd)?))?;
        let before: Vec<u32> = stops.keys().filter_map(Result::ok).collect();
        for process in before {
            stops.remove(&process)?;
        }
        Ok(stops)
    }

    /// Another descriptor of that table.
    pub(super) fn stops_fd(&self) -> Result<OwnedFd, MapError> {
        let Some(Map::HashMap(map)) = self.ebpf.map("stops") else {
            return Err(absent("stops"));
        };
        let fd = map.fd().as_fd().try_clone_to_owned();
        fd.map_err(|io_error| {
            MapError::SyscallError(aya::sys::SyscallError {
                call: "dup",
                io_error,
            })
        })
    }

    pub(super) fn configure(&mut self, config: Config) -> Result<(), MapError> {
        let map = self
            .ebpf
            .map_mut("config")
            .ok_or_else(|| absent("config"))?;
        Array::<_, Config>::try_from(map)?.set(0, config, 0)
    }

    pub(super) fn attach(&mut self) -> Result<(), ProgramError> {
        for name in &self.loaded {
            let Some(program) = self.ebpf.program_mut(name) else {
                continue;
            };
            let program: &mut BtfTracePoint = program.try_into()?;
            let id = program.attach()?;
            self.links.push(program.take_link(id)?);
        }
        Ok(())
    }

    /// Runs the kernel skipped because the same program was under way on that CPU, as
    /// when a completion interrupts another (`bpf_prog_show_fdinfo`, kernel/bpf/syscall.c).
    pub(super) fn skipped(&self) -> u64 {
        self.skipped_of(|_| true)
    }

    /// Those of the programs that an operation log is made from, since they were loaded.
    pub(super) fn skipped_calls(&self) -> u64 {
        let of_calls =
            |stratum| matches!(stratum, Stratum::Syscalls | Stratum::Tasks | Stratum::Ring);
        self.skipped_of(|name| {
            PROGRAMS
                .iter()
                .any(|(program, _, stratum)| *program == name && of_calls(*stratum))
        })
    }

    fn skipped_of(&self, wanted: impl Fn(&str) -> bool) -> u64 {
        let misses = |name: &&str| -> Option<u64> {
            let program = self.ebpf.program(name)?;
            let fd = program.fd().ok()?.as_fd().as_raw_fd();
            let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
            let value = text
                .lines()
                .find_map(|line| line.strip_prefix("recursion_misses:"))?;
            value.trim().parse().ok()
        };
        let wanted = self.loaded.iter().filter(|name| wanted(name));
        wanted.filter_map(misses).sum()
    }

    pub(super) fn detach(&mut self) {
        self.links.clear();
    }

    /// Runs a task iterator to its end.
    pub(super) fn iterate(&mut self, name: &str) -> Result<(), String> {
        let program = self
            .ebpf
            .program_mut(name)
            .ok_or_else(|| format!("no program {name}"))?;
        let program: &mut Iter = program
            .try_into()
            .map_err(|e: ProgramError| e.to_string())?;
        let id = program.attach().map_err(|e| chain(&e))?;
        let link = program.take_link(id).map_err(|e| chain(&e))?;
        let mut file = link.into_file().map_err(|e| chain(&e))?;
        std::io::copy(&mut file, &mut std::io::sink())
            .map(|_| ())
            .map_err(|e| e.to_string())
    }
}

pub(super) fn absent(map: &str) -> MapError {
    MapError::InvalidName {
        name: map.to_owned(),
    }
}

fn load_object(btf: &Btf, limits: &Limits) -> Result<Ebpf, aya::EbpfError> {
    let table = calls::table();
    EbpfLoader::new()
        .btf(Some(btf))
        // Task storage has no user-space interface in aya; none is needed.
        .allow_unsupported_maps()
        .override_global("CALLS", &table, true)
        .override_global("PATHS", &calls::paths(), true)
        .override_global("PURPOSE_OF", &calls::purposes(), true)
        .override_global("HISTORY", &u32::from(limits.history), true)
        .override_global("RECORD", &u32::from(limits.record), true)
        .override_global("HIGH_WATER", &u64::from(limits.ring_bytes / 2), true)
        .map_max_entries("named", limits.calls)
        .map_max_entries("moments", moments::room(limits.history))
        .map_max_entries("calls", limits.calls)
        .map_max_entries("cache", limits.files)
        .map_max_entries("block", limits.files)
        .map_max_entries("in_flight", limits.in_flight)
        .map_max_entries("events", limits.ring_bytes)
        .load(OBJECT)
}

/// Types of the running kernel. Fails with the cause.
fn type_information() -> Result<Btf, String> {
    const FILE: &str = "/sys/kernel/btf/vmlinux";
    if let Err(error) = std::fs::File::open(FILE) {
        return Err(format!("{FILE}: {error}"));
    }
    Btf::from_sys_fs().map_err(|error| chain(&error))
}

/// Creating a map is the first thing that needs privileges, `bpf(2)`. Where even the least program
/// is refused, Aya takes the kernel for one without global data, and misses their section.
fn not_loaded(error: &aya::EbpfError) -> OpenError {
    match error {
        aya::EbpfError::MapError(MapError::CreateError { io_error, .. })
            if io_error.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            OpenError::NotPermitted(io_error.to_string())
        }
        aya::EbpfError::RelocationError(_) => OpenError::Programs,
        other => OpenError::Maps(chain(other)),
    }
}

/// Operations of io_uring are decoded with the history only: experiments know their own.
fn load_programs(
    ebpf: &mut Ebpf,
    btf: &Btf,
    history: bool,
) -> (Vec<&'static str>, Vec<Gap>, Vec<Stratum>) {
    let mut loaded = Vec::new();
    let mut missing: Vec<Gap> = Vec::new();
    for name in ["adopt", "release"] {
        if let Err(why) = load_iterator(ebpf, name, btf) {
            missing.push(Gap::new(
                Stratum::Tasks.as_str(),
                format!("iter/task: {why}"),
            ));
        }
    }
    let wanted = |stratum: Stratum| history || stratum != Stratum::Ring;
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

/// An error with its causes on one line; the verifier's log is cut to its end.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    // The verifier ends with statistics; its reason stands before them.
    let statistics = ["verification time", "stack depth", "processed"];
    let said = |line: &&str| {
        !line.trim().is_empty() && statistics.iter().all(|start| !line.starts_with(start))
    };
    let mut lines: Vec<&str> = text.lines().filter(said).collect();
    if lines.len() > 4 {
        lines.drain(1..lines.len() - 3);
    }
    lines.join("; ")
}
