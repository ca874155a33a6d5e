//! Where in files their resident pages are: one strip a file, from its first byte to its last.

use std::fmt::Write as _;

use iostrata_core::bytes;
use iostrata_core::cache::{MapRange, ResidencyMap};

use super::drawing::{Drawing, Plot, SQUARE, Symbol};
use crate::format::printable;
use crate::html::markup::Markup;
use crate::view::table::{Cell, Column, Rows, Table};

const STRIP: f64 = 22.0;

const KEY: [(Symbol, &str); 4] = [
    (&[("resident", SQUARE)], "cached"),
    (&[("dirty", SQUARE)], "dirty"),
    (&[("writeback", SQUARE)], "in write-back"),
    (&[("ground-lane", SQUARE)], "not cached"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Strip<'a> {
    pub(super) path: &'a str,
    pub(super) map: &'a ResidencyMap,
}

impl Strip<'_> {
    /// Whether its parts differ: a strip of one colour says no more than a figure does.
    pub(super) fn differs(&self) -> bool {
        self.runs().len() > 1
    }

    /// Ranges that are alike as one.
    fn runs(&self) -> Vec<MapRange> {
        let mut runs: Vec<MapRange> = Vec::new();
        for range in self.map.ranges().filter(|range| range.length_bytes > 0) {
            match runs.last_mut() {
                Some(run) if is_alike(run, &range) => {
                    run.length_bytes = end(&range).saturating_sub(run.start_bytes);
                }
                _ => runs.push(range),
            }
        }
        runs
    }
}

/// To the per cent that is shown.
fn is_alike(one: &MapRange, other: &MapRange) -> bool {
    let shown = |range: &MapRange| {
        [Some(range.resident), range.dirty, range.writeback].map(|share| share.map(percent))
    };
    shown(one) == shown(other)
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        none if none <= 0.0 => "0 %".to_owned(),
        little if little < 1.0 => "<1 %".to_owned(),
        // All is said of all only.
        most if (99.0..100.0).contains(&most) => ">99 %".to_owned(),
        share => format!("{share:.0} %"),
    }
}

fn end(run: &MapRange) -> u64 {
    run.start_bytes.saturating_add(run.length_bytes)
}

fn place(run: &MapRange) -> String {
    let (from, to) = (bytes::short(run.start_bytes), bytes::short(end(run)));
    format!("{from} to {to}")
}

fn words(run: &MapRange, path: &str) -> String {
    let (place, resident) = (place(run), percent(run.resident));
    let mut words = format!("{path}, {place}: {resident} resident");
    for (share, what) in [(run.dirty, "dirty"), (run.writeback, "under write-back")] {
        if let Some(share) = share.filter(|share| *share > 0.0) {
            let _infallible = write!(words, ", {} {what}", percent(share));
        }
    }
    words
}

/// `None` without a file.
pub(super) fn draw(strips: &[Strip<'_>]) -> Option<Markup> {
    if strips.is_empty() {
        return None;
    }
    let mut drawing = Drawing::new("strips");
    drawing.key(KEY);
    for strip in strips {
        let path = printable(strip.path);
        let whole = strip.map.size_bytes.max(1) as f64;
        let mut plot = Plot::new("plot", STRIP);
        for run in strip.runs() {
            let (from, to) = (run.start_bytes as f64 / whole, end(&run) as f64 / whole);
            let shares = [
                ("reach", Some(1.0)),
                ("resident", Some(run.resident)),
                ("dirty", run.dirty),
                ("writeback", run.writeback),
            ];
            plot.mark(&words(&run, &path), |plot| {
                for (class, share) in shares {
                    if let Some(share) = share.filter(|share| *share > 0.0) {
                        // Anything that exists is visible.
                        let height = (share * STRIP).max(1.5);
                        plot.rect(class, from, to, STRIP - height, height);
                    }
                }
            });
        }
        let size = bytes::short(strip.map.size_bytes);
        drawing.row(strip.path, &plot, &[&size]);
    }
    Some(drawing.finish())
}

pub(super) fn table(strips: &[Strip<'_>]) -> Table {
    let rows: Vec<(&str, MapRange)> = strips
        .iter()
        .flat_map(|strip| strip.runs().into_iter().map(|run| (strip.path, run)))
        .collect();
    let paths = rows.iter().map(|(path, _)| *path);
    Rows::of(&rows)
        .and([Column::paths("file", 60, paths)])
        .text("from to", |(_, run)| place(run))
        .number("resident", |(_, run)| percent(run.resident))
        .number("dirty", |(_, run)| Cell::seen(run.dirty, percent))
        .number("write-back", |(_, run)| Cell::seen(run.writeback, percent))
        .table(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    /// Four ranges of ten pages, the last one of five.
    fn map() -> ResidencyMap {
        ResidencyMap {
            size_bytes: 35 * PAGE,
            page_bytes: PAGE,
            range_bytes: 10 * PAGE,
            resident_bytes: vec![10 * PAGE, 10 * PAGE, 0, 4 * PAGE],
            dirty_bytes: Some(vec![0, 0, 0, PAGE]),
            writeback_bytes: None,
        }
    }

    fn strip(map: &ResidencyMap) -> Strip<'_> {
        let path = "/srv/app/orders.db";
        Strip { path, map }
    }

    #[test]
    fn ranges_that_are_alike_are_one() {
        let table = table(&[strip(&map())]);
        let rows: Vec<Vec<&str>> = (0..table.rows())
            .map(|row| {
                let columns = table.columns.iter();
                columns.map(|column| column.cells[row].as_str()).collect()
            })
            .collect();
        let path = "/srv/app/orders.db";
        let expected = [
            [path, "0 B to 80.0 KiB", "100 %", "0 %", "n/a"],
            [path, "80.0 KiB to 120.0 KiB", "0 %", "0 %", "n/a"],
            [path, "120.0 KiB to 140.0 KiB", "80 %", "20 %", "n/a"],
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn heights_are_shares_and_widths_are_bytes() {
        let text = draw(&[strip(&map())]).unwrap().finish();
        // 20 of 35 pages; 80 % and 20 % of a height of 22.
        assert!(
            text.contains(r#"class="resident" x="0%" y="0" width="57.14%" height="22""#),
            "{text}"
        );
        assert!(
            text.contains(r#"class="resident" x="85.71%" y="4.4" width="14.29%" height="17.6""#),
            "{text}"
        );
        assert!(
            text.contains(r#"class="dirty" x="85.71%" y="17.6" width="14.29%" height="4.4""#),
            "{text}"
        );
        let words = "/srv/app/orders.db, 120.0 KiB to 140.0 KiB: 80 % resident, 20 % dirty";
        assert!(text.contains(words), "{text}");
        assert!(draw(&[]).is_none());
    }

    #[test]
    fn nearly_all_is_not_all() {
        let shares = [0.0, 0.0001, 0.25, 0.9999, 1.0].map(percent);
        assert_eq!(shares, ["0 %", "<1 %", "25 %", ">99 %", "100 %"]);
    }
}
