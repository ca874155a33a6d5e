//! Loads programs, several at a time.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use aya::Btf;
use aya::programs::{BtfTracePoint, FEntry, FExit, Program, ProgramError, RawTracePoint};
use aya_obj::btf::BtfKind;

use super::Limits;
use super::object::chain;
use super::types::TRACEPOINT;
use super::ways::{Hook, Probe, Way};

/// Programs loaded one after the other: those of an event, or of a file system's changes. No
/// program belongs to two jobs.
pub(super) struct Job<'a> {
    ways: &'static [Way],
    programs: HashMap<&'static str, &'a mut Program>,
}

/// The outcome: the way used, or why none worked.
pub(super) type Done = Result<&'static Way, String>;

/// Loads all programs, on as many threads as there are CPUs: the kernel verifies programs of
/// privileged users without a lock (`bpf_check`, kernel/bpf/verifier.c). Results are in the order
/// of the jobs.
pub(super) fn load_all(
    jobs: Vec<Job<'_>>,
    hooks: &Btf,
    limits: &Limits,
    besides: impl FnOnce(),
) -> Vec<Done> {
    let count = jobs.len();
    // The last jobs are the largest, and start first.
    let left = Mutex::new(jobs.into_iter().enumerate().collect::<Vec<_>>());
    let work = || {
        let mut done = Vec::new();
        loop {
            let next = left.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some((number, mut job)) = next else { break };
            done.push((number, job.load(hooks, limits)));
        }
        done
    };
    let failed = "the thread that loads it has failed";
    let mut all: Vec<Done> = (0..count).map(|_| Err(failed.to_owned())).collect();
    thread::scope(|scope| {
        let cpus = thread::available_parallelism().map_or(1, NonZero::get);
        // Without another thread loading only takes longer.
        let helpers: Vec<_> = (1..cpus.min(MOST_THREADS))
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        // First: afterwards the other threads would wait for it.
        besides();
        let mut done = work();
        let others = helpers.into_iter().filter_map(|helper| helper.join().ok());
        done.extend(others.flatten());
        for (number, one) in done {
            all[number] = one;
        }
    });
    all
}

/// More threads would be idle: the largest program takes a fifth of the total time.
const MOST_THREADS: usize = 4;

impl<'a> Job<'a> {
    pub(super) fn new(ways: &'static [Way], all: &mut HashMap<String, &'a mut Program>) -> Self {
        let probes = ways.iter().flat_map(|way| way.probes);
        let programs = probes.filter_map(|probe| Some((probe.program, all.remove(probe.program)?)));
        Self {
            ways,
            programs: programs.collect(),
        }
    }

    /// Loads the first way that the kernel accepts completely. Fails with the kernel's message for
    /// each way.
    pub(super) fn load(&mut self, hooks: &Btf, limits: &Limits) -> Done {
        let mut refused = Vec::new();
        for way in self.ways {
            match load_way(&mut self.programs, way, hooks, limits) {
                Ok(()) => return Ok(way),
                Err(why) => refused.push(why),
            }
        }
        Err(refused.join("; "))
    }
}

fn load_way(
    programs: &mut HashMap<&'static str, &mut Program>,
    way: &Way,
    hooks: &Btf,
    limits: &Limits,
) -> Result<(), String> {
    for probe in way.probes {
        let name = probe.name();
        if limits.without.contains(&name.as_str()) {
            return Err(format!("{name}: not to be used"));
        }
        let program = programs
            .get_mut(probe.program)
            .map(|program| &mut **program);
        load_one(program, probe, hooks).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

fn load_one(program: Option<&mut Program>, probe: &Probe, btf: &Btf) -> Result<(), String> {
    let program = program.ok_or("not in the object")?;
    let wrong = |e: ProgramError| chain(&e);
    match probe.hook {
        Hook::Tracepoint => {
            let program: &mut BtfTracePoint = program.try_into().map_err(wrong)?;
            load_anew(program, |program| program.load(probe.on, btf))
        }
        Hook::Raw => {
            // The target is looked up only when the program is attached.
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

/// A program may belong to a way that was tried before.
fn load_anew<P>(
    program: &mut P,
    load: impl FnOnce(&mut P) -> Result<(), ProgramError>,
) -> Result<(), String> {
    match load(program) {
        Ok(()) | Err(ProgramError::AlreadyLoaded) => Ok(()),
        Err(error) => Err(chain(&error)),
    }
}
