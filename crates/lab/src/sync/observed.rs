//! The evidence pass: a run of each case, watched second by second.

use iostrata_core::evidence::{CallCount, DeviceCounts, Evidence, RawEvidence};
use iostrata_core::observe::{Observation, Observer, Stream};
use iostrata_core::sync::{Call, Counted, Second};

use super::item::{Item, Length};
use super::job::{SyncJob, SyncReport};
use crate::engine::{KernelFile, Work, Workload, observed_file};
use crate::error::LabError;
use crate::session::{
    Item as _, Observed, Session, evidence, other_calls, settle, sync_file_system,
};
use crate::target::Target;

/// The stretches of an observed run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretches {
    pub(super) count: usize,
    pub(super) length: Length,
    /// Whether each is told as it ends.
    pub(super) live: bool,
}

/// Runs one item under the observer; without one, takes what any process can see.
pub(super) fn observe(
    session: &mut Session<'_>,
    item: &Item<'_>,
    stretches: Stretches,
) -> Result<Observed<Counted>, LabError> {
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
    Ok(summarised(
        session,
        item,
        done,
        observation.as_ref(),
        &identities,
    ))
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
    workload: &mut Workload<SyncJob>,
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
        let report = workload.go(session.stop)?;
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
    observation: Option<&Observation>,
    identities: &[KernelFile],
) -> Observed<Counted> {
    let mut observed: Observed<Counted> = match &done.work {
        Some(work) => Observed::of(session, item.target, identities, work, observation),
        None => Observed::default(),
    };
    if let Some(observation) = observation {
        count_sync(item.case.call, &observation.raw, &mut observed.evidence);
    }
    observed.notes = done.notes;
    let syncs = done.syncs;
    let mut expected = vec![("pwrite64", syncs, syncs * item.case.size_bytes)];
    match item.case.call {
        Call::ODsync | Call::OSync => {}
        call => expected.push((call.as_str(), syncs, 0)),
    }
    let seen = observed.evidence.syscalls.as_ref();
    let calls = other_calls("the case", expected, seen);
    observed.notes.extend(calls);
    observed.notes.extend(reads(&observed.evidence, syncs));
    observed.found.observed_syncs = syncs;
    observed.found.seconds = done.seconds;
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

/// Reads mean that a block was not in memory when a part of it was written.
fn reads(evidence: &Evidence, syncs: u64) -> Option<String> {
    let device = evidence.device.as_ref()?;
    (device.reads.count > syncs / 100).then(|| {
        format!(
            "{} requests read: a write had to fetch its block, or the file system its metadata",
            device.reads.count
        )
    })
}
