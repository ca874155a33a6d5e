//! The evidence pass: a run of each case, watched second by second.

use iostrata_core::evidence::{
    Cause, DeviceCounts, Evidence, RawEvidence, RequestsPer, SyscallRow,
};
use iostrata_core::observe::{Observation, Observer, Stream};
use iostrata_core::sync::{Counted, Second, SyncCall};

use super::item::{Item, remove};
use super::settings;
use super::task::{SyncJob, SyncReport};
use super::writer::Limit;
use crate::engine::{KernelFile, Work, Workload};
use crate::error::LabError;
use crate::session::{Item as _, Observed, RunFile, Session, evidence, sync_file_system};
use crate::target::Target;

/// The stretches of an observed run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretches {
    pub(super) count: usize,
    pub(super) limit: Limit,
}

/// Runs one item under the observer; without one, uses what any process can see.
pub(super) fn observe(
    session: &mut Session<'_>,
    item: &Item<'_>,
) -> Result<Observed<Counted>, LabError> {
    let target = item.target;
    let stretches = settings::stretches(session.run.effort, &item.case, item.shown);
    let files = item.files();
    let mut workload = session.start(&item.job(session, &files, stretches.limit))?;
    let identities: Vec<KernelFile> = files
        .iter()
        .map(RunFile::identity)
        .collect::<Result<_, _>>()?;
    // Write-back left by earlier runs does not belong to this one.
    sync_file_system(&target.dir)?;
    let (pid, settle) = (workload.pid(), Some(target.dir.as_path()));
    let (done, observation) =
        session.observed(pid, Stream::default(), settle, |session, observer| {
            watch(
                session,
                item,
                stretches,
                &mut workload,
                observer,
                &identities,
            )
        })?;
    workload.exit()?;
    remove(files)?;
    let observation = observation.as_ref();
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
        if item.shown {
            session.ledger.to.line(&line(item, number, &second));
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
                    "the file was full after {number} of {} intervals",
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
    evidence(&raw, target, identities).0.exact_device().copied()
}

/// `before` and `now` are the counts around the stretch.
fn second(
    report: &SyncReport,
    before: Option<&DeviceCounts>,
    now: Option<&DeviceCounts>,
) -> Second {
    let since = |cause| {
        let [now, before] = [now?, before?].map(|counts| counts.of(cause).count);
        Some(now.saturating_sub(before))
    };
    Second {
        lasted_s: report.work.sample.real_s,
        syncs: report.syncs,
        requests: RequestsPer::new(since),
    }
}

/// `fsync append 1 KiB on ext4, second 3: 3,021 syncs/s; requests/s: 3,021 data, ...`.
fn line(item: &Item<'_>, number: usize, second: &Second) -> String {
    let rate = |count: u64| rounded(second.per_s(count));
    let syncs = rate(second.syncs);
    let shown = second.requests.each().into_iter();
    let shown = shown.filter(|request| *request != (Cause::Unknown, Some(0)));
    let seen: Option<Vec<String>> = shown
        .map(|(cause, count)| Some(format!("{} {}", rate(count?), cause.name())))
        .collect();
    let requests = seen.map_or_else(
        || "device requests not observed".to_owned(),
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
        SyncCall::ODsync | SyncCall::OSync => {}
        call => expected.push((call.as_str(), syncs, 0)),
    }
    observed.check_calls("the case", expected);
    observed.notes.extend(reads(&observed.evidence, syncs));
    observed.found.observed_syncs = syncs;
    observed.found.seconds = done.seconds;
    observed
}

/// `sync`(2) names no file, so it is attributed to none: here only the case calls it.
fn count_sync(call: SyncCall, raw: &RawEvidence, evidence: &mut Evidence) {
    let Some(calls) = evidence
        .syscalls
        .as_mut()
        .filter(|_| call == SyncCall::Sync)
    else {
        return;
    };
    let rows = raw.syscalls.iter().flatten();
    let syncs = rows.filter(|row| row.name == "sync");
    calls.insert("sync".to_owned(), syncs.map(SyscallRow::stats).sum());
}

/// Reads mean that a block was not in memory when a part of it was written.
fn reads(evidence: &Evidence, syncs: u64) -> Option<String> {
    let device = evidence.exact_device()?;
    (device.reads.count > syncs / 100).then(|| {
        format!(
            "{} read requests: a write had to fetch its block, or the file system its metadata",
            device.reads.count
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostrata_core::evidence::RequestCount;
    use iostrata_core::timing::Sample;

    #[test]
    fn a_second_has_the_writes_whose_cause_is_unknown() {
        let sample = Sample {
            real_s: 1.0,
            user_s: 0.0,
            system_s: 0.0,
        };
        let report = SyncReport {
            work: Work {
                sample,
                minor_faults: 0,
                major_faults: 0,
            },
            syncs: 5,
            latencies: Vec::new(),
            max_ns: 0,
            full: false,
            not_as_asked: None,
        };
        let upto = |count| DeviceCounts {
            unknown: RequestCount {
                count,
                ..RequestCount::default()
            },
            ..DeviceCounts::default()
        };
        let told = second(&report, Some(&upto(2)), Some(&upto(9)));
        assert_eq!(
            (told.requests.unknown, told.requests.metadata),
            (Some(7), Some(0))
        );
    }
}
