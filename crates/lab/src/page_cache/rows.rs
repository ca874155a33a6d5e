//! Rows built from the timing runs and the observed run.

use iostrata_core::evidence::Evidence;
use iostrata_core::page_cache::{Case, Figures, PageCacheRow, SeriesRead, State};
use iostrata_core::timing::{Sample, Timing};

use super::item::{Again, Found, Item, ReadRun};
use super::random::Latencies;
use crate::engine::StoppingRule;
use crate::session::{Observed, Timed, wide};

/// The row of an item. Its state is that of the observed run, or of the last timing run if none was
/// observed; timing runs in another state are left out.
pub(super) fn row(
    item: &Item<'_>,
    timed: &Timed,
    runs: &[ReadRun],
    mut observed: Observed<Option<Found>>,
) -> PageCacheRow {
    let asked_state = item.case.state;
    let found = observed
        .found
        .take()
        .or_else(|| Some(runs.last()?.found.clone()))
        .unwrap_or(Found {
            state: asked_state,
            why: None,
            resident_bytes: 0,
        });
    let same: Vec<&ReadRun> = runs
        .iter()
        .filter(|run| run.found.state == found.state && !run.was_cooled())
        .collect();
    let timing = timing(same.iter().map(|run| run.first.work.sample));
    let mut notes = notes(runs, &same, &found, timing.as_ref(), &timed.stopping);
    notes.extend(said_by_after(item.case, &found, &observed.evidence));
    if item.target.backing_cached && found.state != State::Warm {
        notes.push("not known to be cold below: the image file is cached".to_owned());
    }
    let first = same.first().or(runs.first().as_ref()).map(|run| &run.first);
    observed.notes = notes;
    let case = Case {
        state: found.state,
        ..item.case
    };
    let row = observed.row(case, item.target, Timed { timing, ..*timed });
    PageCacheRow {
        row,
        asked_state,
        not_as_asked: found.why,
        read_bytes: first.map_or(item.case.size_bytes, |first| first.read_bytes),
        reading: parts(&same, |run| run.first.reading_s),
        parsing: parts(&same, |run| run.first.parsing_s),
        memory_copy: self::timing(same.iter().filter_map(|run| run.copy)),
        latency_s: latencies(&same).percentiles(),
        series: series(&same),
        storage_read_bytes: median(same.iter().map(|run| run.first.storage_read_bytes)),
        figures: Figures::default(),
    }
}

fn notes(
    runs: &[ReadRun],
    same: &[&ReadRun],
    found: &Found,
    timing: Option<&Timing>,
    stopping: &StoppingRule,
) -> Vec<String> {
    let mut notes = Vec::new();
    let cooled = runs.iter().filter(|run| run.was_cooled()).count();
    if cooled > 0 {
        notes.push(format!(
            "{cooled} of {} timing runs read from storage although the whole file had been \
             resident just before, and are left out",
            runs.len()
        ));
    }
    let others = runs.len() - same.len() - cooled;
    if others > 0 {
        notes.push(format!(
            "in {others} of {} timing runs the file was not {}; they are left out",
            runs.len(),
            found.state.as_str()
        ));
    }
    notes.extend(wide(timing, stopping));
    notes
}

/// Pages of the file that the observed read brought into the cache, as far as known.
pub(super) fn brought_pages(evidence: &Evidence) -> u64 {
    let pages = [evidence.cache.missed_pages, evidence.cache.prefetched_pages];
    pages.into_iter().flatten().sum()
}

/// The state's expected effect on the cache, if it was not met.
fn said_by_after(case: Case, found: &Found, evidence: &Evidence) -> Option<String> {
    let before = evidence.cache.resident_before_bytes?;
    let after = evidence.cache.resident_after_bytes?;
    if found.state == State::Warm && brought_pages(evidence) > 0 {
        return Some(format!(
            "the whole file was resident just before the observed read, which nevertheless read \
             {} of its pages from storage: the evidence is not that of a warm read",
            brought_pages(evidence)
        ));
    }
    let uncached = matches!(case.state, State::Direct | State::Dontcache);
    if found.state == State::Direct && before > 0 {
        return Some(format!(
            "{before} bytes of the file were resident before the direct read, which ignores them"
        ));
    }
    (uncached && found.state == case.state && after > 0).then(|| {
        format!(
            "{} left {after} bytes of the file resident",
            case.state.as_str()
        )
    })
}

fn timing(samples: impl Iterator<Item = Sample>) -> Option<Timing> {
    Timing::from_samples(&samples.collect::<Vec<_>>())
}

/// Timing of a part of each run; `None` unless all runs have it.
fn parts(same: &[&ReadRun], part: impl Fn(&ReadRun) -> Option<f64>) -> Option<Timing> {
    let seconds: Option<Vec<f64>> = same.iter().map(|run| part(run)).collect();
    let samples = seconds?.into_iter().map(elapsed);
    timing(samples)
}

/// Only elapsed time is known of a part.
fn elapsed(real_s: f64) -> Sample {
    Sample {
        real_s,
        user_s: 0.0,
        system_s: 0.0,
    }
}

fn latencies(same: &[&ReadRun]) -> Latencies {
    let mut all = Latencies::new();
    for (nanoseconds, count) in same.iter().flat_map(|run| &run.first.latencies) {
        all.add(*nanoseconds, *count);
    }
    all
}

fn series(same: &[&ReadRun]) -> Vec<SeriesRead> {
    let reads = same.iter().map(|run| run.series.len()).max().unwrap_or(0);
    let nth = |index: usize| -> Option<SeriesRead> {
        let reads = || same.iter().filter_map(|run| run.series.get(index));
        let bytes = |pick: fn(&Again) -> u64| median(reads().map(|read| Some(pick(read))));
        Some(SeriesRead {
            number: u32::try_from(index + 1).ok()?,
            timing: timing(reads().map(|read| read.sample))?,
            storage_read_bytes: median(reads().map(|read| read.storage_read_bytes)),
            resident_before_bytes: bytes(|read| read.resident_before_bytes)?,
            resident_after_bytes: bytes(|read| read.resident_after_bytes)?,
        })
    };
    (0..reads).filter_map(nth).collect()
}

/// The median, the lower of two; `None` unless all are known.
fn median(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let mut known: Vec<u64> = values.collect::<Option<_>>()?;
    known.sort_unstable();
    known.get(known.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use iostrata_core::lab::Interference;
    use std::path::Path;

    use iostrata_core::evidence::Cache;
    use iostrata_core::page_cache::{Parse, Reader};

    use super::super::reader::ReadFileReport;
    use super::super::settings::Selection;
    use super::*;
    use crate::engine::Work;
    use crate::session::{Effort, target};

    fn run(state: State, real_s: f64) -> ReadRun {
        let sample = elapsed(real_s);
        let again = |number: u64| Again {
            sample,
            storage_read_bytes: Some(number),
            resident_before_bytes: number,
            resident_after_bytes: number + 1,
        };
        ReadRun {
            found: Found {
                state,
                why: (state != State::Cold).then(|| "mapped".to_owned()),
                resident_bytes: 0,
            },
            first: ReadFileReport {
                work: Work {
                    sample,
                    minor_faults: 0,
                    major_faults: 0,
                },
                read_bytes: 8192,
                reading_s: None,
                parsing_s: None,
                storage_read_bytes: Some(if state == State::Warm { 0 } else { 8192 }),
                latencies: vec![(100, 2)],
            },
            series: vec![again(1), again(2)],
            copy: None,
        }
    }

    fn made(runs: &[ReadRun], found: Option<State>) -> PageCacheRow {
        let plan = Selection::default().plan().unwrap();
        let target = target("ext4", false, &[7]);
        let item = Item {
            target: &target,
            case: Case {
                state: State::Cold,
                reader: Reader::Read,
                size_bytes: 8192,
                parse: Parse::None,
            },
            file: Path::new("/f"),
            plan: &plan,
        };
        let observed = Observed {
            found: found.map(|state| run(state, 0.0).found),
            ..Observed::default()
        };
        let timed = Timed {
            timing: None,
            interference: Interference::default(),
            enough: true,
            stopping: Effort::Quick.stopping(),
        };
        row(&item, &timed, runs, observed)
    }

    #[test]
    fn runs_in_another_state_are_left_out_and_counted() {
        let runs = [
            run(State::Cold, 3.0),
            run(State::Warm, 1.0),
            run(State::Cold, 3.0),
        ];
        let cold = made(&runs, Some(State::Cold));
        assert!(cold.is_as_asked() && cold.not_as_asked.is_none());
        assert_eq!(cold.row.timing.unwrap().samples_s, [3.0, 3.0]);
        assert!(cold.row.notes[0].starts_with("in 1 of 3 timing runs"));

        let held = made(&runs, Some(State::Warm));
        assert_eq!(
            (held.row.case.state, held.asked_state),
            (State::Warm, State::Cold)
        );
        assert_eq!(held.not_as_asked.as_deref(), Some("mapped"));
        assert_eq!(held.row.timing.unwrap().samples_s, [1.0]);
    }

    #[test]
    fn warm_runs_that_had_to_read_storage_are_left_out_and_counted() {
        let mut cooled = run(State::Warm, 9.0);
        cooled.first.storage_read_bytes = Some(4096);
        let runs = [run(State::Warm, 1.0), cooled.clone(), run(State::Cold, 3.0)];
        let row = made(&runs, Some(State::Warm)).row;
        assert_eq!(row.timing.unwrap().samples_s, [1.0]);
        assert!(row.notes[0].starts_with("1 of 3 timing runs read from storage"));
        assert!(row.notes[1].starts_with("in 1 of 3 timing runs the file was not"));
        assert_eq!(made(&[cooled], Some(State::Warm)).row.timing, None);
    }

    #[test]
    fn a_warm_read_that_brings_pages_in_is_told() {
        let case = Case {
            state: State::Warm,
            reader: Reader::Read,
            size_bytes: 8192,
            parse: Parse::None,
        };
        let evidence = |missed| Evidence {
            cache: Cache {
                resident_before_bytes: Some(8192),
                resident_after_bytes: Some(8192),
                missed_pages: Some(missed),
                prefetched_pages: Some(0),
                ..Cache::default()
            },
            ..Evidence::default()
        };
        let said = |missed| said_by_after(case, &run(State::Warm, 1.0).found, &evidence(missed));
        assert_eq!(said(0), None);
        assert!(
            said(1)
                .unwrap()
                .contains("nevertheless read 1 of its pages")
        );
    }

    #[test]
    fn without_an_observed_run_the_last_timing_run_decides() {
        let runs = [run(State::Cold, 3.0), run(State::Partial, 2.0)];
        assert_eq!(made(&runs, None).row.case.state, State::Partial);
        let none = made(&[], None);
        assert_eq!((none.row.case.state, none.row.timing), (State::Cold, None));
    }

    #[test]
    fn a_series_has_its_reads_in_order() {
        let row = made(&[run(State::Cold, 3.0), run(State::Cold, 5.0)], None);
        let seen: Vec<(u32, Option<u64>, u64)> = row
            .series
            .iter()
            .map(|read| {
                (
                    read.number,
                    read.storage_read_bytes,
                    read.resident_after_bytes,
                )
            })
            .collect();
        assert_eq!(seen, [(1, Some(1), 2), (2, Some(2), 3)]);
        assert_eq!(row.latency_s.unwrap().count, 4);
        assert_eq!((row.storage_read_bytes, row.read_bytes), (Some(8192), 8192));
    }

    #[test]
    fn pages_that_stay_after_an_uncached_read_are_told() {
        let evidence = |before, after| Evidence {
            cache: Cache {
                resident_before_bytes: Some(before),
                resident_after_bytes: Some(after),
                ..Cache::default()
            },
            ..Evidence::default()
        };
        let said = |state, before, after| {
            let case = Case {
                state,
                reader: Reader::Read,
                size_bytes: 8192,
                parse: Parse::None,
            };
            said_by_after(case, &run(state, 1.0).found, &evidence(before, after))
        };
        assert_eq!(said(State::Cold, 0, 8192), None);
        assert_eq!(said(State::Dontcache, 0, 0), None);
        assert!(
            said(State::Dontcache, 0, 4096)
                .unwrap()
                .contains("left 4096")
        );
        assert!(said(State::Direct, 4096, 4096).unwrap().contains("before"));
    }
}
