//! `lab page-cache` from end to end, without an observer.

use iostrata_core::gap::Reason;
use iostrata_report::words;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use crate::places::{launcher, target};
use crate::undisturbed::undisturbed;
use crate::wait::until;
use iostrata_core::Verdict;
use iostrata_core::page_cache::{PageCacheResult, Parse, Reader, State};
use iostrata_lab::engine::{Progress, Silent, Step, StoppingRule};
use iostrata_lab::error::LabError;
use iostrata_lab::experiment::run;
use iostrata_lab::page_cache::{Plan, Selection};
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::target::Target;

const MIB: u64 = 1 << 20;

fn settings(scratch: &Path) -> RunSettings {
    RunSettings {
        stopping: StoppingRule {
            min_runs: 4,
            max_runs: 4,
            target_width: 0.1,
            budget_s: 10.0,
        },
        effort: Effort::Quick,
        scratch: scratch.to_owned(),
        launcher: launcher(),
        virtualization: None,
        unobserved_because: Reason::Error("no privilege".to_owned()),
    }
}

fn plan(states: &[State], readers: &[Reader], sizes: &[u64], parses: &[Parse]) -> Plan {
    let selection = Selection {
        states: states.to_vec(),
        readers: readers.to_vec(),
        parses: parses.to_vec(),
        sizes_bytes: sizes.to_vec(),
        sleep: None,
        effort: Effort::Quick,
    };
    selection.plan().unwrap()
}

fn run_on(
    plan: &Plan,
    target: Target,
    progress: &mut dyn Progress,
    stop: &dyn Fn() -> bool,
) -> Result<PageCacheResult, LabError> {
    let scratch = tempfile::tempdir().unwrap();
    let result = run(
        plan,
        &settings(scratch.path()),
        &[target],
        None,
        progress,
        stop,
    );
    Ok(of!(PageCache, result?))
}

fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn every_state_is_verified_and_every_read_counted() {
    undisturbed(|| {
        let dir = on_disk();
        let plan = plan(&State::ASKED, &Reader::ALL, &[MIB], &[]);
        let target = target("host", dir.path(), "ext4");
        let result = run_on(&plan, target, &mut Silent, &|| false).unwrap();
        assert!(is_empty(dir.path()), "nothing stays");
        assert_eq!(result.rows.len(), 4 + 4 + 2 + 4 + 3);
        for row in &result.rows {
            let (case, cache) = (row.row.case, row.row.evidence.cache);
            assert!(row.is_as_asked(), "{row:?}");
            assert_eq!(row.row.timing.as_ref().unwrap().samples_s.len(), 4);
            assert_eq!(row.read_bytes, MIB, "{case:?}");
            let before = if case.state == State::Warm { MIB } else { 0 };
            assert_eq!(cache.resident_before_bytes, Some(before), "{case:?}");
            let fetched = row.storage_read_bytes.unwrap();
            match case.state {
                State::Warm => assert_eq!(fetched, 0, "{case:?}"),
                // Reading at random may read ahead.
                _ if case.reader == Reader::PreadRandom => assert!(fetched >= MIB, "{case:?}"),
                _ => assert_eq!(fetched, MIB, "{case:?}"),
            }
            if case.state == State::Direct {
                assert_eq!(cache.resident_after_bytes, Some(0));
            }
            let percentiles = row.latency_s.map(|latency| latency.count);
            let operations = (case.reader == Reader::PreadRandom).then_some(4 * 256);
            assert_eq!(percentiles, operations);
            assert_eq!(row.row.evidence.device, None, "unknown, not 0: {case:?}");
        }
        let cold = &result.rows[0];
        let resident: Vec<u64> = cold
            .series
            .iter()
            .map(|read| read.resident_before_bytes)
            .collect();
        assert_eq!(resident, [0, MIB, MIB], "the first read fills the cache");
        let fetched: Vec<Option<u64>> = cold
            .series
            .iter()
            .map(|read| read.storage_read_bytes)
            .collect();
        assert_eq!(fetched, [Some(MIB), Some(0), Some(0)]);
        let verdict = |part: &str| {
            let found = result
                .answers
                .iter()
                .find(|answer| answer.claim.contains(part));
            found.unwrap().verdict
        };
        assert_eq!(verdict("leaves all of it in the cache"), Verdict::Holds);
        assert_eq!(verdict("cold reads came from"), Verdict::Holds);
        assert!(result.method.own.own_cost_ns.is_some_and(|ns| ns > 0.0));
    });
}

#[test]
fn a_parser_is_told_from_the_reading() {
    undisturbed(|| {
        let dir = on_disk();
        let plan = plan(&[], &[], &[20_000], &Parse::ALL);
        let target = target("host", dir.path(), "ext4");
        let result = run_on(&plan, target, &mut Silent, &|| false).unwrap();
        let parsers: Vec<Parse> = result.own.parsing.iter().map(|line| line.parse).collect();
        assert_eq!(parsers, &Parse::ALL[1..]);
        for line in &result.own.parsing {
            assert!((0.0..=1.0).contains(&line.warm_reading_share), "{line:?}");
            assert!(line.parser_bytes_per_s > 0.0);
        }
    });
}

/// Another process that maps the file as soon as it exists, and keeps all of it.
struct Holder(Child);

impl Holder {
    /// Waits until the process has the file `name` of `dir` mapped.
    fn of(dir: &Path, name: &str) -> (Self, PathBuf) {
        let (file, ready) = (dir.join(name), dir.join("held"));
        let script = "
import mmap, os, sys, time
path, size, ready = sys.argv[1], int(sys.argv[2]), sys.argv[3]
while not (os.path.exists(path) and os.path.getsize(path) == size): time.sleep(0.001)
m = mmap.mmap(os.open(path, os.O_RDONLY), size, prot=mmap.PROT_READ)
sum(m[i] for i in range(0, size, 4096))
open(ready, 'w').close()
time.sleep(60)
";
        let child = Command::new("python3")
            .args(["-c", script])
            .arg(&file)
            .arg(MIB.to_string())
            .arg(&ready)
            .spawn()
            .unwrap();
        (Self(child), ready)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Does not let the timing begin before the file is held.
struct Until<'a>(&'a Path);

impl Progress for Until<'_> {
    fn step(&mut self, step: &Step<'_>) {
        if !step.label.starts_with("timing ") {
            return;
        }
        until(|| self.0.metadata());
    }

    fn line(&mut self, _: &str) {}
    fn failed(&mut self, error: LabError) {
        panic!("{error}");
    }

    fn finished(&mut self) {}
}

#[test]
fn a_file_that_another_process_maps_is_not_called_cold() {
    undisturbed(|| {
        let dir = on_disk();
        let (holder, ready) = Holder::of(dir.path(), &format!("data-{MIB}"));
        let states = [State::Cold, State::Warm, State::Dontcache];
        let plan = plan(&states, &[Reader::Read], &[MIB], &[]);
        let target = target("host", dir.path(), "ext4");
        let result = run_on(&plan, target, &mut Until(&ready), &|| false).unwrap();
        let pid = holder.0.id();
        drop(holder);
        for row in result
            .rows
            .iter()
            .filter(|row| row.asked_state != State::Warm)
        {
            assert_eq!(row.row.case.state, State::Warm, "{row:?}");
            assert_eq!(row.row.evidence.cache.resident_before_bytes, Some(MIB));
            let why = row.not_as_asked.as_deref().unwrap();
            let due = format!("but 100 % stayed resident: mapped by process {pid} (python3)");
            assert!(
                why.starts_with("asked to evict /var/tmp/") && why.ends_with(&due),
                "{why}"
            );
        }
        let saved = serde_json::to_value(&result).unwrap();
        let row = &saved["rows"][0];
        assert_eq!(
            (&row["case"]["state"], &row["asked_state"]),
            (&"warm".into(), &"cold".into())
        );
        let faster = &result.answers[0];
        assert_eq!(faster.verdict, Verdict::Inconclusive);
        assert!(
            faster.because.contains("should be cold but is warm"),
            "{faster:?}"
        );
    });
}

#[test]
fn memory_has_nothing_cold_and_warm_is_measured() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let tmpfs = || target("host", dir.path(), "tmpfs");
    let both = plan(&[State::Cold, State::Warm], &[Reader::Read], &[4096], &[]);
    let result = run_on(&both, tmpfs(), &mut Silent, &|| false).unwrap();
    assert_eq!(result.rows.len(), 1);
    assert_eq!(result.rows[0].row.case.state, State::Warm);
    let gap = &result.missing[0];
    assert_eq!(words::missing(&gap.what).to_string(), "cold on host");
    assert!(
        words::reason(&gap.why)
            .to_string()
            .contains("cannot be evicted"),
        "{gap:?}"
    );

    let cold = plan(&[State::Cold], &[Reader::Read], &[4096], &[]);
    let error = run_on(&cold, tmpfs(), &mut Silent, &|| false).unwrap_err();
    assert!(
        !matches!(error, LabError::Usage(_))
            && error.to_string().contains("nothing can be measured"),
        "{error}"
    );
    assert!(is_empty(dir.path()));
}

#[test]
fn an_interruption_leaves_no_file() {
    let dir = on_disk();
    let plan = plan(&[State::Cold], &[Reader::Read], &[MIB], &[]);
    let target = target("host", dir.path(), "ext4");
    let result = run_on(&plan, target, &mut Silent, &|| true).unwrap();
    assert!(result.rows.is_empty() && result.method.interrupted);
    assert!(is_empty(dir.path()));
}

/// Lines for a user who watches, in the order of the reads.
#[derive(Default)]
struct Lines(Vec<String>);

impl Progress for Lines {
    fn step(&mut self, _: &Step<'_>) {}
    fn line(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
    fn failed(&mut self, error: LabError) {
        panic!("{error}");
    }

    fn finished(&mut self) {}
}

#[test]
fn whoever_asks_for_pauses_sees_each_read() {
    undisturbed(|| {
        let dir = on_disk();
        let mut plan = plan(&[State::Cold], &[Reader::Read], &[MIB], &[]);
        plan.sleep = Some(Duration::from_millis(1));
        let mut lines = Lines::default();
        let target = target("host", dir.path(), "ext4");
        run_on(&plan, target, &mut lines, &|| false).unwrap();
        assert_eq!(lines.0.len(), (1 + 4) * 3);
        let first = &lines.0[0];
        assert!(
            first.starts_with("cold read 1 MiB on host: read 1 "),
            "{first}"
        );
        assert!(
            first.ends_with("from storage 1.0 MiB, resident 1.0 MiB of 1.0 MiB"),
            "{first}"
        );
        assert!(lines.0[1].contains("from storage 0 B"), "{}", lines.0[1]);
    });
}

#[test]
fn what_does_not_fit_is_refused_before_a_byte_is_written() {
    let dir = on_disk();
    let huge = plan(&[State::Cold], &[Reader::Read], &[1 << 50], &[]);
    let target = target("host", dir.path(), "ext4");
    let error = run_on(&huge, target, &mut Silent, &|| false).unwrap_err();
    assert!(matches!(error, LabError::NoSpace { .. }), "{error}");
    assert!(is_empty(dir.path()));
    drop(File::open(dir.path()).unwrap());
}
