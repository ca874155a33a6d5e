//! What a crash could leave: the verdict, what breaks, and what would prevent it.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::iter;

use iostrata_core::bytes::grouped;
use iostrata_core::crash::block::On;
use iostrata_core::crash::{
    CrashResult, FaultKind, Finding, FixRow, FormatRow, ModeRow, Model, OperationRow, RecoveredRow,
    Sandbox, Settings, States, Verdict,
};
use iostrata_core::distinct;
use iostrata_core::noun::counted;

use super::page::{Page, SEPARATOR, Tone};
use crate::format::join;
use crate::view::section::SectionId;
use crate::words;
use iostrata_core::gap::Missing;

mod again;
mod alike;
#[cfg(test)]
mod tests;
mod told;

use told::show_whole;
pub(crate) use told::{drawn, left, operations, tell};

/// Findings that are shown, those like them left out.
const MOST_FINDINGS: usize = 8;

/// Messages that are shown of one cause.
const MOST_MESSAGES: usize = 4;

/// As in `proven_by`.
const MODEL: &str = "model";

/// Adds the result for a terminal.
pub(crate) fn show(page: &mut Page, result: &CrashResult) {
    show_verdict(page, result);
    let groups = alike::grouped(&result.findings);
    for group in groups.iter().take(MOST_FINDINGS) {
        page.blank();
        show_messages(page, group);
        show_finding(
            page,
            group.first,
            group.firsts().map(|one| one.states).sum(),
        );
        if let Some(others) = group.others() {
            page.paragraph(2, &others);
        }
    }
    let rest = groups.iter().skip(MOST_FINDINGS);
    let more: usize = rest.map(alike::Alike::count).sum();
    if more > 0 {
        let text = format!("{} more; --json has them.", counted(more as u64, "finding"));
        page.paragraph(0, &text);
    }
    show_kind(page, result);
    show_fix(page, result);
    show_explored(page, result);
}

/// Adds the result for a page of any length, with the operations and the files of each finding.
pub(crate) fn show_all(page: &mut Page, result: &CrashResult) {
    show_verdict(page, result);
    show_fix(page, result);
    page.part(SectionId::Findings, "findings");
    for (place, finding) in result.findings.iter().enumerate() {
        show_whole(page, finding, place);
    }
    show_explored(page, result);
    show_kind(page, result);
}

fn show_verdict(page: &mut Page, result: &CrashResult) {
    page.title("crash", &result.command.join(" "), Vec::new());
    let tone = match result.verdict {
        Verdict::Clean => Tone::Good,
        Verdict::Failing => Tone::Bad,
        Verdict::Partial | Verdict::Incomplete => Tone::Warning,
    };
    page.styled(0, &sentence(result), tone);
    if result.check_kept_in == Some(Sandbox::ProcessGroup) {
        page.styled(0, OPEN, Tone::Warning);
    }
}

/// Of a checker in [`Sandbox::ProcessGroup`].
const OPEN: &str = "The checker was kept in a process group only, for namespaces are refused here: it could use the \
                    network and change other files of its user, what left the group was not ended, and \
                    processes: unlimited.";

/// What the built-in rules take for damage may be what the program repairs.
const RULES: &str = "Without --check, a file has to be as it was, or as the program completed it. Where the program repairs \
                     what it finds when it starts, give a --check that does so too.";

fn show_kind(page: &mut Page, result: &CrashResult) {
    let rows = result.modes.iter().flat_map(|mode| &mode.formats);
    let checked: Vec<&FormatRow> = rows.filter(|row| row.checked).collect();
    let is_checked = |finding: &Finding| {
        let path = finding.culprit.path.as_deref().unwrap_or_default();
        checked.iter().any(|row| row.covers(path.as_bytes()))
    };
    let is_damage =
        |finding: &Finding| finding.kind != FaultKind::LostAfterAck && !is_checked(finding);
    if result.check.is_none() && result.findings.iter().any(is_damage) {
        page.blank();
        page.paragraph(0, RULES);
    }
    if let Some(first) = result.findings.first() {
        let kind = first.kind.as_str();
        page.blank();
        let text = format!("`iostrata explain {kind}` explains this kind of finding");
        page.paragraph(0, &text);
    }
}

fn show_explored(page: &mut Page, result: &CrashResult) {
    page.heading(SectionId::Explored, "explored");
    if let Some(partition) = &result.partition {
        let text = format!("part {partition} of the states; iostrata merge joins the parts");
        page.bullet(2, &text);
    }
    if let Some(by) = &result.interrupted_by {
        let text = if is_all(result) {
            format!("{by} ended the program before its end: what it did until then was explored")
        } else {
            format!("ended by {by}: what follows is what was explored until then")
        };
        page.bullet(2, &text);
    }
    for mode in &result.modes {
        page.bullet(2, &explored(mode));
        let recording = mode.recording.as_ref();
        if let Some(what) = recording.and_then(|row| row.stands_in.as_deref()) {
            page.bullet(4, what);
        }
    }
    if let Some(second) = &result.again {
        again::show(page, second);
    }
    let rebuilt = result.modes.iter().flat_map(|mode| &mode.rebuilt);
    let rebuilt: BTreeSet<_> = rebuilt.map(|row| (&row.file, &row.because)).collect();
    for (file, because) in rebuilt {
        page.bullet(2, &format!("{file} may hold anything: {because}"));
    }
    for said in looked_at(result) {
        page.bullet(2, &said);
    }
    let modes = result.modes.iter();
    for gap in distinct(modes.flat_map(|mode| &mode.incomplete_because)) {
        page.bullet(2, &format!("not recorded: {}", words::gap(gap)));
    }
}

/// That the program itself failed, so that what it would have done is not known: with which exit code, or codes of
/// several runs.
fn failed(result: &CrashResult) -> Option<String> {
    let codes = result.modes.iter().filter_map(|mode| mode.exit_code);
    let codes: BTreeSet<i32> = codes.filter(|code| *code != 0).collect();
    let said = codes.iter().map(|code| match code {
        129..=192 => format!("{code}, as of signal {}", code - 128),
        _ => code.to_string(),
    });
    let said = join(said, ", ");
    (!codes.is_empty()).then(|| format!("the program failed (exit code {said})"))
}

/// The verdict and the fix, so that a colleague could be told.
fn sentence(result: &CrashResult) -> String {
    let said = match failed(result) {
        None => verdict(result),
        Some(failed) if lacks_only_what_failed(result) => {
            format!("Incomplete: {failed}, and {}", until_then(result))
        }
        Some(failed) => format!("{} Note that {failed}.", verdict(result)),
    };
    said + &again::sentence(result) + &left_out(result)
}

/// What was not looked for, because it was asked for so.
fn left_out(result: &CrashResult) -> String {
    let files = (!result.ignored.is_empty())
        .then(|| format!("files that match {}", join(&result.ignored, ", ")));
    let losses = result
        .only_damage
        .then(|| "the loss of what was reported".to_owned());
    let after = result.settings.after.as_ref();
    let before = after.map(|mark| format!("points before the mark {mark}"));
    let every = result.settings.every;
    let others =
        (every > 1).then(|| format!("all but one of {every} points and those after a report"));
    let part = result.partition.as_ref();
    let parts = part.map(|part| format!("all states but part {part}"));
    let all = [files, losses, before, others, parts].into_iter().flatten();
    let what = join(all, "; ");
    match what.as_str() {
        "" => String::new(),
        what => format!(" Left out: {what}."),
    }
}

fn lacks_only_what_failed(result: &CrashResult) -> bool {
    let modes = result.modes.iter();
    let mut gaps = modes.flat_map(|mode| &mode.incomplete_because);
    result.verdict == Verdict::Incomplete && gaps.all(|gap| gap.what == Missing::AfterFailure)
}

fn until_then(result: &CrashResult) -> String {
    if changed_nothing(result) {
        "it changed nothing in the directory until then.".to_owned()
    } else {
        format!("none of {} until then breaks anything.", states(result))
    }
}

fn changed_nothing(result: &CrashResult) -> bool {
    result.modes.iter().all(|mode| mode.changes == 0)
}

/// `98 different states of 4 models`: two models may allow the same one.
fn states(result: &CrashResult) -> String {
    let states = result.modes.iter().map(|mode| mode.states.distinct);
    let states = counted(states.sum(), "different state");
    let (models, runs): (Vec<_>, Vec<_>) = result
        .modes
        .iter()
        .partition(|mode| mode.recording.is_none());
    let of = [(models.len(), "model"), (runs.len(), "run")];
    let of = of.into_iter().filter(|(count, _)| *count > 0);
    let of = join(of.map(|(count, noun)| counted(count as u64, noun)), " and ");
    let states = match result.modes.len() {
        0 | 1 => states,
        _ => format!("{states} of {of}"),
    };
    match result.settings.torn_at() {
        Some(bytes) => format!("{states}, with pages torn at {bytes}-byte sectors,"),
        None => states,
    }
}

/// What became of the rest: a signal, or the options that limit modes, came before it.
fn rest(result: &CrashResult) -> String {
    if let Some(by) = &result.interrupted_by {
        let what = if is_all(result) {
            "program before its end"
        } else {
            "exploration before the rest"
        };
        return format!("{by} ended the {what}");
    }
    let partial = || {
        let modes = result.modes.iter();
        modes.filter(|mode| !mode.states.are_all())
    };
    let again = result.again.as_ref();
    let again = again.filter(|again| !again.are_all());
    let is_over = partial().any(|mode| mode.states.time_over)
        || again.is_some_and(|again| again.states.time_over);
    if let Some(time) = result.settings.time_s.filter(|_| is_over) {
        return format!("the {time} s of --time were over before the rest");
    }
    if let Some(again) = again.filter(|again| again.has_other_ways()) {
        let ways = grouped(again.recoveries);
        return format!("{} of {ways} ways to recover were explored", again.explored);
    }
    let limits: BTreeSet<&str> = partial()
        .map(limited_by)
        .chain(again.map(|_| "states"))
        .collect();
    let options = limits.iter().map(|limit| format!("--{limit}"));
    format!("a higher {} explores the rest", join(options, " and "))
}

/// What is limited in a mode, as the option has it.
fn limited_by(mode: &ModeRow) -> &'static str {
    match mode.recording {
        Some(_) => "images",
        None => "states",
    }
}

/// What ended the exploration where each point had its whole and its least state, and there are others.
fn limited(result: &CrashResult) -> Option<String> {
    let modes = || result.modes.iter();
    let limit = modes().find(|mode| mode.states.limit_reached);
    let time = result.settings.time_s;
    let time = time.filter(|_| modes().any(|mode| mode.states.time_over));
    match (time, limit) {
        (Some(time), _) => Some(format!("the {time} s of --time")),
        (None, Some(mode)) => Some(format!("the limit on {0} (--{0})", limited_by(mode))),
        (None, None) => None,
    }
}

/// Whether each point was explored of all that was asked for.
fn is_all(result: &CrashResult) -> bool {
    let is_all = result.modes.iter().all(|mode| mode.states.are_all());
    is_all && not_begun(result).is_empty()
}

/// The models and runs that were asked for, and were not begun: `xfs`, `recovered ext4 under timer and none`.
fn not_begun(result: &CrashResult) -> Vec<String> {
    let Settings { models, runs, .. } = &result.settings;
    let begun = |model: Model| result.modes.iter().any(|mode| mode.model == Some(model));
    let models = models.iter().filter(|model| !begun(**model));
    let mut all: Vec<String> = models.map(|model| model.as_str().to_owned()).collect();
    let has_run = |on: &On| {
        let mut modes = result.modes.iter();
        modes.any(|mode| {
            let pressure = mode.recording.as_ref().map(|row| row.pressure);
            (mode.filesystem, pressure) == (Some(on.filesystem), Some(on.pressure))
        })
    };
    for of_one in runs.chunk_by(|one, next| one.filesystem == next.filesystem) {
        let left = of_one.iter().filter(|on| !has_run(on));
        let left: Vec<&str> = left.map(|on| on.pressure.as_str()).collect();
        let filesystem = of_one[0].filesystem.as_str();
        if left.len() == of_one.len() {
            all.push(format!("recovered {filesystem}"));
        } else if !left.is_empty() {
            all.push(format!(
                "recovered {filesystem} under {}",
                join(left, " and ")
            ));
        }
    }
    all
}

/// `18 of 45 points`, over all modes that were begun.
fn points(result: &CrashResult) -> String {
    let modes = || result.modes.iter().map(|mode| mode.states);
    let explored: u64 = modes().map(|states| states.points).sum();
    let left: u64 = modes().map(|states| states.points_not_explored).sum();
    let all = explored.saturating_add(left);
    format!("{} of {}", grouped(explored), counted(all, "point"))
}

/// `; xfs and btrfs were not explored`
fn unexplored(result: &CrashResult) -> String {
    let all = not_begun(result);
    let are = if all.len() == 1 { "was" } else { "were" };
    let said = || format!("; {} {are} not explored", listed(&all));
    all.first().map_or(String::new(), |_| said())
}

/// `ext4, xfs and btrfs`
fn listed(names: &[impl Display]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", join(first, ", ")),
        _ => join(names, ", "),
    }
}

fn verdict(result: &CrashResult) -> String {
    match (result.verdict, result.findings.first()) {
        (Verdict::Incomplete, _) if result.modes.iter().all(|mode| mode.complete) => format!(
            "Incomplete: none of {} breaks anything, but {}.",
            states(result),
            again::lacks(result).unwrap_or_default()
        ),
        (Verdict::Incomplete, _) => {
            let gaps = distinct(
                result
                    .modes
                    .iter()
                    .flat_map(|mode| &mode.incomplete_because),
            );
            let first = gaps
                .first()
                .map_or(String::new(), |gap| words::gap(gap).to_string());
            let more = match gaps.len() {
                0 | 1 => String::new(),
                all => format!(", and {} more", counted(all as u64 - 1, "gap")),
            };
            format!(
                "Incomplete: none of {} breaks anything, but the recording lacks {first}{more}.",
                states(result)
            )
        }
        (Verdict::Failing, Some(first)) => {
            // Second crashes were explored only where a model allows the first one.
            let (crash, meanwhile, modes) = match first.recovering {
                None => ("A crash", "", &result.modes[..]),
                Some(_) => ("A second crash", ", while the checker recovers", &[][..]),
            };
            let weighed = weighed(result, first);
            let alike = weighed.iter().copied();
            let shown = possible_on(alike.filter(|other| other.message == first.message));
            let damaged = possible_on(weighed.iter().copied());
            let on = on(&shown, modes);
            let broken = broken(result, first) + &broken_elsewhere(&weighed, &shown);
            match unknown_of(result, first) {
                None => format!(
                    "{crash} can break this{on}{meanwhile}: {broken}{}. {}",
                    lost_elsewhere(result, first, &damaged),
                    remedy(result, first)
                ),
                Some(row) => format!(
                    "By the built-in rules a crash can break this{on}: {broken}. {}",
                    unknown(row)
                ),
            }
        }
        (Verdict::Failing, None) => "A crash can break this.".to_owned(),
        (Verdict::Clean, _) if changed_nothing(result) => {
            let is_all = result.modes.iter().all(|mode| mode.rebuilt.is_empty());
            let other = if is_all { "" } else { " else" };
            format!("Clean: the program changed nothing{other} in the directory.")
        }
        (Verdict::Clean, _) => {
            let states = states(result);
            let left = limited(result).map_or(String::new(), |by| {
                format!("; the whole and the least of each point are among them, and {by} left others out")
            });
            format!("Clean: none of {states} breaks anything{left}.")
        }
        (Verdict::Partial, _) => format!(
            "Clean so far: none of {} at {} breaks anything{}; {}.",
            states(result),
            points(result),
            unexplored(result),
            rest(result)
        ),
    }
}

/// What is broken, without the end of a sentence, and of how many files.
fn broken(result: &CrashResult, first: &Finding) -> String {
    let message = message(first);
    let groups = alike::grouped(&result.findings);
    match groups.first().map(alike::Alike::said_of) {
        None | Some(0) => message.to_owned(),
        Some(files) => {
            let files = counted(files as u64, "other file");
            format!("{message} ({files} likewise)")
        }
    }
}

/// Findings of damage, or where nothing is damaged of the loss of what was reported.
fn weighed<'r>(result: &'r CrashResult, first: &Finding) -> Vec<&'r Finding> {
    let is_loss = |finding: &Finding| finding.kind == FaultKind::LostAfterAck;
    let alike = result.findings.iter();
    let alike = alike.filter(|finding| {
        is_loss(finding) == is_loss(first)
            && finding.recovering.is_some() == first.recovering.is_some()
    });
    alike.collect()
}

/// The models that allow these.
fn possible_on<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<Model> {
    let findings = findings.into_iter();
    let models: BTreeSet<Model> = findings
        .flat_map(|finding| finding.possible_on.iter().copied())
        .collect();
    models.into_iter().collect()
}

/// File systems that leave other damage than what was said of some: each message with those that show it.
fn broken_elsewhere(weighed: &[&Finding], said_of: &[Model]) -> String {
    let mut known: BTreeSet<Model> = said_of.iter().copied().collect();
    known.insert(Model::Posix);
    let said = weighed.iter().filter_map(|finding| {
        let models = finding.possible_on.iter();
        let new = models.filter(|model| known.insert(**model));
        let new: Vec<&str> = new.map(|model| model.as_str()).collect();
        let text = || format!("; on {}: {}", join(&new, ", "), message(finding));
        (!new.is_empty()).then(text)
    });
    said.collect()
}

/// Without the end of a sentence.
fn message(finding: &Finding) -> &str {
    finding.message.trim_end_matches(['.', ':', ';', ' '])
}

/// Other file systems, where nothing is damaged and what was reported is lost.
fn lost_elsewhere(result: &CrashResult, first: &Finding, damaged: &[Model]) -> String {
    let firsts = result
        .findings
        .iter()
        .filter(|one| one.recovering.is_none());
    let lost = firsts.flat_map(|finding| &finding.possible_on);
    let lost = lost.filter(|model| **model != Model::Posix && !damaged.contains(model));
    let lost: BTreeSet<&str> = lost.map(|model| model.as_str()).collect();
    if lost.is_empty() || first.recovering.is_some() {
        return String::new();
    }
    format!(
        "; on {} it can lose what the program reported",
        join(lost, ", ")
    )
}

/// On which file systems; POSIX alone is none. Nothing is said of one that was not explored, or not at each point.
fn on(models: &[Model], modes: &[ModeRow]) -> String {
    let name = |model: &Model| (*model != Model::Posix).then(|| model.as_str());
    let real: Vec<&str> = models.iter().filter_map(name).collect();
    if !real.is_empty() {
        return format!(" on {}", real.join(", "));
    }
    let whole = |mode: &&ModeRow| mode.complete && mode.states.are_all();
    let explored = modes.iter().filter(whole).filter_map(|mode| mode.model);
    let without: Vec<&str> = explored.filter_map(|model| name(&model)).collect();
    let does_not = match without.as_slice() {
        [] => String::new(),
        [one] => format!(", though {one} does not do it"),
        all => format!(", though none of {} does it", listed(all)),
    };
    format!(" as far as POSIX goes{does_not}")
}

/// The syncs of the fix where there are few, else what the finding advises.
fn remedy(result: &CrashResult, first: &Finding) -> String {
    let fix = result.fix.as_ref();
    let Some(fix) = fix.filter(|_| first.recovering.is_none()) else {
        return first.advice.clone();
    };
    match fixes(fix).as_slice() {
        [only] => format!("Fix: {only}."),
        [one, other] => format!("Fix: {one}; {other}."),
        lines => format!("Fix: {}, below.", counted(lines.len() as u64, "sync")),
    }
}

fn show_messages(page: &mut Page, group: &alike::Alike<'_>) {
    for finding in group.firsts().take(MOST_MESSAGES) {
        page.styled(0, &finding.message, Tone::Strong);
    }
    let more = group.firsts().count().saturating_sub(MOST_MESSAGES);
    if more > 0 {
        let text = format!("and {}", counted(more as u64, "other message"));
        page.styled(0, &text, Tone::Strong);
    }
}

/// `states` show it, or another thing that the same operations break.
fn show_finding(page: &mut Page, finding: &Finding, states: u64) {
    let on = finding.possible_on.iter().map(|model| model.as_str());
    let mut facts = vec![
        finding.kind.as_str().to_owned(),
        format!("possible on {}", join(on, ", ")),
        counted(states, "state"),
    ];
    if let Some(bytes) = finding.torn_at_bytes {
        facts.insert(1, format!("torn inside a page (at a {bytes}-byte sector)"));
    }
    if let Some(number) = finding.state {
        facts.push(format!("--state {number} rebuilds one"));
    }
    if let Some(number) = finding.recovering {
        facts.push(format!(
            "--state {number} rebuilds what the checker recovers"
        ));
    }
    page.paragraph(2, &again::story(finding));
    let is_by_model = finding.proven_by.iter().any(|by| by == MODEL);
    if !finding.is_smallest && is_by_model {
        let text = "A state that lacks less may show it too.";
        page.paragraph(2, text);
    }
    page.styled(2, &facts.join(SEPARATOR), Tone::Quiet);
    if !finding.recovered.is_empty() {
        let rows = join(finding.recovered.iter().map(recovered), SEPARATOR);
        page.styled(2, &format!("Recovered from: {rows}"), Tone::Quiet);
    }
    page.paragraph(2, &finding.advice);
    if finding.torn_at_bytes.is_some() {
        page.paragraph(2, UNTORN);
    }
    let place = finding.before.as_ref().unwrap_or(&finding.culprit);
    if let Some(called) = called(place) {
        page.styled(2, &called, Tone::Quiet);
    }
    let recovered = finding.recovered.iter().map(|row| &row.proof);
    let recovered = recovered.filter(|proof| **proof != finding.proof);
    for proof in iter::once(&finding.proof).chain(recovered).flatten() {
        page.styled(2, &format!("Kept: {proof}"), Tone::Quiet);
    }
}

/// Of a finding in whose state a page is torn inside.
const UNTORN: &str = "What is rewritten in place: sync a copy of the page before it (a journal, a doublewrite), or write \
                      it with RWF_ATOMIC.";

/// Functions that are shown of a call: those above them are seldom the program's.
const FUNCTIONS: usize = 6;

/// `The rename was called by commit (app) ← main (app)`: without the C library around the program. Nothing where the
/// caller has no name, as in programs without symbols; the JSON has all.
fn called(row: &OperationRow) -> Option<String> {
    let is_of_program =
        |function: &&str| !function.ends_with("(libc.so.6)") && !function.starts_with("_start ");
    let functions = row.stack.iter().map(String::as_str);
    let own: Vec<&str> = functions.filter(is_of_program).collect();
    if own.first()?.contains("+0x") {
        return None;
    }
    let more = if own.len() > FUNCTIONS {
        " ← …"
    } else {
        ""
    };
    let functions = own[..own.len().min(FUNCTIONS)].join(" ← ");
    Some(format!(
        "The {} was called by {functions}{more}",
        row.text()
    ))
}

/// `ext4, pressure fsync: 3 states`.
fn recovered(row: &RecoveredRow) -> String {
    let (filesystem, pressure) = (row.filesystem.as_str(), row.pressure.as_str());
    let states = counted(row.states, "state");
    format!("{filesystem}, pressure {pressure}: {states}")
}

fn show_fix(page: &mut Page, result: &CrashResult) {
    if let Some(why) = &result.fix_unknown_because {
        page.paragraph(
            0,
            &format!("No set of syncs is known that prevents all of it: {why}."),
        );
    }
    let Some(fix) = &result.fix else { return };
    let passed = match result.again {
        None => "enough to pass all explored states",
        Some(_) => "enough to pass all explored states of a first crash",
    };
    page.heading(SectionId::Fix, passed);
    for line in fixes(fix) {
        page.bullet(2, &line);
    }
}

/// What to add, each sync once: how many calls are alike is written behind it.
fn fixes(rows: &[FixRow]) -> Vec<String> {
    let all: Vec<String> = rows.iter().map(fixed).collect();
    let lines = distinct(all.iter()).into_iter().map(|line| {
        match all.iter().filter(|other| *other == line).count() {
            1 => line.clone(),
            times => format!("{line}, all {times} times"),
        }
    });
    lines.collect()
}

fn fixed(row: &FixRow) -> String {
    let what = match (row.is_directory, row.path.as_str()) {
        (true, ".") => "the directory".to_owned(),
        (true, path) => format!("the directory {path}"),
        (false, path) => path.to_owned(),
    };
    match &row.before {
        Some(before) => format!("fsync {what} before the {}", before.text()),
        None => format!("fsync {what} at the end"),
    }
}

fn explored(mode: &ModeRow) -> String {
    let states = &mode.states;
    let said = match mode.recording {
        Some(_) => counts(states, "flush", "images"),
        None => counts(states, "point", "states"),
    };
    format!("{}: {said}", mode.name())
}

/// `71 states explored at 5 points, 30 different, 20 failing`, and what was not explored.
fn counts(states: &States, point: &str, limited: &str) -> String {
    let mut parts = vec![format!(
        "{} explored at {}, {} different, {} failing",
        counted(states.explored, "state"),
        counted(states.points, point),
        grouped(states.distinct),
        grouped(states.failing)
    )];
    if states.sampled_points > 0 {
        let points = counted(states.sampled_points, point);
        parts.push(format!("not all combinations at {points}"));
    }
    let ended = if states.time_over {
        Some("out of time".to_owned())
    } else {
        (states.limit_reached).then(|| format!("limit on {limited} reached"))
    };
    let left = (states.points_not_explored > 0).then(|| {
        format!(
            "{} not explored",
            counted(states.points_not_explored, point)
        )
    });
    let rest = join(ended.into_iter().chain(left), ", ");
    parts.extend((!rest.is_empty()).then_some(rest));
    parts.join("; ")
}

/// The file that a finding of the built-in rules is about, or whose journal it is about, where these do not know its format
/// and nobody else looked at it.
fn unknown_of<'r>(result: &'r CrashResult, finding: &Finding) -> Option<&'r FormatRow> {
    let about = [Some(&finding.culprit), finding.before.as_ref()];
    let paths = about
        .into_iter()
        .flatten()
        .filter_map(|it| it.path.as_deref());
    let paths: Vec<&str> = paths.collect();
    let rows = result.modes.iter().flat_map(|mode| &mode.formats);
    let mut unknown = rows.filter(|row| !row.checked);
    unknown.find(|row| paths.iter().any(|path| row.covers(path.as_bytes())))
}

/// Why a finding about it may be none.
fn unknown(row: &FormatRow) -> String {
    let FormatRow { file, format, .. } = row;
    match &row.unchecked_because {
        Some(because) => {
            format!("But {file} is {format}, which these rules do not know; {because}.")
        }
        None => format!(
            "But {file} is {format}, which these rules do not know: --check {} does.",
            row.check
        ),
    }
}

/// Who looked at which of these files.
fn looked_at(result: &CrashResult) -> BTreeSet<String> {
    let rows = result.modes.iter().flat_map(|mode| &mode.formats);
    let said = rows.map(|row| {
        let FormatRow { file, format, .. } = row;
        match &row.unchecked_because {
            _ if row.checked => format!(
                "{file} is {format}: it has to be sound by its own program, and to hold what it held at some time of the \
                 run; all else is checked by the built-in rules"
            ),
            Some(because) => format!(
                "{file} is {format}, which the built-in rules do not know, and was checked by them alone: {because}"
            ),
            None => format!(
                "{file} is {format}, which the built-in rules do not know, and was checked by them alone"
            ),
        }
    });
    said.collect()
}
