//! The answers of a run on one screen: what was asked, what the rows say, and what would make a
//! reader distrust them.

use iostrata_core::bytes::grouped;
use iostrata_core::environment::Backend;
use iostrata_core::lab::{Experiment, LabResult, MeasuredTarget};
use iostrata_core::reply::{Overview, Reply, Standing, overview};

use super::view::HOST;
use crate::format::counted;
use crate::view::page::{Answered, Page, SEPARATOR, Tone};
use crate::view::place::{below, file_system};

/// Lines that the answers of several experiments may take, and those of one.
const MOST_LINES: usize = 45;
const MOST_LINES_OF_ONE: usize = 60;

/// Lines above and below the answers: head, caveat, where more is, and the blanks between.
const FRAME_LINES: usize = 9;

/// Narrower pages have an answer below its question.
const NARROW: usize = 80;

/// Where the rest of a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kept<'a> {
    /// Nowhere.
    #[default]
    Nowhere,
    /// It is the last one that was saved unasked.
    Last,
    /// In this file.
    File(&'a str),
}

/// Adds all of it.
pub(crate) fn show(page: &mut Page, result: &LabResult, experiments: &[&Experiment], kept: Kept<'_>) {
    let overview = overview(result);
    heading(page, result, experiments, &overview);
    match experiments {
        [only] => {
            page.blank();
            answers(page, &only.replies(), MOST_LINES_OF_ONE);
        }
        several => parts(page, several),
    }
    page.blank();
    if let Some(caveat) = caveat(&overview) {
        page.styled(0, caveat, Tone::Quiet);
    }
    page.styled(0, &more(experiments, kept), Tone::Quiet);
}

/// The answers of one experiment, at whatever length.
pub(super) fn of_one(page: &mut Page, experiment: &Experiment) {
    page.blank();
    answers(page, &experiment.replies(), usize::MAX);
}

/// Experiments below each other, the few questions that lead of each.
fn parts(page: &mut Page, experiments: &[&Experiment]) {
    let mut all: Vec<Vec<Answered>> = experiments
        .iter()
        .map(|experiment| {
            let replies = experiment.replies().into_iter();
            let leading = replies.filter(|reply| reply.leads);
            leading.map(|reply| answered(&reply, " ")).collect()
        })
        .collect();
    let column = column(page, all.iter().flatten());
    for one in all.iter_mut().flatten() {
        one.column = column;
    }
    let room = MOST_LINES.saturating_sub(FRAME_LINES + 2 * experiments.len());
    shorten(page, all.iter_mut().flatten().collect(), room);
    for (experiment, answers) in experiments.iter().zip(all) {
        let (name, heading) = named(experiment);
        page.heading(name, heading);
        if answers.is_empty() {
            page.paragraph(0, "No question has the rows that it needs.");
        }
        for one in answers {
            page.answered(one);
        }
    }
}

fn answers(page: &mut Page, replies: &[Reply], most_lines: usize) {
    let mut all: Vec<Answered> = replies.iter().map(|reply| answered(reply, "\n")).collect();
    let column = column(page, all.iter());
    for one in &mut all {
        one.column = column;
    }
    let room = most_lines.saturating_sub(FRAME_LINES);
    shorten(page, all.iter_mut().collect(), room);
    if all.is_empty() {
        page.paragraph(0, "No question has the rows that it needs.");
    }
    for one in all {
        page.answered(one);
    }
}

/// What is one line further down, and what this run has of each experiment.
fn named(experiment: &Experiment) -> (&'static str, &'static str) {
    match experiment {
        Experiment::Buffering(_) => ("buffering", "WRITES (buffering)"),
        Experiment::PageCache(_) => ("page-cache", "READS (page-cache)"),
        Experiment::Sync(_) => ("sync", "SYNCS (sync)"),
        Experiment::Atime(_) => ("atime", "ACCESS TIMES (atime)"),
        Experiment::Copy(_) => ("copy", "COPIES (copy)"),
    }
}

fn answered(reply: &Reply, between: &str) -> Answered {
    let mut more = Vec::new();
    if !reply.reason.is_empty() {
        more.push(reply.reason.clone());
    }
    let others = reply.elsewhere.iter();
    more.extend(others.map(|other| format!("On {}: {}", other.target, other.answer)));
    Answered {
        question: reply.question.clone(),
        answer: reply.answer.clone(),
        more,
        stacked: between == "\n",
        tone: match reply.standing {
            Standing::Good => Tone::Good,
            Standing::Bad => Tone::Bad,
            Standing::Neutral => Tone::Plain,
            Standing::Unclear => Tone::Quiet,
        },
        column: 0,
        rows: reply.rows.clone(),
    }
}

/// Where answers stand; 0 for below their questions.
fn column<'a>(page: &Page, all: impl Iterator<Item = &'a Answered>) -> usize {
    if page.width() < NARROW {
        return 0;
    }
    let widths = all.map(|one| one.question.chars().count());
    widths.max().unwrap_or(0) + 2
}

/// Leaves out what comes after the answers, the longest first, until they fit.
fn shorten(page: &Page, mut all: Vec<&mut Answered>, room: usize) {
    if page.is_endless() || page.width() < NARROW {
        return;
    }
    let lines = |one: &Answered| one.lines(page.width());
    while all.iter().map(|one| lines(one)).sum::<usize>() > room {
        let longest = all.iter_mut().filter(|one| !one.more.is_empty());
        match longest.max_by_key(|one| lines(one)) {
            Some(longest) => drop(longest.more.pop()),
            None => return,
        }
    }
}

fn heading(page: &mut Page, result: &LabResult, experiments: &[&Experiment], seen: &Overview) {
    let environment = &result.environment;
    let asked = match experiments {
        [only] => {
            let shared = only.shared();
            format!("iostrata lab {}: {}", shared.id, only.question())
        }
        several => {
            let names: Vec<&str> = several.iter().map(|one| one.shared().id).collect();
            format!("iostrata lab: {}", names.join(", "))
        }
    };
    page.title("answers", &asked, Vec::new());
    let mut targets: Vec<&MeasuredTarget> = Vec::new();
    for target in experiments.iter().flat_map(|one| one.shared().targets) {
        if !targets.iter().any(|known| known.name == target.name) {
            targets.push(target);
        }
    }
    let (host, others): (Vec<_>, Vec<_>) = targets.iter().partition(|one| one.name == HOST);
    let mut words: Vec<String> = host
        .iter()
        .map(|host| format!("{}{}", file_system(&host.storage), below(&host.storage)))
        .collect();
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
        let also = if host.is_empty() { "" } else { "also " };
        words.push(format!("{also}made for the run: {}", names.join(", ")));
    }
    words.push(counted(environment.cpus as usize, "CPU"));
    words.push(format!("kernel {}", environment.kernel));
    page.paragraph(0, &words.join(SEPARATOR));
    if let Some((fewest, most)) = seen.runs {
        let runs = match fewest == most {
            true => counted(most, "run"),
            false => format!("{fewest} to {most} runs"),
        };
        let text = format!(
            "Medians of {runs}; 3x [2-4]: ratio over all pairs of runs, 95 % interval. \"Unclear\": \
             within noise."
        );
        page.paragraph(0, &text);
    }
    let doubts = doubts(seen, environment.backend);
    if !doubts.is_empty() {
        let text = format!("Caution: {}", doubts.join("; "));
        page.styled(0, &text, Tone::Warning);
    }
}

/// What makes figures doubtful, the worst first.
fn doubts(seen: &Overview, backend: Backend) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some((done, planned)) = seen.interrupted {
        let (done, planned) = (grouped(done as u64), grouped(planned as u64));
        doubts.push(format!("interrupted after {done} of {planned} rows"));
    }
    if seen.lost.0 > 0 {
        let (events, rows) = (grouped(seen.lost.0), counted(seen.lost.1, "row"));
        doubts.push(format!("{events} events lost in {rows}"));
    }
    if backend == Backend::None {
        doubts.push("not root: device and cache not observed".to_owned());
    }
    if seen.noisy_rows > 0 {
        let (noisy, rows) = (grouped(seen.noisy_rows as u64), seen.timed_rows);
        doubts.push(format!("{noisy} of {} timings vary by over 50 %", grouped(rows as u64)));
    }
    if seen.disturbed_rows > 0 {
        doubts.push(format!("others used the disk in {}", counted(seen.disturbed_rows, "row")));
    }
    if seen.stolen_rows > 0 {
        doubts.push(format!("CPU steal in {}", counted(seen.stolen_rows, "row")));
    }
    if seen.is_virtual {
        doubts.push("virtual machine".to_owned());
    }
    doubts
}

fn caveat(seen: &Overview) -> Option<&'static str> {
    if seen.is_virtual {
        let text = "Caveat: in a virtual machine, flushed data may still be in the host's memory.";
        return Some(text);
    }
    seen.has_images.then_some(
        "Caveat: file systems made for the run are files on loop devices; their times include the host's.",
    )
}

fn more(experiments: &[&Experiment], kept: Kept<'_>) -> String {
    let example = experiments.first().map_or("sync", |one| one.shared().id);
    match kept {
        Kept::Nowhere => {
            "More: this result was not saved; --json FILE keeps it for iostrata report.".to_owned()
        }
        Kept::Last => format!(
            "More: iostrata report {example} | --rows | --notes | --method | --all | --html r.html"
        ),
        Kept::File(name) => format!(
            "More: iostrata report {name} {example} | --rows | --notes | --method | --all | --html r.html"
        ),
    }
}
