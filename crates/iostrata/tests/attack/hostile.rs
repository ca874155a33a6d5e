//! Programs that do what they can to who watches them.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use iostrata_core::trace::TraceResult;

use crate::ending::Run;
use crate::ground::check_kernel;
use crate::log;
use crate::place::Place;
use crate::programs::{PROGRAMS, Program};
use crate::seeded::Seeded;
use crate::trials::{Failure, Fault, Outcome, Trials, holds, variable};

/// Programs of the usual run of tests.
const FEW: u64 = 13;

const WAYS: [&[&str]; 4] = [
    &["--backend", "ebpf"],
    &["--backend", "ptrace"],
    &["--backend", "ebpf", "--record", "../log"],
    &["--backend", "ptrace", "--record", "../log"],
];

/// The last thing that each does, so that a result can be held against it.
const WITNESS: &str = "printf 0123456789 > \"$WITNESS\"";

#[test]
fn hostile_programs() {
    let mut trials = Trials::begin();
    let few = variable("PROGRAMS").unwrap_or(FEW);
    let root = rustix::process::geteuid().is_root();
    let all = PROGRAMS.len() as u64;
    for program in &PROGRAMS {
        let name = format!("program that {}", program.name);
        // Where there are fewer trials than programs, the seed decides which.
        let each = few / all + u64::from(trials.random(&name).below(all) < few % all);
        trials.attack(&name, each, |seeded| one(program, root, seeded));
    }
    trials.end();
}

fn one(program: &Program, root: bool, seeded: &mut Seeded) -> Outcome {
    let place = Place::new();
    let work = place.dir();
    let options = if root {
        *seeded.one_of(&WAYS)
    } else {
        *seeded.one_of(&[WAYS[1], WAYS[3]])
    };
    let script = format!("exec >/dev/null 2>&1\n{}\n{WITNESS}", program.script);
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    command
        .args(["trace", "--no-measure", "-o", "../result.json"])
        .args(options)
        .args(["--", "/bin/sh", "-c", &script])
        .env_clear()
        .env("HOME", place.path("home"))
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("LANG", "C.UTF-8")
        .env("WITNESS", place.path("home/witness"))
        .current_dir(&work)
        .stdin(Stdio::null());
    let ended = Run::start(command).end()?;
    if program.kills && ended.status.signal() == Some(9) {
        check_kernel(&place)?;
        return Ok("killed");
    }
    let what = || format!("{options:?}: {:?}: {}", ended.status, ended.said);
    ended.check_words()?;
    let cleared = check_kernel(&place);
    clean_up(&place);
    cleared?;
    log::check(&place.path("log"), true, &what)?;
    let result = result(&place, &what)?;
    if !ended.is_success() {
        holds(
            ended.said.contains("error: ") || result.is_some(),
            Fault::Code,
            what,
        )?;
        return Ok(if ended.said.contains("error: ") {
            "told"
        } else {
            "the program's own end"
        });
    }
    let Some(result) = result else {
        return Err(Failure::new(Fault::Code, format!("no result: {}", what())));
    };
    is_right(program, &place, &result, &what)
}

/// The last write is there, unless something is said to be missing.
fn is_right(
    program: &Program,
    place: &Place,
    result: &TraceResult,
    what: &dyn Fn() -> String,
) -> Outcome {
    let witness = place.path("home/witness");
    let has_written = fs::read(&witness).is_ok_and(|text| text == b"0123456789");
    let mut rows = result.files.iter();
    let row = rows.find(|file| file.path.ends_with("/home/witness"));
    let seen = row.map(|row| (row.writes.count, row.writes.bytes));
    let is_seen = seen == has_written.then_some((1, 10));
    holds(is_seen || result.lost_events > 0, Fault::Code, || {
        format!("{}: the witness is {seen:?}: {}", program.name, what())
    })?;
    if let Some(recording) = &result.recording {
        let log = fs::metadata(place.path("log")).map(|log| log.len()).ok();
        let is_there = log == Some(recording.bytes) || !recording.incomplete_because.is_empty();
        holds(is_there, Fault::Code, || {
            format!("the log has {log:?} of {} B: {}", recording.bytes, what())
        })?;
        return Ok(match recording.incomplete_because.len() {
            0 => "all seen and recorded",
            _ => "all seen, the log incomplete and says so",
        });
    }
    Ok(if result.lost_events > 0 {
        "losses told"
    } else {
        "all seen"
    })
}

fn result(place: &Place, what: &dyn Fn() -> String) -> Result<Option<TraceResult>, Failure> {
    let Ok(text) = fs::read(place.path("result.json")) else {
        return Ok(None);
    };
    let result = serde_json::from_slice(&text);
    result
        .map(Some)
        .map_err(|error| Failure::new(Fault::Half, format!("{error}: {}", what())))
}

/// What a program has made deeper than a path is long.
fn clean_up(place: &Place) {
    let work: PathBuf = place.dir();
    let mut remove = Command::new("find");
    remove
        .arg(&work)
        .args(["-depth", "-mindepth", "1", "-delete"]);
    drop(remove.stderr(Stdio::null()).status());
}
