//! `iostrata cache`.

pub(super) mod evict;
mod found;
mod survey;
mod warm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use iostrata_core::Environment;
use iostrata_core::cache::{Action, CacheFile, CacheResult, Cached, SCHEMA, totals};
use iostrata_core::environment::Backend;
use iostrata_lab::interrupt::Interrupt;
use iostrata_report::terminal::{self, Style};
use iostrata_tracer::machine;
use iostrata_tracer::page_cache::page_bytes;

pub(super) use self::survey::Survey;
use super::deliver;
use crate::cli::{Cache, CacheAction, CacheFiles};
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::{self, Named};
use crate::progress::Bar;
use crate::signals;
use crate::ui::{self, Canvas};

/// What the kernel cannot do or iostrata could not verify.
const NOT_AS_ASKED: u8 = 3;

pub(crate) fn run(options: &Cache) -> Result<ExitCode, Failure> {
    let (action, files) = match &options.action {
        CacheAction::Show(files) => (Action::Show, files),
        CacheAction::Warm(options) => (Action::Warm, &options.files),
        CacheAction::Evict(options) => (Action::Evict, &options.files),
    };
    let inputs = files.paths.iter().map(|path| Named::input(path));
    let output = Named::output("--json", files.json.as_deref());
    outputs::check(inputs.chain(output))?;
    let destination = Destination::open(files.json.as_deref())?;
    let interrupt = signals::interrupt()?;
    let stop = || interrupt.check().is_err();
    let mut survey = Survey::of(&files.paths, files.cross, action, &stop)?;
    match &options.action {
        CacheAction::Show(_) => {}
        CacheAction::Warm(options) => warm::all(&mut survey, options.anyway, &stop)?,
        CacheAction::Evict(options) => {
            let mut bar = Bar::new("evicting");
            evict::all(&mut survey, options.sync, &mut bar, &stop);
        }
    }
    let result = result(action, files, survey, &interrupt)?;
    deliver(destination, &result, || {
        Ok(terminal::cache(
            &result,
            Canvas::Output.width(),
            Style {
                colour: Canvas::Output.colour(),
                all_rows: files.all_rows,
            },
        ))
    })?;
    if let Err(by) = interrupt.check() {
        ui::say(&format!("{by}: the result holds the finished files"));
        let code = u8::try_from(128 + by.signal).unwrap_or(u8::MAX);
        return Ok(ExitCode::from(code));
    }
    Ok(if result.is_as_asked() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(NOT_AS_ASKED)
    })
}

fn result(
    action: Action,
    options: &CacheFiles,
    survey: Survey,
    interrupt: &Interrupt,
) -> Result<CacheResult, Failure> {
    let mut files: Vec<CacheFile> = survey.entries.into_iter().map(|entry| entry.row).collect();
    let resident = |cached: Option<Cached>| cached.map(|cached| cached.resident_bytes);
    files.sort_by(|a, b| {
        (resident(b.now()), resident(b.before))
            .cmp(&(resident(a.now()), resident(a.before)))
            .then_with(|| a.path.cmp(&b.path))
    });
    let page_bytes = page_bytes();
    Ok(CacheResult {
        schema: SCHEMA.to_owned(),
        environment: environment(options)?,
        action,
        paths: options
            .paths
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
        page_bytes,
        totals: totals(&files, page_bytes),
        files,
        skipped: survey.skipped,
        interrupted_by: interrupt.check().err().map(|by| by.signal),
        missing: survey.missing,
    })
}

/// For the first existing path, or else for the root directory.
fn environment(options: &CacheFiles) -> Result<Environment, Failure> {
    let named = options.paths.iter().map(PathBuf::as_path);
    let mut there = named.filter_map(|path| machine::environment(path, Backend::None).ok());
    match there.next() {
        Some(environment) => Ok(environment),
        None => Ok(machine::environment(Path::new("/"), Backend::None)?),
    }
}
