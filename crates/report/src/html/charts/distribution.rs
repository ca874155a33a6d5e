//! Distributions of times on a logarithmic axis, one lane each, percentiles marked.

use iostrata_core::bytes::grouped;
use iostrata_core::duration;

use super::scale::{LogScale, time_tick};
use super::svg::{Area, Svg, letters, text_width};
use crate::html::markup::Markup;
use crate::view::table::{Column, Table};

/// Height of a lane's bars.
const BARS: f64 = 34.0;
/// Height of a lane with the names of its percentiles.
const LANE: f64 = 62.0;
/// Height of a line of a label.
const NAME: f64 = 18.0;
/// Height of a group's title and of the axis below it.
const GROUP: f64 = 44.0;
/// Room for the axis.
const AXIS: f64 = 40.0;
/// Room at the right for half an axis label.
const MARGIN: f64 = 24.0;

/// Calls that took between two times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bar {
    /// They took longer than this, seconds.
    pub(super) from_s: f64,
    /// They took no longer than this, seconds.
    pub(super) upto_s: f64,
    /// How many.
    pub(super) count: u64,
}

/// One distribution.
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

/// The whole drawing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Distributions {
    /// One under the other.
    pub(super) lanes: Vec<Lane>,
    /// The counted unit: `syncs`, `calls`.
    pub(super) noun: &'static str,
}

impl Lane {
    /// `fsync: p50 5.83 ms, p90 18.6 ms.`
    pub(super) fn words(&self) -> String {
        let marks = self.marks.iter();
        let marks: Vec<String> = marks
            .map(|(name, seconds)| format!("{name} {}", duration(*seconds)))
            .collect();
        format!("{}: {}.", self.name(), marks.join(", "))
    }

    /// Its label and its group's.
    fn name(&self) -> String {
        match self.group.as_str() {
            "" => self.label.clone(),
            group => format!("{} {group}", self.label),
        }
    }
}

impl Distributions {
    /// Every time that the axis must hold, seconds.
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        self.lanes.iter().flat_map(|lane| {
            let bars = lane.bars.iter().flat_map(|bar| [bar.from_s, bar.upto_s]);
            bars.chain(lane.marks.iter().map(|mark| mark.1))
        })
    }

    /// The drawing at a width; `None` when nothing was timed.
    pub(super) fn draw(&self, class: &str, width: f64) -> Option<Markup> {
        let ends = (MARGIN, width - MARGIN);
        let scale = LogScale::covering(self.values(), ends)?;
        let mut svg = Svg::new(width);
        let places = self.places(width);
        let bottom = places.last().map_or(0.0, |place| place.bars + LANE);
        let ticks = scale.ticks((letters(width) / 8).max(2));
        for tick in &ticks {
            let x = scale.at(*tick);
            svg.line("grid", (x, 0.0), (x, bottom));
        }
        let axis = |svg: &mut Svg, y: f64| {
            for tick in &ticks {
                svg.text("tick middle", (scale.at(*tick), y), &time_tick(*tick));
            }
        };
        for (lane, place) in self.lanes.iter().zip(&places) {
            if let Some(y) = place.group {
                svg.text("group", (0.0, y + 16.0), &lane.group);
                axis(&mut svg, y + 34.0);
            }
            for (line, text) in place.label.iter().enumerate() {
                svg.text("label", (0.0, place.top + 14.0 + NAME * line as f64), text);
            }
            draw_lane(&mut svg, &scale, lane, place.bars, self.noun);
        }
        axis(&mut svg, bottom + 16.0);
        svg.text("axis end", (width - 2.0, bottom + 34.0), "time of one call");
        Some(svg.finish(class, bottom + AXIS))
    }

    /// Where each lane stands. Labels are never cut: a long one takes several lines.
    fn places(&self, width: f64) -> Vec<Place> {
        let mut y = 0.0;
        let mut group = "";
        let places = self.lanes.iter().map(|lane| {
            let begins = lane.group != group;
            group = &lane.group;
            let title = begins.then_some(y);
            y += if begins { GROUP } else { 0.0 };
            let label = textwrap::wrap(&lane.label, letters(width));
            let label: Vec<String> = label.into_iter().map(Into::into).collect();
            let bars = y + NAME * label.len() as f64;
            let place = Place {
                group: title,
                top: y,
                label,
                bars,
            };
            y = bars + LANE;
            place
        });
        places.collect()
    }
}

/// Where a lane stands, from top to bottom.
struct Place {
    /// The title of its group, where one begins.
    group: Option<f64>,
    top: f64,
    /// Its label, line by line.
    label: Vec<String>,
    bars: f64,
}

impl Distributions {
    /// Every bar, a row each.
    pub(super) fn table(&self) -> Table {
        let lanes = self.lanes.iter();
        let rows: Vec<(String, &Bar)> = lanes
            .flat_map(|lane| lane.bars.iter().map(|bar| (lane.name(), bar)))
            .collect();
        let time = |head: &str, pick: fn(&Bar) -> f64| {
            Column::number(head, rows.iter().map(|(_, bar)| duration(pick(bar))))
        };
        let columns = vec![
            Column::label("of", rows.iter().map(|(name, _)| name.clone())),
            time("longer than", |bar| bar.from_s),
            time("up to", |bar| bar.upto_s),
            Column::number(self.noun, rows.iter().map(|(_, bar)| grouped(bar.count))),
        ];
        Table::new(0, columns)
    }
}

fn draw_lane(svg: &mut Svg, scale: &LogScale, lane: &Lane, top: f64, noun: &str) {
    let most = lane.bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    let ground = top + BARS + 4.0;
    for bar in lane.bars.iter().filter(|bar| bar.count > 0) {
        let (from, to) = (scale.at(bar.from_s), scale.at(bar.upto_s));
        // A single call among thousands is still seen.
        let height = (bar.count as f64 / most as f64 * BARS).max(1.5);
        let words = format!(
            "{}: {} {noun} took {} to {}",
            lane.name(),
            grouped(bar.count),
            duration(bar.from_s),
            duration(bar.upto_s),
        );
        svg.mark(&words, |svg| {
            let area = Area::at(
                (from, ground - height),
                ((to - from - 0.6).max(0.8), height),
            );
            svg.rect("bar", area);
        });
    }
    svg.line(
        "ground",
        (scale.at(0.0), ground),
        (svg.width - MARGIN, ground),
    );
    let mut free = 0.0;
    for (name, seconds) in &lane.marks {
        let x = scale.at(*seconds);
        let words = format!("{}: {name} {}", lane.name(), duration(*seconds));
        let half = text_width(name) / 2.0;
        svg.mark(&words, |svg| {
            svg.line("percentile", (x, top + 6.0), (x, ground + 5.0));
            // Names that would stand on each other are left to the words and the table.
            if x - half >= free {
                svg.text("tick middle", (x, ground + 16.0), name);
            }
        });
        free = free.max(x + half + 3.0);
    }
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

    #[test]
    fn labels_are_never_cut() {
        let lane = |group: &str| Lane {
            group: group.into(),
            label: "fdatasync preallocated 1 KiB, 8 writers, one file each and a long name".into(),
            bars: octaves(&[1, 2, 4]),
            marks: Vec::new(),
        };
        let drawing = Distributions {
            lanes: vec![lane("on host"), lane("on ext4"), lane("on ext4")],
            noun: "syncs",
        };
        let text = drawing.draw("narrow", 344.0).unwrap().finish();
        assert!(!text.contains('…'), "{text}");
        assert_eq!(text.matches(">on ext4</text>").count(), 1);
        let places = drawing.places(344.0);
        // Two lines of label each; the third lane begins no group.
        assert!((places[0].bars - (GROUP + 2.0 * NAME)).abs() < 1e-9);
        assert_eq!(places[2].group, None);
    }

    #[test]
    fn the_highest_bar_fills_the_lane_and_percentiles_stand_at_their_time() {
        let lane = Lane {
            group: String::new(),
            label: "fsync".into(),
            bars: octaves(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 8]),
            marks: vec![("p50", 1e-6)],
        };
        let drawing = Distributions {
            lanes: vec![lane],
            noun: "calls",
        };
        let text = drawing.draw("narrow", 340.0).unwrap().finish();
        assert!(
            text.contains(r#"height="34""#) && text.contains(r#"height="17""#),
            "{text}"
        );
        assert!(
            text.contains("fsync: 8 calls took 1.02 µs to 2.05 µs"),
            "{text}"
        );
        assert!(text.contains(">p50</text>"));
        let table = drawing.table();
        let columns = table.columns.iter();
        let second: Vec<&str> = columns.map(|column| column.cells[1].as_str()).collect();
        assert_eq!(second, ["fsync", "1.02 µs", "2.05 µs", "8"]);
        let nothing = Distributions {
            lanes: Vec::new(),
            noun: "calls",
        };
        assert!(nothing.draw("wide", 700.0).is_none());
    }
}
