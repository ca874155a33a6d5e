//! `iostrata crash`: the states that a power failure could leave of a program's files.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use iostrata_core::crash::{
    Budget, Builtin, CrashResult, Fault, Found, ModeRow, Model, SCHEMA, States, Verdict, Verdicts,
    findings, fix, fix_rows, search,
};
use iostrata_core::environment::Backend;
use iostrata_core::record::Tree;
use iostrata_lab::crash::{Checker, Log, LogError, Sandbox, Stage};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::Scratch;
use iostrata_report::terminal;
use iostrata_tracer::machine;

use crate::cli::Crash;
use crate::destination::Destination;
use crate::error::Failure;
use crate::ui::Canvas;

pub(crate) fn run(options: &Crash) -> Result<ExitCode, Failure> {
    let destination = options.json.clone().map(Destination::open).transpose()?;
    let interrupt = Interrupt::install().map_err(|error| Failure::no_signals(&error))?;
    let scratch = Scratch::create(&std::env::temp_dir(), 0)?;
    let place = Place::prepare(options, scratch.path())?;
    let printed = place.record(options)?;
    let mut log = Log::read(&place.log, &place.work, interrupt).map_err(failure)?;
    log.keep_printed(&printed).map_err(failure)?;
    let result = explore(options, &place, log)?;
    let json = super::json(&result)?;
    super::deliver(destination, &json, || {
        let result: CrashResult = super::read_back(&json)?;
        let canvas = Canvas::Output;
        Ok(terminal::crash::draw(
            &result,
            canvas.width(),
            canvas.colour(),
        ))
    })?;
    Ok(ExitCode::from(match result.verdict {
        Verdict::Clean => 0,
        Verdict::Failing => 1,
        Verdict::Incomplete => 3,
    }))
}

/// Where everything is, in a directory that is removed at the end.
struct Place {
    /// The copy that the program works in.
    work: PathBuf,
    log: PathBuf,
    scratch: PathBuf,
}

impl Place {
    fn prepare(options: &Crash, scratch: &Path) -> Result<Self, Failure> {
        let work = scratch.join("work");
        let meta = fs::metadata(&options.dir);
        let is_directory = meta.is_ok_and(|meta| meta.is_dir());
        if !is_directory {
            return Err(Failure::Usage(format!(
                "--dir {}: not a directory; name the one that holds the program's files",
                options.dir.display()
            )));
        }
        let copied = Command::new("cp")
            .args(["--archive", "--reflink=auto", "--no-target-directory", "--"])
            .args([&options.dir, &work])
            .stdin(Stdio::null())
            .output();
        let copied = copied.map_err(|error| cannot("copy the directory with cp", &error))?;
        if !copied.status.success() {
            let said = String::from_utf8_lossy(&copied.stderr);
            return Err(Failure::Cannot(format!(
                "cannot copy {}: {}",
                options.dir.display(),
                said.trim()
            )));
        }
        if let Some(init) = &options.init {
            let status = Command::new("/bin/sh")
                .args(["-c", init])
                .current_dir(&work)
                .status();
            succeeded(
                "--init",
                &status.map_err(|error| cannot("run --init", &error))?,
            )?;
        }
        Ok(Self {
            work,
            log: scratch.join("log"),
            scratch: scratch.to_owned(),
        })
    }

    /// Runs the program under another process of iostrata, which writes the log. Gives what it printed.
    fn record(&self, options: &Crash) -> Result<Vec<u8>, Failure> {
        let mut child = Command::new("/proc/self/exe")
            .args(["trace", "--quiet", "--no-save", "--no-measure", "--record"])
            .arg(&self.log)
            .arg("--record-before")
            .arg(&self.work)
            .arg("--")
            .args(&options.command)
            .current_dir(&self.work)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| cannot("run the program", &error))?;
        let printed = match child.stdout.take() {
            Some(pipe) => read_on(pipe, options.json.as_deref() != Some(Path::new("-"))),
            None => Ok(Vec::new()),
        };
        let status = child.wait();
        let status = status.map_err(|error| cannot("wait for the program", &error))?;
        let printed = printed.map_err(|error| cannot("read what the program prints", &error))?;
        if self.log.exists() {
            return Ok(printed);
        }
        // It has said why.
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Err(Failure::Program {
            message: format!("the program did not run ({status}); nothing was explored"),
            code: code.unwrap_or(125),
        })
    }
}

/// Passes on what the program prints, and keeps it.
fn read_on(mut pipe: impl Read, passes_on: bool) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let count = match pipe.read(&mut part) {
            Ok(0) => return Ok(all),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if passes_on {
            let mut output = io::stdout();
            output.write_all(&part[..count])?;
            output.flush()?;
        }
        all.extend_from_slice(&part[..count]);
    }
}

fn succeeded(what: &str, status: &ExitStatus) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::Cannot(format!(
        "{what} ended with {status}; nothing was explored"
    )))
}

fn cannot(what: &str, error: &io::Error) -> Failure {
    Failure::Cannot(format!("cannot {what}: {error}"))
}

fn failure(error: LogError) -> Failure {
    match error {
        LogError::Interrupted(by) => Failure::Interrupted { by, rows: 0 },
        other => Failure::Cannot(other.to_string()),
    }
}

/// Looks at trees: by the user's command, or by the built-in rules.
enum Look {
    Command {
        checker: Checker,
        stage: Stage,
        printed: PathBuf,
    },
    Builtin,
}

fn explore(options: &Crash, place: &Place, log: Log) -> Result<CrashResult, Failure> {
    let history = log.history.clone();
    let incomplete_because = log.incomplete_because.clone();
    let operations = log.operations;
    let log = RefCell::new(log);
    let look = look(options, place)?;
    let mut builtin = match look {
        Look::Builtin => Some(Builtin::new(&history, |contents| {
            log.borrow_mut().digest(contents)
        })),
        Look::Command { .. } => None,
    }
    .transpose()
    .map_err(failure)?;
    let mut check = |tree: &Tree, told: usize| -> Result<Option<String>, LogError> {
        match &look {
            Look::Builtin => builtin
                .as_mut()
                .map_or(Ok(None), |builtin| builtin.check(tree, told)),
            Look::Command {
                checker,
                stage,
                printed,
            } => {
                let mut log = log.borrow_mut();
                let stdout = log.printed(told)?;
                fs::write(printed, stdout).map_err(io_failed)?;
                let tree_path = stage.clean().map_err(io_failed)?;
                log.build(tree, tree_path)?;
                checker.check(tree_path, printed).map_err(io_failed)
            }
        }
    };
    let budget = Budget {
        states: options.states,
        seed: options.seed,
        ..Budget::default()
    };
    let mut verdicts = Verdicts::default();
    let (mut found, mut modes) = (Vec::new(), Vec::new());
    for model in options.model.models() {
        let begun = Instant::now();
        let of_model =
            search(&history, *model, budget, &mut verdicts, &mut check).map_err(failure)?;
        modes.push(ModeRow {
            mode: "syscall".to_owned(),
            model: *model,
            operations,
            states: states(&of_model),
            complete: incomplete_because.is_empty(),
            incomplete_because: incomplete_because.clone(),
            seconds: begun.elapsed().as_secs_f64(),
        });
        found.push((*model, of_model));
    }
    let directory = place.work.as_os_str().as_bytes();
    let real: Vec<Model> = options.model.models().to_vec();
    let faults: Vec<Fault> = found
        .iter()
        .flat_map(|(_, found)| found.faults.clone())
        .collect();
    let fixed =
        fix(&history, &real, budget, &faults, &mut verdicts, &mut check).map_err(failure)?;
    let fixed = fixed.map(|added| {
        fix_rows(&history, &added, directory, |one| {
            history.path_at(one.node, one.before)
        })
    });
    let findings = findings(&history, &found, directory);
    let verdict = match (incomplete_because.is_empty(), findings.is_empty()) {
        (_, false) => Verdict::Failing,
        (false, true) => Verdict::Incomplete,
        (true, true) => Verdict::Clean,
    };
    let environment = machine::environment(&place.scratch, Backend::None);
    Ok(CrashResult {
        schema: SCHEMA.to_owned(),
        environment: environment.map_err(|error| Failure::Cannot(error.to_string()))?,
        command: options
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        check: options.check.clone(),
        check_kept_in: match &look {
            Look::Command { checker, .. } => Some(checker.sandbox.as_str().to_owned()),
            Look::Builtin => None,
        },
        modes,
        findings,
        fix: fixed,
        verdict,
    })
}

fn look(options: &Crash, place: &Place) -> Result<Look, Failure> {
    let Some(command) = &options.check else {
        return Ok(Look::Builtin);
    };
    let stage = Stage::in_directory(&place.scratch);
    Ok(Look::Command {
        checker: Checker {
            command: command.clone(),
            patience: Duration::from_secs_f64(options.check_timeout.max(0.001)),
            sandbox: Sandbox::find(),
        },
        stage: stage.map_err(|error| cannot("make a directory", &error))?,
        printed: place.scratch.join("printed"),
    })
}

fn io_failed(error: io::Error) -> LogError {
    LogError::Read(error.into())
}

fn states(found: &Found) -> States {
    let coverage = &found.coverage;
    States {
        explored: coverage.states,
        distinct: found.distinct,
        failing: found.failing,
        points: coverage.points,
        sampled_points: coverage.sampled,
        limit_reached: coverage.limit_reached,
    }
}
