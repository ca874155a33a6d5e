//! How the state of a crash came about: the operations of the program in order, each in the lane of its thread, with
//! what was on disk of it when the power failed and which sync guarantees that.

use iostrata_core::crash::{Finding, Left, Moment, Role, Thread};
use iostrata_core::distinct;
use iostrata_core::noun::counted;

use super::drawing::{Drawing, Plot, Symbol, short};
use crate::html::markup::Markup;
use crate::view::crash::left;

/// Distance of the lanes, and the room that all of them may take.
const LANE: f64 = 18.0;
const LANES: f64 = 150.0;
/// Room of the lines that lead from syncs to what they made durable.
const REACHES: &str = "20";
/// Places of these lines, as shares of that room.
const REACH: [f64; 3] = [0.85, 0.55, 0.25];
/// Operations that the summary names.
const NAMED: usize = 3;

const CIRCLE: &str = "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z";

/// What stands for an operation, and its meaning.
type Meaning = (Symbol, &'static str);

const DURABLE: Meaning = (
    &[("held", CIRCLE), ("tick-off", "M-3 0l2 2.5l4-5")],
    "durable: a sync guarantees it",
);
const ON_DISK: Meaning = (&[("chance", CIRCLE)], "on disk by chance");
const PARTLY: Meaning = (
    &[("hollow", CIRCLE), ("chance", "M0-6a6 6 0 0 0 0 12z")],
    "partly on disk",
);
const LOST: Meaning = (
    &[
        ("hollow", CIRCLE),
        ("missing", "M-3.6-3.6l7.2 7.2m-7.2 0l7.2-7.2"),
    ],
    "lost",
);
const UNKNOWN: Meaning = (&[("hollow", CIRCLE)], "not known whether on disk");
const SYNC: Meaning = (&[("sync", "M0-7l7 7l-7 7l-7-7z")], "sync");
const FAILED: Meaning = (
    &[
        ("hollow", "M0-7l7 7l-7 7l-7-7z"),
        ("missing", "M-3-3l6 6m-6 0l6-6"),
    ],
    "a sync that failed",
);
const REPORT: Meaning = (
    &[("report", "M-5.4-5.4h10.8v10.8h-10.8z")],
    "output or message sent",
);
const OTHER: Meaning = (
    &[("other", "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z")],
    "changed nothing",
);

fn meaning(moment: &Moment) -> Meaning {
    match (moment.left, moment.role) {
        (Left::Durable, _) => DURABLE,
        (Left::OnDisk, _) => ON_DISK,
        (Left::Partly, _) => PARTLY,
        (Left::Lost, _) => LOST,
        (Left::Unknown, _) => UNKNOWN,
        (Left::Failed, _) => FAILED,
        (Left::Done, Some(Role::Sync)) => SYNC,
        (Left::Done, Some(Role::Report)) => REPORT,
        (Left::Done, _) => OTHER,
    }
}

/// `None` where the operations of a finding are not known.
pub(super) fn draw(finding: &Finding) -> Option<Markup> {
    let timeline = &finding.timeline;
    if timeline.is_empty() {
        return None;
    }
    let mut drawing = Drawing::new("story");
    let all = [
        DURABLE, ON_DISK, PARTLY, LOST, UNKNOWN, SYNC, FAILED, REPORT, OTHER,
    ];
    let is_shown = |known: &Meaning| timeline.iter().any(|moment| meaning(moment) == *known);
    drawing.key(all.into_iter().filter(is_shown));
    let threads = distinct(timeline.iter().filter_map(|moment| moment.thread));
    if threads.len() > 1 {
        for (lane, thread) in threads.iter().enumerate() {
            drawing.block(&[("class", "line")], |drawing| {
                drawing.plot(&lanes(threads.len(), Some(lane)));
                drawing.text("thread", &thread_name(*thread));
            });
        }
    }
    let syncs = syncs(timeline);
    for (place, moment) in timeline.iter().enumerate() {
        let text = numbered(moment);
        let state = left(moment);
        let (symbol, name) = meaning(moment);
        let lane = threads
            .iter()
            .position(|thread| Some(*thread) == moment.thread);
        let mut plot = lanes(threads.len(), None);
        plot.symbol(symbol, middle(lane.unwrap_or(0), threads.len()), 0.5);
        let class = if is_cited(finding, moment) {
            "line mark cited"
        } else {
            "line mark"
        };
        let words = format!("{text}: {state}");
        drawing.block(&[("class", class), ("title", &words)], |drawing| {
            drawing.plot(&plot);
            let class = if name == LOST.1 {
                "label gone"
            } else {
                "label"
            };
            drawing.text(class, &text);
            drawing.text("state", &state);
            if !syncs.is_empty() {
                drawing.plot(&reaches(&syncs, place));
            }
        });
    }
    drawing.text("crash", "the power fails");
    Some(drawing.finish())
}

/// The lanes of the threads in one row; from the name of one of them a line leads to it.
fn lanes(threads: usize, named: Option<usize>) -> Plot {
    let threads = threads.max(1);
    let width = threads as f64 * LANE.min(LANES / threads as f64);
    let mut plot = Plot::tall("plot").with("width", &short(width, 1));
    for lane in 0..=named.unwrap_or(threads - 1) {
        let x = middle(lane, threads);
        let top = if named == Some(lane) { 0.5 } else { 0.0 };
        plot.line("grid", (x, top), (x, 1.0));
    }
    if let Some(lane) = named {
        plot.line("grid", (middle(lane, threads), 0.5), (1.0, 0.5));
    }
    plot
}

fn middle(lane: usize, threads: usize) -> f64 {
    (lane as f64 + 0.5) / threads.max(1) as f64
}

fn thread_name(of: Thread) -> String {
    let (process, thread) = (of.process, of.thread);
    if process == thread {
        format!("process {process}")
    } else {
        format!("process {process}, thread {thread}")
    }
}

/// The operations that the finding is about.
fn is_cited(finding: &Finding, moment: &Moment) -> bool {
    let own = moment.operation.op;
    let before = finding.before.as_ref();
    finding.culprit.op == own || before.is_some_and(|before| before.op == own)
}

/// Places of what a sync made durable, in order, and its own after them.
fn syncs(timeline: &[Moment]) -> Vec<Vec<usize>> {
    let mut syncs = Vec::new();
    for (place, sync) in timeline.iter().enumerate() {
        if sync.role != Some(Role::Sync) {
            continue;
        }
        let own = Some(sync.operation.op);
        let before = timeline[..place].iter().enumerate();
        let covered = before.filter(|(_, moment)| moment.durable_by == own);
        let mut places: Vec<usize> = covered.map(|(at, _)| at).collect();
        if !places.is_empty() {
            places.push(place);
            syncs.push(places);
        }
    }
    syncs
}

/// What one row has of the lines from each sync to the operations that it made durable.
fn reaches(syncs: &[Vec<usize>], place: usize) -> Plot {
    let mut plot = Plot::tall("reaches").with("width", REACHES);
    for (places, x) in syncs.iter().zip(REACH.into_iter().cycle()) {
        let (first, last) = (places[0], places[places.len() - 1]);
        if !(first..=last).contains(&place) {
            continue;
        }
        let top = if place == first { 0.5 } else { 0.0 };
        let bottom = if place == last { 0.5 } else { 1.0 };
        plot.line("covers", (x, top), (x, bottom));
        if places.contains(&place) {
            plot.line("covers", (0.0, 0.5), (x, 0.5));
        }
    }
    plot
}

pub(super) fn words(finding: &Finding) -> String {
    let timeline = &finding.timeline;
    let operations = |count: usize| counted(count as u64, "operation");
    let are = |left: Left| timeline.iter().filter(|moment| moment.left == left).count();
    let mut words = vec![format!(
        "{} until the power failed, in the order in which they ended.",
        operations(timeline.len())
    )];
    let gone: Vec<String> = timeline
        .iter()
        .filter(|moment| matches!(moment.left, Left::Lost | Left::Partly))
        .map(|moment| format!("{} ({})", numbered(moment), left(moment)))
        .collect();
    if let Some(more @ 1..) = gone.len().checked_sub(NAMED) {
        let named = gone[..NAMED].join("; ");
        words.push(format!("Not all on disk: {named}; and {more} more."));
    } else if !gone.is_empty() {
        words.push(format!("Not all on disk: {}.", gone.join("; ")));
    }
    if let some @ 1.. = are(Left::Unknown) {
        let some = operations(some);
        words.push(format!("{some} on disk or not: blocks name no operation."));
    }
    words.push(match are(Left::Durable) {
        0 => "No sync had made anything durable.".to_owned(),
        some => format!("{} durable by a sync.", operations(some)),
    });
    if let Some(out @ 1..) = finding.timeline_left_out {
        let out = counted(out, "operation");
        words.push(format!("{out} farther from what was lost: not shown."));
    }
    words.join(" ")
}

/// `#23 write of 4,096 B to settings.new at offset 0`.
fn numbered(moment: &Moment) -> String {
    let operation = &moment.operation;
    format!("#{} {}", operation.op, operation.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostrata_core::crash::CrashResult;

    const SAVED: &str = include_str!("../../../tests/browser/saved/crash.json");

    fn finding() -> Finding {
        let mut result: CrashResult = serde_json::from_str(SAVED).unwrap();
        result.findings.swap_remove(0)
    }

    /// A write that a sync guarantees, another one that is lost, and a rename in another process.
    fn small() -> Finding {
        let mut finding = finding();
        let model = finding.timeline[0].clone();
        let moment = |op: u64, call: &str, (left, role): (Left, Role), process: u32| {
            let mut moment = model.clone();
            moment.operation.op = op;
            moment.operation.syscall = call.to_owned();
            moment.operation.path = Some("f".to_owned());
            moment.operation.other_path = None;
            (moment.operation.offset, moment.operation.bytes) = (None, None);
            (moment.left, moment.role) = (left, Some(role));
            moment.thread = Some(Thread {
                process,
                thread: process,
            });
            moment.returned = Some(true);
            moment.durable_by = (left == Left::Durable).then_some(3);
            moment
        };
        finding.timeline = vec![
            moment(2, "write", (Left::Durable, Role::Change), 10),
            moment(3, "fsync", (Left::Done, Role::Sync), 10),
            moment(4, "write", (Left::Lost, Role::Change), 10),
            moment(5, "rename", (Left::OnDisk, Role::Change), 11),
        ];
        finding.timeline_left_out = Some(7);
        finding.culprit.op = 4;
        finding.before = Some(finding.timeline[3].operation.clone());
        finding
    }

    #[test]
    fn the_words_say_what_is_lost_and_what_is_durable() {
        assert_eq!(
            words(&small()),
            "4 operations until the power failed, in the order in which they ended. Not all on disk: #4 write of f \
             (lost). 1 operation durable by a sync. 7 operations farther from what was lost: not shown."
        );
        let mut nothing = small();
        nothing.timeline.drain(..2);
        nothing.timeline_left_out = Some(0);
        assert_eq!(
            words(&nothing),
            "2 operations until the power failed, in the order in which they ended. Not all on disk: #4 write of f \
             (lost). No sync had made anything durable."
        );
    }

    #[test]
    fn each_operation_has_a_symbol_in_the_lane_of_its_process() {
        let text = draw(&small()).unwrap().finish();
        for (symbol, count) in [("held", 2), ("chance", 2), ("hollow", 2), ("sync", 2)] {
            let shape = format!("class=\"{symbol}\"");
            // One of them explains it.
            assert_eq!(text.matches(&shape).count(), count, "{symbol}: {text}");
        }
        assert!(text.contains("title=\"#4 write of f: lost\""), "{text}");
        assert!(text.contains(">process 11<"), "{text}");
        let second = r#"<svg class="symbol" x="75%" y="50%"><path class="chance""#;
        assert_eq!(text.matches(second).count(), 1, "{text}");
        // What the finding is about: the lost write, and the rename that should have waited.
        assert_eq!(text.matches("mark cited").count(), 2);
        // From the write to its sync, in the row of each, and to the line from each of both.
        assert_eq!(text.matches(r#"class="covers""#).count(), 4);
        assert_eq!(text.matches(r#"class="crash""#).count(), 1);
    }

    #[test]
    fn a_finding_without_operations_has_no_drawing() {
        let mut finding = small();
        finding.timeline.clear();
        assert!(draw(&finding).is_none());
    }

    #[test]
    fn what_is_not_known_of_an_operation_is_not_drawn() {
        let mut finding = small();
        for moment in &mut finding.timeline {
            (moment.role, moment.thread) = (None, None);
            (moment.returned, moment.durable_by) = (None, None);
        }
        let text = draw(&finding).unwrap().finish();
        assert_eq!(text.matches(r#"class="other""#).count(), 2);
        assert!(!text.contains("process"), "{text}");
    }
}
