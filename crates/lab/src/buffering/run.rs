//! The experiment from end to end.

use iostrata_core::buffering::{self, BufferingRow, Case, Mode, Seen, Timeline};
use iostrata_core::lab::{self, OwnCost};

use super::item::Item;
use super::runtimes::{self, LANGUAGES};
use super::settings::{self, Plan};
use super::timeline::timeline;
use super::workload::WriteJob;
use crate::caveats;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::session::{Session, measure};
use crate::target::Target;

impl Experiment for Plan {
    fn nothing(&self) -> &'static str {
        "nothing to measure: give at least one mode, size and file system"
    }

    fn rows_on(&self, _: &Target) -> usize {
        self.cases.len()
    }

    fn needed_bytes(&self) -> u64 {
        settings::needed_bytes(&self.cases)
    }

    fn measure(&self, session: &mut Session<'_>) -> Result<lab::Experiment, LabError> {
        let targets = session.targets.iter();
        let items: Vec<Item<'_>> = targets
            .flat_map(|target| self.cases.iter().map(move |&case| Item { target, case }))
            .collect();
        let own_cost_ns = self.own_cost_ns(session)?;
        let modes = self.modes();
        let languages = session.observer.as_ref().map_or(0, |_| LANGUAGES.len());
        let steps_after = session.targets.len() * modes.len() + languages;
        let rows = measure(session, &items, steps_after)?;
        session.lack_what_is_unseen();
        let timelines = timelines(session, &modes)?;
        let mut runtimes = Vec::new();
        session.unless_failed(|session| runtimes::fill(&mut runtimes, session))?;
        let mut result = session.result(
            buffering::QUESTION,
            rows,
            Seen {
                timelines,
                runtimes,
            },
            OwnCost { own_cost_ns },
            items.len(),
        );
        result.caveats = caveats(session, &result.rows, own_cost_ns);
        Ok(lab::Experiment::Buffering(result))
    }
}

impl Plan {
    /// Nanoseconds per record of the loop itself, with the smallest records.
    fn own_cost_ns(&self, session: &mut Session<'_>) -> Result<Option<f64>, LabError> {
        let sizes = self.cases.iter().map(|case| case.size_bytes);
        let count = settings::null_records(session.run.effort);
        let case = Case {
            mode: Mode::Buffered,
            size_bytes: sizes.min().unwrap_or(1),
            count,
        };
        let job = WriteJob { case, path: None };
        let loop_s = session.loop_s(|session| session.work(&job))?;
        Ok(loop_s.map(|seconds| seconds * 1e9 / count as f64))
    }

    /// The cases that have timelines.
    fn modes(&self) -> Vec<Mode> {
        let chosen = |mode: &Mode| self.cases.iter().any(|case| case.mode == *mode);
        Mode::ALL.into_iter().filter(chosen).collect()
    }
}

fn timelines(session: &mut Session<'_>, modes: &[Mode]) -> Result<Vec<Timeline>, LabError> {
    let mut timelines = Vec::new();
    for target in session.targets {
        for &mode in modes {
            let done = session.unless_failed(|session| timeline(session, target, mode))?;
            let Some((timeline, gap)) = done else {
                return Ok(timelines);
            };
            timelines.push(timeline);
            let missing = &mut session.missing;
            missing.extend(gap.filter(|gap| !missing.contains(gap)));
        }
    }
    Ok(timelines)
}

fn caveats(session: &Session<'_>, rows: &[BufferingRow], own_cost_ns: Option<f64>) -> Vec<String> {
    let targets = session.targets;
    let flushed = "a completed flush has reached the host, which may keep the data in memory";
    let mut caveats = caveats::begun(session, flushed);
    caveats.extend(targets.iter().filter_map(caveats::of_written));
    caveats.extend(caveats::images(targets, caveats::IMAGE_WRITES));
    caveats.extend(caveats::stolen(rows.iter().map(|row| &row.row), "rows"));
    let each_ns = rows.iter().map(|BufferingRow { row, .. }| {
        let Case { count, .. } = row.case;
        Some(row.timing.as_ref()?.median_s * 1e9 / count as f64)
    });
    let costly = caveats::own_cost("making a record", own_cost_ns, "time", each_ns);
    caveats.extend(costly);
    caveats
}
