//! The first sentence of a run, and the reasons to doubt it.

use iostrata_core::environment::Backend;
use iostrata_core::noun;
use iostrata_core::rules;
use iostrata_core::trace::{
    Basis, Confidence, Costs, Finding, Headline, Part, Saving, Selection, Split, TraceResult,
    headline,
};

use super::View;
use super::names::middle;
use crate::format::{counted, time};
use crate::view::page::{Page, Tone};
use crate::words;
use iostrata_core::gap::Missing;

/// Maximum columns of a path in the sentence.
const PATH: usize = 48;

pub(crate) struct Summed {
    /// Losses and incomplete measurements, before everything else.
    pub(crate) warnings: Vec<String>,
    /// One sentence, such as `76 % of 1.89 s was 1,200 fdatasync calls on orders.db; batch several
    /// records per sync: saves about 1.40 s.`
    pub(crate) sentence: String,
}

pub(crate) fn summed(result: &TraceResult) -> Summed {
    let everything = Selection::default();
    let view = View::new(result, &everything);
    Summed {
        warnings: warnings(result),
        sentence: measured(
            result,
            match headline(result) {
                Headline::Costs(found) => costs(&view, &found),
                Headline::Fault(finding) => fault(&view, finding),
                Headline::Time(split) => spent(result, &split),
                Headline::Contradicted => format!(
                    "In a run of {}, two counts of its calls contradict each other: no figure of calls is to be \
                     relied on.",
                    wall(result)
                ),
                Headline::Unseen => format!(
                    "Its calls were not observed in {}: its file I/O is unknown.",
                    wall(result)
                ),
            },
        ),
    }
}

/// The duration of the program without tracing, before the observations of the traced run.
fn measured(result: &TraceResult, sentence: String) -> String {
    match result.timed() {
        None => sentence,
        Some(timed) if timed.n == 1 => {
            let (median, rest) = (time(timed.median), small(&sentence));
            format!("{median} without tracing; {rest}")
        }
        Some(timed) => format!(
            "{} is the median of {} without tracing; {}",
            time(timed.median),
            counted(timed.n, "run"),
            small(&sentence)
        ),
    }
}

/// The form after a semicolon.
fn small(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// The basis of a share: the observed run, which is not a timed one.
fn wall(result: &TraceResult) -> String {
    match result.timed() {
        None => time(result.wall_s),
        Some(_) => format!("the traced run ({})", time(result.wall_s)),
    }
}

/// `In a run of 4.20 s`.
fn in_run(result: &TraceResult) -> String {
    match result.timed() {
        None => format!("In a run of {}", time(result.wall_s)),
        Some(_) => format!("In {}", wall(result)),
    }
}

pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let summed = summed(view.result);
    for warning in &summed.warnings {
        page.styled(0, warning, Tone::Warning);
    }
    page.styled(0, &summed.sentence, Tone::Strong);
}

fn warnings(result: &TraceResult) -> Vec<String> {
    let mut warnings = Vec::new();
    if result.lost_events > 0 {
        let lost = noun::counted(result.lost_events, "event");
        warnings.push(format!("{lost} lost: counts may be too low by as many"));
    }
    let gaps = result
        .missing
        .iter()
        .filter(|gap| gap.what == Missing::Findings);
    warnings
        .extend(gaps.map(|gap| format!("incomplete: {}; no findings", words::reason(&gap.why))));
    warnings
}

fn costs(view: &View<'_>, found: &Costs<'_>) -> String {
    let finding = found.finding;
    let wall = wall(view.result);
    let file = finding.file.as_ref().map(|file| short(view, file));
    let subject = match (&found.calls, &file) {
        (Some((name, count)), Some(file)) => {
            let calls = noun::counted(*count, &format!("{name} call"));
            format!("{calls} on {file}")
        }
        (_, Some(file)) => format!("{file} ({})", finding.title),
        (_, None) => finding.title.clone(),
    };
    let verb = if found.calls.is_some() {
        "was"
    } else {
        "went to"
    };
    let verb = if file.is_some() {
        format!(" {verb}")
    } else {
        ":".to_owned()
    };
    let cost = match (found.share, found.syncs) {
        (_, Some(all)) => format!(
            "{} of {wall} was {} of {}, {} of it {subject}",
            percent(all.share),
            noun::counted(all.count, "sync"),
            noun::counted(all.files, "file"),
            time(found.cost_s),
        ),
        (Some(share), None) => format!("{} of {wall}{verb} {subject}", percent(share)),
        (None, None) => format!(
            "{}, all threads together spent {}{} {subject}",
            in_run(view.result),
            time(found.cost_s),
            match (&file, &found.calls) {
                (Some(_), Some(_)) => " in",
                (Some(_), None) => " on",
                (None, _) => ":",
            }
        ),
    };
    let saves = found.saving.map_or_else(String::new, |saving| {
        let Saving {
            time_s,
            is_measured,
        } = saving;
        let saves = match finding.confidence {
            Confidence::Likely => "may save",
            Confidence::Certain => "saves",
        };
        format!(": {saves} {}", saved(time_s, is_measured))
    });
    let saves = match found.syncs.and(found.saving) {
        Some(_) => format!("{saves} of that"),
        None => saves,
    };
    let (advice, doubt) = (advice(finding), doubt(view.result, finding));
    format!("{cost}; {advice}{saves}{doubt}.")
}

fn fault(view: &View<'_>, finding: &Finding) -> String {
    let file = finding.file.as_ref();
    let file = file.map_or_else(String::new, |file| format!(" in {}", short(view, file)));
    let lose = match finding.confidence {
        Confidence::Likely => "could",
        Confidence::Certain => "can",
    };
    format!(
        "A crash {lose} lose data{file}: {}; {}.",
        finding.title.replace(": a crash can ", ", which can "),
        advice(finding)
    )
}

/// The advice of an unknown rule is given in full.
fn advice(finding: &Finding) -> &str {
    rules::in_short(&finding.rule).unwrap_or(&finding.advice)
}

fn doubt(result: &TraceResult, finding: &Finding) -> &'static str {
    if result.backend == Backend::Ptrace && finding.cost_s.is_some() {
        " (timed under ptrace, which slows every call)"
    } else {
        ""
    }
}

fn spent(result: &TraceResult, split: &Split<'_>) -> String {
    let wall = wall(result);
    // Each call's time includes its stops.
    let (at_most, at_most_begins) = if result.backend == Backend::Ptrace {
        ("at most ", "At most ")
    } else {
        ("", "")
    };
    let files = split
        .file_s
        .map(|file_s| format!("{at_most}{}", time(file_s)));
    let most = split.most.map(|(part, share)| (part, percent(share)));
    let text = match (most, files) {
        (Some((Part::Cpu, share)), None) => format!("No file I/O: {share} of {wall} was on CPU"),
        (Some((Part::Waits, share)), None) => {
            format!("No file I/O: {share} of {wall} was spent waiting ({WAITS})")
        }
        (_, None) => format!("No file I/O in {wall}"),
        (Some((Part::Cpu, share)), Some(files)) if split.is_little_io => format!(
            "{share} of {wall} was on CPU: file I/O, which took {files}, is not the bottleneck"
        ),
        (Some((Part::Cpu, share)), Some(files)) => {
            format!("{share} of {wall} was on CPU outside file I/O, which took {files}")
        }
        (Some((Part::Waits, share)), Some(files)) => {
            format!("{share} of {wall} was spent waiting ({WAITS}); file I/O took {files}")
        }
        (Some((Part::Files, share)), Some(_)) => {
            return format!(
                "{at_most_begins}{share} of {wall} was file I/O; {}.",
                best(split)
            );
        }
        (None, Some(files)) => several(result, split, &wall, &files),
    };
    match split.best {
        Some(_) => format!("{text}; {}.", best(split)),
        None => format!("{text}."),
    }
}

/// The objects of waiting other than files.
const WAITS: &str = "timers, locks, children, pipes or sockets";

/// No part was most of it, or threads ran concurrently.
fn several(result: &TraceResult, split: &Split<'_>, wall: &str, files: &str) -> String {
    let mut parts = vec![format!("{files} in file I/O")];
    let on_cpu = split.on_cpu_s.filter(|cpu| *cpu > 0.0);
    parts.extend(on_cpu.map(|cpu| format!("{} on CPU outside it", time(cpu))));
    if split.waiting_s > 0.0 {
        parts.push(format!("{} waiting ({WAITS})", time(split.waiting_s)));
    }
    let last = parts.pop().unwrap_or_default();
    let parts = if parts.is_empty() {
        last
    } else {
        format!("{} and {last}", parts.join(", "))
    };
    if result.threads > 1 {
        format!("{}, all threads together spent {parts}", in_run(result))
    } else {
        format!("Nothing stands out in {wall}: {parts}")
    }
}

/// A saving that was measured, or the most that there can be.
fn saved(time_s: f64, is_measured: bool) -> String {
    let how = if is_measured { "about" } else { "at most" };
    format!("{how} {}", time(time_s))
}

fn best(split: &Split<'_>) -> String {
    let found = split
        .best
        .and_then(|finding| Some((finding, finding.saving_s?)));
    match found {
        Some((finding, saving_s)) => format!(
            "the best advice ({}: {}) saves {}",
            finding.rule,
            advice(finding),
            saved(saving_s, finding.saving_basis == Some(Basis::Measured))
        ),
        None => "no rule found a way to shorten it".to_owned(),
    }
}

fn short(view: &View<'_>, file: &str) -> String {
    middle(view.path(file), PATH)
}

/// `76 %`, rounded, and 0 or 100 only if exact.
fn percent(share: f64) -> String {
    let share = share * 100.0;
    let text = match share {
        little if little > 0.0 && little < 0.5 => "<1".to_owned(),
        nearly if (99.5..100.0).contains(&nearly) => ">99".to_owned(),
        share => format!("{share:.0}"),
    };
    format!("{text}\u{a0}%")
}

#[cfg(test)]
mod tests;
