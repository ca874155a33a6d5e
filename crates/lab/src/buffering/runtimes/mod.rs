//! The buffering of the language runtimes on this machine, derived from the system calls of tiny
//! programs.

mod language;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use iostrata_core::buffering::{RuntimeBuffer, RuntimeCall, calls_on};
use iostrata_core::gap::{Missing, Reason};
use iostrata_core::noun::counted;
use iostrata_core::observe::Stream;

use crate::engine::{ExecJob, observed_file};
use crate::error::LabError;
use crate::session::{Effort, RunFile, Session};
use crate::tool::{self, Trouble, first_line, or_gap};
pub(super) use language::LANGUAGES;
use language::Language;

/// Longest time of one of these programs, most of which start and end within a second. Node waits
/// for ever when it may have no more than 128 MiB of addresses.
const ENDS: Duration = Duration::from_secs(30);

/// Runs the programs of every installed runtime; the others are listed as missing.
pub(super) fn fill(
    table: &mut Vec<RuntimeBuffer>,
    session: &mut Session<'_>,
) -> Result<(), LabError> {
    if session.observer.is_none() {
        let gap = session.unseen(Missing::RuntimeBuffers);
        session.missing.push(gap);
        return Ok(());
    }
    for language in &LANGUAGES {
        session.step(&format!("looking at the buffers of {}", language.name));
        let rows = if session.run.effort == Effort::Quick && language.is_slow() {
            Err(Trouble::Unusable(Reason::QuickSkips))
        } else {
            rows(session, language)
        };
        let name = language.name.to_owned();
        let what = Missing::Language { name };
        match or_gap(rows, what)? {
            Ok(rows) => table.extend(rows),
            Err(gap) => session.missing.push(gap),
        }
    }
    Ok(())
}

struct Prepared {
    language: &'static Language,
    version: String,
    dir: PathBuf,
}

fn rows(
    session: &mut Session<'_>,
    language: &'static Language,
) -> Result<Vec<RuntimeBuffer>, Trouble> {
    let prepared = prepare(session, language)?;
    language
        .apis
        .iter()
        .map(|api| row(session, &prepared, *api))
        .collect()
}

fn prepare(session: &Session<'_>, language: &'static Language) -> Result<Prepared, Trouble> {
    let (file, text) = language.source;
    let dir = session.run.scratch.join(file.replace('.', "-"));
    let make = || {
        fs::create_dir_all(&dir)?;
        fs::write(dir.join(file), text)
    };
    make().map_err(|error| Trouble::said(format!("cannot write {}: {error}", dir.display())))?;
    let run = |command: &[OsString], environment, longest| {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| Trouble::said("no program".to_owned()))?;
        let mut command = Command::new(program);
        let environment: Vec<(OsString, OsString)> = environment;
        command.args(arguments).envs(environment);
        tool::run(&mut command, longest, session.stop)
    };
    if let Some(compile) = language.compile(&dir) {
        run(&compile, language.compile_environment(&dir), tool::BUILDS)?;
    }
    let ask = [language.start(&dir), vec!["version".into(), "-".into()]].concat();
    let version = run(&ask, Vec::new(), ENDS)?.trim().to_owned();
    Ok(Prepared {
        language,
        version,
        dir,
    })
}

fn row(
    session: &mut Session<'_>,
    prepared: &Prepared,
    api: (&str, &str),
) -> Result<RuntimeBuffer, Trouble> {
    let mut lost = 0;
    let mut run = |program: &str| -> Result<Vec<RuntimeCall>, Trouble> {
        let (calls, lost_here) = calls(session, prepared, api, program)?;
        lost += lost_here;
        Ok(calls)
    };
    let three = run("three")?;
    let ten = run("ten")?;
    // Three calls for three writes: there is no buffer.
    let fill = if three.len() < 3 {
        run("fill")?
    } else {
        Vec::new()
    };
    let name = (
        prepared.language.name.to_owned(),
        prepared.version.clone(),
        api.0.to_owned(),
    );
    let mut row = RuntimeBuffer::from_calls(name, three, ten, &fill);
    if lost > 0 {
        let said = row.note.map(|note| format!("; {note}")).unwrap_or_default();
        row.note = Some(format!(
            "{} lost, so calls may be missing{said}",
            counted(lost, "event")
        ));
    }
    Ok(row)
}

/// Runs one program; returns the calls on its file, and the number of lost events.
fn calls(
    session: &mut Session<'_>,
    prepared: &Prepared,
    api: (&str, &str),
    program: &str,
) -> Result<(Vec<RuntimeCall>, u64), Trouble> {
    let file = RunFile::new(&prepared.dir, "file");
    let stderr = prepared.dir.join("stderr");
    let arguments: [OsString; 3] = [program.into(), file.path().into(), api.1.into()];
    let argv = [prepared.language.start(&prepared.dir), arguments.to_vec()].concat();
    let job = ExecJob {
        argv,
        environment: vec![],
        stderr: stderr.clone().into(),
    };
    let mut workload = session.start(&job)?;
    let pid = workload.pid();
    let stream = Stream {
        calls: true,
        requests: false,
    };
    let watched = session.observed(pid, stream, None, |session, _| {
        let status = workload.go_exec(ENDS, session.stop)?;
        Ok((status, observed_file(file.path())))
    });
    let ((status, identity), observation) = watched.map_err(trouble)?;
    let Some(status) = status else {
        return Err(tool::hangs("its test program", ENDS));
    };
    let failed = |why: String| Trouble::said(format!("its test program failed: {why}"));
    if !status.success() {
        let said = fs::read(&stderr).unwrap_or_default();
        let said = first_line(&String::from_utf8_lossy(&said));
        return Err(failed(format!("{status}{said}")));
    }
    let identity = identity.map_err(|error| failed(error.to_string()))?;
    file.remove().map_err(trouble)?;
    let observation = observation.ok_or_else(|| Trouble::said("it was not observed".to_owned()))?;
    if observation.raw.syscalls.is_none() {
        return Err(Trouble::Unusable(Reason::SyscallsUnseen));
    }
    let calls = calls_on(&observation.ops, identity.device, identity.inode);
    Ok((calls, observation.raw.losses.total()))
}

/// A failure of the engine ends the run, one of the observer or the kernel only this runtime.
fn trouble(error: LabError) -> Trouble {
    match error {
        LabError::Engine(error) => error.into(),
        other => Trouble::said(other.to_string()),
    }
}
