//! How the figures were made, what is missing among them, and what limits them.

use iostrata_core::Environment;
use iostrata_core::bytes::grouped;
use iostrata_core::environment::Backend;

use super::view::{Numbered, View, distinct};
use crate::format::{self, counted, number};
use crate::terminal::page::{Page, SEPARATOR};
use anstyle::Style;

/// Longer names stand on a line of their own.
const LONGEST_NAME: usize = 30;

pub(super) fn draw(page: &mut Page, environment: &Environment, view: &View<'_>) {
    page.blank();
    let mut words = vec![timing(view)];
    if !view.result.rows.is_empty() {
        words.push(evidence(environment, view));
    }
    page.paragraph(0, &words.join(SEPARATOR));
    left_out(page, view);
    not_seen(page, view);
    if !view.result.caveats.is_empty() {
        page.heading("keep in mind");
        for caveat in &view.result.caveats {
            page.entry("  -", Style::new(), 4, caveat);
        }
    }
}

fn timing(view: &View<'_>) -> String {
    let timings = view
        .result
        .rows
        .iter()
        .filter_map(|row| row.row.timing.as_ref());
    let runs = timings.map(|timing| timing.samples_s.len());
    let Some((fewest, most)) = runs.clone().min().zip(runs.max()) else {
        return "timing: no run finished".to_owned();
    };
    let range = if fewest == most {
        String::new()
    } else {
        format!("{fewest}–")
    };
    let method = &view.result.method;
    let warm_ups = match method.warm_up_runs {
        0 => String::new(),
        runs => format!(", after {}", counted(runs, "warm-up run")),
    };
    let mut words = vec![format!(
        "timing {range}{} each, interleaved, no probes{warm_ups}",
        counted(most, "run")
    )];
    if let Some(own_cost_ns) = method.own_cost_ns {
        words.push(format!("own cost {} ns per record", number(own_cost_ns)));
    }
    words.join(SEPARATOR)
}

fn evidence(environment: &Environment, view: &View<'_>) -> String {
    if environment.backend == Backend::None {
        return "no evidence from the kernel: nothing could observe the runs".to_owned();
    }
    let lost = view
        .result
        .rows
        .iter()
        .map(|row| row.row.evidence.lost_events);
    let lost = grouped(lost.sum());
    format!("evidence from a separate observed run, {lost} events lost")
}

fn left_out(page: &mut Page, view: &View<'_>) {
    let hidden = view.hidden();
    if hidden > 0 {
        page.paragraph(
            0,
            &format!(
                "not shown: {}; --all-rows shows them",
                counted(hidden, "more row")
            ),
        );
    }
    if !view.no_room.is_empty() {
        let text = format!(
            "no room at {} columns for: {}; a wider terminal or --json shows them",
            page.width(),
            view.no_room.join(", ")
        );
        page.paragraph(0, &text);
    }
}

/// What is missing, why, and where.
struct Unseen {
    what: String,
    why: String,
    rows: Vec<usize>,
}

fn not_seen(page: &mut Page, view: &View<'_>) {
    let unseen = unseen(view);
    if unseen.is_empty() {
        page.paragraph(0, "not seen: nothing");
        return;
    }
    page.heading("not seen");
    let names = unseen.iter().map(|unseen| unseen.what.chars().count());
    let column = names
        .filter(|name| *name <= LONGEST_NAME)
        .max()
        .unwrap_or(4)
        + 4;
    for (position, Unseen { what, why, rows }) in unseen.iter().enumerate() {
        // One reason for several is told once, beside the last of them.
        let next = unseen.get(position + 1);
        let text = if next.is_some_and(|next| (&next.why, &next.rows) == (why, rows)) {
            String::new()
        } else if rows.is_empty() {
            why.clone()
        } else {
            format!("{why} ({})", format::rows(rows))
        };
        page.entry(&format!("  {what}"), Style::new(), column, &text);
    }
}

fn unseen(view: &View<'_>) -> Vec<Unseen> {
    let of_run = view.result.missing.iter().map(|gap| (gap, None));
    let of_rows = view.rows(|_| true).into_iter().flat_map(|row| {
        row.row
            .row
            .evidence
            .missing
            .iter()
            .map(move |gap| (gap, Some(row.number)))
    });
    let mut all: Vec<Unseen> = Vec::new();
    for (gap, row) in of_run.chain(of_rows) {
        match all
            .iter_mut()
            .find(|known| known.what == gap.what && known.why == gap.why)
        {
            Some(known) => known.rows.extend(row),
            None => all.push(Unseen {
                what: gap.what.clone(),
                why: gap.why.clone(),
                rows: row.into_iter().collect(),
            }),
        }
    }
    all.extend(unknown(view));
    all
}

/// What the result holds no value for, without saying why.
fn unknown(view: &View<'_>) -> Vec<Unseen> {
    let untimed = view.rows(|row| row.row.row.timing.is_none());
    let unwatched = view.rows(|row| {
        let seen = row.row.row.interference;
        seen.other_cpu_s.is_none() || seen.steal_s.is_none()
    });
    let mut all = Vec::new();
    for (what, why, rows) in [
        ("times", "no timing run finished", untimed),
        ("CPU time of others", "not measured", unwatched),
    ] {
        if !rows.is_empty() {
            all.push(Unseen {
                what: what.to_owned(),
                why: why.to_owned(),
                rows: numbers(&rows),
            });
        }
    }
    for place in distinct(view.unseen.iter().map(|(_, place)| place)) {
        let heads = view.unseen.iter().filter(|(_, of)| of == place);
        let heads: Vec<&str> = heads.map(|(head, _)| head.as_str()).collect();
        all.push(Unseen {
            what: "columns".to_owned(),
            why: format!("without any value in {place}: {}", heads.join(", ")),
            rows: Vec::new(),
        });
    }
    all
}

fn numbers(rows: &[Numbered<'_>]) -> Vec<usize> {
    rows.iter().map(|row| row.number).collect()
}
