//! How the figures were measured, what is missing, and what limits them.

use iostrata_core::environment::Backend;
use iostrata_core::lab::LabResult;
use iostrata_core::noun;

use super::view::{Unshown, distinct};
use crate::format::{self, counted};
use crate::lab::{Facts, Whole};
use crate::view::page::{Page, SEPARATOR};
use crate::view::section::SectionId;
use crate::view::unseen::{self, Line};
use iostrata_core::Gap;

/// Text below an experiment's tables.
pub(super) struct Made<'a> {
    pub(super) whole: &'a Whole<'a>,
    /// Rows with times and evidence, shown or not.
    pub(super) rows: &'a [Facts<'a>],
    /// Rows that are not shown.
    pub(super) hidden: usize,
    pub(super) unshown: &'a Unshown,
}

pub(super) fn draw(page: &mut Page, result: &LabResult, made: &Made<'_>) {
    page.part(SectionId::Method, "method");
    page.blank();
    let mut words = vec![timing(made)];
    if !made.rows.is_empty() {
        words.push(evidence(result, made));
    }
    page.paragraph(0, &words.join(SEPARATOR));
    limits(page, made);
}

/// The part that is there also where nothing was to be timed.
pub(super) fn limits(page: &mut Page, made: &Made<'_>) {
    left_out(page, made);
    not_seen(page, made);
    if !made.whole.caveats.is_empty() {
        page.heading(SectionId::Caveats, "caveats");
        for caveat in made.whole.caveats {
            page.bullet(2, caveat);
        }
    }
}

fn timing(made: &Made<'_>) -> String {
    let timings = made.rows.iter().filter_map(|row| row.timing);
    let runs = timings.map(|timing| timing.samples_s.len());
    let Some((fewest, most)) = runs.clone().min().zip(runs.max()) else {
        return "timing: no run finished".to_owned();
    };
    let range = if fewest == most {
        String::new()
    } else {
        format!("{fewest}–")
    };
    let warm_ups = match made.whole.warm_up_runs {
        0 => String::new(),
        runs => format!(", after {}", counted(runs, "warm-up run")),
    };
    let mut words = vec![format!(
        "timing {range}{} each, interleaved, no probes{warm_ups}",
        counted(most, "run")
    )];
    words.extend(
        made.whole
            .own_cost
            .as_ref()
            .map(|cost| format!("measurement overhead {cost}")),
    );
    words.join(SEPARATOR)
}

fn evidence(result: &LabResult, made: &Made<'_>) -> String {
    let mut environments = result.environments();
    if environments.all(|(_, environment)| environment.backend == Backend::None) {
        return "no kernel evidence: the runs could not be observed".to_owned();
    }
    let lost = made.rows.iter().map(|row| row.evidence.lost_events);
    let lost = noun::counted(lost.fold(0, u64::saturating_add), "event");
    format!("evidence from a separate observed run, {lost} lost")
}

fn left_out(page: &mut Page, made: &Made<'_>) {
    if made.hidden > 0 {
        page.paragraph(
            0,
            &format!(
                "not shown: {}; --all-rows shows them",
                counted(made.hidden, "more row")
            ),
        );
    }
    page.no_room(&made.unshown.no_room);
}

struct Unseen {
    line: Line,
    rows: Vec<usize>,
}

fn not_seen(page: &mut Page, made: &Made<'_>) {
    let lines = unseen(made).into_iter().map(|Unseen { line, rows }| {
        if rows.is_empty() {
            return line;
        }
        let why = format!("{} ({})", line.why, format::rows(&rows)).into();
        Line { why, ..line }
    });
    unseen::draw(page, &lines.collect::<Vec<_>>());
}

fn unseen(made: &Made<'_>) -> Vec<Unseen> {
    let of_run = made.whole.missing.iter().map(|gap| (gap, None));
    let of_rows = made.rows.iter().flat_map(|row| {
        let gaps = row.evidence.missing.iter();
        gaps.map(|gap| (gap, Some(row.number)))
    });
    let mut known: Vec<(&Gap, Vec<usize>)> = Vec::new();
    for (gap, row) in of_run.chain(of_rows) {
        match known.iter_mut().find(|(known, _)| *known == gap) {
            Some((_, rows)) => rows.extend(row),
            None => known.push((gap, row.into_iter().collect())),
        }
    }
    let gaps = known.into_iter().map(|(gap, rows)| Unseen {
        line: Line::of(gap),
        rows,
    });
    gaps.chain(unknown(made)).collect()
}

/// Values that the result lacks without a reason.
fn unknown(made: &Made<'_>) -> Vec<Unseen> {
    let numbers = |wanted: &dyn Fn(&Facts<'_>) -> bool| -> Vec<usize> {
        let rows = made.rows.iter().filter(|row| wanted(row));
        rows.map(|row| row.number).collect()
    };
    let untimed = numbers(&|row| row.timing.is_none());
    let unwatched = numbers(&|row| {
        row.interference.other_cpu_s.is_none() || row.interference.steal_s.is_none()
    });
    let mut all = Vec::new();
    for (what, why, rows) in [
        ("times", "no timing run finished", untimed),
        ("CPU time of other processes", "not measured", unwatched),
    ] {
        if !rows.is_empty() {
            all.push(Unseen {
                line: Line {
                    what: what.into(),
                    why: why.into(),
                },
                rows,
            });
        }
    }
    let columns = &made.unshown.columns;
    for place in distinct(columns.iter().map(|(_, place)| place)) {
        let heads = columns.iter().filter(|(_, of)| of == place);
        let heads: Vec<&str> = heads.map(|(head, _)| head.as_str()).collect();
        all.push(Unseen {
            line: Line {
                what: "columns".into(),
                why: format!("without any value in {place}: {}", heads.join(", ")).into(),
            },
            rows: Vec::new(),
        });
    }
    all
}
