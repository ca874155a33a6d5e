//! `iostrata crash --calibrate`: what real file systems leave of litmus programs, beside what the models allow.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use iostrata_core::crash::block::Pressure;
use iostrata_core::crash::litmus::Litmus;
use iostrata_core::crash::{
    CALIBRATE_SCHEMA, CalibrateResult, CalibrateSettings, LitmusRow, Model, Shown, Soundness,
};
use iostrata_core::environment::Backend;
use iostrata_lab::crash::block::{BlockError, ExploreBudget, LitmusTest, Room, Setting};
use iostrata_lab::engine::{Progress as _, Step};
use iostrata_lab::interrupt::Interrupted;
use iostrata_report::terminal;
use iostrata_tracer::machine;

use super::block::{Ground, budget, delay, kind};
use crate::cli::Crash;
use crate::destination::Destination;
use crate::error::Failure;
use crate::progress::Bar;
use crate::signals;
use crate::ui::Canvas;

pub(super) fn run(options: &Crash) -> Result<ExitCode, Failure> {
    let calibration = Calibration::of(options);
    let destination = Destination::open(options.json.as_deref())?;
    let (guard, mut scratch) = super::scratch()?;
    let ground = Ground::prepare()?;
    let interrupt = signals::interrupt()?;
    if let Some(guard) = &guard {
        scratch.hurry(guard, &interrupt);
    }
    let room = Room {
        directory: scratch.path(),
        mounts: &ground.mounts,
        interrupt: &interrupt,
    };
    let (rows, interrupted) = calibration.rows(&ground, &room)?;
    let result = calibration.result(rows, interrupted, scratch.path())?;
    drop((scratch, guard));
    deliver(destination, &result)?;
    match (interrupted, result.verdict) {
        (Some(by), _) => Err(Failure::Ended(by)),
        (None, Soundness::Sound) => Ok(ExitCode::SUCCESS),
        (None, Soundness::Unsound) => Ok(ExitCode::from(1)),
        (None, Soundness::Incomplete) => Ok(ExitCode::from(3)),
    }
}

fn deliver(destination: Option<Destination>, result: &CalibrateResult) -> Result<(), Failure> {
    crate::commands::deliver(destination, result, || {
        let canvas = Canvas::Output;
        Ok(terminal::calibrate(result, canvas.width(), canvas.colour()))
    })
}

struct Calibration {
    programs: Vec<&'static Litmus>,
    filesystems: Vec<Model>,
    pressures: &'static [Pressure],
    repeats: u32,
    delay: Duration,
    budget: ExploreBudget,
}

impl Calibration {
    fn of(options: &Crash) -> Self {
        let filesystems = options.filesystems();
        let pressures = options.pressure.unwrap_or(&Pressure::ALL);
        let mut programs = options.litmus.clone();
        if programs.is_empty() {
            programs = Litmus::all().collect();
        }
        Self {
            programs,
            filesystems,
            pressures,
            repeats: options.repeats.unwrap_or(1),
            delay: delay(options),
            budget: budget(options),
        }
    }

    /// Rows that are complete, and who ended it before its end.
    fn rows(
        &self,
        ground: &Ground,
        room: &Room<'_>,
    ) -> Result<(Vec<LitmusRow>, Option<Interrupted>), Failure> {
        let mut bar = Bar::new("crash");
        let mut rows = Vec::new();
        let total = self.filesystems.len() * self.programs.len();
        let mut interrupted = None;
        'all: for litmus in &self.programs {
            for filesystem in &self.filesystems {
                bar.step(&Step {
                    done: rows.len(),
                    total,
                    label: &format!("{} on {}", litmus.name, filesystem.as_str()),
                });
                match self.shown(ground, room, (litmus, *filesystem)) {
                    Ok(shown) => rows.push(LitmusRow::of(litmus, *filesystem, &shown)),
                    Err(BlockError::Interrupted(by)) if !rows.is_empty() => {
                        interrupted = Some(by);
                        break 'all;
                    }
                    Err(error) => {
                        bar.finished();
                        return Err(error.into());
                    }
                }
            }
        }
        bar.finished();
        Ok((rows, interrupted))
    }

    /// All runs of one program on one file system.
    fn shown(
        &self,
        ground: &Ground,
        room: &Room<'_>,
        (litmus, filesystem): (&'static Litmus, Model),
    ) -> Result<Shown, BlockError> {
        let mut shown = Shown::default();
        let test = LitmusTest::prepare(room, kind(filesystem), litmus)?;
        for pressure in Pressure::on(self.pressures, filesystem) {
            let setting = Setting {
                pressure,
                delay: self.delay,
            };
            for _ in 0..self.repeats {
                test.run(room, &ground.server, setting, self.budget, &mut shown)?;
            }
        }
        Ok(shown)
    }

    fn result(
        self,
        rows: Vec<LitmusRow>,
        interrupted: Option<Interrupted>,
        scratch: &Path,
    ) -> Result<CalibrateResult, Failure> {
        let environment = machine::environment(scratch, Backend::None);
        let is_whole = interrupted.is_none() && rows.iter().all(|row| row.skipped_epochs == 0);
        Ok(CalibrateResult {
            schema: CALIBRATE_SCHEMA.to_owned(),
            environment: environment.map_err(Failure::cannot)?,
            settings: CalibrateSettings {
                pressures: self.pressures.to_vec(),
                repeats: self.repeats,
                delay_s: self.delay.as_secs_f64(),
                images: self.budget.images,
                seed: self.budget.subsets.seed,
            },
            interrupted_by: interrupted.map(Interrupted::name),
            verdict: Soundness::of(&rows, is_whole),
            rows,
        })
    }
}
