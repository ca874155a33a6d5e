//! Rates over time, one lane under the other on one axis, for zooming in.

use std::fmt::Write as _;

use iostrata_core::bytes::grouped;

use super::scale::even_ticks;
use super::svg::{Area, Svg, length, text_width};
use crate::format::number;
use crate::html::markup::Markup;
use crate::view::cell::Cell;
use crate::view::table::{Column, Table};

/// Height of a lane, and the gap below it.
const LANE: f64 = 30.0;
/// Gap between lanes.
const GAP: f64 = 8.0;
/// Height of a title between lanes.
const TITLE: f64 = 24.0;
/// Room for the axis.
const AXIS: f64 = 40.0;
/// Room at the right for the largest value of a lane.
const MARGIN: f64 = 62.0;

/// One lane.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lane {
    /// A title above it, where a part begins.
    pub(super) title: Option<&'static str>,
    /// What is counted.
    pub(super) label: String,
    /// Colours: one of the classes of the style sheet.
    pub(super) class: String,
    /// One value a bucket; `None` where it was not measured.
    pub(super) values: Vec<Option<f64>>,
}

/// The whole drawing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lanes {
    /// Length of a bucket, seconds.
    pub(super) bucket_s: f64,
    /// Whether heights compare from lane to lane; else each lane's largest value fills it.
    pub(super) one_scale: bool,
    /// The lanes, from top to bottom.
    pub(super) each: Vec<Lane>,
}

impl Lane {
    pub(super) fn new(label: &str, class: &str, values: Vec<Option<f64>>) -> Self {
        Self {
            title: None,
            label: label.to_owned(),
            class: class.to_owned(),
            values,
        }
    }

    fn most(&self) -> f64 {
        let values = self.values.iter().flatten().copied();
        values.filter(|value| value.is_finite()).fold(0.0, f64::max)
    }
}

impl Lanes {
    fn most(&self) -> f64 {
        self.each.iter().map(Lane::most).fold(0.0, f64::max)
    }

    /// Buckets of the longest lane.
    pub(super) fn buckets(&self) -> usize {
        let counts = self.each.iter().map(|lane| lane.values.len());
        counts.max().unwrap_or(0)
    }

    /// The drawing at a width; `None` when there is nothing in it.
    pub(super) fn draw(&self, class: &str, width: f64) -> Option<Markup> {
        let buckets = self.buckets();
        if buckets == 0 {
            return None;
        }
        let widest = self.each.iter().map(|lane| text_width(&lane.label));
        let left = widest.fold(40.0, f64::max).min(width * 0.3) + 10.0;
        let plot = width - left - MARGIN;
        let mut svg = Svg::new(width);
        let titles = self.each.iter().filter(|lane| lane.title.is_some()).count();
        let bottom = titles as f64 * TITLE + self.each.len() as f64 * (LANE + GAP);
        let end_s = buckets as f64 * self.bucket_s;
        let end_s = if end_s > 0.0 && end_s.is_finite() {
            end_s
        } else {
            1.0
        };
        for tick in even_ticks(end_s, if width > 500.0 { 8 } else { 4 }) {
            let x = left + plot * tick / end_s;
            svg.line("grid time", (x, 0.0), (x, bottom));
            svg.text("tick middle time", (x, bottom + 16.0), &seconds(tick));
        }
        svg.text(
            "axis end",
            (left + plot, bottom + 34.0),
            "seconds since the start",
        );
        let mut y = 0.0;
        for lane in &self.each {
            if let Some(title) = lane.title {
                svg.text("group", (0.0, y + 15.0), title);
                y += TITLE;
            }
            let area = Area::at((left, y), (plot, LANE));
            let most = if self.one_scale {
                self.most()
            } else {
                lane.most()
            };
            draw_lane(&mut svg, lane, (area, buckets), most);
            y += LANE + GAP;
        }
        Some(svg.finish(class, bottom + AXIS))
    }

    /// Every value, a row a bucket; buckets in which nothing happened are left out.
    pub(super) fn table(&self) -> Table {
        let value = |lane: &Lane, bucket: usize| lane.values.get(bucket).copied().flatten();
        let happened = |bucket: &usize| {
            let lanes = self.each.iter();
            lanes
                .map(|lane| value(lane, *bucket))
                .any(|value| value != Some(0.0))
        };
        let buckets: Vec<usize> = (0..self.buckets()).filter(happened).collect();
        let from = |bucket: &usize| seconds(*bucket as f64 * self.bucket_s);
        let mut columns = vec![Column::label("from s", buckets.iter().map(from))];
        columns.extend(self.each.iter().map(|lane| {
            let cells = buckets.iter().map(|bucket| cell(value(lane, *bucket)));
            Column::number(&lane.label, cells)
        }));
        Table::new(0, columns)
    }
}

fn cell(value: Option<f64>) -> Cell {
    Cell::seen(value, |value| {
        if value.fract() == 0.0 {
            number_whole(value)
        } else {
            number(value)
        }
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to u64 saturates; the figures are counts"
)]
fn number_whole(value: f64) -> String {
    grouped(value as u64)
}

/// Seconds to the microsecond, without ending zeros.
fn seconds(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

/// The value `full` would fill the lane.
fn draw_lane(svg: &mut Svg, lane: &Lane, (area, buckets): (Area, usize), full: f64) {
    let middle = area.y + area.height / 2.0 + 4.0;
    svg.text("label end", (area.x - 10.0, middle), &lane.label);
    svg.rect("ground-lane", area);
    if lane.values.iter().all(Option::is_none) {
        svg.text(
            "tick middle",
            (area.x + area.width / 2.0, middle),
            "not measured",
        );
        return;
    }
    let most = lane.most();
    let words = if most > 0.0 {
        format!("≤ {}", cell(Some(most)))
    } else {
        "none".to_owned()
    };
    svg.text("tick", (area.x + area.width + 8.0, middle), &words);
    if most > 0.0 {
        svg.stretched(area, (buckets as f64, LANE), |svg| {
            svg.path(
                &format!("area {}", lane.class),
                &outline(&lane.values, full),
            );
        });
    }
}

/// Steps over the buckets, closed along the ground. Buckets in which nothing was counted are
/// passed over.
fn outline(values: &[Option<f64>], most: f64) -> String {
    let mut path = String::new();
    let mut level = 0.0;
    for (bucket, value) in values.iter().enumerate() {
        let value = value.filter(|value| value.is_finite()).unwrap_or(0.0);
        // What happened at all is seen.
        let height = if value > 0.0 {
            (value / most * LANE).max(1.0)
        } else {
            0.0
        };
        if (height - level).abs() > f64::EPSILON {
            let verb = if path.is_empty() { 'M' } else { 'H' };
            if path.is_empty() {
                let _infallible = write!(path, "{verb}{bucket} {}", length(LANE));
            } else {
                let _infallible = write!(path, "{verb}{bucket}");
            }
            let _infallible = write!(path, "V{}", length(LANE - height));
            level = height;
        }
    }
    if level > 0.0 {
        let _infallible = write!(path, "H{}V{}", values.len(), length(LANE));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(label: &str, values: &[Option<f64>]) -> Lane {
        Lane {
            title: None,
            label: label.to_owned(),
            class: "calls".to_owned(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn steps_follow_the_values() {
        let values = [Some(0.0), Some(2.0), Some(2.0), Some(1.0), Some(0.0)];
        assert_eq!(outline(&values, 2.0), "M1 30V0H3V15H4V30");
        assert_eq!(
            outline(&[Some(1.0), Some(1000.0)], 1000.0),
            "M0 30V29H1V0H2V30"
        );
        assert_eq!(outline(&[Some(0.0); 3], 1.0), "");
    }

    #[test]
    fn the_table_holds_every_value_and_no_empty_bucket() {
        let lanes = Lanes {
            bucket_s: 0.001,
            one_scale: false,
            each: vec![
                lane("read", &[Some(3.0), Some(0.0), Some(1200.0)]),
                lane("<b>", &[None, Some(0.0), Some(0.5)]),
            ],
        };
        let table = lanes.table();
        let columns = table.columns.iter();
        let columns: Vec<(&str, Vec<&str>)> = columns
            .map(|column| {
                (
                    column.head.as_str(),
                    column.cells.iter().map(Cell::as_str).collect(),
                )
            })
            .collect();
        let expected = [
            ("from s", vec!["0", "0.002"]),
            ("read", vec!["3", "1,200"]),
            ("<b>", vec!["n/a", "0.50"]),
        ];
        assert_eq!(columns, expected);
    }

    #[test]
    fn what_was_not_seen_is_said() {
        let lanes = Lanes {
            bucket_s: 1.0,
            one_scale: false,
            each: vec![lane("data", &[None, None]), lane("reads", &[Some(0.0); 2])],
        };
        let text = lanes.draw("wide", 700.0).unwrap().finish();
        assert!(
            text.contains(">not measured</text>") && text.contains(">none</text>"),
            "{text}"
        );
        assert!(!text.contains("<path"));
    }
}
