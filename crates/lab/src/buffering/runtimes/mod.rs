//! What the language runtimes found on this machine buffer, read off the system
//! calls of tiny programs.

mod language;
mod tool;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use iostrata_core::Gap;
use iostrata_core::buffering::{RuntimeBuffer, RuntimeCall, calls_on};
use iostrata_core::observe::Stream;

use crate::engine::{EngineError, ExecJob, observed_file};
use crate::error::LabError;
use crate::session::{Effort, RunFile, Session};
use language::Api;
pub(super) use language::Language;
use tool::{Trouble, first_line, output};

/// The table, and the runtimes that are not in it.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rows: Vec<RuntimeBuffer>,
    pub(super) missing: Vec<Gap>,
}

/// Runs the programs of every runtime that is installed.
pub(super) fn table(session: &mut Session<'_>) -> Result<Table, LabError> {
    if session.observer.is_none() {
        let why = session.run.unobserved_because.clone();
        return Ok(Table {
            rows: vec![],
            missing: vec![Gap::new("buffers of language runtimes", why)],
        });
    }
    let mut table = Table::default();
    for language in Language::ALL {
        session
            .ledger
            .step(&format!("looking at the buffers of {}", language.name()));
        let rows = if session.run.effort == Effort::Quick && language.is_slow() {
            Err(Trouble::Unusable(
                "takes seconds to build and start; left out of a quick run".into(),
            ))
        } else {
            rows(session, language)
        };
        match rows {
            Ok(rows) => table.rows.extend(rows),
            Err(Trouble::Unusable(why)) => table.missing.push(Gap::new(language.name(), why)),
            Err(Trouble::Stop(error)) => return Err(error.into()),
        }
    }
    Ok(table)
}

/// A program that is ready to be run.
struct Prepared {
    language: Language,
    version: String,
    dir: PathBuf,
}

fn rows(session: &mut Session<'_>, language: Language) -> Result<Vec<RuntimeBuffer>, Trouble> {
    let prepared = prepare(session, language)?;
    language
        .apis()
        .iter()
        .map(|api| row(session, &prepared, *api))
        .collect()
}

fn prepare(session: &Session<'_>, language: Language) -> Result<Prepared, Trouble> {
    let (file, text) = language.source();
    let dir = session.run.scratch.join(file.replace('.', "-"));
    let make = || {
        fs::create_dir_all(&dir)?;
        fs::write(dir.join(file), text)
    };
    make()
        .map_err(|error| Trouble::Unusable(format!("cannot write {}: {error}", dir.display())))?;
    if let Some(compile) = language.compile(&dir) {
        output(
            &compile,
            &language.compile_environment(&dir),
            &dir,
            session.stop,
        )?;
    }
    let ask = [language.start(&dir), vec!["version".into(), "-".into()]].concat();
    let version = output(&ask, &[], &dir, session.stop)?;
    Ok(Prepared {
        language,
        version,
        dir,
    })
}

fn row(session: &mut Session<'_>, prepared: &Prepared, api: Api) -> Result<RuntimeBuffer, Trouble> {
    let mut lost = 0;
    let mut run = |program: &str| -> Result<Vec<RuntimeCall>, Trouble> {
        let (calls, lost_here) = calls(session, prepared, api, program)?;
        lost += lost_here;
        Ok(calls)
    };
    let three = run("three")?;
    let ten = run("ten")?;
    // Three calls for three writes: there is no buffer to fill.
    let fill = if three.len() < 3 {
        run("fill")?
    } else {
        Vec::new()
    };
    let name = (
        prepared.language.name().to_owned(),
        prepared.version.clone(),
        api.name.to_owned(),
    );
    let mut row = RuntimeBuffer::from_calls(name, three, ten, &fill);
    if lost > 0 {
        let said = row.note.map(|note| format!("; {note}")).unwrap_or_default();
        row.note = Some(format!(
            "{lost} events were lost, so calls may be missing{said}"
        ));
    }
    Ok(row)
}

/// Runs one program and gives the calls on its file, and the number of lost events.
fn calls(
    session: &mut Session<'_>,
    prepared: &Prepared,
    api: Api,
    program: &str,
) -> Result<(Vec<RuntimeCall>, u64), Trouble> {
    let file = RunFile::new(&prepared.dir, "file");
    let stderr = prepared.dir.join("stderr");
    let arguments: [OsString; 3] = [program.into(), file.path().into(), api.argument.into()];
    let argv = [prepared.language.start(&prepared.dir), arguments.to_vec()].concat();
    let job = ExecJob {
        argv,
        environment: vec![],
        stderr: stderr.clone().into(),
    };
    let mut workload = session.start(&job)?;
    let process = workload.pid();
    let watched = session.observed(
        process,
        Stream {
            calls: true,
            requests: false,
        },
        |session| {
            let status = workload.go_exec(session.stop)?;
            Ok((status, observed_file(file.path())))
        },
        &|| Ok(()),
    );
    let ((status, identity), observation) = watched.map_err(trouble)?;
    let failed = |why: String| Trouble::Unusable(format!("its program failed: {why}"));
    if !status.success() {
        return Err(failed(format!("{status}{}", first_line(&stderr))));
    }
    let identity = identity.map_err(|error| failed(error.to_string()))?;
    file.remove().map_err(trouble)?;
    let observation =
        observation.ok_or_else(|| Trouble::Unusable("nothing observed it".to_owned()))?;
    if observation.raw.syscalls.is_none() {
        return Err(Trouble::Unusable(
            "system calls could not be observed".to_owned(),
        ));
    }
    let calls = calls_on(&observation.ops, identity.device, identity.inode);
    Ok((calls, observation.raw.losses.total()))
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        Self::Stop(error)
    }
}

/// An engine's failure ends the run, one of the observer or the kernel only this runtime.
fn trouble(error: LabError) -> Trouble {
    match error {
        LabError::Engine(error) => Trouble::Stop(error),
        other => Trouble::Unusable(other.to_string()),
    }
}
