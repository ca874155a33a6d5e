//! The answers of a run on one screen: what was asked, what the rows say, and what would make a
//! reader distrust them.

use iostrata_core::bytes::grouped;
use iostrata_core::environment::Backend;
use iostrata_core::lab::{Experiment, LabResult, MeasuredTarget, Shared};
use iostrata_core::noun;
use iostrata_core::reply::{Overview, Reply, Standing, overview};
use iostrata_core::{Environment, Gap};
use textwrap::core::display_width;

use super::parts;
use super::view::HOST;
use crate::format::{counted, join};
use crate::view::page::{Answered, GLUE, Page, SEPARATOR, Tone};
use crate::view::place::{below, file_system};
use crate::view::section::SectionId;
use crate::words;

/// Lines that the answers of several experiments may take, and those of one.
const MOST_LINES: usize = 45;
const MOST_LINES_OF_ONE: usize = 60;

/// Lines below the answers: a blank, the caveat, and where more is.
const FOOT_LINES: usize = 3;

/// Maximum cases named that could not be measured.
const MOST_UNMEASURED: usize = 3;

/// Lines that they may take.
const UNMEASURED_LINES: usize = 8;

/// Narrower pages have an answer below its question.
const NARROW: usize = 80;

/// Where the rest of a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kept<'a> {
    #[default]
    Nowhere,
    /// It is the last one that was saved unasked.
    Last,
    File(&'a str),
    /// Without a file.
    Elsewhere,
}

/// Adds all of it.
///
/// With `tables`, those of the rows stand below the answers.
pub(crate) fn show(
    page: &mut Page,
    result: &LabResult,
    experiments: &[&Experiment],
    kept: Kept<'_>,
    tables: bool,
) {
    let overview = overview(result);
    let used = heading(page, result, experiments, &overview) + FOOT_LINES;
    match experiments {
        [only] => {
            page.blank();
            let room = MOST_LINES_OF_ONE.saturating_sub(used + 1 + UNMEASURED_LINES);
            answers(page, &only.replies(), room);
        }
        several => {
            let heads = 2 * several.len();
            several_of(page, several, MOST_LINES.saturating_sub(used + heads));
        }
    }
    unmeasured(page, experiments);
    if tables {
        parts::tables(page, result, experiments);
    }
    page.blank();
    if let Some(caveat) = caveat(&overview) {
        page.styled(0, caveat, Tone::Quiet);
    }
    if let Some(more) = more(experiments, kept, page.width()) {
        page.styled(0, &more, Tone::Quiet);
    }
}

/// The answers of one experiment, at whatever length.
pub(super) fn of_one(page: &mut Page, experiment: &Experiment) {
    page.blank();
    answers(page, &experiment.replies(), usize::MAX);
}

/// Cases that were asked for and could not be measured: their questions are not asked.
fn unmeasured(page: &mut Page, experiments: &[&Experiment]) {
    let [only] = experiments else { return };
    let gaps = only.shared().missing.iter();
    let gaps: Vec<&Gap> = gaps.take(MOST_UNMEASURED).collect();
    // One reason of several is shown once.
    let alike = gaps.chunk_by(|one, next| one.why == next.why);
    let names = alike.map(|gaps| {
        let names = gaps.iter().map(|gap| words::missing(&gap.what));
        format!("{} ({})", join(names, ", "), words::reason(&gaps[0].why))
    });
    let names = join(names, "; ");
    if gaps.is_empty() {
        return;
    }
    let more = only.shared().missing.len() - gaps.len();
    let more = match more {
        0 => ".".to_owned(),
        more => format!("; and {more} more, see --method."),
    };
    page.blank();
    page.paragraph(0, &format!("Not measured: {names}{more}"));
}

/// Experiments below each other, the few questions that lead of each.
fn several_of(page: &mut Page, experiments: &[&Experiment], room: usize) {
    let parts = experiments.iter().map(|experiment| {
        let replies = experiment.replies().into_iter();
        let leading = replies.filter(|reply| reply.leads);
        let answers = leading.map(|reply| answered(&reply, Form::Line));
        (Some(experiment.shared()), answers.collect())
    });
    draw(page, parts.collect(), room);
}

fn answers(page: &mut Page, replies: &[Reply], room: usize) {
    let answers = replies.iter().map(|reply| answered(reply, Form::Stack));
    draw(page, vec![(None, answers.collect())], room);
}

/// Answers, those of several experiments below their headings.
fn draw(page: &mut Page, mut parts: Vec<(Option<Shared<'_>>, Vec<Answered>)>, room: usize) {
    let column = column(page, parts.iter().flat_map(|(_, answers)| answers));
    let mut all: Vec<_> = parts.iter_mut().flat_map(|(_, answers)| answers).collect();
    for one in &mut all {
        one.column = column;
    }
    shorten(page, all, room);
    for (experiment, answers) in parts {
        if let Some(shared) = experiment {
            let heading = format!("{} ({})", shared.about.to_uppercase(), shared.id);
            page.heading(SectionId::Experiment(shared.id), &heading);
        }
        if answers.is_empty() {
            page.paragraph(0, "No question has the rows it needs.");
        }
        for one in answers {
            page.answered(one);
        }
    }
}

/// How what is said besides an answer stands there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// After it, as long as there is room; the reason is left out first.
    Line,
    /// Below it.
    Stack,
}

fn answered(reply: &Reply, form: Form) -> Answered {
    let others = elsewhere(reply);
    let reason = (!reply.reason.is_empty()).then(|| reply.reason.clone());
    let more = match form {
        Form::Line => others.chain(reason).collect(),
        Form::Stack => reason.into_iter().chain(others).collect(),
    };
    Answered {
        question: reply.question.clone(),
        answer: reply.answer.clone(),
        more,
        others: reply.elsewhere.len(),
        stacked: form == Form::Stack,
        tone: tone(reply.standing),
        column: 0,
        rows: reply.rows.clone(),
    }
}

pub(crate) fn elsewhere(reply: &Reply) -> impl Iterator<Item = String> {
    let others = reply.elsewhere.iter();
    others.map(|other| format!("On {}: {}", other.target, other.answer))
}

pub(crate) fn tone(standing: Standing) -> Tone {
    match standing {
        Standing::Good => Tone::Good,
        Standing::Bad => Tone::Bad,
        Standing::Neutral => Tone::Plain,
        Standing::Unclear => Tone::Quiet,
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

/// Leaves out what comes after the answers, the longest first, until they fit: reasons, and where
/// that is not enough, what other file systems say.
fn shorten(page: &Page, mut all: Vec<&mut Answered>, room: usize) {
    if page.is_endless() || page.width() < NARROW {
        return;
    }
    let lines = |one: &Answered| one.lines(page.width());
    for keeps_others in [true, false] {
        while all.iter().map(|one| lines(one)).sum::<usize>() > room {
            let may_lose = |one: &Answered| {
                let kept = if keeps_others { one.others } else { 0 };
                one.more.len() > kept && lines(one) > 1
            };
            let longest = (0..all.len()).filter(|at| may_lose(all[*at]));
            match longest.max_by_key(|at| lines(all[*at])) {
                Some(at) => drop(all[at].more.pop()),
                None => break,
            }
        }
    }
}

type Targets<'a> = Vec<&'a MeasuredTarget>;

/// Adds what stands above the answers, and says how many lines it takes.
fn heading(
    page: &mut Page,
    result: &LabResult,
    experiments: &[&Experiment],
    seen: &Overview,
) -> usize {
    let environment = &result.environment;
    let asked = match experiments {
        [only] => {
            let shared = only.shared();
            format!("iostrata lab {}: {}", shared.id, shared.question)
        }
        several => {
            let names = several.iter().map(|one| one.shared().id);
            format!("iostrata lab: {}", join(names, ", "))
        }
    };
    let place = place(experiments, environment);
    let mut lines = vec![place];
    if let Some((fewest, most)) = seen.runs {
        let runs = if fewest == most {
            counted(most, "run")
        } else {
            format!("{fewest} to {most} runs")
        };
        let text =
            format!("Medians of {runs}; 3x [2-4]: ratio over all pairs of runs, 95 % interval.");
        lines.push(text);
    }
    let caution = caution(seen, environment.backend);
    let all = [&asked].into_iter().chain(&lines).chain(&caution);
    let used = all
        .map(|text| textwrap::wrap(text, page.width()).len())
        .sum();
    page.title("answers", &asked, Vec::new());
    for line in &lines {
        page.paragraph(0, line);
    }
    if let Some(caution) = &caution {
        page.styled(0, caution, Tone::Warning);
    }
    used
}

/// The file system that was measured, the machine, and what was made to be measured.
fn place(experiments: &[&Experiment], environment: &Environment) -> String {
    let mut targets: Targets<'_> = Vec::new();
    for target in experiments.iter().flat_map(|one| one.shared().targets) {
        if !targets.iter().any(|known| known.name == target.name) {
            targets.push(target);
        }
    }
    let (host, others): (Targets<'_>, Targets<'_>) =
        targets.iter().partition(|one| one.name == HOST);
    let host = host.iter().map(|host| &host.storage);
    let host = host.map(|host| format!("{}{}", file_system(host), below(host)));
    let cpus = counted(environment.cpus as usize, "CPU").replace(' ', GLUE);
    let names = join(others.iter().map(|other| &other.name), ", ");
    let others = (!others.is_empty()).then(|| format!("test file systems: {names}"));
    join(host.chain([cpus]).chain(others), SEPARATOR)
}

/// One line with everything that makes figures doubtful.
pub(crate) fn caution(seen: &Overview, backend: Backend) -> Option<String> {
    let doubts = doubts(seen, backend);
    (!doubts.is_empty()).then(|| format!("Caution: {}", doubts.join("; ")))
}

/// Reasons to doubt the figures, the worst first.
fn doubts(seen: &Overview, backend: Backend) -> Vec<String> {
    let of = |count: usize, all: usize| {
        let (count, all) = (grouped(count as u64), grouped(all as u64));
        format!("{count} of {all}")
    };
    let mut doubts = Vec::new();
    if let Some((done, planned)) = seen.interrupted {
        doubts.push(format!("interrupted after {} rows", of(done, planned)));
    }
    if seen.lost.0 > 0 {
        let events = noun::counted(seen.lost.0, "event");
        let rows = counted(seen.lost.1, "row");
        doubts.push(format!("{events} lost in {rows}"));
    }
    if backend == Backend::None {
        doubts.push("device and cache not observed (run as root)".to_owned());
    }
    if seen.is_virtual {
        doubts.push("virtual machine".to_owned());
    }
    if seen.noisy_rows > 0 {
        let noisy = of(seen.noisy_rows, seen.timed_rows);
        doubts.push(format!("{noisy} timings spread > 50 %"));
    }
    if seen.stolen_rows > 0 {
        doubts.push(format!("steal in {}", counted(seen.stolen_rows, "row")));
    }
    if seen.disturbed_rows > 0 {
        let rows = counted(seen.disturbed_rows, "row");
        doubts.push(format!("disk shared in {rows}"));
    }
    doubts
}

fn caveat(seen: &Overview) -> Option<&'static str> {
    if seen.is_virtual {
        let text = "Caveat: in a virtual machine, flushed data may still be in hypervisor memory.";
        return Some(text);
    }
    seen.has_images.then_some(
        "Caveat: file systems created for the run are on loop devices; their times include the \
         host's.",
    )
}

fn more(experiments: &[&Experiment], kept: Kept<'_>, width: usize) -> Option<String> {
    let mut names = experiments.iter().map(|one| one.shared().id);
    let first = names.next().unwrap_or_default();
    // The shortest of the names, where it is there.
    let example = names.find(|name| *name == "sync").unwrap_or(first);
    Some(match kept {
        Kept::Elsewhere => return None,
        Kept::Nowhere => {
            "More: this result was not saved; --json FILE saves it for iostrata report.".to_owned()
        }
        Kept::Last => format!(
            "More: iostrata report {example} | --rows | --notes | --method | --all | --html r.html"
        ),
        Kept::File(name) => {
            let text = format!(
                "More: iostrata report {name} {example} | --rows | --notes | --method | --all | --html r.html"
            );
            // One line is kept for it, and a shell takes it as it stands.
            if display_width(&text) <= width && name.chars().all(is_plain) {
                text
            } else {
                format!(
                    "More: iostrata report FILE {example} | --rows | --notes | --method | --all"
                )
            }
        }
    })
}

/// Whether a shell takes the character as it stands.
fn is_plain(char: char) -> bool {
    char.is_alphanumeric() || "/._-+=:,@%".contains(char)
}
