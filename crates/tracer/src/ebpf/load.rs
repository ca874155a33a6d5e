//! Which programs of the object the kernel accepts: each loads on its own, so that a refusal costs
//! one stratum.

use std::collections::HashMap;

use aya::include_bytes_aligned;
use aya::maps::MapError;
use aya_obj::Object;
use iostrata_core::gap::{Gap, Missing, Reason, Stratum};
use rustix::thread::{CapabilitySet, capabilities};
use zerocopy::IntoBytes as _;

use crate::permission::{filtered, grant};
use crate::stack::Roots;

use super::jobs::{Done, Job, load_all};
use super::made::{Ebpf, Made, NotLoaded, Settings, relocated};
use super::needed::Hooks;
use super::object::{OpenError, chain};
use super::program::{Log, Place, Program};
use super::types::{self, Types};
use super::ways::{self, CHANGES, COMMITS, Changes, EVENTS, Probe};
use super::{Limits, calls, casts, moments, told};

/// The committed objects; `make bpf` rebuilds them from `bpf/`. This one works on every kernel.
static PLAIN: &[u8] = include_bytes_aligned!("plain.bpf.o");
/// For kernels with `bpf_rdonly_cast`, without the payload code.
static CASTS: &[u8] = include_bytes_aligned!("casts.bpf.o");
/// For kernels with `bpf_rdonly_cast`.
static CASTS_LOG: &[u8] = include_bytes_aligned!("casts-log.bpf.o");
/// For the whole machine, in both forms.
static TOP: &[u8] = include_bytes_aligned!("top.bpf.o");
static TOP_PLAIN: &[u8] = include_bytes_aligned!("top-plain.bpf.o");

/// Programs that the loader itself runs, to visit all tasks.
const ITERATORS: [&str; 2] = ["adopt", "look"];
/// The kernel's type names for them.
const ITERATOR: &str = "bpf_iter_task";

pub(super) struct Programs {
    pub(super) ebpf: Ebpf,
    /// Programs that may be attached, and their subjects.
    pub(super) loaded: Vec<(Stratum, Probe)>,
    pub(super) missing: Vec<Gap>,
    pub(super) seen: Vec<Stratum>,
    /// Types of file systems whose changes are all observed.
    pub(super) told: Vec<&'static str>,
}

impl Programs {
    /// Uses the kernel's function for reading where it exists. A kernel may have it and still
    /// refuse a program that calls it; then all programs do without it.
    pub(super) fn load(
        types: &Types,
        limits: &Limits,
        first: Option<Object>,
        made: Result<Made, NotLoaded>,
    ) -> Result<Self, OpenError> {
        let made = made.map_err(|e| not_loaded(&e))?;
        let first = first.map(|object| Self::of(object, types, limits, made));
        let mut first = first.and_then(Result::ok);
        if let Some(programs) = first.take_if(|programs| programs.missing.is_empty()) {
            return Ok(programs);
        }
        let plain = relocated(plain(limits), types)
            .and_then(|object| Self::of(object, types, limits, make(plain(limits), limits)?));
        let plain = plain.map_err(|e| not_loaded(&e))?;
        // A program that this kernel refuses in both forms is no reason to read slowly.
        let as_much = |first: &Self| first.missing.len() <= plain.missing.len();
        Ok(first.filter(as_much).unwrap_or(plain))
    }

    fn of(object: Object, types: &Types, limits: &Limits, made: Made) -> Result<Self, NotLoaded> {
        let mut ebpf = Ebpf::of(object, made)?;
        let Loaded {
            events,
            changes,
            mut missing,
        } = load_programs(&mut ebpf, &types.hooks, limits);
        let mut loaded = Vec::new();
        for (stratum, done) in events {
            match done {
                Ok(way) => loaded.extend(way.probes.iter().map(|probe| (stratum, *probe))),
                Err(why) => missing.push(Gap::new(Missing::Stratum(stratum), Reason::Error(why))),
            }
        }
        let seen: Vec<Stratum> = Stratum::ALL
            .into_iter()
            .filter(|stratum| limits.wants(*stratum))
            .filter(|stratum| {
                missing
                    .iter()
                    .all(|gap| gap.what != Missing::Stratum(*stratum))
            })
            .collect();
        // Half a stratum would give half a figure: drop its other programs too.
        loaded.retain(|(stratum, _)| seen.contains(stratum));
        let mut told = Vec::new();
        if seen.contains(&Stratum::Device) {
            // The programs of a file system stay together: half of its changes would prove nothing.
            for (filesystem, done) in changes {
                let Ok(way) = done else { continue };
                told.push(filesystem);
                loaded.extend(way.probes.iter().map(|probe| (Stratum::Device, *probe)));
            }
        }
        Ok(Self {
            ebpf,
            loaded,
            missing,
            seen,
            told,
        })
    }
}

/// The object's types, the kernel types that it needs, and the attachment points of its programs.
pub(super) fn types(modules: &[&str], limits: &Limits) -> Result<Types, String> {
    let mut hooks = ways::hooks();
    hooks.insert(casts::FUNCTION.as_bytes().to_vec());
    hooks.insert(ITERATOR.as_bytes().to_vec());
    types::read(modules, plain(limits), &hooks, casts::FUNCTION)
}

/// The object for kernels with casts.
fn casting(limits: &Limits) -> &'static [u8] {
    match limits {
        Limits { top: true, .. } => TOP,
        Limits { record: true, .. } => CASTS_LOG,
        _ => CASTS,
    }
}

/// What is loaded where it cannot.
fn plain(limits: &Limits) -> &'static [u8] {
    if limits.top { TOP_PLAIN } else { PLAIN }
}

/// The object that is tried first; `None` where the kernel lacks what it needs.
pub(super) fn first(types: &Types, limits: &Limits) -> Option<Object> {
    if !limits.casts {
        return relocated(plain(limits), types).ok();
    }
    let object = casts::resolve(casting(limits), types)?;
    relocated(&object, types).ok()
}

pub(super) fn maps(limits: &Limits) -> Result<Made, NotLoaded> {
    if limits.casts {
        make(casting(limits), limits)
    } else {
        make(plain(limits), limits)
    }
}

fn make(object: &[u8], limits: &Limits) -> Result<Made, NotLoaded> {
    let (calls, paths) = (calls::table(limits.record), calls::paths(limits.record));
    let (told_by, extras, purposes) = (calls::told(), calls::extras(), calls::purposes());
    let requests = told::requests();
    let flag = |is_set: bool| u32::from(is_set).to_ne_bytes();
    let (history, record) = (flag(limits.history), flag(limits.record));
    let reads = flag(limits.record && limits.reads);
    let every_site = flag(limits.every_site);
    let high_water = u64::from(limits.ring_bytes / 2).to_ne_bytes();
    let constants: [(&str, &[u8], bool); 11] = [
        ("CALLS", calls.as_bytes(), true),
        ("TOLD_BY", told_by.as_bytes(), true),
        ("REQUEST", requests.as_bytes(), true),
        ("PATHS", paths.as_bytes(), true),
        ("EXTRAS", extras.as_bytes(), true),
        ("PURPOSE_OF", purposes.as_bytes(), true),
        ("HISTORY", &history, !limits.top),
        ("RECORD", &record, limits.record),
        ("READS", &reads, limits.record),
        ("EVERY_SITE", &every_site, limits.record),
        ("HIGH_WATER", &high_water, true),
    ];
    let constants = constants.map(|(name, value, is_needed)| (name, (value, is_needed)));
    let settings = Settings {
        constants: HashMap::from(constants),
        entries: sizes(limits),
    };
    Made::of(object, &settings)
}

fn sizes(limits: &Limits) -> HashMap<&'static str, u32> {
    let named = if limits.top {
        limits.files
    } else {
        limits.calls
    };
    let mut sizes = HashMap::from([
        ("named", named),
        ("moments", moments::room(limits.history)),
        ("calls", limits.calls),
        ("cache", limits.files),
        ("lives", limits.files),
        ("block", limits.files),
        ("in_flight", limits.in_flight),
        ("submitted", limits.bios),
        ("events", limits.ring_bytes),
    ]);
    if limits.top {
        // Those of a process tree stay empty.
        sizes.extend([
            ("shares", limits.files),
            ("cache", 1),
            ("lives", 1),
            ("other_calls", 1),
        ]);
    }
    sizes
}

/// Creating a map is the first step that needs privileges, `bpf(2)`.
fn not_loaded(error: &NotLoaded) -> OpenError {
    match error {
        NotLoaded::Map(MapError::CreateError { io_error, .. })
            if refuses(io_error) && is_filtered() =>
        {
            OpenError::Filtered
        }
        NotLoaded::Map(MapError::CreateError { io_error, .. })
            if io_error.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            OpenError::NotPermitted {
                error: io_error.to_string(),
                remedy: grant::here(&Roots::default()).remedy,
            }
        }
        other => OpenError::Maps(chain(other)),
    }
}

/// Filters do this: Docker's with `EPERM`, others with `ENOSYS` for every unknown call.
fn refuses(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

/// Whether this process has a filter, and the capabilities that the kernel requires (`bpf_capable`,
/// include/linux/capability.h).
fn is_filtered() -> bool {
    let able = CapabilitySet::BPF | CapabilitySet::SYS_ADMIN;
    let is_able = capabilities(None).is_ok_and(|sets| sets.effective.intersects(able));
    is_able && filtered::is_filtered()
}

impl Limits {
    /// io_uring operations and names are decoded only for the history: experiments know their own.
    fn wants(&self, stratum: Stratum) -> bool {
        match stratum {
            Stratum::Joins => self.joins,
            Stratum::Ring | Stratum::Names => self.history,
            Stratum::Blocked => !self.top,
            Stratum::Tasks | Stratum::Syscalls | Stratum::PageCache | Stratum::Device => true,
        }
    }
}

/// What the kernel accepted for each event.
struct Loaded {
    events: Vec<(Stratum, Done)>,
    /// By type of file system.
    changes: Vec<(&'static str, Done)>,
    missing: Vec<Gap>,
}

fn load_programs(ebpf: &mut Ebpf, hooks: &Hooks, limits: &Limits) -> Loaded {
    let mut all = ebpf.programs_mut();
    let iterators = ITERATORS.map(|name| (name, all.remove(name)));
    let wanted = EVENTS.iter().filter(|event| limits.wants(event.stratum));
    let strata: Vec<Stratum> = wanted.clone().map(|event| event.stratum).collect();
    // `top` runs for days, and a file system may be mounted meanwhile.
    let of_mounted = |of_one: &&Changes| limits.top || is_mounted(of_one.filesystem);
    let told: &[Changes] = match limits {
        Limits { top: true, .. } => &COMMITS,
        Limits { history: true, .. } => &CHANGES,
        _ => &[],
    };
    let changes = told.iter().filter(of_mounted);
    let filesystems: Vec<&str> = changes.clone().map(|of_one| of_one.filesystem).collect();
    let ways = changes.map(|of_one| of_one.ways);
    let ways = ways.chain(wanted.map(|event| event.ways));
    let jobs = ways.map(|ways| Job::new(ways, &mut all)).collect();
    let mut missing = Vec::new();
    let mut done = load_all(jobs, hooks, limits, || {
        for (name, program) in iterators {
            if let Err(why) = load_iterator(program, hooks) {
                let why = Reason::Error(format!("iter/task, {name}: {why}"));
                missing.push(Gap::new(Missing::Stratum(Stratum::Tasks), why));
            }
        }
    });
    let events = done.split_off(filesystems.len());
    Loaded {
        events: strata.into_iter().zip(events).collect(),
        changes: filesystems.into_iter().zip(done).collect(),
        missing,
    }
}

/// Whether a file system of this type is mounted, in any namespace. Others need no programs, and
/// each program takes some milliseconds to load.
fn is_mounted(kind: &str) -> bool {
    // The kernel's own entries next to the mounted ones (fs/ext4/sysfs.c, fs/xfs/xfs_super.c,
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

fn load_iterator(program: Option<&mut Program>, hooks: &Hooks) -> Result<(), String> {
    let program = program.ok_or("not in the object")?;
    let on = hooks.function(ITERATOR);
    let place = Place::Iterator(on.ok_or("unknown to the kernel's BTF")?);
    program.load(place, Log::IfRefused)
}

#[cfg(test)]
mod tests {
    use super::super::ways::Way;
    use super::*;

    /// The kernel's types are read for whichever object is loaded.
    #[test]
    fn the_plain_object_names_every_structure_that_the_others_read() {
        let of = [(CASTS, PLAIN), (CASTS_LOG, PLAIN), (TOP, TOP_PLAIN)];
        for (object, plain) in of {
            let all = types::names_in(plain).unwrap();
            let named = types::names_in(object).unwrap();
            assert!(named.len() > 20, "{} structures", named.len());
            let absent = named.difference(&all);
            let absent: Vec<_> = absent.collect();
            assert!(absent.is_empty(), "{absent:?}");
        }
    }

    /// Otherwise a refusal of the cast form would only show as a slower trace.
    #[test]
    fn the_kernel_takes_all_programs_in_both_forms() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("loading eBPF programs needs root");
            return;
        }
        let joins = Limits {
            joins: true,
            ..Limits::trace()
        };
        for limits in [Limits::default(), joins, Limits::record(), Limits::top()] {
            let types = types(&types::loaded(), &limits).unwrap();
            let of = |object: &[u8]| {
                let made = make(object, &limits).unwrap();
                let object = relocated(object, &types).unwrap();
                Programs::of(object, &types, &limits, made).unwrap()
            };
            let mut plain = of(plain(&limits));
            assert_eq!(plain.missing, []);
            let Some(object) = casts::resolve(casting(&limits), &types) else {
                crate::skip::skip("the kernel has no bpf_rdonly_cast");
                continue;
            };
            let mut casting = of(&object);
            assert_eq!(casting.missing, []);
            assert_eq!(
                plain.told.contains(&"ext4"),
                limits.top || limits.history && is_mounted("ext4")
            );
            for programs in [&mut plain, &mut casting] {
                // File systems in modules that are not loaded have no tracepoints.
                let known = std::fs::read_to_string("/proc/filesystems").unwrap();
                let mut all = programs.ebpf.programs_mut();
                let changes: &[Changes] = if limits.top { &COMMITS } else { &CHANGES };
                for of_one in changes {
                    let taken = Job::new(of_one.ways, &mut all).load(&types.hooks, &limits);
                    let is_here = known.contains(of_one.filesystem);
                    assert!(
                        !is_here || taken.is_ok(),
                        "{}: {taken:?}",
                        of_one.filesystem
                    );
                }
            }
        }
    }

    /// The verifier gives up when a signal is pending.
    #[test]
    fn signals_do_not_keep_programs_from_loading() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("loading eBPF programs needs root");
            return;
        }
        let limits = Limits::default();
        let types = types(&types::loaded(), &limits).unwrap();
        let object = first(&types, &limits);
        let made = maps(&limits);
        let storm = crate::signals::tests::Storm::begin();
        let programs = Programs::load(&types, &limits, object, made);
        let sent = storm.end();
        assert_eq!(programs.map_err(|e| e.to_string()).unwrap().missing, []);
        assert!(sent > 100, "{sent} signals");
    }

    /// They were attached one after the other before several threads loaded them.
    #[test]
    fn the_order_is_that_of_the_list() {
        let types = types(&types::loaded(), &Limits::default()).unwrap();
        let limits = Limits::trace();
        let object = first(&types, &limits);
        let programs = Programs::load(&types, &limits, object, maps(&limits));
        let programs = programs.map_err(|e| e.to_string());
        let loaded = programs.unwrap().loaded;
        let place = |(_, probe): &(Stratum, Probe)| {
            let has = |way: &Way| way.probes.contains(probe);
            EVENTS.iter().position(|event| event.ways.iter().any(has))
        };
        let places: Vec<usize> = loaded.iter().filter_map(place).collect();
        assert!(
            places.len() >= EVENTS.len() && places.is_sorted(),
            "{places:?}"
        );
    }
}
