//! Timeline: counts and rates over time, and below them from when to when each process and file was in use, one row
//! each on one axis, for zooming in. A drawing of the whole run has no room for each bucket of time: the page carries
//! the counts of all buckets, from which a script draws the finer bins of a chosen part.

use std::fmt::Write as _;

use iostrata_core::trace::{FileGroup, Selection, TaskRow, Together, TraceResult, by_process};

use super::drawing::{Drawing, Plot, short};
use super::scale::even_ticks;
use crate::format::{rate, seconds, time};
use crate::html::markup::Markup;
use crate::view::table::{Cell, Rows, Table};
use crate::view::trace::{lived, shortened};

const LANE: f64 = 30.0;
const TRACK: f64 = 12.0;
/// Letters of the name of a track; their middles go first.
const NAME: usize = 32;
/// Times that the axis names at most.
const TIMES: usize = 8;
/// Processes and files that are drawn: those that took most time.
const PROCESSES: usize = 16;
const FILES: usize = 12;
/// Bins that one drawing has at most.
pub(super) const BINS: usize = 512;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lane {
    /// A title above the first lane of each group.
    pub(super) group: &'static str,
    pub(super) label: String,
    /// Colours: one of the classes of the style sheet.
    class: String,
    /// One value a bucket; `None` where it was not measured.
    pub(super) values: Vec<Option<f64>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lanes {
    pub(super) bucket_s: f64,
    pub(super) buckets: usize,
    /// Rates are never joined, and their heights compare from lane to lane. Counts are added where buckets are joined,
    /// and the largest of a lane fills it.
    pub(super) are_rates: bool,
    pub(super) each: Vec<Lane>,
    pub(super) tracks: Vec<Tracks>,
}

impl Lane {
    pub(super) fn new(
        group: &'static str,
        label: &str,
        class: &str,
        values: Vec<Option<f64>>,
    ) -> Self {
        Self {
            group,
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

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tracks {
    pub(super) title: String,
    /// The earliest first.
    pub(super) each: Vec<Track>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Track {
    pub(super) label: String,
    /// Seconds since the start of the run.
    from_s: f64,
    to_s: f64,
    words: String,
    /// Its id for scripts.
    of: (&'static str, String),
}

impl Lanes {
    /// Buckets in each bin of the drawing of the whole: a power of two. Only counts are joined.
    pub(super) fn step(&self) -> usize {
        let mut step = 1;
        while !self.are_rates && self.buckets.div_ceil(step) > BINS {
            step *= 2;
        }
        step
    }

    /// The lanes in the bins of the drawing of the whole.
    fn joined(&self) -> Vec<Lane> {
        let lanes = self.each.iter().map(|lane| Lane {
            values: joined(&lane.values, self.step()),
            ..lane.clone()
        });
        lanes.collect()
    }

    /// `None` when there is nothing in it.
    pub(super) fn draw(&self) -> Option<Markup> {
        if self.buckets == 0 || self.each.is_empty() && self.tracks.is_empty() {
            return None;
        }
        let mut drawing = Drawing::new("timeline");
        self.draw_lanes(&mut drawing);
        for tracks in &self.tracks {
            self.draw_tracks(&mut drawing, tracks);
        }
        let end_s = self.buckets as f64 * self.bucket_s;
        let share = |tick: f64| tick / end_s.max(f64::MIN_POSITIVE);
        let ticks = even_ticks(end_s, TIMES).into_iter();
        let ticks: Vec<_> = ticks.map(|tick| (share(tick), seconds(tick))).collect();
        drawing.axis(&ticks, "seconds since the start");
        Some(drawing.finish())
    }

    fn draw_lanes(&self, drawing: &mut Drawing) {
        let joined = self.joined();
        let all = joined.iter().map(Lane::most).fold(0.0, f64::max);
        for (lane, whole) in joined.iter().zip(&self.each) {
            drawing.group(lane.group);
            if lane.values.iter().all(Option::is_none) {
                let plot = Plot::new("plot", LANE);
                drawing.row(&lane.label, &plot, &["not measured"]);
                continue;
            }
            let most = lane.most();
            let full = if self.are_rates { all } else { most };
            let mut plot = Plot::zoomed(self.buckets as f64, LANE).with("data-lane", &lane.label);
            if !self.are_rates {
                plot = plot.with("data-counts", &packed(&whole.values));
            }
            let path = outline(&lane.values, full, self.step(), self.buckets);
            plot.path(&format!("area {}", lane.class), &path);
            let figure = if most > 0.0 {
                format!("≤ {}", rate(most))
            } else {
                "none".to_owned()
            };
            drawing.row(&lane.label, &plot, &[&figure]);
        }
    }

    fn draw_tracks(&self, drawing: &mut Drawing, of: &Tracks) {
        drawing.group(&of.title);
        let labels: Vec<&str> = of.each.iter().map(|track| track.label.as_str()).collect();
        let names = shortened(&labels, &vec![NAME; labels.len()]);
        let buckets = self.buckets as f64;
        for (track, name) in of.each.iter().zip(names) {
            let mut plot = Plot::zoomed(buckets, TRACK);
            let (from, to) = (track.from_s / self.bucket_s, track.to_s / self.bucket_s);
            // Anything that existed is visible.
            let width = (to - from).max(buckets / 400.0);
            let from = from.min(buckets - width);
            let bar = format!("M{} 0h{}v{TRACK}h-{1}z", short(from, 1), short(width, 1));
            plot.path("track", &bar);
            let (kind, id) = &track.of;
            let mark = [
                ("class", "line mark"),
                ("title", &*track.words),
                (*kind, id),
            ];
            drawing.block(&mark, |row| row.cells(&name, &plot, &[]));
        }
    }

    /// Every value of the drawing, a row a bin; bins in which nothing happened are left out.
    pub(super) fn table(&self) -> Table {
        let step = self.step();
        let joined = self.joined();
        let value = |lane: &Lane, bucket: usize| lane.values.get(bucket).copied().flatten();
        let happened = |bucket: &usize| {
            let mut lanes = joined.iter();
            lanes.any(|lane| value(lane, *bucket) != Some(0.0))
        };
        let bins = 0..self.buckets.div_ceil(step);
        let buckets: Vec<usize> = bins.filter(happened).collect();
        let from = |bin: &usize| seconds((*bin * step) as f64 * self.bucket_s);
        let rows = Rows::of(&buckets).label("from s", from);
        let rows = joined.iter().fold(rows, |rows, lane| {
            rows.number(&lane.label, |bin| Cell::seen(value(lane, *bin), rate))
        });
        rows.table(0)
    }
}

/// Steps over bins of so many buckets, closed along the ground; nothing where nothing was counted.
fn outline(values: &[Option<f64>], most: f64, step: usize, buckets: usize) -> String {
    let height = |value: &Option<f64>| match value.filter(|value| value.is_finite()) {
        // Anything that happened is visible.
        Some(value) if value > 0.0 => short(LANE - (value / most * LANE).max(1.0), 1),
        _ => short(LANE, 1),
    };
    let tops: Vec<String> = values.iter().map(height).collect();
    let mut path = String::new();
    let mut bin = 0;
    for run in tops.chunk_by(|one, next| one == next) {
        bin += run.len();
        let end = (bin * step).min(buckets);
        let _infallible = write!(path, "V{}H{end}", run[0]);
    }
    if most > 0.0 {
        format!("M0 {LANE}{path}V{LANE}")
    } else {
        String::new()
    }
}

/// The sums of so many buckets each; `None` where one of them was not measured.
fn joined(values: &[Option<f64>], step: usize) -> Vec<Option<f64>> {
    let bins = values.chunks(step.max(1));
    bins.map(|bin| bin.iter().copied().sum()).collect()
}

/// Counts for a script: separated by spaces, a run of zeros as `~` and its length.
fn packed(counts: &[Option<f64>]) -> String {
    let mut text = String::new();
    for run in counts.chunk_by(|one, next| *one == Some(0.0) && *next == Some(0.0)) {
        let separator = if text.is_empty() { "" } else { " " };
        let _infallible = match run {
            [Some(0.0), _, ..] => write!(text, "{separator}~{}", run.len()),
            [count, ..] => write!(text, "{separator}{}", count.unwrap_or(0.0)),
            [] => Ok(()),
        };
    }
    text
}

/// The strata of a trace; unknown kinds are left out.
pub(super) fn tracks(result: &TraceResult) -> Vec<Tracks> {
    let kinds = [processes(result), files(result)];
    kinds
        .into_iter()
        .filter(|kind| !kind.each.is_empty())
        .collect()
}

fn processes(result: &TraceResult) -> Tracks {
    let processes = by_process(&result.tasks);
    let track = |task: &TaskRow| {
        let (from_s, to_s) = lived(task, result.wall_s);
        Track {
            label: format!("{} {}", task.name, task.process),
            from_s,
            to_s,
            words: format!(
                "{} ({}): from {} to {}, {} in calls",
                task.name,
                task.process,
                time(from_s),
                time(to_s),
                time(task.time_s)
            ),
            of: ("data-process", task.process.to_string()),
        }
    };
    // One lives as long as the run.
    let drawn = if processes.len() < 2 { 0 } else { PROCESSES };
    let each = processes.iter().take(drawn).map(track).collect();
    made("processes, from start to end", each, processes.len())
}

fn files(result: &TraceResult) -> Tracks {
    let everything = Selection::default();
    let files = everything.files(result, Together::Path);
    let stored = files.iter().filter(|file| file.row.kind.is_stored());
    let used: Vec<(&FileGroup<'_>, (f64, f64))> = stored
        .filter_map(|file| Some((file, file.row.span_s()?)))
        .collect();
    let track = |(file, (from_s, to_s)): &(&FileGroup<'_>, (f64, f64))| {
        let name = result.below(file.name);
        Track {
            label: name.to_owned(),
            from_s: *from_s,
            to_s: *to_s,
            words: format!(
                "{name}: first call at {}, last ended at {}, {} in calls",
                time(*from_s),
                time(*to_s),
                time(file.row.time_s())
            ),
            of: ("data-file", name.to_owned()),
        }
    };
    let each = used.iter().take(FILES).map(track).collect();
    made("files, from first to last call", each, used.len())
}

fn made(title: &str, mut each: Vec<Track>, all: usize) -> Tracks {
    each.sort_by(|one: &Track, other| one.from_s.total_cmp(&other.from_s));
    let title = if each.len() < all {
        format!("{title} ({} of {all})", each.len())
    } else {
        title.to_owned()
    };
    Tracks { title, each }
}

/// From when to when each of them was.
pub(super) fn tracks_table(of: &[Tracks]) -> Table {
    let each: Vec<&Track> = of.iter().flat_map(|tracks| &tracks.each).collect();
    let rows = Rows::of(&each)
        .label("name", |track| track.label.as_str())
        .number("from s", |track| seconds(track.from_s))
        .number("to s", |track| seconds(track.to_s));
    let mut table = rows.table(0).named("processes and files");
    let mut row = 0;
    for tracks in of {
        table.title(row, tracks.title.clone());
        row += tracks.each.len();
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(label: &str, values: &[Option<f64>]) -> Lane {
        Lane::new("", label, "calls", values.to_vec())
    }

    fn lanes(bucket_s: f64, each: Vec<Lane>) -> Lanes {
        Lanes {
            bucket_s,
            buckets: each[0].values.len(),
            are_rates: false,
            each,
            tracks: Vec::new(),
        }
    }

    #[test]
    fn steps_follow_the_values() {
        let values = [Some(0.0), Some(2.0), Some(2.0), Some(1.0), Some(0.0)];
        assert_eq!(outline(&values, 2.0, 1, 5), "M0 30V30H1V0H3V15H4V30H5V30");
        assert_eq!(
            outline(&[Some(1.0), Some(1000.0)], 1000.0, 4, 7),
            "M0 30V29H4V0H7V30"
        );
        assert_eq!(outline(&[Some(0.0); 3], 0.0, 1, 3), "");
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
        let text = lanes(1.0, each).draw().unwrap().finish();
        assert!(
            text.contains(">not measured</span>") && text.contains(">none</span>"),
            "{text}"
        );
        assert!(!text.contains(r#"d="M"#));
    }

    #[test]
    fn the_whole_has_few_bins_and_carries_every_bucket() {
        let mut counts = vec![Some(0.0); 2000];
        (counts[0], counts[3], counts[1999]) = (Some(2.0), Some(5.0), Some(1.0));
        let lanes = lanes(0.5, vec![lane("read", &counts)]);
        let text = lanes.draw().unwrap().finish();
        let carried = text.matches(r#"data-counts="2 ~2 5 ~1995 1""#).count();
        assert_eq!(carried, 1, "{text}");
        // Bins of four buckets.
        assert!(
            text.contains(r#"d="M0 30V0H4V30H1996V25.7H2000V30""#),
            "{text}"
        );
        assert!(text.contains(">≤ 7</span>"), "{text}");
        let table = lanes.table();
        let cells = |column: usize| {
            let cells = table.columns[column].cells.iter();
            cells.map(Cell::as_str).collect::<Vec<_>>()
        };
        assert_eq!((cells(0), cells(1)), (vec!["0", "998"], vec!["7", "1"]));
    }

    #[test]
    fn bins_are_as_few_as_there_is_room_for() {
        let step = |buckets: usize| lanes(1.0, vec![lane("", &vec![None; buckets])]).step();
        let steps = [0, 1, 512, 513, 1024, 4095].map(step);
        assert_eq!(steps, [1, 1, 1, 2, 2, 8]);
    }

    #[test]
    fn a_bin_is_the_sum_of_its_buckets() {
        let values = [Some(1.0), Some(2.0), Some(4.0), None, Some(8.0)];
        assert_eq!(joined(&values, 2), [Some(3.0), None, Some(8.0)]);
        assert_eq!(joined(&values, 1), values);
    }

    #[test]
    fn runs_of_zeros_are_short() {
        let counts = |counts: &[f64]| packed(&counts.iter().map(|c| Some(*c)).collect::<Vec<_>>());
        assert_eq!(counts(&[0.0, 0.0, 3.0, 5.0, 5.0, 0.0, 7.0]), "~2 3 5 5 0 7");
        assert_eq!(counts(&[0.0; 4]), "~4");
        assert_eq!(counts(&[]), "");
    }

    #[test]
    fn a_process_is_drawn_from_its_start_to_its_end() {
        let track = |from_s, to_s| Track {
            label: "sh 1".into(),
            from_s,
            to_s,
            words: "sh".into(),
            of: ("data-process", "1".into()),
        };
        let tracks = Tracks {
            title: "processes".into(),
            each: vec![track(0.0, 4.0), track(1.0, 2.0)],
        };
        let drawing = Lanes {
            buckets: 100,
            tracks: vec![tracks],
            ..lanes(0.04, vec![lane("", &[])])
        };
        let text = drawing.draw().unwrap().finish();
        // 100 buckets of 40 ms: the second lives from bucket 25 to 50.
        assert!(
            text.contains(r#"viewBox="0 0 100 12""#)
                && text.contains(r#"class="track" d="M25 0h25v12h-25z""#),
            "{text}"
        );
        assert_eq!(text.matches(r#"data-process="1""#).count(), 2);
    }

    #[test]
    fn files_without_a_time_have_no_track() {
        let mut result = crate::view::trace::fixture::full();
        let titles = |result: &TraceResult| {
            let kinds = tracks(result);
            kinds
                .iter()
                .map(|kind| (kind.title.clone(), kind.each.len()))
                .collect::<Vec<_>>()
        };
        let files = "files, from first to last call".to_owned();
        let processes = "processes, from start to end".to_owned();
        assert_eq!(titles(&result), [(processes.clone(), 2), (files, 3)]);
        for call in result.files.iter_mut().flat_map(|file| &mut file.calls) {
            call.row.first_s = None;
        }
        assert_eq!(titles(&result), [(processes, 2)]);
    }
}
