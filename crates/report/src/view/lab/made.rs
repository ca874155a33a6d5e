//! How the figures were measured, what is missing, and what limits them.

use iostrata_core::environment::Backend;
use iostrata_core::lab::{Experiment, Facts};
use iostrata_core::noun;

use super::Frame;
use super::view::{Unshown, distinct};
use crate::format::{self, counted, number};
use crate::view::page::{Page, SEPARATOR};
use crate::view::section::SectionId;
use crate::view::unseen::{self, Line};
use iostrata_core::Gap;

/// Adds what is below the tables. `rows` are those with times and evidence, shown or not.
pub(super) fn draw(
    page: &mut Page,
    frame: &Frame<'_>,
    rows: &[Facts<'_>],
    hidden: usize,
    unshown: &Unshown,
) {
    page.part(SectionId::Method, "method");
    page.blank();
    let mut words = vec![timing(frame, rows)];
    if !rows.is_empty() {
        words.push(evidence(frame, rows));
    }
    page.paragraph(0, &words.join(SEPARATOR));
    limits(page, frame, rows, hidden, unshown);
}

/// The part that is there also where nothing was to be timed.
pub(super) fn limits(
    page: &mut Page,
    frame: &Frame<'_>,
    rows: &[Facts<'_>],
    hidden: usize,
    unshown: &Unshown,
) {
    if hidden > 0 {
        let hidden = counted(hidden, "more row");
        page.paragraph(0, &format!("not shown: {hidden}; --all-rows shows them"));
    }
    page.no_room(&unshown.no_room);
    not_seen(page, frame, rows, unshown);
    if !frame.shared.caveats.is_empty() {
        page.heading(SectionId::Caveats, "caveats");
        for caveat in frame.shared.caveats {
            page.bullet(2, caveat);
        }
    }
}

fn timing(frame: &Frame<'_>, rows: &[Facts<'_>]) -> String {
    let timings = rows.iter().filter_map(|row| row.timing);
    let runs = timings.map(|timing| timing.samples_s.len());
    let Some((fewest, most)) = runs.clone().min().zip(runs.max()) else {
        return "timing: no run finished".to_owned();
    };
    let range = if fewest == most {
        String::new()
    } else {
        format!("{fewest}–")
    };
    let warm_ups = match frame.shared.warm_up_runs {
        0 => String::new(),
        runs => format!(", after {}", counted(runs, "warm-up run")),
    };
    let runs = counted(most, "run");
    let text = format!("timing {range}{runs} each, interleaved, no probes{warm_ups}");
    let mut words = vec![text];
    let cost = own_cost(frame.experiment);
    words.extend(cost.map(|cost| format!("measurement overhead {cost}")));
    words.join(SEPARATOR)
}

/// The cost of measuring: `25 ns per record`.
fn own_cost(experiment: &Experiment) -> Option<String> {
    let (own, of) = match experiment {
        Experiment::Buffering(result) => (&result.method.own, "record"),
        Experiment::PageCache(result) => (&result.method.own, "random read"),
        _ => return None,
    };
    Some(format!("{} ns per {of}", number(own.own_cost_ns?)))
}

fn evidence(frame: &Frame<'_>, rows: &[Facts<'_>]) -> String {
    let mut environments = frame.result.environments();
    if environments.all(|(_, environment)| environment.backend == Backend::None) {
        return "no kernel evidence: the runs could not be observed".to_owned();
    }
    let lost = rows.iter().map(|row| row.evidence.lost_events);
    let lost = noun::counted(lost.fold(0, u64::saturating_add), "event");
    format!("evidence from a separate observed run, {lost} lost")
}

/// A gap with the rows that it is of.
fn of_rows(gap: Line, rows: &[usize]) -> Line {
    if rows.is_empty() {
        return gap;
    }
    let why = format!("{} ({})", gap.why, format::rows(rows)).into();
    Line { why, ..gap }
}

fn not_seen(page: &mut Page, frame: &Frame<'_>, rows: &[Facts<'_>], unshown: &Unshown) {
    let of_run = frame.shared.missing.iter().map(|gap| (gap, None));
    let of_each = rows.iter().flat_map(|row| {
        let gaps = row.evidence.missing.iter();
        gaps.map(|gap| (gap, Some(row.number)))
    });
    let mut known: Vec<(&Gap, Vec<usize>)> = Vec::new();
    for (gap, row) in of_run.chain(of_each) {
        match known.iter_mut().find(|(known, _)| *known == gap) {
            Some((_, rows)) => rows.extend(row),
            None => known.push((gap, row.into_iter().collect())),
        }
    }
    let known = known.iter();
    let mut lines: Vec<Line> = known
        .map(|(gap, rows)| of_rows(Line::of(gap), rows))
        .collect();
    // Values that the result lacks without a reason.
    let numbers = |wanted: &dyn Fn(&Facts<'_>) -> bool| -> Vec<usize> {
        let rows = rows.iter().filter(|row| wanted(row));
        rows.map(|row| row.number).collect()
    };
    let untimed = numbers(&|row| row.timing.is_none());
    let unwatched = numbers(&|row| {
        row.interference.other_cpu_s.is_none() || row.interference.steal_s.is_none()
    });
    for (what, why, rows) in [
        ("times", "no timing run finished", untimed),
        ("CPU time of other processes", "not measured", unwatched),
    ] {
        if !rows.is_empty() {
            let (what, why) = (what.into(), why.into());
            lines.push(of_rows(Line { what, why }, &rows));
        }
    }
    let columns = &unshown.columns;
    for place in distinct(columns.iter().map(|(_, place)| place)) {
        let heads = columns.iter().filter(|(_, of)| of == place);
        let heads: Vec<&str> = heads.map(|(head, _)| head.as_str()).collect();
        let why = format!("without any value in {place}: {}", heads.join(", "));
        let (what, why) = ("columns".into(), why.into());
        lines.push(Line { what, why });
    }
    unseen::draw(page, &lines);
}
