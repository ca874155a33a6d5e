//! Bytes at each stratum: widths as the bytes, what they became on the way.

use std::fmt::Write as _;

use super::svg::{Area, Svg, letters};
use crate::format::{beginning, between, number};
use crate::html::markup::Markup;
use crate::view::cell::Cell;
use crate::view::table::{Column, Table};

/// Height of the largest stratum of a way.
const TALLEST: f64 = 74.0;
/// Space for title and names above the bars.
const ABOVE: f64 = 58.0;
/// Space for what a stratum holds, below the bars.
const BELOW: f64 = 16.0;
/// Height of a line of it.
const NOTE: f64 = 15.0;
/// Narrower drawings have the notes of one stratum below those of another.
const ROOM_FOR_NOTES: f64 = 500.0;
/// Width of a stratum's bar.
const BAR: f64 = 16.0;
/// Bytes that are there are seen, however few.
const THINNEST: f64 = 2.0;

/// A part of a stratum's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Its name; empty if a stratum has no parts.
    pub(super) name: &'static str,
    /// Colour: one of the classes of the style sheet.
    pub(super) class: &'static str,
    /// Its size in the bar, bytes.
    pub(super) bytes: u64,
    /// In words.
    pub(super) words: String,
}

/// One stratum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stratum {
    /// Its name.
    pub(super) name: &'static str,
    /// Its time, in words.
    pub(super) words: Cell,
    /// `None` when it was not seen.
    pub(super) parts: Option<Vec<Part>>,
}

impl Stratum {
    fn bytes(&self) -> Option<u64> {
        let parts = self.parts.as_ref()?;
        let bytes = parts.iter().map(|part| part.bytes);
        Some(bytes.fold(0, u64::saturating_add))
    }
}

/// An arrow between two strata.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrow {
    /// How the bytes go.
    pub(super) by: &'static str,
    /// The fate of the bytes.
    pub(super) times: Times,
}

/// Bytes after an arrow for each byte at the start of the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Times {
    /// At least and at most so many; the same where the figures are exact.
    Are(f64, f64),
    /// One of both was not seen.
    Unknown,
    /// There is no such figure.
    None,
}

/// One way of bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Way {
    /// `written`, `read`, or the name of a case.
    pub(super) title: String,
    /// From left to right.
    pub(super) strata: Vec<Stratum>,
    /// One fewer than strata.
    pub(super) arrows: Vec<Arrow>,
}

impl Way {
    /// `Written: application 31.0 KiB, page cache 1.2 MiB, device 18.7 MiB.`
    pub(super) fn words(&self) -> String {
        let strata = self.strata.iter();
        let strata: Vec<String> = strata
            .map(|stratum| format!("{} {}", stratum.name, stratum.words))
            .collect();
        format!("{}: {}.", self.title, strata.join(", "))
    }
}

/// The drawing at a width; `None` without a way.
pub(super) fn draw(ways: &[Way], class: &str, width: f64) -> Option<Markup> {
    if ways.is_empty() {
        return None;
    }
    let mut svg = Svg::new(width);
    let mut y = 0.0;
    for way in ways {
        let notes = draw_way(&mut svg, way, y);
        y += ABOVE + TALLEST + BELOW + NOTE * (notes as f64 - 1.0).max(0.0) + 18.0;
    }
    Some(svg.finish(class, y))
}

/// Returns the lines that stand below the bars.
fn draw_way(svg: &mut Svg, way: &Way, top: f64) -> usize {
    let largest = way.strata.iter().filter_map(Stratum::bytes).max();
    let largest = largest.unwrap_or(0).max(1) as f64;
    let height = |bytes: u64| match bytes {
        0 => 0.0,
        some => (some as f64 / largest * TALLEST).max(THINNEST),
    };
    let steps = way.strata.len().saturating_sub(1).max(1) as f64;
    let step = (svg.width - BAR - 2.0) / steps;
    let x = |position: usize| 1.0 + position as f64 * step;
    let middle = top + ABOVE + TALLEST / 2.0;
    svg.text(
        "group",
        (0.0, top + 15.0),
        &beginning(&way.title, letters(svg.width)),
    );
    for (position, arrow) in way.arrows.iter().enumerate() {
        let sides = (&way.strata[position], way.strata.get(position + 1));
        let (from, to) = (x(position) + BAR, x(position + 1));
        let before = sides.0.bytes().map(height);
        let after = sides.1.and_then(Stratum::bytes).map(height);
        match before.zip(after) {
            Some((before, after)) => svg.path("ribbon", &ribbon((from, to), middle, before, after)),
            None => svg.line("unseen", (from + 4.0, middle), (to - 4.0, middle)),
        }
        let label_at = f64::midpoint(from, to);
        let below = match arrow.times {
            Times::None => 4.0,
            times => {
                let text = times_text(times);
                svg.text("times middle", (label_at, middle + 1.0), text.as_str());
                16.0
            }
        };
        svg.text("tick middle", (label_at, middle + below), arrow.by);
    }
    let mut notes = 0;
    for (position, stratum) in way.strata.iter().enumerate() {
        draw_stratum(svg, stratum, (x(position), top), height, middle);
        let before = if svg.width < ROOM_FOR_NOTES { notes } else { 0 };
        let below = top + ABOVE + TALLEST + BELOW + NOTE * before as f64;
        notes = notes.max(before + draw_notes(svg, stratum, (x(position), below)));
    }
    notes
}

/// The outer texts lean inwards, so that they stay on the page.
fn leaning(svg: &Svg, x: f64) -> (&'static str, f64) {
    if x < 2.0 {
        ("start", x)
    } else if x + BAR + 4.0 > svg.width {
        ("end", x + BAR)
    } else {
        ("middle", x + BAR / 2.0)
    }
}

/// The parts in words; returns their lines.
fn draw_notes(svg: &mut Svg, stratum: &Stratum, (x, top): (f64, f64)) -> usize {
    let (anchor, at) = leaning(svg, x);
    let parts = stratum.parts.iter().flatten();
    let mut lines = 0;
    for part in parts.filter(|part| !part.name.is_empty()) {
        let y = top + NOTE * lines as f64;
        svg.text(&format!("tick {anchor}"), (at, y), &part.words);
        lines += 1;
    }
    lines
}

fn times_text(times: Times) -> Cell {
    match times {
        Times::Are(least, most) => between(
            format!("×{}", number(least)),
            format!("×{}", number(most)),
            |text| text,
        )
        .into(),
        Times::Unknown => Cell::NotSeen,
        Times::None => Cell::NotApplicable,
    }
}

/// Every stratum and its parts, a row each.
pub(super) fn table(ways: &[Way]) -> Table {
    let mut rows: Vec<[Cell; 5]> = Vec::new();
    for way in ways {
        for (position, stratum) in way.strata.iter().enumerate() {
            let parts = stratum.parts.iter().flatten();
            let parts: Vec<&str> = parts.map(|part| part.words.as_str()).collect();
            let before = position.checked_sub(1);
            let arrow = before.and_then(|before| way.arrows.get(before));
            rows.push([
                stratum.name.into(),
                way.title.as_str().into(),
                stratum.words.clone(),
                times_text(arrow.map_or(Times::None, |arrow| arrow.times)),
                parts.join("; ").into(),
            ]);
        }
    }
    let cells = |index: usize| rows.iter().map(move |row| row[index].clone());
    let columns = vec![
        Column::label("stratum", cells(0)),
        Column::text("way", cells(1)),
        Column::number("in all", cells(2)),
        Column::number("× of the start", cells(3)),
        Column::text("of which", cells(4)),
    ];
    Table::new(0, columns)
}

fn draw_stratum(
    svg: &mut Svg,
    stratum: &Stratum,
    (x, top): (f64, f64),
    height: impl Fn(u64) -> f64,
    middle: f64,
) {
    let (anchor, at) = leaning(svg, x);
    svg.text(&format!("label {anchor}"), (at, top + 34.0), stratum.name);
    svg.text(
        &format!("value {anchor}"),
        (at, top + 50.0),
        stratum.words.as_str(),
    );
    let Some(parts) = &stratum.parts else {
        let area = Area::at((x, middle - TALLEST / 4.0), (BAR, TALLEST / 2.0));
        svg.mark(&format!("{}: not measured", stratum.name), |svg| {
            svg.rect("unseen", area);
            svg.text("value middle", (x + BAR / 2.0, middle + 5.0), "?");
        });
        return;
    };
    let whole: f64 = parts.iter().map(|part| height(part.bytes)).sum();
    let mut y = middle - whole / 2.0;
    for part in parts {
        let area = Area::at((x, y), (BAR, height(part.bytes)));
        let words = format!("{} · {}", stratum.name, part.words);
        svg.mark(&words, |svg| {
            svg.rect(&format!("part {}", part.class), area);
        });
        y += area.height;
    }
}

/// A band that goes over from one height to the other.
fn ribbon((from, to): (f64, f64), middle: f64, before: f64, after: f64) -> String {
    let half = f64::midpoint(from, to);
    let mut path = String::new();
    let (a, b) = (before / 2.0, after / 2.0);
    let _infallible = write!(
        path,
        "M{from:.1} {:.1}C{half:.1} {:.1} {half:.1} {:.1} {to:.1} {:.1}V{:.1}\
         C{half:.1} {:.1} {half:.1} {:.1} {from:.1} {:.1}z",
        middle - a,
        middle - a,
        middle - b,
        middle - b,
        middle + b,
        middle + b,
        middle + a,
        middle + a,
    );
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stratum(name: &'static str, bytes: Option<u64>) -> Stratum {
        let part = |bytes| Part {
            name: "",
            class: "data",
            bytes,
            words: format!("{bytes} B"),
        };
        Stratum {
            name,
            words: "words".into(),
            parts: bytes.map(|bytes| vec![part(bytes)]),
        }
    }

    fn way(device: Option<u64>) -> Way {
        Way {
            title: "written".into(),
            strata: vec![stratum("application", Some(100)), stratum("device", device)],
            arrows: vec![Arrow {
                by: "system calls",
                times: device.map_or(Times::Unknown, |bytes| {
                    Times::Are(bytes as f64 / 100.0, bytes as f64 / 100.0)
                }),
            }],
        }
    }

    #[test]
    fn heights_are_as_the_bytes() {
        let text = draw(&[way(Some(400))], "wide", 500.0).unwrap().finish();
        assert!(
            text.contains(r#"height="74""#) && text.contains(r#"height="18.5""#),
            "{text}"
        );
        assert!(text.contains(">×4.00</text>"));
    }

    #[test]
    fn what_was_not_seen_has_no_height() {
        let text = draw(&[way(None)], "wide", 500.0).unwrap().finish();
        assert!(
            text.contains("device: not measured") && text.contains(">n/a</text>"),
            "{text}"
        );
        assert!(!text.contains("ribbon"));
        assert!(draw(&[], "wide", 500.0).is_none());
    }

    #[test]
    fn notes_of_a_narrow_drawing_stand_below_each_other() {
        let mut way = way(Some(400));
        for stratum in &mut way.strata {
            stratum.parts.as_mut().unwrap()[0].name = "part";
        }
        let places = |width| {
            let text = draw(&[way.clone()], "any", width).unwrap().finish();
            let notes = text.match_indices("class=\"tick ");
            let texts = notes.map(|(at, _)| text[at..].split('>').next().unwrap().to_owned());
            let y = |text: String| text.rsplit("y=").next().unwrap().to_owned();
            texts
                .filter(|text| !text.contains("middle"))
                .map(y)
                .collect::<Vec<_>>()
        };
        assert_eq!(places(700.0), ["\"148\"", "\"148\""]);
        assert_eq!(places(344.0), ["\"148\"", "\"163\""]);
    }

    #[test]
    fn words_name_every_stratum() {
        assert_eq!(
            way(None).words(),
            "written: application words, device words."
        );
    }

    #[test]
    fn the_table_says_what_the_drawing_shows() {
        let table = table(&[way(Some(400))]);
        let rows: Vec<Vec<&str>> = (0..table.rows())
            .map(|row| {
                table
                    .columns
                    .iter()
                    .map(|column| column.cells[row].as_str())
                    .collect()
            })
            .collect();
        let expected = [
            ["application", "written", "words", "—", "100 B"],
            ["device", "written", "words", "×4.00", "400 B"],
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn nothing_is_thinner_than_a_byte() {
        let text = draw(&[way(Some(0))], "wide", 500.0).unwrap().finish();
        assert!(text.contains(r#"height="0""#), "{text}");
        let text = draw(&[way(Some(1_000_000))], "wide", 500.0)
            .unwrap()
            .finish();
        assert!(text.contains(r#"height="2""#), "{text}");
    }
}
