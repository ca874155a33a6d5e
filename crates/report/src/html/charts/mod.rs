//! The charts of a page: drawings that stand without a script and print as they are. A script
//! adds words on pointing, keys and zoom. Every value of a chart is in a table as well.

mod bins;
mod distribution;
mod flame;
mod flow;
mod heat;
mod intervals;
mod lab;
mod lanes;
mod scale;
mod story;
mod strips;
mod svg;
mod trace;
mod tracks;

use iostrata_core::cache::{CacheFile, CacheResult};
use iostrata_core::crash::CrashResult;
use iostrata_core::lab::{Experiment, LabResult};
use iostrata_core::trace::TraceResult;

use self::flame::Weight;
use self::strips::Strip;
use super::markup::Markup;
use crate::view;
use crate::view::section::SectionId;
use crate::view::table::Table;

/// Widths of the two drawings of a chart: for a page, and for a telephone.
const WIDE: f64 = 760.0;
const NARROW: f64 = 344.0;

/// One chart.
#[derive(Debug)]
pub(super) struct Chart {
    /// Told apart from the other charts of the result: lower-case letters, digits and hyphens.
    pub(super) id: String,
    /// Its contents.
    pub(super) title: String,
    /// The same in words, for those who do not see it.
    pub(super) summary: String,
    /// Where it stands.
    pub(super) after: Place,
    /// Its values, where the tables of the result do not have them.
    pub(super) tables: Vec<Table>,
    /// For a page and for a telephone; the style sheet shows the one that has room.
    pub(super) drawings: [Markup; 2],
    /// Buckets of an axis that can be zoomed.
    pub(super) zoom: Option<Zoom>,
}

/// The part of a page below whose heading a chart stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Position of the experiment in a lab result; `None` in other results.
    pub(super) experiment: Option<usize>,
    /// The part; [`NAMED`] where the page has a place for the chart.
    pub(super) part: SectionId,
}

/// An axis that can be zoomed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Zoom {
    /// Buckets on it.
    pub(super) buckets: usize,
    /// Length of each, seconds.
    pub(super) bucket_s: f64,
    /// Bins that are drawn at once of counts, which the drawing carries for all buckets.
    pub(super) bins: Option<usize>,
}

impl Chart {
    fn new(
        id: &str,
        after: Place,
        (title, summary): (&str, String),
        draw: impl Fn(&str, f64) -> Option<Markup>,
    ) -> Option<Self> {
        Some(Self {
            id: id.to_owned(),
            title: title.to_owned(),
            summary,
            after,
            tables: Vec::new(),
            drawings: [draw("wide", WIDE)?, draw("narrow", NARROW)?],
            zoom: None,
        })
    }

    fn with_table(mut self, table: Table) -> Self {
        self.tables.push(table);
        self
    }
}

/// The charts of a lab result.
pub(super) fn of_lab(result: &LabResult) -> Vec<Chart> {
    let experiments = result.experiments.iter().enumerate();
    experiments
        .flat_map(|(position, experiment)| of_experiment(position, experiment))
        .collect()
}

fn of_experiment(position: usize, experiment: &Experiment) -> Vec<Chart> {
    let place = |part| Place {
        experiment: Some(position),
        part,
    };
    let times = |id: &str, title: &str, drawing: intervals::Intervals| {
        let ends = drawing.ends().map(|ends| format!(" {ends}"));
        let ends = ends.unwrap_or_default();
        let summary = format!(
            "Medians with the range of five runs or fewer, and with the 95 % interval of more, on a \
             logarithmic axis.{ends}"
        );
        let draw = |class: &str, width| drawing.draw(class, width);
        Chart::new(id, place(SectionId::Rows), (title, summary), draw)
    };
    match experiment {
        Experiment::Buffering(result) => {
            let drawing = lab::buffering(result);
            Vec::from_iter(times("buffering", "Time of all records, by mode", drawing))
        }
        Experiment::PageCache(result) => {
            let drawing = lab::page_cache(result);
            Vec::from_iter(times("page-cache", "Time of a read, by reader", drawing))
        }
        Experiment::Copy(result) => {
            let drawing = lab::copy(result);
            Vec::from_iter(times("copy", "Time of a copy against its limit", drawing))
        }
        Experiment::Sync(result) => {
            let mut charts = Vec::new();
            charts.extend(times(
                "sync-rates",
                "Syncs per second",
                lab::sync_rates(result),
            ));
            charts.extend(latencies(
                place(SectionId::Rows),
                ("Times of single syncs", &lab::sync_latencies(result)),
            ));
            let seconds = lab::sync_seconds(result).into_iter();
            charts.extend(
                seconds.filter_map(|seconds| second_by_second(place(SectionId::Seconds), &seconds)),
            );
            charts
        }
        // Its answers are yes and no; the matrix of the page shows them.
        Experiment::Atime(_) => Vec::new(),
    }
}

fn latencies(
    after: Place,
    (title, drawing): (&str, &distribution::Distributions),
) -> Option<Chart> {
    let first = drawing.lanes.first().map(distribution::Lane::words);
    let first = first.unwrap_or_default();
    let summary = format!("Distribution of times on a logarithmic axis, with percentiles. {first}");
    let draw = |class: &str, width| drawing.draw(class, width);
    let chart = Chart::new("latencies", after, (title, summary), draw)?;
    Some(chart.with_table(drawing.table()))
}

fn heat_map(after: Place, times: &distribution::Distributions) -> Option<Chart> {
    let first = times.lanes.first().map(distribution::Lane::words);
    let first = first.unwrap_or_default();
    let summary = format!("Darker cells: more calls took that long. {first}");
    let draw = |class: &str, width| heat::draw(times, class, width);
    let chart = Chart::new("latencies", after, ("Times of calls", summary), draw)?;
    Some(chart.with_table(times.table()))
}

fn second_by_second(after: Place, seconds: &lab::Seconds) -> Option<Chart> {
    let steady = seconds.steady.as_ref().map(|words| format!(": {words}"));
    let steady = steady.unwrap_or_default();
    let summary = format!("Row {}, {}{steady}.", seconds.number, seconds.name);
    let title = "Syncs and device requests per second";
    let id = format!("seconds-{}", seconds.number);
    over_time(&id, after, (title, summary), &seconds.lanes)
}

/// The charts of a trace.
pub(super) fn of_trace(result: &TraceResult) -> Vec<Chart> {
    let place = |part| Place {
        experiment: None,
        part,
    };
    let ways = trace::ways(result);
    let words: Vec<String> = ways.iter().map(flow::Way::words).collect();
    let summary = format!(
        "In each row, bar heights are proportional to bytes; × is relative to the first figure of \
         the row. {}",
        words.join(" ")
    );
    let mut charts = Vec::new();
    charts.extend(
        Chart::new(
            "strata",
            place(SectionId::Bytes),
            ("Bytes at each stratum", summary),
            |class, width| flow::draw(&ways, class, width),
        )
        .map(|chart| chart.with_table(flow::table(&ways))),
    );
    let drawing = trace::latencies(result);
    charts.extend(heat_map(place(SectionId::Calls), &drawing));
    let lanes = trace::over_time(result);
    let title = "Calls, device requests, processes and files over time";
    let words = (title, trace::words(result, &lanes));
    charts.extend(over_time(
        "timeline",
        place(SectionId::OverTime),
        words,
        &lanes,
    ));
    let weight = Weight::of(result);
    charts.extend(flame::frames(result, weight).and_then(|root| {
        let words = (weight.title(), flame::words(&root, weight));
        let draw = |class: &str, width| Some(flame::draw(&root, class, width));
        Chart::new("flame", place(SectionId::Sites), words, draw)
    }));
    charts.extend(residency(
        place(SectionId::Files),
        ("Files in the page cache", "as at the end"),
        &trace::residency(result),
    ));
    charts
}

/// Strips of the files whose parts differ: of the others the figures in the tables say all.
fn residency(after: Place, (title, when): (&str, &str), all: &[Strip]) -> Option<Chart> {
    let strips: Vec<Strip> = all
        .iter()
        .filter(|strip| strip.differs())
        .cloned()
        .collect();
    let same = all.len() - strips.len();
    let same = match same {
        0 => String::new(),
        some => format!(
            " {} throughout, from the first byte to the last: not shown.",
            match some {
                1 => "1 file is the same".to_owned(),
                some => format!("{some} files are the same"),
            }
        ),
    };
    let summary = format!("Each file from first to last byte, {when}.{same}");
    let draw = |class: &str, width| strips::draw(&strips, class, width);
    let chart = Chart::new("residency", after, (title, summary), draw)?;
    Some(chart.with_table(strips::table(&strips)))
}

/// Files whose strips are drawn of a result of `cache`; the text has all.
const STRIPS: usize = 20;

/// The charts of a result of `cache`: the files with most resident bytes.
pub(super) fn of_cache(result: &CacheResult) -> Vec<Chart> {
    let strip = |file: &CacheFile| {
        file.map.clone().map(|map| Strip {
            path: file.path.clone(),
            map,
        })
    };
    let strips: Vec<Strip> = result.files.iter().filter_map(strip).take(STRIPS).collect();
    let place = Place {
        experiment: None,
        part: SectionId::Files,
    };
    let when = "of the files with most cached bytes";
    let words = ("Cached parts of each file", when);
    residency(place, words, &strips).into_iter().collect()
}

/// Of charts that stand where the page names them: no heading begins it.
const NAMED: SectionId = SectionId::Head;

/// The charts of a result of `crash`: the operations of its first findings.
pub(super) fn of_crash(result: &CrashResult) -> Vec<Chart> {
    let place = Place {
        experiment: None,
        part: NAMED,
    };
    let charts = view::crash::drawn(result).filter_map(|(name, finding)| {
        let words = (
            "What the crash left of each operation",
            story::words(finding),
        );
        let draw = |class: &str, width| story::draw(finding, class, width);
        let chart = Chart::new(&name, place, words, draw)?;
        Some(chart.with_table(view::crash::operations(finding)))
    });
    charts.collect()
}

/// A chart that can be zoomed, with a table of its own.
fn over_time(id: &str, after: Place, words: (&str, String), lanes: &lanes::Lanes) -> Option<Chart> {
    let draw = |class: &str, width| lanes.draw(class, width);
    let mut chart = Chart::new(id, after, words, draw)?;
    if !lanes.each.is_empty() {
        chart = chart.with_table(lanes.table());
    }
    if !lanes.tracks.is_empty() {
        chart = chart.with_table(tracks::table(&lanes.tracks));
    }
    chart.zoom = Some(Zoom {
        buckets: lanes.buckets,
        bucket_s: lanes.bucket_s,
        bins: lanes.adds.then_some(bins::MOST),
    });
    Some(chart)
}

#[cfg(test)]
mod tests;
