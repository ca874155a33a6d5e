//! The charts of a page: drawings that stand without a script and print as they are. A script
//! adds words on pointing, keys and zoom. Every value of a chart is in a table as well.

mod dots;
pub(super) mod drawing;
mod flame;
mod flow;
mod heat;
mod lab;
mod scale;
mod story;
mod strips;
mod timeline;
mod trace;

use iostrata_core::cache::CacheResult;
use iostrata_core::crash::CrashResult;
use iostrata_core::lab::{Experiment, LabResult};
use iostrata_core::noun::counted;
use iostrata_core::trace::TraceResult;

use self::strips::Strip;
use super::markup::Markup;
use crate::format::join;
use crate::view;
use crate::view::section::SectionId;
use crate::view::table::Table;

#[derive(Debug)]
pub(super) struct Chart {
    /// Told apart from the other charts of the result: lower-case letters, digits and hyphens.
    pub(super) id: String,
    pub(super) title: String,
    /// The same in words, for those who do not see it.
    pub(super) summary: String,
    pub(super) after: Place,
    /// Its values, where the tables of the result do not have them.
    pub(super) tables: Vec<Table>,
    /// For a page as for a telephone.
    pub(super) drawing: Markup,
    /// What a script needs to zoom in.
    pub(super) data: Vec<(&'static str, String)>,
}

/// The part of a page below whose heading a chart stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Position of the experiment in a lab result; `None` in other results.
    pub(super) experiment: Option<usize>,
    /// The part; [`NAMED`] where the page has a place for the chart.
    pub(super) part: SectionId,
}

impl Place {
    fn of(part: SectionId) -> Self {
        Self {
            experiment: None,
            part,
        }
    }
}

impl Chart {
    fn new(id: &str, after: Place, title: &str, summary: String, drawing: Markup) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            summary,
            after,
            tables: Vec::new(),
            drawing,
            data: Vec::new(),
        }
    }

    fn with_table(mut self, table: Table) -> Self {
        self.tables.push(table);
        self
    }
}

pub(super) fn of_lab(result: &LabResult) -> Vec<Chart> {
    let experiments = result.experiments.iter().enumerate();
    let charts = experiments.map(|(position, experiment)| of_experiment(position, experiment));
    charts.flatten().collect()
}

fn of_experiment(position: usize, experiment: &Experiment) -> Vec<Chart> {
    let place = |part| Place {
        experiment: Some(position),
        part,
    };
    let dots = match experiment {
        Experiment::Buffering(result) => lab::buffering(result),
        Experiment::PageCache(result) => lab::page_cache(result),
        Experiment::Copy(result) => lab::copy(result),
        Experiment::Sync(result) => lab::sync_rates(result),
        // Its answers are yes and no; the matrix of the page shows them.
        Experiment::Atime(_) => return Vec::new(),
    };
    let mut charts = Vec::from_iter(dots.draw().map(|drawing| {
        let ends = dots.ends().map(|ends| format!(" {ends}"));
        let summary = format!(
            "Medians with the range of five runs or fewer, and with the 95 % interval of more, on a \
             logarithmic axis.{}",
            ends.unwrap_or_default()
        );
        Chart::new(dots.id, place(SectionId::Rows), dots.title, summary, drawing)
    }));
    if let Experiment::Sync(result) = experiment {
        let latencies = lab::sync_latencies(result);
        let title = "Times of single syncs";
        charts.extend(times(place(SectionId::Rows), title, "syncs", &latencies));
        charts.extend(lab::sync_seconds(result).into_iter().filter_map(|seconds| {
            let id = format!("seconds-{}", seconds.number);
            let title = "Syncs and device requests per second";
            let after = place(SectionId::Seconds);
            over_time(&id, after, title, seconds.words, &seconds.lanes)
        }));
    }
    charts
}

fn times(after: Place, title: &str, noun: &str, lanes: &[heat::Lane]) -> Option<Chart> {
    let first = lanes.first().map(heat::Lane::words).unwrap_or_default();
    let summary = format!("Darker cells: more {noun} took that long. {first}");
    let drawing = heat::draw(lanes, noun)?;
    let chart = Chart::new("latencies", after, title, summary, drawing);
    Some(chart.with_table(heat::table(lanes, noun)))
}

pub(super) fn of_trace(result: &TraceResult) -> Vec<Chart> {
    let ways = trace::ways(result);
    let summary = format!(
        "In each row, bar heights are proportional to bytes; × is relative to the first figure of \
         the row. {}",
        join(ways.iter().map(flow::Way::words), " ")
    );
    let mut charts = Vec::new();
    charts.extend(flow::draw(&ways).map(|drawing| {
        let (after, title) = (Place::of(SectionId::Bytes), "Bytes at each stratum");
        let chart = Chart::new("strata", after, title, summary, drawing);
        chart.with_table(flow::table(&ways))
    }));
    let latencies = trace::latencies(result);
    let calls = Place::of(SectionId::Calls);
    charts.extend(times(calls, "Times of calls", "calls", &latencies));
    let lanes = trace::over_time(result);
    let title = "Calls, device requests, processes and files over time";
    let words = trace::words(result, &lanes);
    let place = Place::of(SectionId::OverTime);
    charts.extend(over_time("timeline", place, title, words, &lanes));
    charts.extend(flame::frames(result).map(|frames| {
        let (title, words) = frames.words();
        let after = Place::of(SectionId::Sites);
        Chart::new("flame", after, title, words, frames.draw())
    }));
    let strips = trace::residency(result);
    let title = "Files in the page cache";
    charts.extend(residency(title, "as at the end", &strips));
    charts
}

/// Strips of the files whose parts differ: of the others the figures in the tables say all.
fn residency(title: &str, when: &str, all: &[Strip<'_>]) -> Option<Chart> {
    let differ = all.iter().filter(|strip| strip.differs());
    let strips: Vec<Strip<'_>> = differ.copied().collect();
    let same = all.len() - strips.len();
    let files = counted(same as u64, "file");
    let are = if same == 1 { "is" } else { "are" };
    let same = match same {
        0 => String::new(),
        _ => format!(
            " {files} {are} the same throughout, from the first byte to the last: not shown."
        ),
    };
    let summary = format!("Each file from first to last byte, {when}.{same}");
    let (files, drawing) = (Place::of(SectionId::Files), strips::draw(&strips)?);
    let chart = Chart::new("residency", files, title, summary, drawing);
    Some(chart.with_table(strips::table(&strips)))
}

/// Files whose strips are drawn of a result of `cache`; the text has all.
const STRIPS: usize = 20;

pub(super) fn of_cache(result: &CacheResult) -> Vec<Chart> {
    let strips = result.files.iter().filter_map(|file| {
        let (path, map) = (file.path.as_str(), file.map.as_ref()?);
        Some(Strip { path, map })
    });
    let strips: Vec<Strip<'_>> = strips.take(STRIPS).collect();
    let when = "of the files with most cached bytes";
    Vec::from_iter(residency("Cached parts of each file", when, &strips))
}

/// Of charts that stand where the page names them: no heading begins it.
const NAMED: SectionId = SectionId::Head;

pub(super) fn of_crash(result: &CrashResult) -> Vec<Chart> {
    let charts = view::crash::drawn(result).filter_map(|(name, finding)| {
        let title = "What the crash left of each operation";
        let words = story::words(finding);
        let chart = Chart::new(&name, Place::of(NAMED), title, words, story::draw(finding)?);
        Some(chart.with_table(view::crash::operations(finding)))
    });
    charts.collect()
}

/// A chart that can be zoomed, with a table of its own.
fn over_time(
    id: &str,
    after: Place,
    title: &str,
    summary: String,
    lanes: &timeline::Lanes,
) -> Option<Chart> {
    let mut chart = Chart::new(id, after, title, summary, lanes.draw()?);
    if !lanes.each.is_empty() {
        chart = chart.with_table(lanes.table());
    }
    if !lanes.tracks.is_empty() {
        chart = chart.with_table(timeline::tracks_table(&lanes.tracks));
    }
    chart.data = vec![
        ("data-buckets", lanes.buckets.to_string()),
        ("data-bucket-s", lanes.bucket_s.to_string()),
    ];
    if !lanes.are_rates {
        chart.data.push(("data-bins", timeline::BINS.to_string()));
    }
    Some(chart)
}

#[cfg(test)]
mod tests;
