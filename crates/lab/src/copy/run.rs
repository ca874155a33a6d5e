//! The experiment from end to end.

use std::cell::Cell;

use iostrata_core::Gap;
use iostrata_core::copy::{
    self, Case, CopyResult, CopyRow, Measure, Method, Procedure, Source, Yardstick,
};
use iostrata_core::observe::Observer;

use super::item::{Item, YardstickItem};
use super::probe::Abilities;
use super::settings::{self, Cases};
use super::source::SourceFile;
use super::states::States;
use super::{caveats, needed_bytes};
use crate::engine::{Ledger, Progress};
use crate::error::LabError;
use crate::session::{Item as _, RunSettings, Session, observe_all, time, until_stopped};
use crate::target::{Target, check_room};

/// Runs `lab copy` on `targets`.
///
/// `stop` is asked often; once it says yes, what is running is ended and the rows that were
/// timed are returned, with [`Procedure::interrupted`] set. Nothing is written when a target
/// has no room or cannot be written to. A copy that differs from its source is
/// [`LabError::Differs`].
pub fn run(
    cases: &Cases,
    run: &RunSettings,
    targets: &[Target],
    observer: Option<&mut dyn Observer>,
    progress: &mut dyn Progress,
    stop: &dyn Fn() -> bool,
) -> Result<CopyResult, LabError> {
    if targets.iter().all(|target| cases.of(target).is_empty()) {
        return Err(LabError::Usage(
            "nothing to copy: give at least one method, size and file system".to_owned(),
        ));
    }
    check_room(targets, needed_bytes(cases))?;
    let run = RunSettings {
        stopping: settings::stopping(run.effort, run.stopping),
        ..run.clone()
    };
    let planned_rows: usize = targets.iter().map(|target| cases.of(target).len()).sum();
    let mut session = Session {
        run: &run,
        observer: observer.map(|observer| observer as &mut dyn Observer),
        ledger: Ledger::new(progress, planned_rows * (2 + run.stopping.max_runs)),
        stop,
    };
    let mut interrupted = false;
    let ground = until_stopped(stop, &mut interrupted, || {
        Ground::prepare(&mut session, cases, targets)
    })?;
    let ground = ground.unwrap_or_default();
    let verified = Cell::new(0);
    let items = ground.items(&verified);
    let yardsticks = ground.yardsticks(&items);
    let measured = measure(&mut session, &items, &yardsticks, &mut interrupted)?;
    let mut missing = session.gaps();
    missing.extend(ground.gaps());
    let mut result = CopyResult {
        question: copy::QUESTION.to_owned(),
        targets: targets.iter().map(Target::measured).collect(),
        caveats: caveats::caveats(targets, run.virtualization.as_deref(), &measured.rows),
        rows: measured.rows,
        yardsticks: measured.yardsticks,
        answers: Vec::new(),
        missing,
        method: Procedure {
            timing_runs: (run.stopping.min_runs, run.stopping.max_runs),
            warm_up_runs: measured.warm_up_runs,
            verified_copies: verified.get(),
            interrupted,
            planned_rows: planned_rows - ground.left_out,
        },
    };
    result.answers = copy::answers(&result);
    Ok(result)
}

/// Targets with what they can do and their sources.
#[derive(Default)]
struct Ground<'a> {
    places: Vec<Place<'a>>,
    /// Cases that cannot be measured here.
    left_out: usize,
}

struct Place<'a> {
    target: &'a Target,
    abilities: Abilities,
    cases: Vec<Case>,
    sources: Vec<SourceFile>,
}

impl<'a> Ground<'a> {
    fn prepare(
        session: &mut Session<'_>,
        cases: &Cases,
        targets: &'a [Target],
    ) -> Result<Self, LabError> {
        let mut ground = Self::default();
        for target in targets {
            let wanted = cases.of(target);
            let abilities = Abilities::find(session, target, wanted)?;
            let allowed = wanted.iter().filter(|case| abilities.allow(case));
            let cases: Vec<Case> = allowed.copied().collect();
            ground.left_out += wanted.len() - cases.len();
            let mut sources = Vec::new();
            for size_bytes in settings::sizes(&cases) {
                session
                    .ledger
                    .step(&format!("writing the source on {}", target.name));
                sources.push(SourceFile::make(target, size_bytes, session.stop)?);
            }
            ground.places.push(Place {
                target,
                abilities,
                cases,
                sources,
            });
        }
        Ok(ground)
    }

    fn items<'b>(&'b self, verified: &'b Cell<u64>) -> Vec<Item<'b>> {
        let mut items = Vec::new();
        for place in &self.places {
            for case in &place.cases {
                let sources = place.sources.iter();
                let mut fitting = sources.filter(|source| source.size_bytes == case.size_bytes);
                if let Some(source) = fitting.next() {
                    items.push(Item {
                        target: place.target,
                        source,
                        case: *case,
                        verified,
                    });
                }
            }
        }
        items
    }

    /// What the rows are set beside: the machine's once for each size, the device's on each
    /// target that has rows which need it.
    fn yardsticks(&self, items: &[Item<'_>]) -> Vec<YardstickItem<'_>> {
        let mut yardsticks = Vec::new();
        let cases: Vec<Case> = items.iter().map(|item| item.case).collect();
        for size_bytes in settings::sizes(&cases) {
            for measure in [
                Measure::MemoryCopy,
                Measure::CachedCopy,
                Measure::FreshMemory,
            ] {
                yardsticks.push(YardstickItem {
                    measure,
                    size_bytes,
                    place: None,
                });
            }
        }
        for place in self
            .places
            .iter()
            .filter(|place| place.abilities.has_device())
        {
            for source in &place.sources {
                let of_size = |case: &&Case| case.size_bytes == source.size_bytes;
                let needs = |is: fn(&Case) -> bool| place.cases.iter().filter(of_size).any(is);
                let direct = needs(|case| case.method == Method::Direct);
                for (measure, needed) in [
                    (Measure::DeviceWrite, direct || needs(|case| case.durable)),
                    (
                        Measure::DeviceRead,
                        direct || needs(|case| case.source == Source::Cold),
                    ),
                ] {
                    yardsticks.extend(needed.then_some(YardstickItem {
                        measure,
                        size_bytes: source.size_bytes,
                        place: Some((place.target, source)),
                    }));
                }
            }
        }
        if cases.iter().any(|case| case.method == Method::Cp) {
            yardsticks.push(YardstickItem {
                measure: Measure::ProgramStart,
                size_bytes: 0,
                place: None,
            });
        }
        yardsticks
    }

    fn gaps(&self) -> Vec<Gap> {
        let places = self.places.iter();
        places
            .flat_map(|place| place.abilities.gaps(place.target))
            .collect()
    }
}

/// What both passes gave.
#[derive(Default)]
struct Measurements {
    rows: Vec<CopyRow>,
    yardsticks: Vec<Yardstick>,
    warm_up_runs: usize,
}

/// Yardsticks are timed in turns with the copies that are set beside them.
fn measure(
    session: &mut Session<'_>,
    items: &[Item<'_>],
    yardsticks: &[YardstickItem<'_>],
    interrupted: &mut bool,
) -> Result<Measurements, LabError> {
    if *interrupted {
        return Ok(Measurements::default());
    }
    let labels: Vec<String> = items
        .iter()
        .map(Item::label)
        .chain(yardsticks.iter().map(YardstickItem::label))
        .collect();
    let mut states: Vec<States> = items.iter().map(|_| States::default()).collect();
    let mut pass = time(
        session,
        &labels,
        items.len(),
        |session, index| match items.get(index) {
            Some(item) => item.run(session, &mut states[index]),
            None => yardsticks[index - items.len()].run(session),
        },
    )?;
    *interrupted |= pass.interrupted;
    let warm_up_runs = pass.warm_ups;
    let of_yardsticks = pass.items.split_off(items.len());
    let yardsticks: Vec<Yardstick> = yardsticks
        .iter()
        .zip(of_yardsticks)
        .filter_map(|(item, timed)| {
            let target = item.place.map(|(target, _)| target.name.clone());
            let timing = timed.timing?;
            Some(Yardstick::new(
                item.measure,
                target,
                item.size_bytes,
                timing,
            ))
        })
        .collect();
    let rows = observe_all(session, items, pass, states, interrupted)?;
    let rows = rows.into_iter().map(|row| CopyRow::new(row, &yardsticks));
    Ok(Measurements {
        rows: rows.collect(),
        yardsticks,
        warm_up_runs,
    })
}
