//! Heat map of times on a logarithmic axis, one line for each owner: the darker a cell, the more calls took that long.

use iostrata_core::bytes::grouped;
use iostrata_core::figures::duration;

use super::drawing::{Drawing, Plot, SQUARE, Symbol};
use super::scale::{LogScale, time_tick};
use crate::format::join;
use crate::html::markup::Markup;
use crate::view::table::{Rows, Table};

/// Height of a line, and of its cells.
const LINE: f64 = 24.0;
const CELL: f64 = 18.0;

/// Shades, from one call to the most of all cells.
const SHADES: [Symbol; 8] = [
    &[("heat heat-1", SQUARE)],
    &[("heat heat-2", SQUARE)],
    &[("heat heat-3", SQUARE)],
    &[("heat heat-4", SQUARE)],
    &[("heat heat-5", SQUARE)],
    &[("heat heat-6", SQUARE)],
    &[("heat heat-7", SQUARE)],
    &[("heat heat-8", SQUARE)],
];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bar {
    /// They took longer than this, seconds.
    pub(super) from_s: f64,
    /// They took no longer than this, seconds.
    pub(super) upto_s: f64,
    pub(super) count: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lane {
    /// The common part of the name of neighbouring lanes; may be empty.
    pub(super) group: String,
    /// The owner of the times.
    pub(super) label: String,
    /// By time, ascending.
    pub(super) bars: Vec<Bar>,
    /// Percentiles by name, seconds.
    pub(super) marks: Vec<(&'static str, f64)>,
}

impl Lane {
    /// `fsync: p50 5.83 ms, p90 18.6 ms.`
    pub(super) fn words(&self) -> String {
        let marks = join(self.marks.iter().map(figure), ", ");
        format!("{}: {marks}.", self.name())
    }

    fn name(&self) -> String {
        match self.group.as_str() {
            "" => self.label.clone(),
            group => format!("{} {group}", self.label),
        }
    }
}

/// `None` when nothing was timed; `noun` is the counted unit: `syncs`, `calls`.
pub(super) fn draw(lanes: &[Lane], noun: &str) -> Option<Markup> {
    let times = lanes.iter().flat_map(|lane| {
        let bars = lane.bars.iter().flat_map(|bar| [bar.from_s, bar.upto_s]);
        bars.chain(lane.marks.iter().map(|mark| mark.1))
    });
    let scale = LogScale::covering(times)?;
    let bars = lanes.iter().flat_map(|lane| &lane.bars);
    let most = bars.map(|bar| bar.count).max().unwrap_or(0);
    let mut drawing = Drawing::new("shades");
    let most_words = format!("{} {noun}", grouped(most));
    let names = ["1", "", "", "", "", "", "", &most_words];
    drawing.key(SHADES.into_iter().zip(names));
    for lane in lanes {
        drawing.group(&lane.group);
        // The others are in the words of their lines.
        let last = lane.marks.get(1..).and_then(<[_]>::last);
        let ends = lane.marks.first().into_iter().chain(last);
        let figures: Vec<String> = ends.map(figure).collect();
        let figures: Vec<&str> = figures.iter().map(String::as_str).collect();
        drawing.row(&lane.label, &plot(lane, &scale, most, noun), &figures);
    }
    let ticks = scale.ticks(time_tick);
    drawing.axis(&ticks, "time of one call; lines: percentiles");
    Some(drawing.finish())
}

fn plot(lane: &Lane, scale: &LogScale, most: u64, noun: &str) -> Plot {
    let mut plot = Plot::new("plot", LINE);
    let top = (LINE - CELL) / 2.0;
    for bar in lane.bars.iter().filter(|bar| bar.count > 0) {
        let words = format!(
            "{}: {} {noun} took {} to {}",
            lane.name(),
            grouped(bar.count),
            duration(bar.from_s),
            duration(bar.upto_s),
        );
        let (from, to) = (scale.at(bar.from_s), scale.at(bar.upto_s));
        let shade = SHADES[shade(bar.count, most)][0].0;
        plot.mark(&words, |plot| plot.rect(shade, from, to, top, CELL));
    }
    for mark in &lane.marks {
        let x = scale.at(mark.1);
        plot.mark(&format!("{}: {}", lane.name(), figure(mark)), |plot| {
            plot.line("percentile", (x, 1.0), (x, LINE - 1.0));
        });
    }
    plot
}

pub(super) fn table(lanes: &[Lane], noun: &str) -> Table {
    let rows = lanes.iter();
    let rows: Vec<(String, &Bar)> = rows
        .flat_map(|lane| lane.bars.iter().map(|bar| (lane.name(), bar)))
        .collect();
    Rows::of(&rows)
        .label("of", |(name, _)| name.as_str())
        .number("longer than", |(_, bar)| duration(bar.from_s))
        .number("up to", |(_, bar)| duration(bar.upto_s))
        .number(noun, |(_, bar)| grouped(bar.count))
        .table(0)
}

/// `p50 5.83 ms`.
fn figure((name, seconds): &(&'static str, f64)) -> String {
    format!("{name} {}", duration(*seconds))
}

/// Which of [`SHADES`], by the logarithm.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to usize saturates; clamped to the shades"
)]
fn shade(count: u64, most: u64) -> usize {
    let last = SHADES.len() - 1;
    let share = (count as f64).ln() / (most.max(2) as f64).ln();
    let step = (share * last as f64).round().max(0.0) as usize;
    step.min(last)
}

pub(super) fn marks(all: &[(&'static str, Option<f64>)]) -> Vec<(&'static str, f64)> {
    let known = all
        .iter()
        .filter_map(|(name, at_s)| Some((*name, (*at_s)?)));
    known.collect()
}

/// Buckets of a finer histogram, drawn together into bars of `per_decade` a decade.
pub(super) fn bars(buckets: impl Iterator<Item = (f64, u64)>, per_decade: u32) -> Vec<Bar> {
    let per_decade = f64::from(per_decade);
    let edge = |step: f64| 10_f64.powf(step / per_decade);
    let mut bars: Vec<(f64, Bar)> = Vec::new();
    for (upto_s, count) in buckets.filter(|(upto_s, _)| *upto_s > 0.0) {
        let step = (upto_s.log10() * per_decade).ceil();
        match bars.last_mut() {
            Some((last, bar)) if *last >= step => bar.count = bar.count.saturating_add(count),
            _ => bars.push((
                step,
                Bar {
                    from_s: edge(step - 1.0),
                    upto_s: edge(step),
                    count,
                },
            )),
        }
    }
    bars.into_iter().map(|(_, bar)| bar).collect()
}

/// Buckets in powers of two: entry `n` counts calls that took from 2^n ns to less than twice that.
pub(super) fn octaves(counts: &[u64]) -> Vec<Bar> {
    let bar = |(power, count): (i32, &u64)| Bar {
        from_s: 2_f64.powi(power) / 1e9,
        upto_s: 2_f64.powi(power.saturating_add(1)) / 1e9,
        count: *count,
    };
    let filled = (0_i32..).zip(counts).filter(|(_, count)| **count > 0);
    filled.map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(group: &str, label: &str, counts: &[u64]) -> Lane {
        Lane {
            group: group.into(),
            label: label.into(),
            bars: octaves(counts),
            marks: vec![("p50", 1e-6)],
        }
    }

    fn drawn(lanes: &[Lane]) -> Option<String> {
        draw(lanes, "calls").map(Markup::finish)
    }

    #[test]
    fn shades_follow_the_logarithm_of_the_count() {
        let shades = [1, 2, 10, 100, 1_000, 10_000].map(|count| shade(count, 10_000));
        assert_eq!(shades, [0, 1, 2, 4, 5, 7]);
        assert_eq!([shade(1, 1), shade(0, 0)], [0, 0]);
    }

    #[test]
    fn every_filled_octave_is_a_cell_on_the_line_of_its_call() {
        let mut counts = [0; 12];
        counts[9..].copy_from_slice(&[4, 0, 800]);
        let lanes = vec![lane("", "fsync", &counts), lane("", "read", &counts[..10])];
        let text = drawn(&lanes).unwrap();
        assert_eq!(text.matches("calls took").count(), 3, "{text}");
        assert!(
            text.contains("fsync: 800 calls took 2.05 µs to 4.10 µs"),
            "{text}"
        );
        // 512 ns to 4.1 µs are on an axis from 0.5 to 5 µs.
        assert!(
            text.contains(
                r#"<rect class="heat heat-8" x="61.24%" y="3" width="30.1%" height="18">"#
            ),
            "{text}"
        );
        let lines: Vec<&str> = text.split(r#"class="label">"#).skip(1).collect();
        assert_eq!(lines[0].matches("<rect").count(), 2);
        assert_eq!(lines[1].matches("<rect").count(), 1);
        assert!(text.contains("<title>fsync: p50 1.00 µs</title>"));
        assert!(text.contains(r#"class="figure">p50 1.00 µs<"#));
        assert_eq!(drawn(&[]), None);
    }

    #[test]
    fn neighbours_share_the_title_of_their_group() {
        let lanes = ["on host", "on ext4", "on ext4"].map(|group| lane(group, "fsync", &[1, 2, 4]));
        let text = drawn(&lanes).unwrap();
        assert_eq!(text.matches(">on ext4</p>").count(), 1);
        assert_eq!(text.matches(">on host</p>").count(), 1);
    }

    #[test]
    fn the_first_and_the_last_percentile_are_figures() {
        let figures = |marks: &[(&'static str, f64)]| {
            let marks = marks.to_vec();
            let lane = lane("", "fsync", &[1]);
            let text = drawn(&[Lane { marks, ..lane }]).unwrap();
            text.matches(r#"class="figure">"#).count()
        };
        let all = [("p50", 1e-6), ("p90", 2e-6), ("max", 3e-6)];
        let counts = [0, 1, 2, 3].map(|known| figures(&all[..known]));
        assert_eq!(counts, [0, 1, 2, 2]);
    }

    #[test]
    fn the_table_has_every_cell() {
        let lane = lane("on ext4", "fsync", &[0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 8]);
        let table = table(&[lane], "calls");
        let columns = table.columns.iter();
        let second: Vec<&str> = columns.map(|column| column.cells[1].as_str()).collect();
        assert_eq!(second, ["fsync on ext4", "1.02 µs", "2.05 µs", "8"]);
    }

    #[test]
    fn buckets_become_bars_of_a_tenth_of_a_decade() {
        let buckets = [(1.0e-4, 2), (1.1e-4, 3), (1.2e-4, 4), (1.0e-3, 1)];
        let found = bars(buckets.into_iter(), 10);
        // 10^-3.9 is 1.2589e-4: 1.1e-4 and 1.2e-4 end below it.
        let counts: Vec<u64> = found.iter().map(|bar| bar.count).collect();
        assert_eq!(counts, [2, 7, 1]);
        assert!((found[1].from_s - 1e-4).abs() < 1e-12);
        assert!((found[1].upto_s - 1.258_925e-4).abs() < 1e-9);
        assert!((found[2].upto_s - 1e-3).abs() < 1e-12);
    }

    #[test]
    fn octaves_are_powers_of_two_of_nanoseconds() {
        let found = octaves(&[0, 0, 5, 0, 1]);
        let expected = [(4e-9, 8e-9, 5), (16e-9, 32e-9, 1)];
        let found: Vec<_> = found
            .iter()
            .map(|bar| (bar.from_s, bar.upto_s, bar.count))
            .collect();
        assert_eq!(found, expected);
        assert!(octaves(&[]).is_empty());
    }
}
