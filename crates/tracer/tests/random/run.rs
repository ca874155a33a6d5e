//! Runs `workloads/random` under two observers at once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostrata_core::environment::Backend;
use iostrata_core::gap::{Countable, Gap, Reason};
use iostrata_core::observe::{Observation, Observer as _, Stream};
use iostrata_core::op::FileId;
use iostrata_core::timing::seconds;
use iostrata_core::trace::{Facts, NamedFile, assemble, direction};
use iostrata_report::words;
use iostrata_tracer::clock::now_ns;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::ptrace::{Session, Stops};
use iostrata_tracer::{aftermath, machine};

use crate::ground::{Ground, program};
use crate::tally::{Row, Tally, Thing};
use crate::wait::until;
use crate::witness::witness;

/// Number of seeds run one after the other under both observers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeds {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// One run, as both saw it.
pub(crate) struct Seen {
    pub(crate) one: Tally,
    pub(crate) other: Tally,
    /// The last name of each file that the run changed and left.
    pub(crate) last: Last,
    /// Gaps that the eBPF side reports in its names.
    pub(crate) gaps: Vec<Gap>,
    /// Laws that do not hold in the result of an observer.
    pub(crate) broken: Vec<String>,
}

/// The source of the figures.
pub(crate) enum Last {
    /// The first observer; the file system is the witness.
    ByOne(Vec<(Thing, String)>),
    /// Both observers.
    ByBoth(Vec<(Thing, String)>, Vec<(Thing, String)>),
}

/// Under eBPF and strace.
pub(crate) fn with_strace(observer: &mut EbpfObserver, ground: &Ground, seeds: Seeds) -> Seen {
    let (words, go) = words_of(ground, seeds);
    let trace = ground.scratch.path().join("trace");
    let strace = Command::new("strace")
        .args(["-f", "-y", "-s", "200", "-o"])
        .arg(&trace)
        .args(&words)
        .stdin(Stdio::null())
        .spawn()
        .expect("strace");
    let mut strace = Killed(strace);
    let pid = wait_for("the program", || waiting_child(strace.0.id()));
    let started_ns = now_ns();
    observer.start(pid, Stream::default()).expect("a session");
    say_go(&go);
    let status = strace.0.wait().expect("strace has ended");
    assert!(status.success(), "{seeds:?}: {status}");
    let observation = end(observer);
    let times = || started_ns..now_ns();
    let trace = std::fs::read_to_string(&trace).expect("its trace");
    Seen {
        one: tally(&observation, &go),
        other: witness(&trace),
        last: Last::ByOne(last_names(&observation)),
        gaps: gaps(&observation),
        broken: broken(observation, Backend::Ebpf, times()),
    }
}

/// Under eBPF and ptrace.
pub(crate) fn with_ptrace(
    observer: &mut EbpfObserver,
    ground: &Ground,
    seeds: Seeds,
    stops: Stops,
) -> Seen {
    let (mut words, go) = words_of(ground, seeds);
    let started_ns = now_ns();
    // ptrace cannot see these, and reports that.
    words.push("without-rings".into());
    let session = match stops {
        Stops::Io => {
            let session = Session::start(&words, stops).expect("a program");
            wait_for("the program", || is_waiting(session.pid()).then_some(()));
            observer
                .start(session.pid(), Stream::default())
                .expect("a session");
            session
        }
        Stops::All => {
            let mut program = Command::new(&words[0]);
            let program = program.args(&words[1..]).stdin(Stdio::null());
            let pid = program.spawn().expect("the program").id();
            wait_for("the program", || is_waiting(pid).then_some(()));
            observer.start(pid, Stream::default()).expect("a session");
            Session::adopt(&[pid]).expect("its tracer")
        }
    };
    say_go(&go);
    let outcome = session.wait().expect("it has ended");
    let status = outcome.status.expect("how it ended");
    assert!(status.success(), "{seeds:?}: {status}");
    let observation = end(observer);
    let times = || started_ns..now_ns();
    Seen {
        one: tally(&outcome.observation, &go),
        other: tally(&observation, &go),
        last: Last::ByBoth(last_names(&outcome.observation), last_names(&observation)),
        gaps: gaps(&observation),
        broken: [
            broken(outcome.observation, Backend::Ptrace, times()),
            broken(observation, Backend::Ebpf, times()),
        ]
        .concat(),
    }
}

/// The result's laws that do not hold; both observers saw the whole of `times`, which begins and ends in nanoseconds
/// of `CLOCK_MONOTONIC`.
fn broken(observation: Observation, backend: Backend, times: Range<u64>) -> Vec<String> {
    let Observation { raw, seen, .. } = observation;
    let mut seen = seen.expect("names");
    let cache = raw.cache.as_deref().unwrap_or_default();
    aftermath::name_mapped(&mut seen, cache);
    let at_exit = aftermath::at_exit(&seen, &raw);
    let storage = aftermath::storage(&seen.names, &raw);
    let facts = Facts {
        environment: machine::environment(Path::new("."), backend).expect("the machine"),
        command: Vec::new(),
        adopted: None,
        attached: None,
        exit_code: Some(0),
        signal: None,
        started_ns: times.start,
        wall_s: seconds(times.end - times.start),
        storage,
        at_exit,
        residency: BTreeMap::new(),
        lower: None,
        missing: Vec::new(),
    };
    let audit = assemble(raw, seen, facts).audit;
    assert!(!audit.is_empty(), "no law was judged of {backend:?}");
    let broken = audit.iter().filter(|judged| !judged.holds);
    let words = broken.map(|judged| format!("{backend:?}: {}", words::broken(judged)));
    words.collect()
}

pub(crate) fn words_of(ground: &Ground, seeds: Seeds) -> (Vec<OsString>, PathBuf) {
    let go = ground.scratch.path().join(format!("go-{}", seeds.first));
    if !go.exists() {
        rustix::fs::mkfifoat(rustix::fs::CWD, &go, rustix::fs::Mode::RWXU).expect("a FIFO");
    }
    let words = vec![
        program().into_os_string(),
        ground.dir.clone().into_os_string(),
        ground.other.clone().into_os_string(),
        seeds.first.to_string().into(),
        seeds.count.to_string().into(),
        go.clone().into_os_string(),
    ];
    (words, go)
}

/// The program waits for a FIFO to be opened (`wait_for_partner`, fs/pipe.c).
fn is_waiting(pid: u32) -> bool {
    let at = std::fs::read_to_string(format!("/proc/{pid}/wchan"));
    at.is_ok_and(|at| at == "wait_for_partner")
}

fn waiting_child(parent: u32) -> Option<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(path).ok()?;
    let mut children = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    children.find(|pid| is_waiting(*pid))
}

fn say_go(go: &Path) {
    drop(
        std::fs::File::options()
            .write(true)
            .open(go)
            .expect("the FIFO"),
    );
}

/// Opens the FIFO as soon as the program does.
pub(crate) fn open_go(go: PathBuf) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || say_go(&go))
}

fn wait_for<T>(what: &str, mut come: impl FnMut() -> Option<T>) -> T {
    until(|| come().ok_or(what))
}

fn end(observer: &mut EbpfObserver) -> Observation {
    wait_for("the end of all its tasks", || {
        (observer.alive().expect("the tree") == 0).then_some(())
    });
    observer.program_ended().expect("the end");
    observer.stop().expect("the evidence")
}

/// iostrata's counts, without the calls that the program makes to wait for its observers.
fn tally(observation: &Observation, go: &Path) -> Tally {
    let losses = &observation.raw.losses;
    // Gaps in names are reported separately: calls and bytes are complete without them.
    assert_eq!(losses.total(), losses.history, "{losses:?}");
    let seen = observation.seen.as_ref().expect("names");
    let mut tally = Tally::default();
    let mut things = std::collections::HashMap::new();
    for named in &seen.names {
        let path = String::from_utf8_lossy(&named.path).into_owned();
        if named.path == go.as_os_str().as_bytes() {
            things.insert(named.file, None);
            continue;
        }
        let thing = thing_named(named, &path);
        if let Thing::File { .. } = thing {
            tally.name(&thing, &path);
        }
        things.insert(named.file, Some(thing));
    }
    for row in observation.raw.syscalls.iter().flatten() {
        let thing = match row.file {
            None => Thing::Nothing,
            Some(file) => match things.get(&file) {
                Some(None) => continue,
                Some(Some(thing)) => thing.clone(),
                None => thing_of(file, ""),
            },
        };
        let counted = Row {
            count: row.count,
            errors: row.errors,
            bytes: direction(row.name).map_or(0, |_| row.returned),
        };
        tally.add(&thing, row.name, row.is_source, counted);
    }
    tally
}

/// In the form of stat(2).
fn thing_named(named: &NamedFile, path: &str) -> Thing {
    let (device, inode) = named.shown;
    let shown = FileId {
        device,
        inode,
        ..named.file
    };
    thing_of(shown, path)
}

fn thing_of(file: FileId, path: &str) -> Thing {
    if path.starts_with("anon_inode:") {
        return Thing::Kind(path.to_owned());
    }
    Thing::File {
        device: file.device,
        inode: file.inode,
        generation: file.generation,
    }
}

fn gaps(observation: &Observation) -> Vec<Gap> {
    let seen = observation.seen.as_ref().expect("names");
    let missing = seen.missing.iter().chain(&observation.raw.missing);
    let lost = observation.raw.losses.history;
    let lost = Gap::counted(lost, Countable::StepsOrNames, Reason::RingFull);
    missing.cloned().chain(lost).collect()
}

/// Names are followed to the end for files that a run changes.
fn last_names(observation: &Observation) -> Vec<(Thing, String)> {
    let seen = observation.seen.as_ref().expect("names");
    let is_left = |file| {
        seen.followed
            .files
            .get(&file)
            .is_some_and(|life| !life.unlinked)
    };
    let names = seen
        .names
        .iter()
        .filter(|named| is_left(named.file))
        .map(|named| {
            let renamed = seen.followed.renamed_to.get(&named.file);
            let path = String::from_utf8_lossy(renamed.unwrap_or(&named.path));
            (thing_named(named, &path), path.into_owned())
        });
    names.collect()
}

/// Ended even when a test fails.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
