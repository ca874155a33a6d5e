//! Loads programs, several at a time.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::Limits;
use super::needed::Hooks;
use super::program::{Log, Place, Program};
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
    hooks: &Hooks,
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
    pub(super) fn load(&mut self, hooks: &Hooks, limits: &Limits) -> Done {
        // A refusal with its reason takes twice as long, and where another way works nobody reads it.
        for way in self.ways {
            if load_way(&mut self.programs, way, hooks, limits, Log::None).is_ok() {
                return Ok(way);
            }
        }
        let mut refused = Vec::new();
        for way in self.ways {
            match load_way(&mut self.programs, way, hooks, limits, Log::IfRefused) {
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
    hooks: &Hooks,
    limits: &Limits,
    log: Log,
) -> Result<(), String> {
    for probe in way.probes {
        let name = probe.name();
        if limits.without.contains(&name.as_str()) {
            return Err(format!("{name}: not to be used"));
        }
        let program = programs
            .get_mut(probe.program)
            .map(|program| &mut **program);
        load_one(program, probe, hooks, log).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

fn load_one(
    program: Option<&mut Program>,
    probe: &Probe,
    hooks: &Hooks,
    log: Log,
) -> Result<(), String> {
    let program = program.ok_or("not in the object")?;
    program.load(place(probe, hooks)?, log)
}

fn place(probe: &Probe, hooks: &Hooks) -> Result<Place, String> {
    let unknown = |name: &str| format!("unknown BTF type `{name}`");
    let tracepoint = || {
        let name = format!("{TRACEPOINT}{}", probe.on);
        hooks.tracepoint(&name).ok_or_else(|| unknown(&name))
    };
    let function = || hooks.function(probe.on).ok_or_else(|| unknown(probe.on));
    Ok(match probe.hook {
        Hook::Tracepoint => Place::Tracepoint(tracepoint()?),
        Hook::Raw => {
            // The kernel looks for it only when the program is attached.
            tracepoint()?;
            Place::Raw
        }
        Hook::Entry => Place::Entry(function()?),
        Hook::Exit => Place::Exit(function()?),
    })
}
