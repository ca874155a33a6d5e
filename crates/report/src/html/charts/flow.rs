//! Bytes at each stratum: widths as the bytes, what they became on the way.

use std::iter;

use super::drawing::{Drawing, Plot};
use crate::format::join;
use crate::html::markup::Markup;
use crate::view::table::{Cell, Rows, Table};

/// Height of the largest stratum of a way.
const TALLEST: f64 = 74.0;
/// Width of a stratum's bar, as a share of all.
const BAR: f64 = 0.021;
/// Bytes that are there are seen, however few.
const THINNEST: f64 = 2.0;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Its name; empty if a stratum has no parts.
    pub(super) name: &'static str,
    /// Colour: one of the classes of the style sheet.
    pub(super) class: &'static str,
    /// Its size in the bar, bytes.
    pub(super) bytes: u64,
    pub(super) words: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stratum {
    pub(super) name: &'static str,
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

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrow {
    pub(super) by: &'static str,
    /// Bytes after it for each byte at the start of the way.
    pub(super) times: Cell,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Way {
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
        let strata = strata.map(|stratum| format!("{} {}", stratum.name, stratum.words));
        format!("{}: {}.", self.title, join(strata, ", "))
    }
}

/// `None` without a way.
pub(super) fn draw(ways: &[Way]) -> Option<Markup> {
    if ways.is_empty() {
        return None;
    }
    let mut drawing = Drawing::new("flow");
    for way in ways {
        drawing.group(&way.title);
        drawing.block(&[("class", "strata")], |drawing| {
            for stratum in &way.strata {
                drawing.block(&[("class", "stratum")], |drawing| {
                    drawing.text("label", stratum.name);
                    drawing.text("value", stratum.words.as_str());
                });
            }
        });
        drawing.plot(&bars(way));
        drawing.block(&[("class", "strata notes")], |drawing| {
            for stratum in &way.strata {
                drawing.block(&[("class", "stratum")], |drawing| {
                    let parts = stratum.parts.iter().flatten();
                    for part in parts.filter(|part| !part.name.is_empty()) {
                        drawing.text("figure", &part.words);
                    }
                });
            }
        });
    }
    Some(drawing.finish())
}

/// A bar for each stratum, as high as its bytes, and between them what they became.
fn bars(way: &Way) -> Plot {
    let largest = way.strata.iter().filter_map(Stratum::bytes).max();
    let largest = largest.unwrap_or(0).max(1) as f64;
    let height = |bytes: u64| match bytes {
        0 => 0.0,
        some => (some as f64 / largest * TALLEST).max(THINNEST),
    };
    let steps = way.strata.len().saturating_sub(1).max(1) as f64;
    let place = |position: usize| position as f64 * (1.0 - BAR) / steps;
    let mut plot = Plot::new("plot", TALLEST);
    for (position, arrow) in way.arrows.iter().enumerate() {
        let (from, to) = (place(position) + BAR, place(position + 1));
        let before = way.strata[position].bytes().map(height);
        let after = way.strata.get(position + 1).and_then(Stratum::bytes);
        match before.zip(after.map(height)) {
            Some((before, after)) => ribbon(&mut plot, from, to, before, after),
            None => plot.line("unseen", (from, TALLEST / 2.0), (to, TALLEST / 2.0)),
        }
        let middle = f64::midpoint(from, to);
        match &arrow.times {
            Cell::NotApplicable => plot.text("tick", middle, TALLEST / 2.0 + 4.0, arrow.by),
            text => {
                plot.text("times", middle, TALLEST / 2.0 + 1.0, text.as_str());
                plot.text("tick", middle, TALLEST / 2.0 + 16.0, arrow.by);
            }
        }
    }
    for (position, stratum) in way.strata.iter().enumerate() {
        let (from, to) = (place(position), place(position) + BAR);
        let Some(parts) = &stratum.parts else {
            plot.mark(&format!("{}: not measured", stratum.name), |plot| {
                plot.rect("unseen", from, to, TALLEST / 4.0, TALLEST / 2.0);
                plot.text("value", f64::midpoint(from, to), TALLEST / 2.0 + 5.0, "?");
            });
            continue;
        };
        let whole: f64 = parts.iter().map(|part| height(part.bytes)).sum();
        let mut y = (TALLEST - whole) / 2.0;
        for part in parts {
            let height = height(part.bytes);
            plot.mark(&format!("{} · {}", stratum.name, part.words), |plot| {
                plot.rect(&format!("part {}", part.class), from, to, y, height);
            });
            y += height;
        }
    }
    plot
}

/// A band that goes over from one height to the other.
fn ribbon(plot: &mut Plot, from: f64, to: f64, before: f64, after: f64) {
    let [a, b] = [before, after].map(|height| (TALLEST - height) / 2.0);
    let [c, d] = [a, b].map(|upper| TALLEST - upper);
    let path =
        format!("M0 {a:.1}C50 {a:.1} 50 {b:.1} 100 {b:.1}V{d:.1}C50 {d:.1} 50 {c:.1} 0 {c:.1}z");
    plot.stretched("ribbon", &path, from, to);
}

pub(super) fn table(ways: &[Way]) -> Table {
    let rows = ways.iter().flat_map(|way| {
        let to_next = way.arrows.iter().map(|arrow| arrow.times.clone());
        let times = iter::once(Cell::NotApplicable).chain(to_next);
        let strata = way.strata.iter().zip(times);
        strata.map(move |(stratum, times)| (way, stratum, times))
    });
    let rows: Vec<_> = rows.collect();
    Rows::of(&rows)
        .label("stratum", |(_, stratum, _)| stratum.name)
        .text("way", |(way, ..)| way.title.as_str())
        .number("in all", |(_, stratum, _)| stratum.words.clone())
        .number("× of the start", |(.., times)| times.clone())
        .text("of which", |(_, stratum, _)| {
            let parts = stratum.parts.iter().flatten();
            join(parts.map(|part| &part.words), "; ")
        })
        .table(0)
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
                times: Cell::seen(device, |bytes| format!("×{}.00", bytes / 100)),
            }],
        }
    }

    #[test]
    fn heights_are_as_the_bytes() {
        let text = draw(&[way(Some(400))]).unwrap().finish();
        assert!(
            text.contains(r#"height="74""#) && text.contains(r#"height="18.5""#),
            "{text}"
        );
        assert!(text.contains(">×4.00</text>"));
    }

    #[test]
    fn what_was_not_seen_has_no_height() {
        let text = draw(&[way(None)]).unwrap().finish();
        assert!(
            text.contains("device: not measured") && text.contains(">n/a</text>"),
            "{text}"
        );
        assert!(!text.contains("ribbon"));
        assert!(draw(&[]).is_none());
    }

    #[test]
    fn parts_with_a_name_stand_below_their_stratum() {
        let mut way = way(Some(400));
        way.strata[1].parts.as_mut().unwrap()[0].name = "part";
        let text = draw(&[way]).unwrap().finish();
        let notes = text.split("strata notes").nth(1).unwrap();
        let notes: Vec<&str> = notes.split(r#"class="stratum">"#).skip(1).collect();
        assert!(notes[0].starts_with("</div>"), "{notes:?}");
        assert!(
            notes[1].starts_with(r#"<span class="figure">400 B<"#),
            "{notes:?}"
        );
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
        let text = draw(&[way(Some(0))]).unwrap().finish();
        assert!(text.contains(r#"height="0""#), "{text}");
        let text = draw(&[way(Some(1_000_000))]).unwrap().finish();
        assert!(text.contains(r#"height="2""#), "{text}");
    }
}
