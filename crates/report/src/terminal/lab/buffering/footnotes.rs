//! What must be known about single rows: their notes, and what disturbed them.

use iostrata_core::lab::Interference;

use super::view::{Numbered, View};
use crate::format;
use crate::terminal::page::{DIM, Page};

/// Where notes stand when no list of rows is longer.
const LONGEST_LEAD: usize = 24;

/// The notes of the rows that are drawn.
pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let rows = view.shown();
    let mut notes = merged(&rows);
    notes.extend(disturbances(&rows));
    if notes.is_empty() {
        return;
    }
    page.heading("notes");
    let leads: Vec<String> = notes
        .iter()
        .map(|(numbers, _)| format!("  {}", format::rows(numbers)))
        .collect();
    let widths = leads.iter().map(|lead| lead.chars().count());
    let column = widths
        .filter(|width| *width <= LONGEST_LEAD)
        .max()
        .unwrap_or(LONGEST_LEAD)
        + 2;
    for (lead, (_, text)) in leads.iter().zip(&notes) {
        page.entry(lead, DIM, column, text);
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
fn merged(rows: &[Numbered<'_>]) -> Vec<(Vec<usize>, String)> {
    let mut kinds: Vec<(Vec<usize>, Vec<Pieces<'_>>)> = Vec::new();
    for row in rows {
        for note in &row.row.row.notes {
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
    let mut text = String::new();
    for (index, words) in notes[0].words.iter().enumerate() {
        text.push_str(words);
        let figures = notes
            .iter()
            .filter_map(|note| note.figures.get(index).copied());
        let value = |figure: &&str| figure.parse().unwrap_or(f64::INFINITY);
        let order = |a: &&str, b: &&str| f64::total_cmp(&value(a), &value(b));
        let ends = (figures.clone().min_by(order), figures.max_by(order));
        match ends {
            (Some(least), Some(most)) if least != most => {
                text.push_str(&format!("{least}–{most}"));
            }
            (Some(same), _) => text.push_str(same),
            (None, _) => {}
        }
    }
    text
}

fn disturbances(rows: &[Numbered<'_>]) -> Vec<(Vec<usize>, String)> {
    let kinds: [(fn(&Interference) -> Option<f64>, &str, &str); 3] = [
        (
            |seen| seen.steal_s,
            "the hypervisor took",
            "s of CPU away while the row was timed",
        ),
        (
            |seen| seen.other_cpu_s,
            "others, the kernel's own threads among them, used",
            "s of CPU while the row was timed",
        ),
        (
            |seen| seen.other_requests.map(|count| count as f64),
            "the same disk had",
            "requests for other files while the row was observed",
        ),
    ];
    kinds
        .into_iter()
        .filter_map(|(pick, who, what)| {
            let seen: Vec<(usize, f64)> = rows
                .iter()
                .filter_map(|row| Some((row.number, pick(&row.row.row.interference)?)))
                .filter(|(_, amount)| *amount > 0.0)
                .collect();
            let amounts = || seen.iter().map(|(_, amount)| *amount);
            let least = format::rate(amounts().min_by(f64::total_cmp)?);
            let most = format::rate(amounts().max_by(f64::total_cmp)?);
            let amount = if least == most {
                most
            } else {
                format!("{least}–{most}")
            };
            let numbers = seen.iter().map(|(number, _)| *number).collect();
            Some((numbers, format!("{who} {amount} {what}")))
        })
        .collect()
}
