//! Explores a recording: all models, the findings, the fix.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use iostrata_core::crash::{
    Added, Budget, Coverage, CrashResult, Fault, FaultKind, FormatRow, Found, History, ModeRow,
    Model, NoFix, Recording, SCHEMA, Said, Settings, Share, States, Told, Verdict, Verdicts, block,
    findings, fix, fix_rows, search,
};
use iostrata_core::environment::Backend;
use iostrata_core::gap::{Gap, Reason};
use iostrata_core::noun::counted;
use iostrata_lab::crash::{Changed, LogError, SharedLog};
use iostrata_lab::interrupt::Interrupted;
use iostrata_lab::rebuild::RebuildError;
use iostrata_report::words;
use iostrata_tracer::machine;

use super::block::Runs;
use super::look::{Judge, locked};
use super::{ENDS, keep, place, settings};
use crate::cli::{Crash, Only};
use crate::error::Failure;

pub(super) struct Task<'a> {
    pub(super) options: &'a Crash,
    pub(super) settings: Settings,
    /// The same settings, for the share of this run.
    pub(super) budget: Budget,
    pub(super) share: Option<Share>,
    /// The state in which the checker was recorded; `None` of the program itself.
    pub(super) recovering: Option<u64>,
    pub(super) log: SharedLog,
    pub(super) scratch: &'a Path,
    /// Where the states of findings are kept.
    pub(super) keep: Option<&'a Path>,
    /// What is known already, as a merge knows it.
    pub(super) known: Vec<Said>,
    /// Files that the built-in rules do not know.
    pub(super) formats: Vec<FormatRow>,
}

pub(super) struct Explored {
    pub(super) result: CrashResult,
    pub(super) interrupted: Option<Interrupted>,
    /// What ended the exploration, such as a full disk.
    pub(super) failed: Option<Failure>,
    /// The states that the checker changed, where that is noted.
    pub(super) changed: Changed,
    /// When all of it has to end.
    pub(super) until: Option<Instant>,
}

impl Explored {
    /// Gives the verdict on all that is in the result by now.
    pub(super) fn judge(&mut self) {
        let was_ended = self.result.interrupted_by.is_some() || self.failed.is_some();
        let CrashResult {
            findings,
            modes,
            again,
            ..
        } = &self.result;
        self.result.verdict = Verdict::of(findings, modes, again.as_ref(), was_ended);
    }
}

/// The search of all models.
pub(super) struct Searched {
    pub(super) found: Vec<(Model, Found)>,
    seconds: Vec<f64>,
    /// Of each model, whether its time was over.
    time_over: Vec<bool>,
    /// When all of it has to end.
    until: Option<Instant>,
    pub(super) interrupted: Option<Interrupted>,
    pub(super) failed: Option<Failure>,
}

impl Searched {
    /// Whether it ended before its time, with what was found until then.
    fn was_ended(&self) -> bool {
        self.interrupted.is_some() || self.failed.is_some()
    }
}

pub(super) fn budget(
    settings: &Settings,
    share: Option<Share>,
    log: &SharedLog,
) -> Result<Budget, Failure> {
    let after = settings.after.as_ref();
    Ok(Budget {
        states: settings.states,
        seed: settings.seed,
        every: settings.every,
        after: after.map(|name| marked(name, log)).transpose()?,
        share: share.unwrap_or(Share::ALL),
        ..Budget::default()
    })
}

/// The operation by which the program made this mark.
pub(super) fn marked(name: &str, log: &SharedLog) -> Result<u64, Failure> {
    let marks = locked(log).marks()?;
    if let Some((_, operation)) = marks.iter().find(|(known, _)| known == name) {
        return Ok(*operation);
    }
    let names: Vec<&str> = marks.iter().map(|(known, _)| known.as_str()).collect();
    Err(Failure::Usage(match names.as_slice() {
        [] => {
            format!(
                "--after {name}: the program made no mark; iostrata mark {name} in it makes one"
            )
        }
        names => format!(
            "--after {name}: the program made no such mark, but {}",
            names.join(", ")
        ),
    }))
}

pub(super) fn explore(task: &Task<'_>, mut judge: Judge) -> Result<Explored, Failure> {
    let (history, mut gaps) = {
        let log = locked(&task.log);
        (log.history.clone(), log.incomplete_because.clone())
    };
    accept_both_ends(task, &history, &gaps, &mut judge)?;
    let mut verdicts = Verdicts::new(judge.beside(task.options));
    for said in &task.known {
        if !verdicts.add(&said.tree, said.printed, said.message.as_deref()) {
            return Err(Failure::Input(format!(
                "the parts contradict each other about the state {}; the checker does not always say the \
                 same, so nothing can be merged",
                said.tree
            )));
        }
    }
    let mut searched = search_all(task, &history, &mut verdicts, &mut judge)?;
    let changed = judge.changed();
    if is_order_known(
        task,
        &history,
        &gaps,
        &mut searched,
        &mut verdicts,
        &mut judge,
    )? {
        gaps.retain(|gap| gap.why != Reason::BetweenCalls);
    }
    let fixed = fixed(task, &history, &mut verdicts, &mut judge, &mut searched)?;
    let kept_in = judge.kept_in();
    judge.finish();
    let directory = locked(&task.log).directory.clone();
    let mut told = findings(&history, &searched.found, &directory);
    keep::all(&task.log, task.keep, &mut told, 0);
    let findings = told.into_iter().map(|Told { finding, .. }| finding);
    let findings: Vec<_> = findings.collect();
    let (fix, fix_unknown_because) = match fixed {
        Ok(added) => (Some(added), None),
        Err(why) => (None, (!findings.is_empty()).then_some(why)),
    };
    let fix = fix.map(|added| {
        fix_rows(&history, &added, &directory, |one| {
            history.name_of(one.node, one.before)
        })
    });
    let modes = modes(task, &searched, &gaps);
    let ended_by = searched.interrupted.map(Interrupted::name);
    let interrupted_by = ended_by.or_else(|| locked(&task.log).cut_by.clone());
    let result = CrashResult {
        check_kept_in: kept_in,
        settings: task.settings.clone(),
        recording: Some(recording(task)),
        interrupted_by,
        partition: task
            .share
            .map(|share| format!("{}/{}", share.number, share.of)),
        verdicts: task.share.map_or_else(Vec::new, |_| said(&verdicts)),
        modes,
        findings,
        fix,
        fix_unknown_because,
        ..nothing_found(task.options, task.scratch, command(task))?
    };
    let mut explored = Explored {
        result,
        interrupted: searched.interrupted,
        failed: searched.failed,
        changed,
        until: searched.until,
    };
    explored.judge();
    Ok(explored)
}

/// A result before anything was explored.
fn nothing_found(
    options: &Crash,
    scratch: &Path,
    command: Vec<String>,
) -> Result<CrashResult, Failure> {
    let environment = machine::environment(scratch, Backend::None);
    Ok(CrashResult {
        schema: SCHEMA.to_owned(),
        environment: environment.map_err(Failure::cannot)?,
        command,
        check: options.checker().map(str::to_owned),
        check_keeps_running: options.check_server.is_some(),
        ignored: options.ignore.iter().map(ToString::to_string).collect(),
        only_damage: options.only == Some(Only::Damage),
        check_kept_in: None,
        settings: settings(options),
        recording: None,
        interrupted_by: None,
        partition: None,
        parts: Vec::new(),
        verdicts: Vec::new(),
        modes: Vec::new(),
        again: None,
        verdict: Verdict::Clean,
        findings: Vec::new(),
        fix: None,
        fix_unknown_because: None,
    })
}

/// The result of runs on real file systems alone.
pub(super) fn of_runs(options: &Crash, scratch: &Path, runs: Runs) -> Result<Explored, Failure> {
    let words = options.command.iter();
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let mut explored = Explored {
        result: nothing_found(options, scratch, words.collect())?,
        interrupted: None,
        failed: None,
        changed: Changed::default(),
        until: None,
    };
    join(&mut explored, runs);
    if !explored.result.findings.is_empty() {
        let why = "real file systems show that something breaks, models which syncs help: --mode both looks for them";
        explored.result.fix_unknown_because = Some(why.to_owned());
    }
    Ok(explored)
}

/// Adds what real file systems recovered.
pub(super) fn join(explored: &mut Explored, runs: Runs) {
    let result = &mut explored.result;
    result.modes.extend(runs.modes);
    block::join(&mut result.findings, runs.findings);
    result.check_kept_in = result.check_kept_in.or(runs.kept_in);
    if let Some(by) = runs.interrupted {
        result.interrupted_by = Some(by.name());
        explored.interrupted = Some(by);
    }
    explored.judge();
}

pub(super) fn search_all(
    task: &Task<'_>,
    history: &History,
    verdicts: &mut Verdicts,
    judge: &mut Judge,
) -> Result<Searched, Failure> {
    let time = task.settings.time_s.map(Duration::from_secs_f64);
    let mut searched = Searched {
        found: Vec::new(),
        seconds: Vec::new(),
        time_over: Vec::new(),
        until: time.map(|time| Instant::now() + time),
        interrupted: None,
        failed: None,
    };
    let mut before = 0;
    let models = &task.settings.models;
    for (number, model) in models.iter().enumerate() {
        // As much for each model, for the syncs that help, and for second crashes.
        judge.until = searched.until.map(|until| {
            let now = Instant::now();
            let shares = (models.len() - number) as f64 + f64::from(later(task));
            now + until.saturating_duration_since(now).div_f64(shares)
        });
        let crash = match task.recovering {
            Some(state) => format!("a second crash in state {state}: "),
            None => String::new(),
        };
        let doing = format!("{crash}checking what {} allows", model.as_str());
        judge.begin(&doing, before);
        let begun = Instant::now();
        let mut found = Found::default();
        let mut check = |seen: &[_], coverage: &_| judge.check(seen, coverage);
        let ended = search(
            history,
            *model,
            task.budget,
            verdicts,
            &mut check,
            &mut found,
        );
        before += found.coverage.states;
        searched.found.push((*model, found));
        searched.seconds.push(begun.elapsed().as_secs_f64());
        let is_over = matches!(ended, Err(LogError::TimeOver));
        searched.time_over.push(is_over);
        match ended {
            Ok(()) | Err(LogError::TimeOver) => {}
            Err(LogError::Interrupted(by)) => {
                searched.interrupted = Some(by);
                break;
            }
            Err(error @ (LogError::Stage(_) | LogError::Build(_))) => {
                searched.failed = Some(stopped(task, error));
                break;
            }
            Err(error) => return Err(failure(task, error)),
        }
    }
    Ok(searched)
}

/// States of one point at most in which a page has some of the bytes that were stored between two calls without the others:
/// all of 12 bytes.
const MIXED: usize = 4_096;

/// Whether it makes no difference in which order the bytes of a page were stored between two calls, which nobody saw: no
/// state breaks in which it has some of them, and all of these were looked at. One that breaks may be none that the
/// program's order leaves, so that is no finding. What is failing or was ended is not looked at, and neither is a part: it
/// does not know the others.
fn is_order_known(
    task: &Task<'_>,
    history: &History,
    gaps: &[Gap],
    searched: &mut Searched,
    verdicts: &mut Verdicts,
    judge: &mut Judge,
) -> Result<bool, Failure> {
    let is_over = searched.time_over.contains(&true) || searched.was_ended();
    let mut found = searched.found.iter().map(|(_, found)| found);
    if !gaps.iter().any(|gap| gap.why == Reason::BetweenCalls)
        || found.any(|found| found.failing > 0)
        || is_over
        || task.share.is_some()
    {
        return Ok(false);
    }
    let mut mixed = history.clone();
    mixed.mix_stores();
    let found = searched.found.iter();
    let states = found.map(|(_, found)| found.coverage.states).sum();
    judge.begin("checking pages with some of their stores", states);
    let mut check = |seen: &[_], coverage: &_| judge.check(seen, coverage);
    let budget = Budget {
        exhaustive: MIXED,
        ..task.budget
    };
    let mut found = Found::default();
    // It has the states of the others.
    let model = Model::Posix;
    match search(&mixed, model, budget, verdicts, &mut check, &mut found) {
        Ok(()) => {
            let Coverage {
                sampled,
                not_tried,
                limit_reached,
                ..
            } = found.coverage;
            Ok(found.failing == 0 && sampled + not_tried == 0 && !limit_reached)
        }
        Err(LogError::TimeOver) => Ok(false),
        Err(LogError::Interrupted(by)) => {
            searched.interrupted = Some(by);
            Ok(false)
        }
        Err(error) => Err(failure(task, error)),
    }
}

/// The syncs that help, if any; or why nobody knows.
fn fixed(
    task: &Task<'_>,
    history: &History,
    verdicts: &mut Verdicts,
    judge: &mut Judge,
    searched: &mut Searched,
) -> Result<Result<Vec<Added>, String>, Failure> {
    const ENDED: &str = "the exploration was ended before any were looked for";
    if task.share.is_some() {
        let why =
            "only a part of the states was looked at; iostrata merge looks for them in all parts";
        return Ok(Err(why.to_owned()));
    }
    if searched.was_ended() {
        return Ok(Err(ENDED.to_owned()));
    }
    let faults = searched.found.iter().flat_map(|(_, found)| &found.faults);
    let faults: Vec<Fault> = faults.cloned().collect();
    if faults.iter().any(|fault| !fault.is_attributed) {
        return Ok(Err(
            "the time was over before it was known which operations matter".to_owned(),
        ));
    }
    let states = searched
        .found
        .iter()
        .map(|(_, found)| found.coverage.states);
    judge.begin("looking for syncs that help", states.sum());
    judge.until = searched.until.map(|until| {
        let now = Instant::now();
        now + until.saturating_duration_since(now) / later(task)
    });
    let mut check = |seen: &[_], coverage: &_| judge.check(seen, coverage);
    let models = &task.settings.models;
    // Parts of the states have no fix.
    match fix(history, models, task.budget, &faults, verdicts, &mut check) {
        Ok(Ok(added)) => Ok(Ok(added)),
        Ok(Err(NoFix::NoSyncHelps)) => {
            let waits =
                |fault: &Fault| matches!(fault.kind, FaultKind::Ordering | FaultKind::LostAfterAck);
            let which = if faults.iter().any(waits) {
                "some findings come"
            } else {
                "it comes"
            };
            Ok(Err(format!(
                "{which} from a crash within one operation, or between two, which no sync prevents"
            )))
        }
        Ok(Err(NoFix::SyncFailed)) => Ok(Err(
            "a sync of the program failed, and after that another one may succeed without the data"
                .to_owned(),
        )),
        Ok(Err(NoFix::TooMany { syncs })) => Ok(Err(format!(
            "{} may be needed, more than are tried; one syncfs before each report is another way",
            counted(syncs as u64, "sync")
        ))),
        Err(LogError::TimeOver) => Ok(Err("the time was over before any were found".to_owned())),
        Err(LogError::Interrupted(by)) => {
            searched.interrupted = Some(by);
            Ok(Err(ENDED.to_owned()))
        }
        Err(error @ (LogError::Stage(_) | LogError::Build(_))) => {
            searched.failed = Some(stopped(task, error));
            Ok(Err(ENDED.to_owned()))
        }
        Err(error) => Err(failure(task, error)),
    }
}

/// How many have a part of the time after the models: the fix, second crashes, and runs on real file systems.
fn later(task: &Task<'_>) -> u32 {
    if task.recovering.is_some() {
        return 0;
    }
    let runs = task.settings.runs.iter();
    runs.fold(1 + u32::from(task.options.again), |count, _| count + 1)
}

fn failure(task: &Task<'_>, error: LogError) -> Failure {
    if let Some(state) = task.recovering {
        return Failure::Cannot(format!("a second crash in state {state}: {error}"));
    }
    keep::failed(&task.log, &task.settings.models, task.budget, error)
}

/// The failure of what could not be built or started; a full disk is named.
fn stopped(task: &Task<'_>, error: LogError) -> Failure {
    let full = |source: &io::Error| source.kind() == io::ErrorKind::StorageFull;
    let is_full = match &error {
        LogError::Stage(source) | LogError::Build(RebuildError::Make { source, .. }) => {
            full(source)
        }
        _ => false,
    };
    let failure = failure(task, error);
    if is_full {
        place::was_full(failure, task.scratch)
    } else {
        failure
    }
}

fn command(task: &Task<'_>) -> Vec<String> {
    let log = locked(&task.log);
    let words = log.command.iter();
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

fn recording(task: &Task<'_>) -> Recording {
    let kept = task.options.record.as_ref().or(task.options.from.as_ref());
    let path = kept.and_then(|kept| kept.canonicalize().ok());
    Recording {
        path: path.map(|path| path.to_string_lossy().into_owned()),
        log_blake3: locked(&task.log).blake3.clone(),
    }
}

fn said(verdicts: &Verdicts) -> Vec<Said> {
    let all = verdicts.all().into_iter();
    all.map(|(tree, printed, message)| Said {
        tree,
        printed,
        message: message.map(str::to_owned),
    })
    .collect()
}

pub(super) fn refuses(options: &Crash, message: &str, when: &str) -> Failure {
    let command = options.check.iter().chain(&options.check_server);
    let words = command.flat_map(|command| command.split_whitespace().map(OsStr::new));
    // What --init made is in the copy alone.
    let like_copy = options.dir.as_ref().filter(|_| options.init.is_none());
    let misplaced = like_copy.and_then(|dir| place::misplaced(dir, words));
    let remedy = misplaced.unwrap_or_else(|| {
        "it runs in the copy, where programs outside need their absolute paths; it can write there and to TMPDIR, HOME, \
         /tmp and /dev/shm of its own, and read what everybody may, but for the machine's /tmp; --check-sees shows it \
         more, and --check-user makes it another user"
            .to_owned()
    });
    Failure::Usage(format!(
        "the checker refuses the directory as it was {when}: {message}; it has to accept that; {remedy}"
    ))
}

/// A checker that refuses what was there before, or what is there without a crash, says nothing about one.
fn accept_both_ends(
    task: &Task<'_>,
    history: &History,
    gaps: &[Gap],
    judge: &mut Judge,
) -> Result<(), Failure> {
    let (base, end) = history.ends();
    let seen = [(Arc::new(base), 0), (Arc::new(end), history.told())];
    judge.begin("checking both ends", 0);
    let said = judge.check(&seen, &Coverage::default());
    let said = said.map_err(|stopped| failure(task, stopped.by))?;
    for (message, when) in said.into_iter().zip(ENDS) {
        let Some(message) = message else { continue };
        // Of what the log lacks, the end that is made of it says nothing.
        let lacks = gaps.first().filter(|_| when == ENDS[1]);
        return Err(match lacks {
            Some(gap) => Failure::Cannot(format!(
                "the recording lacks {}; and the checker refuses what the rest makes: {message}",
                words::gap(gap)
            )),
            None => refuses(task.options, &message, when),
        });
    }
    Ok(())
}

/// One row for each model; those that an interrupted exploration did not come to have no states.
pub(super) fn modes(task: &Task<'_>, searched: &Searched, gaps: &[Gap]) -> Vec<ModeRow> {
    let log = locked(&task.log);
    let history = &log.history;
    let times = searched.seconds.iter().zip(&searched.time_over);
    let rows = searched.found.iter().zip(times);
    let rows = rows.map(|((model, found), (seconds, time_over))| {
        let coverage = &found.coverage;
        ModeRow {
            mode: "syscall".to_owned(),
            model: Some(*model),
            filesystem: None,
            recording: None,
            exit_code: log.exit_code(),
            operations: log.operations,
            changes: history.changes(),
            states: States {
                explored: coverage.states,
                distinct: found.distinct,
                failing: found.failing,
                points: coverage.points,
                sampled_points: coverage.sampled,
                points_not_explored: coverage.not_tried,
                limit_reached: coverage.limit_reached,
                time_over: *time_over,
            },
            complete: gaps.is_empty(),
            incomplete_because: gaps.to_vec(),
            rebuilt: history.rebuilt(),
            formats: task.formats.clone(),
            seconds: *seconds,
        }
    });
    rows.collect()
}
