//! When each process lived, and from when to when each file was used: tracks below the lanes of a
//! chart over time.

use iostrata_core::trace::{FileGroup, Selection, TaskRow, Together, TraceResult, by_process};

use super::svg::{Area, Svg, letters};
use crate::format::{beginning, seconds, time};
use crate::view::table::{Column, Table};
use crate::view::trace::{distinct, lived};

/// Processes and files that are drawn: those that took most time.
const PROCESSES: usize = 16;
const FILES: usize = 12;
/// Height of a track, and of what is drawn in it.
pub(super) const TRACK: f64 = 18.0;
const BAR: f64 = 12.0;

/// Tracks of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tracks {
    /// Their unit.
    pub(super) title: String,
    /// The earliest first.
    pub(super) each: Vec<Track>,
}

/// One process or file.
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

/// Draws them below each other from `area.y` on, beside names that end at `area.x`; the width stands
/// for so many buckets of so many seconds.
pub(super) fn draw(svg: &mut Svg, of: &Tracks, area: Area, (buckets, bucket_s): (f64, f64)) {
    let room = letters(area.x - 10.0);
    let labels: Vec<&str> = of.each.iter().map(|track| track.label.as_str()).collect();
    let names = distinct(&labels, &vec![room; labels.len()]);
    for (position, (track, name)) in of.each.iter().zip(names).enumerate() {
        let y = area.y + position as f64 * TRACK;
        let (kind, of) = (track.of.0, track.of.1.as_str());
        svg.mark_of(&track.words, &[(kind, of)], |svg| {
            let name = beginning(&name, room);
            svg.text("label end", (area.x - 10.0, y + 12.0), &name);
            let place = Area::at((area.x, y + 2.0), (area.width, BAR));
            svg.rect("ground-lane", place);
            svg.stretched(place, (buckets, BAR), &[], |svg| {
                let (from, to) = (track.from_s / bucket_s, track.to_s / bucket_s);
                // Anything that existed is visible.
                let width = (to - from).max(buckets / 400.0);
                let bar = Area::at((from.min(buckets - width), 0.0), (width, BAR));
                svg.rect("track", bar);
            });
        });
    }
}

/// From when to when each of them was.
pub(super) fn table(of: &[Tracks]) -> Table {
    let each: Vec<&Track> = of.iter().flat_map(|tracks| &tracks.each).collect();
    let columns = vec![
        Column::label("name", each.iter().map(|track| track.label.as_str())),
        Column::number("from s", each.iter().map(|track| seconds(track.from_s))),
        Column::number("to s", each.iter().map(|track| seconds(track.to_s))),
    ];
    let mut table = Table::new(0, columns).named("processes and files");
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
        let mut svg = Svg::new(500.0);
        let area = Area::at((60.0, 10.0), (400.0, 36.0));
        draw(&mut svg, &tracks, area, (100.0, 0.04));
        let text = svg.finish("wide", 100.0).finish();
        // 100 buckets of 40 ms: the second lives from bucket 25 to 50.
        assert!(
            text.contains(r#"x="60" y="12" width="400" height="12" viewBox="0 0 100 12""#)
                && text.contains(r#"<rect class="track" x="25" y="0" width="25""#),
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
