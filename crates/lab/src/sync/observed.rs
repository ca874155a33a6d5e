//! The evidence pass: a run of each case, watched second by second.

use iostrata_core::Gap;
use iostrata_core::evidence::{CallCount, DeviceCounts, Evidence, RawEvidence};
use iostrata_core::observe::{Observation, Observer, Stream};
use iostrata_core::sync::{Call, Second};

use super::item::{Item, Length, stretch};
use super::job::SyncReport;
use crate::engine::{KernelFile, Work, Workload, observed_file};
use crate::error::LabError;
use crate::session::{Session, evidence, settle, sync_file_system, unobserved};
use crate::target::Target;

/// What the evidence pass gave for one item.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) evidence: Evidence,
    pub(super) syncs: u64,
    pub(super) seconds: Vec<Second>,
    /// Requests of others on the same disks.
    pub(super) other_requests: Option<u64>,
    pub(super) notes: Vec<String>,
}

/// The stretches of an observed run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretches {
    pub(super) count: usize,
    pub(super) length: Length,
    /// Whether each is told as it ends.
    pub(super) live: bool,
}

impl Observed {
    /// Of an item that was not observed any more.
    pub(super) fn interrupted() -> Self {
        let why = "the run was interrupted before this row was observed";
        let missing = vec![Gap::new("kernel evidence", why)];
        Self {
            evidence: Evidence {
                missing,
                ..Evidence::default()
            },
            ..Self::default()
        }
    }
}

/// Runs one item under the observer; without one, takes what any process can see.
pub(super) fn observe(
    session: &mut Session<'_>,
    item: &Item<'_>,
    stretches: Stretches,
) -> Result<Observed, LabError> {
    session.ledger.step(&format!("observing {}", item.label()));
    let target = item.target;
    let files = item.files();
    let mut workload = session.start(&item.job(session, &files, stretches.length))?;
    let mut identities = Vec::new();
    for file in &files.0 {
        let identity = observed_file(file.path())
            .map_err(|error| LabError::io(format!("look up {}", file.path().display()), error))?;
        identities.push(identity);
    }
    // What earlier runs left to write back is not this one's.
    sync_file_system(&target.dir)?;
    let process = workload.pid();
    let (done, observation) = session.watched(
        process,
        Stream::default(),
        |session, observer| {
            watch(
                session,
                item,
                stretches,
                &mut workload,
                observer,
                &identities,
            )
        },
        &|| settle(&target.dir),
    )?;
    workload.exit()?;
    files.remove()?;
    Ok(summarised(session, item, done, observation, &identities))
}

/// The stretches one after the other.
struct Done {
    work: Option<Work>,
    syncs: u64,
    seconds: Vec<Second>,
    notes: Vec<String>,
}

fn watch(
    session: &mut Session<'_>,
    item: &Item<'_>,
    stretches: Stretches,
    workload: &mut Workload,
    mut observer: Option<&mut dyn Observer>,
    identities: &[KernelFile],
) -> Result<Done, LabError> {
    let mut done = Done {
        work: None,
        syncs: 0,
        seconds: Vec::new(),
        notes: Vec::new(),
    };
    let mut before = Some(DeviceCounts::default());
    for number in 1..=stretches.count {
        let report = stretch(workload, session)?;
        let now = match &mut observer {
            Some(observer) => charged(observer.requests_so_far()?, item.target, identities),
            None => None,
        };
        let second = second(&report, before.as_ref(), now.as_ref());
        before = now;
        if stretches.live {
            session.ledger.line(&line(item, number, &second));
        }
        done.syncs += report.syncs;
        done.seconds.push(second);
        done.work = Some(done.work.map_or(report.work, |sum| sum.and(&report.work)));
        if number == 1 {
            done.notes.extend(report.not_as_asked);
        }
        if report.full {
            if number < stretches.count {
                done.notes.push(format!(
                    "the file had no more room after {number} of {} stretches",
                    stretches.count
                ));
            }
            break;
        }
    }
    Ok(done)
}

fn charged(
    rows: Option<Vec<iostrata_core::evidence::BlockRow>>,
    target: &Target,
    identities: &[KernelFile],
) -> Option<DeviceCounts> {
    let raw = RawEvidence {
        block: Some(rows?),
        ..RawEvidence::default()
    };
    evidence(&raw, target, identities).0.device
}

/// `before` and `now` are the counts around the stretch.
fn second(
    report: &SyncReport,
    before: Option<&DeviceCounts>,
    now: Option<&DeviceCounts>,
) -> Second {
    let since = |pick: fn(&DeviceCounts) -> u64| Some(pick(now?).saturating_sub(pick(before?)));
    Second {
        lasted_s: report.work.sample.real_s,
        syncs: report.syncs,
        data: since(|counts| counts.data.count),
        journal: since(|counts| counts.journal.count),
        commit: since(|counts| counts.commit.count),
        metadata: since(|counts| counts.metadata.count),
        flushes: since(|counts| counts.flushes),
    }
}

/// `fsync append 1 KiB on ext4, second 3: 3,021 syncs/s; requests/s: 3,021 data, ...`.
fn line(item: &Item<'_>, number: usize, second: &Second) -> String {
    let rate = |count: u64| rounded(second.per_s(count));
    let syncs = rate(second.syncs);
    let requests = [
        (second.data, "data"),
        (second.journal, "journal"),
        (second.commit, "commit"),
        (second.metadata, "metadata"),
        (second.flushes, "flushes"),
    ];
    let seen: Option<Vec<String>> = requests
        .iter()
        .map(|(count, name)| Some(format!("{} {name}", rate((*count)?))))
        .collect();
    let requests = seen.map_or_else(
        || "device requests not seen".to_owned(),
        |seen| format!("requests/s: {}", seen.join(", ")),
    );
    format!(
        "{}, second {number}: {syncs} syncs/s; {requests}",
        item.label()
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to u64 saturates, and a rate is not negative"
)]
fn rounded(rate: f64) -> String {
    iostrata_core::bytes::grouped(rate.round() as u64)
}

fn summarised(
    session: &Session<'_>,
    item: &Item<'_>,
    done: Done,
    observation: Option<Observation>,
    identities: &[KernelFile],
) -> Observed {
    let mut observed = Observed {
        syncs: done.syncs,
        seconds: done.seconds,
        notes: done.notes,
        ..Observed::default()
    };
    match (observation, done.work) {
        (Some(observation), _) => {
            let raw = &observation.raw;
            (observed.evidence, observed.other_requests) = evidence(raw, item.target, identities);
            count_sync(item.case.call, raw, &mut observed.evidence);
        }
        (None, Some(work)) => {
            observed.evidence = unobserved(&work, &session.run.unobserved_because);
        }
        (None, None) => {}
    }
    let calls = unexpected_calls(item, observed.syncs, &observed.evidence);
    observed.notes.extend(calls);
    observed.notes.extend(reads(&observed));
    observed
}

/// `sync`(2) names no file, so it is charged to nobody: here only the case makes it.
fn count_sync(call: Call, raw: &RawEvidence, evidence: &mut Evidence) {
    let Some(calls) = evidence.syscalls.as_mut().filter(|_| call == Call::Sync) else {
        return;
    };
    let mut sum = CallCount::default();
    for row in raw
        .syscalls
        .iter()
        .flatten()
        .filter(|row| row.name == "sync")
    {
        sum.count += row.count;
        sum.errors += row.errors;
        sum.time_s += row.time_ns as f64 / 1e9;
    }
    calls.insert("sync".to_owned(), sum);
}

/// Says where the kernel counted other calls than the case must make.
fn unexpected_calls(item: &Item<'_>, syncs: u64, evidence: &Evidence) -> Vec<String> {
    let Some(seen) = &evidence.syscalls else {
        return Vec::new();
    };
    let mut expected = vec![("pwrite64", syncs, syncs * item.case.size_bytes)];
    match item.case.call {
        Call::ODsync | Call::OSync => {}
        call => expected.push((call.as_str(), syncs, 0)),
    }
    let differing = expected.into_iter().filter_map(|(name, count, bytes)| {
        let call = seen.get(name).copied().unwrap_or_default();
        ((call.count, call.bytes) != (count, bytes)).then(|| {
            format!(
                "the case makes {count} {name} calls with {bytes} bytes, but {} with {} bytes were counted",
                call.count, call.bytes
            )
        })
    });
    differing.collect()
}

/// Reads mean that a block was not in memory when a part of it was written.
fn reads(observed: &Observed) -> Option<String> {
    let device = observed.evidence.device.as_ref()?;
    (device.reads.count > observed.syncs / 100).then(|| {
        format!(
            "{} requests read: a write had to fetch its block, or the file system its metadata",
            device.reads.count
        )
    })
}
