//! Dot plot: measured values with their intervals, line by line on a logarithmic axis.

use super::drawing::{Drawing, Plot, Symbol};
use super::scale::LogScale;
use crate::html::markup::Markup;

/// Height of a line of one series; each further one needs a little more.
const LINE: f64 = 20.0;
const FURTHER: f64 = 14.0;

/// Series differ in shape as well as in colour.
const SHAPES: [Symbol; 4] = [
    &[("dot s0", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z")],
    &[("dot s1", "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z")],
    &[("dot s2", "M-3.5-3.5h7v7h-7z")],
    &[("dot s3", "M0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z")],
];
const LIMIT: Symbol = &[("limit", "M0-7v14")];

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dot {
    /// The common part of the names of several lines.
    pub(super) group: String,
    pub(super) label: String,
    /// Which of [`Dots::series`].
    pub(super) series: usize,
    /// Median.
    pub(super) value: f64,
    pub(super) interval: (f64, f64),
    /// The printed median.
    pub(super) text: String,
    pub(super) words: String,
    /// The reference of its line, and that in words.
    pub(super) limit: Option<(f64, String)>,
}

#[derive(Debug, Clone)]
pub(super) struct Dots {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) axis: &'static str,
    /// Names a value of it.
    pub(super) tick: fn(f64) -> String,
    pub(super) series: Vec<&'static str>,
    pub(super) each: Vec<Dot>,
    /// The meaning of the limit's mark.
    pub(super) limit: Option<&'static str>,
}

impl Dots {
    /// Values by line, groups and lines in the order in which they first come. Two values of one series do not share a
    /// line.
    pub(super) fn lines(&self) -> Vec<Vec<&Dot>> {
        let mut lines: Vec<Vec<&Dot>> = Vec::new();
        for dot in &self.each {
            let has_room = |line: &&mut Vec<&Dot>| {
                line[0].group == dot.group
                    && line[0].label == dot.label
                    && line.iter().all(|other| other.series != dot.series)
            };
            match lines.iter_mut().find(has_room) {
                Some(line) => line.push(dot),
                None => lines.push(vec![dot]),
            }
        }
        lines.sort_by_key(|line| self.each.iter().position(|dot| dot.group == line[0].group));
        lines
    }

    /// The least and the largest value, in words; `None` of fewer than two.
    pub(super) fn ends(&self) -> Option<String> {
        let by_value = |one: &&Dot, other: &&Dot| one.value.total_cmp(&other.value);
        let least = self.each.iter().min_by(by_value)?;
        let most = self.each.iter().max_by(by_value)?;
        let several = least.value < most.value;
        several.then(|| format!("Least: {}. Most: {}.", least.words, most.words))
    }

    /// `None` when nothing stands on the axis.
    pub(super) fn draw(&self) -> Option<Markup> {
        let values = self.each.iter().flat_map(|dot| {
            let ends = [dot.value, dot.interval.0, dot.interval.1];
            ends.into_iter()
                .chain(dot.limit.iter().map(|limit| limit.0))
        });
        let scale = LogScale::covering(values)?;
        let mut drawing = Drawing::new("dots");
        let several = self.series.iter().filter(|_| self.series.len() > 1);
        let names = SHAPES.into_iter().zip(several.copied());
        let limit = self.limit.map(|name| (LIMIT, name));
        drawing.key(names.chain(limit));
        let lines = self.lines();
        let most = lines.iter().map(Vec::len).max().unwrap_or(1) as f64;
        for line in &lines {
            drawing.group(&line[0].group);
            let figures: Vec<&str> = line.iter().map(|dot| dot.text.as_str()).collect();
            let plot = plot(line, &scale, LINE + FURTHER * (most - 1.0));
            drawing.row(&line[0].label, &plot, &figures);
        }
        drawing.axis(&scale.ticks(self.tick), self.axis);
        Some(drawing.finish())
    }
}

fn plot(line: &[&Dot], scale: &LogScale, height: f64) -> Plot {
    let mut plot = Plot::new("plot", height);
    if let Some((limit, words)) = &line[0].limit {
        let x = scale.at(*limit);
        plot.mark(words, |plot| {
            plot.line("limit", (x, 3.0), (x, height - 3.0));
        });
    }
    let first = (height - FURTHER * (line.len() as f64 - 1.0)) / 2.0;
    for (position, dot) in line.iter().enumerate() {
        let y = first + position as f64 * FURTHER;
        let (low, high) = (scale.at(dot.interval.0), scale.at(dot.interval.1));
        plot.mark(&dot.words, |plot| {
            plot.line("reach", (low, y), (high, y));
            plot.line(&format!("interval s{}", dot.series), (low, y), (high, y));
            plot.symbol(SHAPES[dot.series % SHAPES.len()], scale.at(dot.value), y);
        });
    }
    plot
}

#[cfg(test)]
mod tests {
    use super::super::scale::time_tick;
    use super::*;

    fn dot(group: &str, label: &str, series: usize, value: f64) -> Dot {
        Dot {
            group: group.into(),
            label: label.into(),
            series,
            value,
            interval: (value / 2.0, value * 2.0),
            text: "1 ms".into(),
            words: "row 1".into(),
            limit: None,
        }
    }

    fn dots(each: Vec<Dot>) -> Dots {
        Dots {
            id: "times",
            title: "Times",
            axis: "time",
            tick: time_tick,
            series: vec!["warm"],
            each,
            limit: None,
        }
    }

    #[test]
    fn a_value_stands_between_the_ends_of_its_interval() {
        let drawing = dots(vec![dot("on host", "fsync", 0, 1e-3)]).draw().unwrap();
        let drawing = drawing.finish();
        // 0.5 ms to 2 ms: the axis is as long, and the median stands in its middle.
        assert!(
            drawing.contains(r#"class="interval s0" x1="0%" y1="10" x2="100%""#)
                && drawing.contains(r#"class="symbol" x="50%""#),
            "{drawing}"
        );
        assert!(
            drawing.contains(r#"<span class="figure">1 ms</span>"#),
            "{drawing}"
        );
        assert!(drawing.contains("1\u{a0}ms") && drawing.contains("<title>row 1</title>"));
    }

    #[test]
    fn values_find_their_lines() {
        let dots = dots(vec![
            dot("1 KiB", "read", 0, 1.0),
            dot("1 MiB", "read", 0, 1.0),
            dot("1 KiB", "read", 1, 1.0),
            dot("1 KiB", "mmap", 0, 1.0),
            dot("1 KiB", "read", 0, 1.0),
        ]);
        let lines = dots.lines();
        let found: Vec<(&str, &str, usize)> = lines
            .iter()
            .map(|line| (line[0].group.as_str(), line[0].label.as_str(), line.len()))
            .collect();
        let expected = [
            ("1 KiB", "read", 2),
            ("1 KiB", "mmap", 1),
            ("1 KiB", "read", 1),
            ("1 MiB", "read", 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_limit_stands_on_its_line() {
        let mut limited = dot("", "copy", 0, 1e-3);
        limited.limit = Some((2e-3, "limit of copy".to_owned()));
        let text = dots(vec![limited]).draw().unwrap().finish();
        let mark = r#"<title>limit of copy</title><line class="limit" x1="100%" y1="3" x2="100%" y2="17">"#;
        assert!(text.contains(mark), "{text}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(dots(vec![dot("", "", 0, 0.0)]).draw().is_none());
    }
}
