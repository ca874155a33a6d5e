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

/// Maximum columns of a path in the sentence.
const PATH: usize = 48;

/// The summary of a run.
pub(crate) struct Summed {
    /// Losses and incomplete measurements, before everything else.
    pub(crate) warnings: Vec<String>,
    /// One sentence, such as `76 % of 1.89 s was 1,200 fdatasync calls on orders.db; batch several
    /// records per sync: saves about 1.40 s.`
    pub(crate) sentence: String,
}

/// The summary of a run.
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
            format!(
                "{} without tracing; {}",
                time(timed.median),
                small(&sentence)
            )
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
        warnings.push(format!(
            "{} lost: counts may be too low by as many",
            noun::counted(result.lost_events, "event")
        ));
    }
    let gaps = result.missing.iter().filter(|gap| gap.what == "findings");
    warnings.extend(gaps.map(|gap| format!("incomplete: {}; no findings", gap.why)));
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
            if file.is_some() { " on" } else { ":" }
        ),
    };
    let saves = found.saving.map_or_else(String::new, |saving| {
        let Saving {
            time_s,
            is_measured,
        } = saving;
        format!(": saves {}", saved(time_s, is_measured))
    });
    let saves = match found.syncs.and(found.saving) {
        Some(_) => format!("{saves} of that"),
        None => saves,
    };
    format!(
        "{cost}; {}{saves}{}.",
        advice(finding),
        doubt(view.result, finding)
    )
}

fn fault(view: &View<'_>, finding: &Finding) -> String {
    let file = finding.file.as_ref();
    let file = file.map_or_else(String::new, |file| format!("{}: ", short(view, file)));
    format!(
        "A crash can lose data: {file}{}; {}{}.",
        finding.title,
        advice(finding),
        doubt(view.result, finding)
    )
}

/// The advice of an unknown rule is given in full.
fn advice(finding: &Finding) -> &str {
    rules::in_short(&finding.rule).unwrap_or(&finding.advice)
}

fn doubt(result: &TraceResult, finding: &Finding) -> &'static str {
    match (result.backend, finding.confidence) {
        (Backend::Ptrace, _) if finding.cost_s.is_some() => {
            " (timed under ptrace, which slows every call)"
        }
        (_, Confidence::Likely) => " (likely)",
        (_, Confidence::Certain) => "",
    }
}

fn spent(result: &TraceResult, split: &Split<'_>) -> String {
    let wall = wall(result);
    let files = split.file_s.map(time);
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
            return format!("{share} of {wall} was file I/O; {}.", best(split));
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
    parts.extend(
        split
            .on_cpu_s
            .filter(|cpu| *cpu > 0.0)
            .map(|cpu| format!("{} on CPU outside it", time(cpu))),
    );
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
        format!("No single cause in {wall}: {parts}")
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
mod tests {
    use iostrata_core::op::Gap;
    use iostrata_core::trace::{FileKind, Severity, Synced, TimedRuns};

    use super::super::fixture::{by_ptrace, call, empty, finding, five_runs, full, input};
    use super::*;

    fn said(result: &TraceResult) -> String {
        let summed = summed(result);
        assert_eq!(summed.warnings, Vec::<String>::new());
        summed.sentence.replace('\u{a0}', " ")
    }

    /// One thread that spent 2.9 of 4.2 s in syncs of a journal.
    fn syncing() -> TraceResult {
        let mut result = full();
        result.threads = 1;
        result.findings[0].evidence[0].call = Some("fsync".to_owned());
        result
    }

    #[test]
    fn the_worst_finding_is_one_sentence() {
        let mut result = syncing();
        assert_eq!(
            said(&result),
            "69 % of 4.20 s was 903 fsync calls on data/orders.db-journal; batch several records \
             per sync (SQLite: many statements in one transaction): saves about 2.50 s."
        );
        result.findings[0].saving_basis = Some(Basis::Computed);
        result.findings[0].confidence = Confidence::Likely;
        assert!(said(&result).ends_with(": saves at most 2.50 s (likely)."));
        // It concerns only some of the syncs.
        result.files[2].syncs = Synced {
            count: 97,
            time_s: 0.5,
        };
        assert!(said(&result).starts_with(
            "81 % of 4.20 s was 1,000 syncs of 2 files, 2.90 s of it 903 fsync calls on \
             data/orders.db-journal; batch"
        ));
        assert!(said(&result).ends_with(": saves at most 2.50 s of that (likely)."));
        result.files[2].syncs = Synced::default();
        // The calls are not its cost.
        result.findings[0].evidence[0].call = Some("write".to_owned());
        result.findings[0].cost_s = Some(2.1);
        assert!(said(&result).starts_with(
            "50 % of 4.20 s went to data/orders.db-journal (903 fsyncs, one for each write); batch"
        ));
        result.findings[0].file = None;
        assert!(said(&result).starts_with("50 % of 4.20 s: 903 fsyncs, one for each write; batch"));
        result.findings[0].saving_s = Some(4.3);
        assert!(
            !said(&result).contains("saves"),
            "no more than the run took"
        );
    }

    #[test]
    fn threads_have_sums_and_no_share() {
        assert_eq!(
            said(&full()),
            "In a run of 4.20 s, all threads together spent 2.90 s on data/orders.db-journal (903 \
             fsyncs, one for each write); batch several records per sync (SQLite: many statements \
             in one transaction): saves about 2.50 s."
        );
        // The title of a finding without a file is a sentence.
        let mut result = full();
        result.findings[0].file = None;
        assert!(said(&result).starts_with(
            "In a run of 4.20 s, all threads together spent 2.90 s: 903 fsyncs, one for each write; batch"
        ));
    }

    #[test]
    fn the_median_of_runs_is_told_first() {
        let mut result = syncing();
        result.runs = Some(five_runs());
        assert!(said(&result).starts_with(
            "3.25 s is the median of 5 runs without tracing; 69 % of the traced run (4.20 s) was 903 \
             fsync calls on data/orders.db-journal; batch"
        ));
        result.threads = 12;
        assert!(
            said(&result).contains("tracing; in the traced run (4.20 s), all threads together")
        );
        // A saving never exceeds the duration of the program.
        result.findings[0].saving_s = Some(3.5);
        assert!(!said(&result).contains("saves"));
        result.runs = Some(TimedRuns::of(0, five_runs().each[..1].to_vec(), None));
        result.findings.remove(0);
        assert!(
            said(&result).starts_with("3.75 s without tracing; a crash can lose data: config.json")
        );
    }

    #[test]
    fn ptrace_is_named_where_times_are() {
        assert!(said(&by_ptrace()).ends_with("(timed under ptrace, which slows every call)."));
    }

    #[test]
    fn a_fault_says_what_a_crash_does() {
        let mut result = full();
        result.findings.remove(0);
        assert_eq!(
            said(&result),
            "A crash can lose data: config.json: a crash can leave it empty; call fsync before \
             rename (likely)."
        );
    }

    #[test]
    fn without_a_finding_it_is_where_the_time_went() {
        let mut result = empty();
        result.wall_s = 2.1;
        assert_eq!(said(&result), "No file I/O in 2.10 s.");
        result.evidence.on_cpu_s = Some(2.0);
        result.syscalls = vec![call("read", 9, 4096, 0.0625, 0.03125)];
        assert_eq!(said(&result), "No file I/O: 94 % of 2.10 s was on CPU.");
        result.files = vec![input("/srv/app/in", 1 << 20)];
        assert_eq!(
            said(&result),
            "94 % of 2.10 s was on CPU: file I/O, which took 62.5 ms, is not the bottleneck."
        );
        result.syscalls = vec![call("read", 9, 4096, 1.9, 1.8)];
        result.evidence.on_cpu_s = Some(0.2);
        assert_eq!(
            said(&result),
            "90 % of 2.10 s was file I/O; no rule found a way to shorten it."
        );
        let mut little = finding("small-reads", Severity::Low, "/srv/app/in");
        little.saving_s = Some(0.1);
        result.findings = vec![little];
        assert_eq!(
            said(&result),
            "90 % of 2.10 s was file I/O; the best advice (small-reads: read through a 64 KiB \
             buffer) saves at most 100 ms."
        );
        // The same read, of a pipe.
        result.findings.clear();
        result.files[0].kind = FileKind::Pipe;
        result.files[0].calls[0].row = call("read", 9, 4096, 1.9, 1.8);
        assert_eq!(
            said(&result),
            "No file I/O: 86 % of 2.10 s was spent waiting (timers, locks, children, pipes or \
             sockets)."
        );
        result.threads = 3;
        result.files[0].kind = FileKind::Regular;
        assert_eq!(
            said(&result),
            "In a run of 2.10 s, all threads together spent 1.90 s in file I/O and 100 ms on CPU \
             outside it."
        );
    }

    #[test]
    fn losses_and_parts_of_runs_are_warnings() {
        let mut result = full();
        result.lost_events = 1;
        result.missing = vec![Gap::new("findings", "the run was not fully observed")];
        assert_eq!(
            summed(&result).warnings,
            [
                "1 event lost: counts may be too low by as many",
                "incomplete: the run was not fully observed; no findings"
            ]
        );
        result.evidence.syscalls = None;
        result.syscalls.clear();
        result.findings.clear();
        assert_eq!(
            summed(&result).sentence.replace('\u{a0}', " "),
            "Its calls were not observed in 4.20 s: its file I/O is unknown."
        );
    }

    #[test]
    fn shares_of_what_is_neither_are_neither_0_nor_100() {
        let shown = [0.0, 0.004, 0.5, 0.9951, 1.0].map(percent);
        assert_eq!(
            shown,
            ["0", "<1", "50", ">99", "100"].map(|it| format!("{it}\u{a0}%"))
        );
    }
}
