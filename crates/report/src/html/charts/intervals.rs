//! Measured values with their intervals, line by line on a logarithmic axis.

use super::scale::{LogScale, number_tick, time_tick};
use super::svg::{Area, Svg, letters, text_width};
use crate::format::beginning;
use crate::html::markup::Markup;

/// Height of a line of one series; each further one needs a little more.
const LINE: f64 = 20.0;
/// Width that a further series on the same line adds for its printed value.
const FURTHER: f64 = 14.0;
/// Height of a label above its line.
const LABEL: f64 = 16.0;
/// Narrower drawings have labels above the lines.
const ROOM_FOR_LABELS: f64 = 500.0;
/// Height of a group's title.
const TITLE: f64 = 26.0;
/// Room for the axis below the lines.
const AXIS: f64 = 42.0;
/// Height of an axis between the lines.
const TICKS: f64 = 22.0;
/// An axis is seen at every place of the drawing: it comes again after so much, and with a group
/// that begins already after half of it.
const AXIS_EVERY: f64 = 420.0;
/// Room at the right between the axis and the printed values.
const MARGIN: f64 = 18.0;

/// The unit of the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Seconds.
    Time,
    /// A number of something.
    Number,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    /// Which of [`Intervals::series`].
    pub(super) series: usize,
    /// Median.
    pub(super) value: f64,
    /// Its interval.
    pub(super) interval: (f64, f64),
    /// The printed median.
    pub(super) text: String,
    /// In words.
    pub(super) words: String,
}

/// A piece of the drawing from top to bottom, with where it begins.
enum Piece<'a> {
    Axis(f64),
    Title(f64, &'a str),
    Line(f64, &'a Line),
}

/// The reference of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    /// On the axis.
    pub(super) value: f64,
    /// In words.
    pub(super) words: String,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// The measurement.
    pub(super) label: String,
    /// Its values, at most one of each series.
    pub(super) points: Vec<Point>,
    /// Its limit.
    pub(super) limit: Option<Limit>,
}

/// Lines with a title.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// Their common part.
    pub(super) title: String,
    /// The lines.
    pub(super) lines: Vec<Line>,
}

/// The whole drawing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Intervals {
    /// The quantity on the axis.
    pub(super) axis: String,
    /// Its unit.
    pub(super) unit: Unit,
    /// Names of the series.
    pub(super) series: Vec<&'static str>,
    /// The lines.
    pub(super) groups: Vec<Group>,
    /// The meaning of the limit's mark.
    pub(super) limit: Option<&'static str>,
}

/// A value and the line that it stands on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// Title of the group.
    pub(super) group: String,
    /// The line.
    pub(super) label: String,
    /// The value.
    pub(super) point: Point,
    /// The line's limit.
    pub(super) limit: Option<Limit>,
}

/// Entries by group and line, both in the order in which they first come. Two values of one
/// series do not share a line.
pub(super) fn grouped(entries: Vec<Entry>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for entry in entries {
        let position = groups
            .iter()
            .position(|group| group.title == entry.group)
            .unwrap_or_else(|| {
                groups.push(Group {
                    title: entry.group,
                    lines: Vec::new(),
                });
                groups.len() - 1
            });
        let lines = &mut groups[position].lines;
        let series = entry.point.series;
        let same = lines.iter_mut().find(|line| {
            line.label == entry.label && line.points.iter().all(|point| point.series != series)
        });
        match same {
            Some(line) => line.points.push(entry.point),
            None => lines.push(Line {
                label: entry.label,
                points: vec![entry.point],
                limit: entry.limit,
            }),
        }
    }
    groups
}

impl Intervals {
    fn values(&self) -> impl Iterator<Item = f64> {
        let lines = self.groups.iter().flat_map(|group| &group.lines);
        lines.flat_map(|line| {
            let points = line.points.iter();
            let ends = points.flat_map(|point| [point.value, point.interval.0, point.interval.1]);
            ends.chain(line.limit.iter().map(|limit| limit.value))
        })
    }

    /// The least and the largest value, in words; `None` of fewer than two.
    pub(super) fn ends(&self) -> Option<String> {
        let lines = self.groups.iter().flat_map(|group| &group.lines);
        let points = lines.flat_map(|line| &line.points);
        let by_value = |one: &&Point, other: &&Point| one.value.total_cmp(&other.value);
        let least = points.clone().min_by(by_value)?;
        let most = points.max_by(by_value)?;
        let several = least.value < most.value;
        several.then(|| format!("Least: {}. Most: {}.", least.words, most.words))
    }

    /// The drawing at a width; `None` when nothing stands on the axis.
    pub(super) fn draw(&self, class: &str, width: f64) -> Option<Markup> {
        let lines = || self.groups.iter().flat_map(|group| &group.lines);
        let widest = lines()
            .map(|line| text_width(&line.label))
            .fold(60.0, f64::max);
        // A narrow page has the labels above the lines.
        let is_narrow = width < ROOM_FOR_LABELS;
        let left = if is_narrow {
            MARGIN + 4.0
        } else {
            widest.min(width * 0.38) + 12.0
        };
        let points = lines().flat_map(|line| &line.points);
        let printed = points.map(|point| text_width(&point.text));
        let right = width - printed.fold(20.0, f64::max) - MARGIN;
        let scale = LogScale::covering(self.values(), (left, right))?;
        let mut svg = Svg::new(width);
        let top = self.legend(&mut svg, width);
        let above = if is_narrow { LABEL } else { 0.0 };
        let line_height = LINE + FURTHER * (self.series_per_line() - 1.0);
        let (pieces, bottom) = self.pieces(top, above + line_height);
        self.grid(&mut svg, &scale, (top, bottom));
        for piece in pieces {
            match piece {
                Piece::Axis(y) => self.ticks(&mut svg, &scale, y + 13.0),
                Piece::Title(y, title) => {
                    let title = beginning(title, letters(width));
                    svg.text("group", (0.0, y + 17.0), &title);
                }
                Piece::Line(y, line) => {
                    if is_narrow {
                        let label = beginning(&line.label, letters(width));
                        svg.text("label", (0.0, y + 14.0), &label);
                    } else {
                        let label = beginning(&line.label, letters(left - 12.0));
                        let at = (left - 12.0, y + line_height / 2.0 + 4.0);
                        svg.text("label end", at, &label);
                    }
                    draw_line(&mut svg, &scale, line, (y + above, line_height));
                }
            }
        }
        Some(svg.finish(class, bottom + AXIS))
    }

    /// Position of each piece, and the end of the last one.
    fn pieces(&self, top: f64, line_height: f64) -> (Vec<Piece<'_>>, f64) {
        let mut pieces = Vec::new();
        let mut y = top;
        let mut axis: Option<f64> = None;
        let groups = self.groups.iter();
        let rest = groups.map(|group| TITLE + group.lines.len() as f64 * line_height);
        // The last axis is below the last line.
        let end = top + rest.sum::<f64>() - AXIS_EVERY / 2.0;
        for group in &self.groups {
            pieces.push(Piece::Title(y, &group.title));
            y += TITLE;
            for (position, line) in group.lines.iter().enumerate() {
                let far = AXIS_EVERY / if position == 0 { 2.0 } else { 1.0 };
                if axis.is_none_or(|axis| y - axis > far && y < end) {
                    pieces.push(Piece::Axis(y));
                    axis = Some(y);
                    y += TICKS;
                }
                pieces.push(Piece::Line(y, line));
                y += line_height;
            }
        }
        (pieces, y + 6.0)
    }

    fn series_per_line(&self) -> f64 {
        let lines = self.groups.iter().flat_map(|group| &group.lines);
        lines
            .map(|line| line.points.len())
            .max()
            .unwrap_or(1)
            .max(1) as f64
    }

    /// Draws the names of series and marks; returns where the lines begin.
    fn legend(&self, svg: &mut Svg, width: f64) -> f64 {
        let mut at = (6.0, 12.0);
        let mut room = |svg: &mut Svg, name: &str| {
            let needed = text_width(name) + 34.0;
            if at.0 + needed > width && at.0 > 6.0 {
                at = (6.0, at.1 + 20.0);
            }
            let place = at;
            at.0 += needed;
            svg.text("label", (place.0 + 14.0, place.1 + 4.0), name);
            place
        };
        let mut any = false;
        if self.series.len() > 1 {
            for (series, name) in self.series.iter().enumerate() {
                let place = room(svg, name);
                dot(svg, series, (place.0 + 2.0, place.1));
                any = true;
            }
        }
        if let Some(name) = self.limit {
            let place = room(svg, name);
            limit_mark(svg, place.0 + 2.0, (place.1 - 7.0, place.1 + 7.0));
            any = true;
        }
        if any { at.1 + 14.0 } else { 0.0 }
    }

    fn grid(&self, svg: &mut Svg, scale: &LogScale, (top, bottom): (f64, f64)) {
        for tick in named(scale) {
            let x = scale.at(tick);
            svg.line("grid", (x, top + 4.0), (x, bottom));
        }
        self.ticks(svg, scale, bottom + 16.0);
        svg.text("axis end", (svg.width - 2.0, bottom + 34.0), &self.axis);
    }

    /// The names of the axis on one line.
    fn ticks(&self, svg: &mut Svg, scale: &LogScale, y: f64) {
        for tick in named(scale) {
            let name = match self.unit {
                Unit::Time => time_tick(tick),
                Unit::Number => number_tick(tick),
            };
            svg.text("tick middle", (scale.at(tick), y), &name);
        }
    }
}

/// Values to name, as many as there is room for.
fn named(scale: &LogScale) -> Vec<f64> {
    let (from, to) = scale.ends();
    scale.ticks((letters(to - from) / 8).max(2))
}

fn draw_line(svg: &mut Svg, scale: &LogScale, line: &Line, (y, height): (f64, f64)) {
    if let Some(limit) = &line.limit {
        svg.mark(&limit.words, |svg| {
            limit_mark(svg, scale.at(limit.value), (y + 3.0, y + height - 3.0));
        });
    }
    let step = FURTHER;
    let first = y + (height - step * (line.points.len() as f64 - 1.0)) / 2.0;
    for (position, point) in line.points.iter().enumerate() {
        let y = first + position as f64 * step;
        let (low, high) = (scale.at(point.interval.0), scale.at(point.interval.1));
        svg.mark(&point.words, |svg| {
            let reach = Area::at(
                (low - 6.0, y - step / 2.0 - 2.0),
                (high - low + 12.0, step + 4.0),
            );
            svg.rect("reach", reach);
            svg.line(&format!("interval s{}", point.series), (low, y), (high, y));
            dot(svg, point.series, (scale.at(point.value), y));
            svg.text("figure end", (svg.width - 2.0, y + 4.0), &point.text);
        });
    }
}

/// Series differ in shape as well as in colour.
fn dot(svg: &mut Svg, series: usize, (x, y): (f64, f64)) {
    let class = format!("dot s{series}");
    match series % 4 {
        0 => svg.circle(&class, (x, y), 4.0),
        1 => svg.circle(&format!("{class} hollow"), (x, y), 3.6),
        2 => svg.rect(&class, Area::at((x - 3.5, y - 3.5), (7.0, 7.0))),
        _ => svg.path(
            &class,
            &format!("M{x:.1} {:.1}l4.5 4.5l-4.5 4.5l-4.5 -4.5z", y - 4.5),
        ),
    }
}

fn limit_mark(svg: &mut Svg, x: f64, (top, bottom): (f64, f64)) {
    svg.line("limit", (x, top), (x, bottom));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: f64) -> Intervals {
        let point = Point {
            series: 0,
            value,
            interval: (value / 2.0, value * 2.0),
            text: "1 ms".into(),
            words: "row 1".into(),
        };
        let line = Line {
            label: "fsync".into(),
            points: vec![point],
            limit: None,
        };
        Intervals {
            axis: "time".into(),
            unit: Unit::Time,
            series: vec!["warm"],
            groups: vec![Group {
                title: "on host".into(),
                lines: vec![line],
            }],
            limit: None,
        }
    }

    #[test]
    fn a_value_stands_between_the_ends_of_its_interval() {
        let drawing = one(1e-3).draw("wide", 500.0).unwrap().finish();
        // 0.5 ms to 2 ms: the axis is as long, and the median stands in its middle.
        // The label takes 60, the gap 12, the value 28.8, the margin 18: from 72 to 453.2.
        assert!(
            drawing.contains(r#"class="interval s0" x1="72""#),
            "{drawing}"
        );
        assert!(
            drawing.contains(r#"x2="453.2""#) && drawing.contains(r#"cx="262.6""#),
            "{drawing}"
        );
        assert!(
            drawing.contains(r#"class="figure end" x="498""#),
            "{drawing}"
        );
        assert!(drawing.contains("1\u{a0}ms") && drawing.contains("<title>row 1</title>"));
    }

    #[test]
    fn entries_find_their_lines() {
        let entry = |group: &str, label: &str, series| Entry {
            group: group.into(),
            label: label.into(),
            point: Point {
                series,
                value: 1.0,
                interval: (1.0, 1.0),
                text: String::new(),
                words: String::new(),
            },
            limit: None,
        };
        let entries = vec![
            entry("1 KiB", "read", 0),
            entry("1 MiB", "read", 0),
            entry("1 KiB", "read", 1),
            entry("1 KiB", "mmap", 0),
            entry("1 KiB", "read", 0),
        ];
        let found: Vec<(String, Vec<(String, usize)>)> = grouped(entries)
            .into_iter()
            .map(|group| {
                let lines = group.lines.into_iter();
                let lines = lines.map(|line| (line.label, line.points.len()));
                (group.title, lines.collect())
            })
            .collect();
        let line = |label: &str, points| (label.to_owned(), points);
        let expected = vec![
            (
                "1 KiB".to_owned(),
                vec![line("read", 2), line("mmap", 1), line("read", 1)],
            ),
            ("1 MiB".to_owned(), vec![line("read", 1)]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_axis_is_never_far() {
        let mut drawing = one(1e-3);
        let line = drawing.groups[0].lines[0].clone();
        drawing.groups[0].lines = vec![line; 40];
        let (pieces, _) = drawing.pieces(0.0, LINE);
        let axes: Vec<f64> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Axis(y) => Some(*y),
                _ => None,
            })
            .collect();
        // 26 for the title; 20 lines of 20 and the axis itself are 422. The next would be at 870,
        // and the lines end at 826.
        assert_eq!(axes, [26.0, 448.0]);
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(one(0.0).draw("wide", 400.0).is_none());
    }
}
