//! Counts and rates over time, one lane under the other on one axis, for zooming in.

use std::fmt::Write as _;

use iostrata_core::bytes::grouped;

use super::bins;
use super::scale::even_ticks;
use super::svg::{Area, Svg, length, text_width};
use super::tracks::{self, TRACK, Tracks};
use crate::format::{number, seconds};
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
    /// The counted unit.
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
    /// How many there are.
    pub(super) buckets: usize,
    /// Whether values are counts, which are added where buckets are joined; rates are not.
    pub(super) adds: bool,
    /// Whether heights compare from lane to lane; else each lane's largest value fills it.
    pub(super) one_scale: bool,
    /// The lanes, from top to bottom.
    pub(super) each: Vec<Lane>,
    /// Below them.
    pub(super) tracks: Vec<Tracks>,
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
    /// Buckets in each bin of the drawing of the whole.
    pub(super) fn step(&self) -> usize {
        if self.adds {
            bins::step(self.buckets)
        } else {
            1
        }
    }

    /// The values of the drawing of the whole.
    fn joined(&self, lane: &Lane) -> Lane {
        Lane {
            values: bins::joined(&lane.values, self.step()),
            ..lane.clone()
        }
    }

    /// Where the lanes end, and then the tracks below them.
    fn bottoms(&self) -> (f64, f64) {
        let titles = self.each.iter().filter(|lane| lane.title.is_some()).count();
        let lanes = titles as f64 * TITLE + self.each.len() as f64 * (LANE + GAP);
        let tracks = self.tracks.iter();
        let tracks = tracks.map(|tracks| TITLE + tracks.each.len() as f64 * TRACK + GAP);
        (lanes, lanes + tracks.sum::<f64>())
    }

    /// The drawing at a width; `None` when there is nothing in it.
    pub(super) fn draw(&self, class: &str, width: f64) -> Option<Markup> {
        let (lanes_end, bottom) = self.bottoms();
        if self.buckets == 0 || bottom <= 0.0 {
            return None;
        }
        let tracks = self.tracks.iter().flat_map(|tracks| &tracks.each);
        let labels = self.each.iter().map(|lane| &lane.label);
        let labels = labels.chain(tracks.map(|track| &track.label));
        let widest = labels.map(|label| text_width(label));
        let left = widest.fold(40.0, f64::max).min(width * 0.3) + 10.0;
        let plot = width - left - MARGIN;
        let mut svg = Svg::new(width);
        self.draw_axis(&mut svg, (left, plot), bottom);
        self.draw_lanes(&mut svg, (left, plot), class == "wide");
        let mut y = lanes_end;
        for tracks in &self.tracks {
            svg.text("group", (0.0, y + 15.0), &tracks.title);
            let area = Area::at((left, y + TITLE), (plot, 0.0));
            tracks::draw(&mut svg, tracks, area, (self.buckets as f64, self.bucket_s));
            y += TITLE + tracks.each.len() as f64 * TRACK + GAP;
        }
        Some(svg.finish(class, bottom + AXIS))
    }

    fn draw_axis(&self, svg: &mut Svg, (left, plot): (f64, f64), bottom: f64) {
        let end_s = self.buckets as f64 * self.bucket_s;
        let end_s = if end_s > 0.0 && end_s.is_finite() {
            end_s
        } else {
            1.0
        };
        let most = if svg.width > 500.0 { 8 } else { 4 };
        for tick in even_ticks(end_s, most) {
            let x = left + plot * tick / end_s;
            svg.line("grid time", (x, 0.0), (x, bottom));
            svg.text("tick middle time", (x, bottom + 16.0), &seconds(tick));
        }
        svg.text(
            "axis end",
            (left + plot, bottom + 34.0),
            "seconds since the start",
        );
    }

    /// The first drawing of a chart carries the counts of all buckets, for the script.
    fn draw_lanes(&self, svg: &mut Svg, (left, plot): (f64, f64), carries: bool) {
        let joined: Vec<Lane> = self.each.iter().map(|lane| self.joined(lane)).collect();
        let all = joined.iter().map(Lane::most).fold(0.0, f64::max);
        let mut y = 0.0;
        for (lane, whole) in joined.iter().zip(&self.each) {
            if let Some(title) = lane.title {
                svg.text("group", (0.0, y + 15.0), title);
                y += TITLE;
            }
            let area = Area::at((left, y), (plot, LANE));
            let full = if self.one_scale { all } else { lane.most() };
            let counts = (carries && self.adds).then(|| bins::packed(&whole.values));
            let place = (area, (self.buckets, self.step()));
            draw_lane(svg, lane, place, (full, counts.as_deref()));
            y += LANE + GAP;
        }
    }

    /// Every value of the drawing, a row a bin; bins in which nothing happened are left out.
    pub(super) fn table(&self) -> Table {
        let step = self.step();
        let joined: Vec<Lane> = self.each.iter().map(|lane| self.joined(lane)).collect();
        let value = |lane: &Lane, bucket: usize| lane.values.get(bucket).copied().flatten();
        let happened = |bucket: &usize| {
            joined
                .iter()
                .map(|lane| value(lane, *bucket))
                .any(|value| value != Some(0.0))
        };
        let bins = 0..self.buckets.div_ceil(step);
        let buckets: Vec<usize> = bins.filter(happened).collect();
        let from = |bin: &usize| seconds((*bin * step) as f64 * self.bucket_s);
        let mut columns = vec![Column::label("from s", buckets.iter().map(from))];
        columns.extend(joined.iter().map(|lane| {
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

/// The value `full` would fill the lane, whose bins are of `step` buckets.
fn draw_lane(
    svg: &mut Svg,
    lane: &Lane,
    (area, (buckets, step)): (Area, (usize, usize)),
    (full, counts): (f64, Option<&str>),
) {
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
    svg.text("tick peak", (area.x + area.width + 8.0, middle), &words);
    let counts = counts.map(|counts| ("data-counts", counts));
    let data: Vec<_> = [("data-lane", lane.label.as_str())]
        .into_iter()
        .chain(counts)
        .collect();
    svg.stretched(area, (buckets as f64, LANE), &data, |svg| {
        let path = outline(&lane.values, full, (step, buckets));
        svg.path(&format!("area {}", lane.class), &path);
    });
}

/// Steps over bins of so many buckets, closed along the ground. Bins in which nothing was counted
/// are passed over.
fn outline(values: &[Option<f64>], most: f64, (step, buckets): (usize, usize)) -> String {
    let mut path = String::new();
    let mut level = 0.0;
    for (bin, value) in values.iter().enumerate() {
        let bucket = bin * step;
        let value = value.filter(|value| value.is_finite()).unwrap_or(0.0);
        // Anything that happened is visible.
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
        let _infallible = write!(path, "H{buckets}V{}", length(LANE));
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

    fn lanes(bucket_s: f64, each: Vec<Lane>) -> Lanes {
        Lanes {
            bucket_s,
            buckets: each[0].values.len(),
            adds: true,
            one_scale: false,
            each,
            tracks: Vec::new(),
        }
    }

    #[test]
    fn steps_follow_the_values() {
        let values = [Some(0.0), Some(2.0), Some(2.0), Some(1.0), Some(0.0)];
        assert_eq!(outline(&values, 2.0, (1, 5)), "M1 30V0H3V15H4V30");
        assert_eq!(
            outline(&[Some(1.0), Some(1000.0)], 1000.0, (4, 7)),
            "M0 30V29H4V0H7V30"
        );
        assert_eq!(outline(&[Some(0.0); 3], 1.0, (1, 3)), "");
    }

    #[test]
    fn the_table_holds_every_value_and_no_empty_bucket() {
        let lanes = lanes(
            0.001,
            vec![
                lane("read", &[Some(3.0), Some(0.0), Some(1200.0)]),
                lane("<b>", &[None, Some(0.0), Some(0.5)]),
            ],
        );
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
        let each = vec![lane("data", &[None, None]), lane("reads", &[Some(0.0); 2])];
        let lanes = lanes(1.0, each);
        let text = lanes.draw("wide", 700.0).unwrap().finish();
        assert!(
            text.contains(">not measured</text>") && text.contains(">none</text>"),
            "{text}"
        );
        assert!(!text.contains(r#"d="M"#));
    }

    #[test]
    fn the_whole_has_few_bins_and_carries_every_bucket() {
        let mut counts = vec![Some(0.0); 2000];
        (counts[0], counts[3], counts[1999]) = (Some(2.0), Some(5.0), Some(1.0));
        let lanes = lanes(0.5, vec![lane("read", &counts)]);
        let text = lanes.draw("wide", 700.0).unwrap().finish();
        assert!(text.contains(r#"data-counts="2 ~2 5 ~1995 1""#), "{text}");
        // Bins of four buckets.
        assert!(
            text.contains(r#"d="M0 30V0H4V30H1996V25.7H2000V30""#),
            "{text}"
        );
        assert!(text.contains(">≤ 7</text>"), "{text}");
        let narrow = lanes.draw("narrow", 344.0).unwrap().finish();
        assert!(!narrow.contains("data-counts"), "once a page");
        let table = lanes.table();
        let cells = |column: usize| {
            let cells = table.columns[column].cells.iter();
            cells.map(Cell::as_str).collect::<Vec<_>>()
        };
        assert_eq!((cells(0), cells(1)), (vec!["0", "998"], vec!["7", "1"]));
    }
}
