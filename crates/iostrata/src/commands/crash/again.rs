//! Second crashes: the power fails again while the checker, or what it starts, recovers from the first crash.
//!
//! What the checker does in a copy is recorded as a program's work is, and its crash states are explored with the same checker.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use iostrata_core::crash::{
    Coverage, Explorer, Finding, History, Model, OperationRow, SecondCrashes, Seen, Settings,
    Share, Stacks, Verdicts, findings, join_recovery, operation,
};
use iostrata_lab::crash::{Changed, Checker, LogError, Manner, RECOVERY, Recorders, SharedLog};

use super::checks::Checks;
use super::explore::{Explored, Task, budget, modes, search_all};
use super::look::{Judge, checker, locked};
use super::place::Recorded;
use super::{cannot, keep, log_of, named};
use crate::error::Failure;

/// States in which the checker is recorded: a recording takes about as long as four looks.
const MOST_RECORDED: usize = 64;

/// Logs of recordings take no more together, bytes: each has the files as the checker found them.
const MOST_BYTES: u64 = 1 << 30;

/// States whose second crashes are explored: each is an exploration of its own.
const MOST_EXPLORED: usize = 16;

/// How much longer a checker may take under the recorder, which stops it at each call.
const SLOWER: u32 = 4;

/// A state that the checker accepted and changed.
struct Recovered {
    number: u64,
    /// Those that allow it.
    models: Vec<Model>,
    seen: Seen,
    /// Whether it is what the program leaves without a crash.
    is_end: bool,
}

/// A state with the log of what the checker did there.
struct Recovery<'r> {
    of: &'r Recovered,
    log: PathBuf,
}

/// The exploration of second crashes.
struct Again<'t> {
    task: &'t Task<'t>,
    /// The checker for `/bin/sh`.
    check: &'t str,
    /// When all of it has to end.
    until: Option<Instant>,
    /// Findings of first crashes.
    kept: usize,
    row: SecondCrashes,
    findings: Vec<Finding>,
}

/// Adds second crashes to what first ones left.
pub(super) fn join(task: &Task<'_>, check: &str, explored: &mut Explored) -> Result<(), Failure> {
    let begun = Instant::now();
    let result = &mut explored.result;
    let mut again = Again {
        task,
        check,
        until: explored.until,
        kept: result.findings.len(),
        row: SecondCrashes::default(),
        findings: Vec::new(),
    };
    if explored.interrupted.is_none() && explored.failed.is_none() {
        match again.all(&explored.changed) {
            Err(Failure::Interrupted { by, .. }) => {
                result.interrupted_by = Some(by.name());
                explored.interrupted = Some(by);
            }
            // What was found is worth more.
            Err(error @ Failure::Cannot(_)) => explored.failed = Some(error),
            other => other?,
        }
    }
    again.row.seconds = begun.elapsed().as_secs_f64();
    if result.findings.is_empty() && !again.findings.is_empty() {
        result.fix_unknown_because = Some(RECOVERY_ALONE.to_owned());
    }
    result.findings.extend(again.findings);
    // A later recovery may have shown more of a finding that was kept.
    keep::stories(&result.findings);
    result.again = Some(again.row);
    explored.judge();
    Ok(())
}

const RECOVERY_ALONE: &str =
    "it is the recovery that breaks, and syncs are tried in the program alone";

impl Again<'_> {
    /// After the states of the first crash, of which the checker `changed` some.
    fn all(&mut self, changed: &Changed) -> Result<(), Failure> {
        let task = self.task;
        let history = locked(&task.log).history.clone();
        let states = recovered(task, &history, changed)?;
        self.row.changed = states.len() as u64;
        let scratch = task.scratch.join("again");
        fs::create_dir(&scratch).map_err(cannot("make a directory"))?;
        let recorded = self.recorded(&states, &scratch)?;
        let chosen = self.chosen(recorded)?;
        self.row.chosen = chosen.len() as u64;
        for (place, recovery) in chosen.iter().enumerate() {
            let left = chosen.len() - place;
            let share = |until: Instant| {
                let time = until.saturating_duration_since(Instant::now());
                time.div_f64(left as f64).as_secs_f64()
            };
            let settings = Settings {
                models: recovery.of.models.clone(),
                states: (task.settings.states / chosen.len() as u64).max(2),
                time_s: self.until.map(share),
                after: None,
                ..task.settings.clone()
            };
            let own = scratch.join(place.to_string());
            fs::create_dir(&own).map_err(cannot("make a directory"))?;
            self.one(settings, recovery, &own)?;
        }
        Ok(())
    }

    /// Records the checker in some of the states, spread over all of them.
    fn recorded<'r>(
        &mut self,
        states: &'r [Recovered],
        scratch: &Path,
    ) -> Result<Vec<Recovery<'r>>, Failure> {
        let (task, options) = (self.task, self.task.options);
        let (bytes, interrupt) = {
            let log = locked(&task.log);
            (log.tree_bytes(), log.interrupt().clone())
        };
        let fit = usize::try_from(MOST_BYTES / bytes.max(1)).unwrap_or(usize::MAX);
        let most = states.len().min(MOST_RECORDED).min(fit.max(1));
        let spread = (0..most).map(|place| &states[place * states.len() / most]);
        let spread: Vec<&Recovered> = spread.collect();
        let checks = Checks::default();
        let recording = recording(self.check, options.check.as_deref() != Some(self.check))?;
        let (own, _) = checker(options, &checks, &recording, scratch)?;
        let own = Checker {
            manner: Manner::Starts,
            patience: own.patience * SLOWER,
            ..own
        };
        let jobs = options.jobs();
        let recorders = Recorders::start(jobs, &own, scratch, &task.log, bytes, &interrupt);
        let recorders = recorders.map_err(cannot("start the checkers"))?;
        let mut recorded = Vec::new();
        for some in spread.chunks(jobs) {
            if self.until.is_some_and(|until| Instant::now() >= until) {
                self.row.states.time_over = true;
                break;
            }
            let log = |of: &&Recovered| scratch.join(format!("{}.iostrata", of.number));
            let all: Vec<_> = some.iter().map(|of| (of.seen.clone(), log(of))).collect();
            for (of, said) in some.iter().zip(recorders.record(&all)?) {
                match said {
                    Ok(()) => recorded.push(Recovery { of, log: log(of) }),
                    Err(why) => self.not_recorded(of, &why),
                }
            }
        }
        Ok(recorded)
    }

    fn not_recorded(&mut self, of: &Recovered, why: &str) {
        self.row.not_recorded += 1;
        let because = &mut self.row.not_recorded_because;
        because.get_or_insert_with(|| format!("state {}: {why}", of.number));
    }

    /// Those whose recoveries differ in their calls come first.
    fn chosen<'r>(&mut self, recorded: Vec<Recovery<'r>>) -> Result<Vec<Recovery<'r>>, Failure> {
        let mut times: HashMap<Vec<_>, usize> = HashMap::new();
        let mut ranked = Vec::new();
        for recovery in recorded {
            let log = match recovery.read(self.task) {
                Ok(log) => log,
                // What was found is worth more than one recording.
                Err(Failure::Cannot(why)) => {
                    self.not_recorded(recovery.of, &why);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let log = locked(&log);
            let steps = log.history.steps.iter();
            let calls = steps.map(|step| {
                let row = operation(step, &log.directory);
                let OperationRow {
                    syscall,
                    path,
                    other_path,
                    ..
                } = row;
                (syscall, path, other_path)
            });
            let seen = times.entry(calls.collect()).or_default();
            ranked.push((*seen, recovery));
            *seen += 1;
        }
        self.row.recorded = ranked.len() as u64;
        self.row.recoveries = times.len() as u64;
        ranked.sort_by_key(|(seen, _)| *seen);
        ranked.truncate(MOST_EXPLORED);
        Ok(ranked.into_iter().map(|(_, recovery)| recovery).collect())
    }

    /// The second crashes in one state.
    fn one(
        &mut self,
        settings: Settings,
        recovery: &Recovery<'_>,
        scratch: &Path,
    ) -> Result<(), Failure> {
        let first = self.task;
        let log = recovery.read(first)?;
        let (history, gaps, directory) = {
            let log = locked(&log);
            let gaps = log.incomplete_because.clone();
            (log.history.clone(), gaps, log.directory.clone())
        };
        let checks = Checks {
            command: Some(self.check.to_owned()),
            ..Checks::default()
        };
        let mut judge = Judge::new(first.options, &checks, scratch, &log)?;
        let task = Task {
            options: first.options,
            budget: budget(&settings, Some(Share::ALL), &log)?,
            settings,
            share: None,
            recovering: Some(recovery.of.number),
            log,
            scratch,
            keep: first.keep,
            known: Vec::new(),
            formats: Vec::new(),
        };
        let (base, end) = history.ends();
        let ends = [(Arc::new(base), 0), (Arc::new(end), 0)];
        let said = judge.check(&ends, &Coverage::default());
        let said = said.map_err(|stopped| stopped.by)?;
        if let Some(why) = &said[0] {
            self.not_recorded(recovery.of, why);
            return Ok(());
        }
        if let Some(why) = said[1].as_ref().filter(|_| recovery.of.is_end) {
            return Err(Failure::Usage(format!(
                "--again: the checker accepts what the program leaves without a crash, changes it, and refuses that: {why}; \
                 it has to accept what it leaves itself"
            )));
        }
        let mut verdicts = Verdicts::new(judge.beside(first.options));
        let searched = search_all(&task, &history, &mut verdicts, &mut judge)?;
        judge.finish();
        for mode in modes(&task, &searched, &gaps) {
            self.row.states.add(&mode.states);
        }
        let gaps = gaps.into_iter();
        let known = &mut self.row.incomplete_because;
        for gap in gaps {
            if !known.contains(&gap) {
                known.push(gap);
            }
        }
        let told = findings(&history, &searched.found, &directory);
        let mut told = join_recovery(&mut self.findings, told, recovery.of.number);
        let before = self.kept + self.findings.len();
        keep::all(&task.log, task.keep, &mut told, before);
        self.findings
            .extend(told.into_iter().map(|told| told.finding));
        if let Some(by) = searched.interrupted {
            return Err(by.into());
        }
        if let Some(error) = searched.failed {
            return Err(error);
        }
        self.row.explored += 1;
        Ok(())
    }
}

impl Recovery<'_> {
    fn read(&self, task: &Task<'_>) -> Result<SharedLog, Failure> {
        let recorded = Recorded {
            log: self.log.clone(),
            original: None,
            printed: None,
            stacks: Stacks::default(),
            exit_code: Some(0),
            ended_by: None,
        };
        let (printed, interrupt) = {
            let mut log = locked(&task.log);
            (log.printed(self.of.seen.1)?, log.interrupt().clone())
        };
        let log = log_of(recorded, task.options, interrupt)?;
        locked(&log).recovers(printed);
        Ok(log)
    }
}

/// The states that the checker changed, with the models that allow them; first that without a crash, if it is one.
fn recovered(
    task: &Task<'_>,
    history: &History,
    changed: &Changed,
) -> Result<Vec<Recovered>, LogError> {
    let end = (history.digest(&history.ends().1), history.told());
    let mut all: Vec<Recovered> = Vec::new();
    let mut places = HashMap::new();
    let mut before = 0;
    for model in &task.settings.models {
        let mut coverage = Coverage::default();
        let mut explorer = Explorer::new(history, *model);
        explorer.explore(task.budget, &mut coverage, |state, looked, _| {
            locked(&task.log).check_interrupt()?;
            let key = (looked.hash, looked.told);
            if !changed.contains(&key) {
                return Ok(());
            }
            let place = *places.entry(key).or_insert(all.len());
            match all.get_mut(place) {
                Some(known) if known.models.contains(model) => {}
                Some(known) => known.models.push(*model),
                None => all.push(Recovered {
                    number: before + state.number,
                    models: vec![*model],
                    seen: (Arc::clone(looked.tree), looked.told),
                    is_end: key == end,
                }),
            }
            Ok::<_, LogError>(())
        })?;
        before += coverage.states;
    }
    all.sort_by_key(|one| !one.is_end);
    Ok(all)
}

/// The command that records the checker in its room. One that keeps running is asked about a single state.
fn recording(command: &str, stays: bool) -> Result<String, Failure> {
    let asked = || {
        format!(
            "said=$(printf '%s\\t%s\\n' \"$IOSTRATA_DIR\" \"$IOSTRATA_STDOUT\" | (\n{command}\n))\n\
             case $said in ok*) ;; *) echo \"$said\"; exit 1 ;; esac"
        )
    };
    let check = if stays { asked() } else { command.to_owned() };
    let itself = std::env::current_exe().map_err(cannot("find itself"))?;
    let itself = named::quoted(itself.as_os_str())?;
    let check = named::quoted(check.as_ref())?;
    Ok(format!(
        "exec {itself} trace --purpose record --no-save --no-measure --backend ptrace --others 1 \
         --record \"$TMPDIR\"/{RECOVERY} --record-before \"$IOSTRATA_DIR\" -- /bin/sh -c {check}"
    ))
}
