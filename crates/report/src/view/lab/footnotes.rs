//! Notes on rows: their own, and what disturbed them.

use iostrata_core::lab::{Facts, Interference};

use crate::format;
use crate::view::page::Page;
use crate::view::section::SectionId;

pub(super) fn draw(page: &mut Page, rows: &[Facts<'_>]) {
    let mut notes = merged(rows);
    notes.extend(disturbances(rows));
    if notes.is_empty() {
        return;
    }
    page.heading(SectionId::Notes, "notes");
    for (numbers, text) in &notes {
        let rows = format::rows(numbers);
        page.bullet(2, &format!("{text} [{rows}]"));
    }
}

/// A note cut at its figures: words and figures take turns, words first.
struct Pieces<'a> {
    words: Vec<&'a str>,
    figures: Vec<&'a str>,
}

impl<'a> Pieces<'a> {
    fn of(note: &'a str) -> Self {
        let (mut words, mut figures) = (Vec::new(), Vec::new());
        let mut rest = note;
        while let Some(start) = rest.find(|char: char| char.is_ascii_digit()) {
            let (before, from) = rest.split_at(start);
            let is_figure = |char: char| char.is_ascii_digit() || char == '.';
            let end = from.find(|char| !is_figure(char)).unwrap_or(from.len());
            words.push(before);
            figures.push(&from[..end]);
            rest = &from[end..];
        }
        words.push(rest);
        Self { words, figures }
    }
}

/// Notes with the rows they stand at. Notes that differ in figures only are one,
/// with the smallest and the largest of each.
fn merged(rows: &[Facts<'_>]) -> Vec<(Vec<usize>, String)> {
    let mut kinds: Vec<(Vec<usize>, Vec<Pieces<'_>>)> = Vec::new();
    for row in rows {
        for note in row.notes {
            let pieces = Pieces::of(note);
            match kinds
                .iter_mut()
                .find(|(_, known)| known[0].words == pieces.words)
            {
                Some((numbers, known)) => {
                    numbers.push(row.number);
                    known.push(pieces);
                }
                None => kinds.push((vec![row.number], vec![pieces])),
            }
        }
    }
    kinds
        .into_iter()
        .map(|(mut numbers, notes)| {
            numbers.dedup();
            (numbers, together(&notes))
        })
        .collect()
}

fn together(notes: &[Pieces<'_>]) -> String {
    let pieces = notes[0].words.iter().enumerate().map(|(index, words)| {
        let figures = notes
            .iter()
            .filter_map(|note| note.figures.get(index).copied());
        format!("{words}{}", range(figures))
    });
    pieces.collect()
}

/// `7–100`, or the figure that all are.
fn range<'a>(figures: impl Iterator<Item = &'a str> + Clone) -> String {
    let value = |figure: &&str| figure.parse().unwrap_or(f64::INFINITY);
    let order = |a: &&str, b: &&str| f64::total_cmp(&value(a), &value(b));
    match (figures.clone().min_by(order), figures.max_by(order)) {
        (Some(least), Some(most)) if least != most => format!("{least}–{most}"),
        (Some(same), _) => same.to_owned(),
        (None, _) => String::new(),
    }
}

/// A disturbance: how much of it a row had, and the words around the amount, for one and for several.
type Disturbance = (
    fn(&Interference) -> Option<f64>,
    &'static str,
    [&'static str; 2],
);

const DISTURBANCES: [Disturbance; 3] = [
    (
        |seen| seen.steal_s,
        "CPU steal:",
        ["s while the row was timed"; 2],
    ),
    (
        |seen| seen.other_cpu_s,
        "CPU time of other processes, including kernel threads:",
        ["s while the row was timed"; 2],
    ),
    (
        |seen| seen.other_requests.map(|count| count as f64),
        "other files on the same disk:",
        [
            "request while the row was observed",
            "requests while the row was observed",
        ],
    ),
];

fn disturbances(rows: &[Facts<'_>]) -> Vec<(Vec<usize>, String)> {
    DISTURBANCES
        .iter()
        .filter_map(|(pick, who, words)| {
            let seen: Vec<(usize, f64)> = rows
                .iter()
                .filter_map(|row| Some((row.number, pick(row.interference)?)))
                .filter(|(_, amount)| *amount > 0.0)
                .collect();
            let amounts = || seen.iter().map(|(_, amount)| *amount);
            let least = format::rate(amounts().min_by(f64::total_cmp)?);
            let most = format::rate(amounts().max_by(f64::total_cmp)?);
            let numbers = seen.iter().map(|(number, _)| *number).collect();
            Some((numbers, told(who, *words, [&least, &most])))
        })
        .collect()
}

fn told(who: &str, [one, several]: [&str; 2], [least, most]: [&str; 2]) -> String {
    match (least == most, most) {
        (true, "1") => format!("{who} 1 {one}"),
        (true, _) => format!("{who} {most} {several}"),
        (false, _) => format!("{who} {least}–{most} {several}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_differ_in_figures_are_one() {
        let notes = ["12 runs of 1.5 s", "7 runs of 1.5 s", "100 runs of 1.5 s"].map(Pieces::of);
        assert_eq!(together(&notes), "7–100 runs of 1.5 s");
        assert_eq!(together(&[Pieces::of("pwritev2")]), "pwritev2");
        assert_eq!(together(&[Pieces::of("é. 3.")]), "é. 3.");
    }

    #[test]
    fn one_request_is_one() {
        let (_, who, words) = DISTURBANCES[2];
        assert_eq!(
            told(who, words, ["1", "1"]),
            "other files on the same disk: 1 request while the row was observed"
        );
        assert_eq!(
            told(who, words, ["1", "12"]),
            "other files on the same disk: 1–12 requests while the row was observed"
        );
    }
}
