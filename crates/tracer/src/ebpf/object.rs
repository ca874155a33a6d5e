//! The loaded object: its maps, and attaching its programs.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::thread::JoinHandle;

use aya::maps::{Array, Map, MapData, MapError, RingBuf};
use iostrata_core::environment::{TRACEPOINTS, Way};
use iostrata_core::gap::{Gap, Missing, Reason, Stratum};
use iostrata_core::halves::at_once;

use super::load::{self, Programs};
use super::made::Ebpf;
use super::skipped::Skipped;
use super::stopping::{NoStops, Stops};
use super::ways::{Hook, Probe};
use super::wire::{Config, END_IOS};
use super::{Limits, program, symbols, types};
use crate::failure;
use crate::permission::filtered;

pub(super) struct Object {
    pub(super) ebpf: Ebpf,
    /// Programs that were loaded and may be attached.
    loaded: Vec<(Stratum, Probe)>,
    links: Vec<OwnedFd>,
    has_run: bool,
    /// Modules whose types and functions are known.
    modules: Vec<&'static str>,
    pub(super) end_io: [u64; END_IOS],
    pub(super) seen: Vec<Stratum>,
    pub(super) missing: Vec<Gap>,
    /// Types of file systems whose changes are all observed.
    pub(super) told: Vec<&'static str>,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the kernel gives no type information ({0}); mount sysfs on /sys, or use a kernel built \
         with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf(String),
    #[error("eBPF is not permitted to this user ({error}); {remedy}")]
    NotPermitted { error: String, remedy: &'static str },
    /// A check before the kernel's own refuses it.
    #[error(
        "a seccomp filter denies bpf(2); in a container, use a profile that allows it (current \
         Docker profiles do with CAP_BPF, older ones only with CAP_SYS_ADMIN) or --security-opt \
         seccomp=unconfined; in a systemd unit, set SystemCallFilter=bpf"
    )]
    Filtered,
    #[error("the kernel rejected the eBPF maps: {0}; iostrata doctor shows what is permitted")]
    Maps(String),
    #[error(
        "the kernel rejected even a minimal eBPF program; iostrata doctor shows what is \
             permitted"
    )]
    Programs,
    #[error(
        "the kernel rejected the eBPF programs that follow processes: {0}; iostrata doctor shows \
         what is permitted"
    )]
    Tasks(String),
}

impl Object {
    pub(super) fn load(limits: &Limits) -> Result<Self, OpenError> {
        if filtered::ends_at_bpf() {
            return Err(OpenError::Filtered);
        }
        // Where the kernel has no symbol lookup, reading the symbols takes longer than everything
        // else.
        let read = || {
            failure::stage("symbols.read");
            symbols::read()
        };
        let addresses = std::thread::Builder::new().spawn(read);
        let modules = types::loaded();
        // Maps take as long as all that needs the kernel's types.
        let typed = || {
            let types = load::types(&modules, limits).map_err(OpenError::NoBtf)?;
            let object = load::first(&types, limits);
            Ok((types, object))
        };
        let (typed, made) = at_once(typed, || load::maps(limits));
        let (types, object) = typed?;
        let Programs {
            mut ebpf,
            loaded,
            mut missing,
            seen,
            told,
        } = Programs::load(&types, limits, object, made)?;
        if !seen.contains(&Stratum::Tasks) {
            if !program::takes_any() {
                return Err(OpenError::Programs);
            }
            let why = missing
                .iter()
                .find(|gap| gap.what == Missing::Stratum(Stratum::Tasks));
            return Err(OpenError::Tasks(
                why.map_or_else(String::new, |gap| gap.why.text()),
            ));
        }
        ebpf.keep_loaded();
        // Without another thread it only takes longer.
        let read = addresses.map_or_else(|_refused| Ok(read()), JoinHandle::join);
        let (end_io, why) = match read {
            Ok(end_io) => (end_io, Reason::AddressesHidden),
            Err(panic) => {
                let defect = failure::message(&*panic);
                (Default::default(), Reason::AddressesUnread { defect })
            }
        };
        if !symbols::known(&end_io) {
            missing.push(Gap::new(Missing::JournalFunctions, why));
        }
        Ok(Self {
            ebpf,
            loaded,
            links: Vec::new(),
            has_run: false,
            modules,
            end_io,
            seen,
            missing,
            told,
        })
    }

    /// The ring, mapped only while it is read: each of its pages counts twice as resident.
    pub(super) fn ring(&self) -> Result<RingBuf<MapData>, MapError> {
        let Some(Map::RingBuf(map)) = self.ebpf.map("events") else {
            return Err(absent("events"));
        };
        RingBuf::try_from(Map::RingBuf(MapData::from_fd(another(map)?)?))
    }

    /// The number of stops of each process, from now on: one entry per process.
    pub(super) fn stops(&mut self) -> Result<Stops, MapError> {
        let fd = self.stops_fd()?;
        let mut stops = Stops::try_from(Map::HashMap(MapData::from_fd(fd)?))?;
        let before: Vec<u32> = stops.keys().filter_map(Result::ok).collect();
        for process in before {
            stops.remove(&process)?;
        }
        Ok(stops)
    }

    pub(super) fn stops_fd(&self) -> Result<OwnedFd, MapError> {
        match self.ebpf.map("stops") {
            Some(Map::HashMap(map)) => another(map),
            _ => Err(absent("stops")),
        }
    }

    /// The switch that ends all stopping; processes are stopped from now on.
    pub(super) fn no_stops(&self) -> Result<NoStops, MapError> {
        let Some(Map::Array(map)) = self.ebpf.map("no_stops") else {
            return Err(absent("no_stops"));
        };
        let mut switch = NoStops::try_from(Map::Array(MapData::from_fd(another(map)?)?))?;
        switch.set(0, 0, 0)?;
        Ok(switch)
    }

    pub(super) fn configure(&mut self, config: Config) -> Result<(), MapError> {
        let map = self
            .ebpf
            .map_mut("config")
            .ok_or_else(|| absent("config"))?;
        Array::<_, Config>::try_from(map)?.set(0, config, 0)
    }

    /// Whether its programs have run, so that its tables may have entries.
    pub(super) fn has_run(&self) -> bool {
        self.has_run
    }

    pub(super) fn attach(&mut self) -> io::Result<()> {
        self.has_run = true;
        for (_, probe) in &self.loaded {
            if failure::is_silenced(probe.program) {
                continue;
            }
            if let Some(program) = self.ebpf.program(probe.program) {
                let on = CString::new(probe.on)?;
                let named = matches!(probe.hook, Hook::Raw).then_some(on.as_c_str());
                let link = program.attach(named).map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", probe.name()))
                })?;
                self.links.push(link);
            }
        }
        Ok(())
    }

    /// Modules loaded since then, whose types are unknown here.
    pub(super) fn new_modules(&self) -> Vec<&'static str> {
        let mut new = types::loaded();
        new.retain(|name| !self.modules.contains(name));
        new
    }

    /// The resulting gaps, each once.
    pub(super) fn missing_of_new_modules(&mut self) {
        for module in self.new_modules() {
            let module = module.to_string();
            let gap = Gap::new(Missing::FileSystem { module }, Reason::ModuleLoadedLate);
            if !self.missing.contains(&gap) {
                self.missing.push(gap);
            }
        }
    }

    pub(super) fn ways(&self) -> Vec<Way> {
        let way = |stratum: &Stratum| Way {
            what: stratum.as_str().to_owned(),
            by: way_of(*stratum, &self.loaded),
        };
        self.seen.iter().map(way).collect()
    }

    /// Runs of each program that the kernel has skipped since it was loaded
    /// (`bpf_prog_show_fdinfo`, kernel/bpf/syscall.c).
    pub(super) fn skipped(&self) -> Skipped {
        let misses = |(stratum, probe): &(Stratum, Probe)| {
            let program = self.ebpf.program(probe.program)?;
            let fd = program.fd()?.as_raw_fd();
            let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
            let value = text
                .lines()
                .find_map(|line| line.strip_prefix("recursion_misses:"))?;
            Some((*stratum, *probe, value.trim().parse().ok()?))
        };
        // A program may have several attachment points; its skips are counted in total.
        let mut told = BTreeSet::new();
        let programs = self.loaded.iter();
        let programs = programs.filter(|(_, probe)| told.insert(probe.program));
        programs.filter_map(misses).collect()
    }

    pub(super) fn detach(&mut self) {
        self.links.clear();
    }

    /// Runs a task iterator to its end.
    pub(super) fn iterate(&self, name: &str) -> Result<(), String> {
        let program = self.ebpf.program(name);
        let program = program.ok_or_else(|| format!("no program {name}"))?;
        let mut file = program.iterate().map_err(|e| e.to_string())?;
        io::copy(&mut file, &mut io::sink())
            .map(|_| ())
            .map_err(|e| e.to_string())
    }
}

fn another(map: &MapData) -> Result<OwnedFd, MapError> {
    let fd = map.fd().as_fd().try_clone_to_owned();
    fd.map_err(|io_error| {
        MapError::SyscallError(aya::sys::SyscallError {
            call: "dup",
            io_error,
        })
    })
}

pub(super) fn absent(map: &str) -> MapError {
    MapError::InvalidName {
        name: map.to_owned(),
    }
}

/// The tracepoints in use, and the functions where a tracepoint is missing.
fn way_of(stratum: Stratum, loaded: &[(Stratum, Probe)]) -> String {
    let of_stratum = loaded.iter().filter(|(of, _)| *of == stratum);
    let (mut tracepoints, mut functions) = (false, Vec::new());
    for (_, probe) in of_stratum {
        match probe.hook {
            Hook::Tracepoint | Hook::Raw => tracepoints = true,
            Hook::Entry | Hook::Exit => functions.push(probe.on),
        }
    }
    let functions = functions.join(", ");
    match (tracepoints, functions.is_empty()) {
        (_, true) => TRACEPOINTS.to_owned(),
        (true, false) => format!("{TRACEPOINTS}, and the functions {functions}"),
        (false, false) => format!("the functions {functions}"),
    }
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
    // The verifier's log ends with statistics; its reason precedes them.
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
