//! The copy that a program works in, and the log of it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use clap::ValueEnum as _;
use iostrata_core::crash::{CallStack, MARKS, Stacks};
use iostrata_lab::crash::{CopyError, copy_directory};
use iostrata_lab::engine::run_to_end;
use iostrata_lab::interrupt::{Interrupt, Interrupted};
use rustix::process::Pid;
use signal_hook::consts::{SIGINT, SIGQUIT};

use super::cannot;
use crate::ATTENDED;
use crate::cli::Crash;
use crate::commands::mark::{self, Marks};
use crate::error::Failure;
use crate::ui;

/// What a program did, in a directory.
pub(super) struct Recorded {
    pub(super) log: PathBuf,
    /// The directory that the one under test is a copy of, as far as it is known.
    pub(super) original: Option<PathBuf>,
    /// What it printed; `None` when nobody knows more than the log.
    pub(super) printed: Option<Vec<u8>>,
    /// Where its calls came from, as far as that is known.
    pub(super) stacks: Stacks,
    /// Its exit code, 128 and the number of a signal that ended it; `None` where it is not known.
    pub(super) exit_code: Option<i32>,
    /// Who ended it from the keyboard.
    pub(super) ended_by: Option<Interrupted>,
}

/// How long processes may run on that the program leaves behind, seconds: a shell's background jobs are often done then,
/// a server never is.
const OTHERS_S: u64 = 10;

/// All of the copy is kept: it has been written once already.
const MOST_BEFORE: &str = "1024GiB";

/// Names in the directory that `--record` makes.
const LOG: &str = "log";
const PRINTED: &str = "printed";
const STACKS: &str = "stacks";
const EXIT_CODE: &str = "exit-code";
const ORIGINAL: &str = "original";

pub(super) fn kept(directory: &Path) -> Result<Recorded, Failure> {
    let log = directory.join(LOG);
    let printed = std::fs::read(directory.join(PRINTED)).map_err(|error| {
        Failure::Input(format!(
            "cannot read the recording {}: {error}; name a directory that crash --record made",
            directory.display()
        ))
    })?;
    let original = std::fs::read(directory.join(ORIGINAL)).ok();
    Ok(Recorded {
        log,
        original: original.map(|path| OsString::from_vec(path).into()),
        printed: Some(printed),
        stacks: stacks(directory)?,
        exit_code: std::fs::read_to_string(directory.join(EXIT_CODE))
            .ok()
            .and_then(|code| code.trim().parse().ok()),
        ended_by: None,
    })
}

/// None where the back end takes none.
fn stacks(directory: &Path) -> Result<Stacks, Failure> {
    let path = directory.join(STACKS);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stacks::default()),
        Err(error) => return Err(cannot("read where the calls came from")(error)),
    };
    let all: Vec<CallStack> = serde_json::from_slice(&text).map_err(|error| {
        Failure::Input(format!(
            "{} is cut or damaged: {error}; without this file the findings name no functions",
            path.display()
        ))
    })?;
    Ok(Stacks::of(&all))
}

/// Makes the copy, runs the program in it, and keeps what it did in a directory.
pub(super) fn record(
    options: &Crash,
    scratch: &Path,
    interrupt: &Interrupt,
) -> Result<Recorded, Failure> {
    let into = match &options.record {
        Some(into) => {
            iostrata_lab::place::new_directory(into).map_err(|error| {
                Failure::Cannot(format!(
                    "cannot make {} for the recording: {error}; name a directory that does not exist",
                    into.display()
                ))
            })?;
            into.clone()
        }
        None => scratch.to_owned(),
    };
    let press = Press {
        file: None,
        shows: true,
        has_stacks: true,
    };
    let recorded = copied(options, scratch, interrupt).and_then(|work| {
        let recorded = run(options, &work, &into, press, interrupt);
        recorded.map_err(|failure| match &options.record {
            Some(_) => full(failure, &into, "give --record another directory"),
            None => failure,
        })
    });
    if recorded.is_err() && options.record.is_some() {
        // Made just now.
        drop(std::fs::remove_dir_all(&into));
    }
    recorded
}

/// Less than this is no room for what is written next: a part of a log has more.
const FULL_BYTES: u64 = 64 << 10;

/// A failure, and where the file system of the directory is full, that it is, and what to do: who met it may only have
/// seen a file that ends too early.
pub(super) fn full(failure: Failure, directory: &Path, remedy: &str) -> Failure {
    match free_where_full(directory) {
        Some(free) => short_of(failure, free, directory, remedy),
        None => failure,
    }
}

/// The same where it was full, and what did not fit was removed.
pub(super) fn was_full(failure: Failure, directory: &Path) -> Failure {
    let free = free_in(directory).unwrap_or_default();
    short_of(failure, free, directory, ANOTHER)
}

/// What to do where the copy, the recording or large states do not fit.
pub(super) const ANOTHER: &str = "set TMPDIR to another directory";

fn short_of(failure: Failure, free: u64, directory: &Path, remedy: &str) -> Failure {
    match failure {
        Failure::Cannot(message) | Failure::Input(message) => Failure::Cannot(format!(
            "{message}; {} has {free} bytes free: free space there, or {remedy}",
            directory.display()
        )),
        other => other,
    }
}

fn free_in(directory: &Path) -> Option<u64> {
    let there = rustix::fs::statvfs(directory).ok()?;
    Some(there.f_bavail.saturating_mul(there.f_frsize))
}

/// The bytes that are free in the file system of a directory; `None` where there are more than few.
fn free_where_full(directory: &Path) -> Option<u64> {
    free_in(directory).filter(|free| *free < FULL_BYTES)
}

/// Whether files can be copied from it: a copy below it would hold itself.
pub(super) fn is_directory(dir: &Path) -> Result<(), Failure> {
    let copies = env::temp_dir().canonicalize();
    let found = dir.canonicalize();
    let is_within = |found: &PathBuf| copies.is_ok_and(|copies| copies.starts_with(found));
    let is_kernels = |found: &PathBuf| ["/proc", "/sys"].iter().any(|own| found.starts_with(own));
    let why = match found {
        Err(_) => "no such directory",
        Ok(found) if !found.is_dir() => "not a directory",
        Ok(found) if is_kernels(&found) => "the kernel makes what is there",
        Ok(found) if is_within(&found) => "its copy would be below it, in TMPDIR",
        Ok(_) => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "--dir {}: {why}; name the directory that holds the program's files",
        dir.display()
    )))
}

fn copied(options: &Crash, scratch: &Path, interrupt: &Interrupt) -> Result<PathBuf, Failure> {
    let work = scratch.join("work");
    let Some(dir) = &options.dir else {
        return Err(Failure::usage(
            "--dir is missing: name the directory that holds the program's files",
        ));
    };
    is_directory(dir)?;
    copy_directory(dir, &work, interrupt).map_err(|error| {
        let remedy = match error {
            CopyError::Interrupted(by) => return by.into(),
            CopyError::Run(_) => "",
            CopyError::Failed { .. } if free_where_full(scratch).is_some() => "",
            CopyError::Failed { .. } => "; give --dir a directory that this user can read whole",
        };
        Failure::Cannot(format!("{error}{remedy}"))
    })?;
    if let Some(init) = &options.init {
        let status = initialised(init, &work, interrupt);
        succeeded("--init", status.map_err(cannot("run --init"))??)?;
    }
    Ok(work)
}

/// What to do where a command that runs in a copy may mean a file of this directory, which the copy does not have.
pub(super) fn misplaced<'w>(
    copy: &Path,
    command: impl IntoIterator<Item = &'w OsStr>,
) -> Option<String> {
    let here = env::current_dir().ok()?;
    let within = copy.canonicalize().ok()?;
    let is_misplaced = |(number, word): &(usize, &OsStr)| {
        let path = Path::new(word);
        let has = |byte| word.as_bytes().contains(&byte);
        // The program itself is looked for in PATH, and a word without a dot may be no file.
        let is_path = has(b'/') || *number > 0 && has(b'.');
        let found = copy.join(path).canonicalize();
        let is_there = found.is_ok_and(|found| found.starts_with(&within));
        is_path && path.is_relative() && path.is_file() && !is_there
    };
    let mut words = command.into_iter().enumerate();
    let (_, word) = words.find(is_misplaced)?;
    let path = here.join(word);
    let path = if word.as_bytes().starts_with(b"..") {
        path.canonicalize().unwrap_or(path)
    } else {
        path.components().collect()
    };
    Some(format!(
        "it runs in a copy, which has no {}: for the one here, write {}",
        Path::new(word).display(),
        path.display()
    ))
}

/// Runs `--init` in the copy.
pub(super) fn initialised(
    init: &str,
    work: &Path,
    interrupt: &Interrupt,
) -> io::Result<Result<ExitStatus, Interrupted>> {
    let mut shell = Command::new("/bin/sh");
    run_to_end(shell.args(["-c", init]).current_dir(work), interrupt)
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Press<'a> {
    /// A file that is synced after each change; the program stops at its calls for that.
    pub(super) file: Option<&'a Path>,
    /// Whether what the program prints is passed on.
    pub(super) shows: bool,
    /// Whether the stack of each call that changes something is taken, which costs the program time.
    pub(super) has_stacks: bool,
}

/// Runs the program under another process of iostrata, which writes the log. It ends when this process is
/// killed.
pub(super) fn run(
    options: &Crash,
    work: &Path,
    into: &Path,
    press: Press<'_>,
    interrupt: &Interrupt,
) -> Result<Recorded, Failure> {
    let into = into.canonicalize().map_err(cannot("find the recording"))?;
    let log = into.join(LOG);
    let original = options.dir.as_ref().and_then(|dir| dir.canonicalize().ok());
    interrupt.check()?;
    let marks = mark::open(&into.join(MARKS)).map_err(cannot("make a file for marks"))?;
    let mut child = start(options, work, &log, &marks, press).map_err(cannot("run the program"))?;
    drop(marks);
    let pipe = child.stdout.take();
    let is_output = |path: Option<&Path>| path == Some(Path::new("-"));
    let passes_on = press.shows
        && !is_output(options.json.as_deref())
        && !is_output(options.html.html.as_deref());
    let pid = Pid::from_child(&child);
    let reader =
        thread::spawn(move || pipe.map_or(Ok(Vec::new()), |pipe| read_on(pipe, passes_on)));
    let mut ended = None;
    while !reader.is_finished() {
        if ended.is_none()
            && let Err(by) = interrupt.check()
        {
            ended = Some(by);
            interrupt.pass_on(pid);
        }
        thread::sleep(Duration::from_millis(20));
    }
    let status = child.wait();
    let status = status.map_err(cannot("wait for the program"))?;
    let read = reader
        .join()
        .map_err(|_panic| io::Error::other("its reader failed"));
    let printed = read
        .flatten()
        .map_err(cannot("read what the program prints"))?;
    match ended {
        Some(by) if by.signal != SIGINT && by.signal != SIGQUIT => {
            return Err(Failure::Interrupted { by, rows: 0 });
        }
        Some(by) if log.exists() => {
            ui::say(&format!(
                "{by} while the program ran: what it did until then is explored; once more ends that"
            ));
            interrupt.answered();
        }
        // It was not started.
        Some(by) => return Err(by.into()),
        _ => {}
    }
    let words = options.command.iter().map(OsString::as_os_str);
    let misplaced = (!status.success())
        .then(|| misplaced(work, words))
        .flatten();
    if log.exists() {
        if let Some(remedy) = misplaced.filter(|_| press.shows) {
            ui::say(&format!("note: the program failed; {remedy}"));
        }
        if options.record.is_some() {
            std::fs::write(into.join(PRINTED), &printed)
                .map_err(cannot("keep what the program printed"))?;
            if let Some(original) = &original {
                std::fs::write(into.join(ORIGINAL), original.as_os_str().as_bytes())
                    .map_err(cannot("keep the path of the directory"))?;
            }
            // One that ended well after a signal has not done all its work.
            let cut = ended.filter(|_| status.success());
            if let Some(code) = cut.map(|by| 128 + by.signal).or(status.code()) {
                std::fs::write(into.join(EXIT_CODE), format!("{code}\n"))
                    .map_err(cannot("keep the program's exit code"))?;
            }
        }
        return Ok(Recorded {
            log,
            original,
            printed: Some(printed),
            stacks: stacks(&into)?,
            exit_code: status.code(),
            ended_by: ended,
        });
    }
    // It has said why.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let remedy = misplaced.map_or(String::new(), |remedy| format!("; {remedy}"));
    Err(Failure::Program {
        message: format!("the program did not run ({status}); nothing was explored{remedy}"),
        code: code.unwrap_or(125),
    })
}

/// The recorder, and a process between it and this one.
fn start(
    options: &Crash,
    work: &Path,
    log: &Path,
    marks: &Marks,
    press: Press<'_>,
) -> io::Result<Child> {
    let itself = "/proc/self/exe";
    let mut command = Command::new(itself);
    command
        .args([ATTENDED, &std::process::id().to_string()])
        .args([itself, "trace", "--purpose", "record"])
        .args(["--no-save", "--no-measure", "--record"])
        .arg(log)
        .args(["--others", &OTHERS_S.to_string()])
        .arg("--record-before")
        .arg(work)
        .args(["--record-before-limit", MOST_BEFORE]);
    if press.has_stacks {
        command.arg("--stacks").arg(log.with_file_name(STACKS));
    }
    if let Some(file) = press.file {
        command.args(["--backend", "ptrace", "--press"]).arg(file);
    } else if let Some(backend) = options.backend.and_then(|one| one.to_possible_value()) {
        command.args(["--backend", backend.get_name()]);
    }
    command
        .arg("--")
        .args(&options.command)
        .current_dir(work)
        .env(mark::VARIABLE, marks.descriptor())
        .stdout(Stdio::piped())
        .spawn()
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

fn succeeded(what: &str, status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::Cannot(format!(
        "{what} ended with {status}; nothing was explored"
    )))
}
