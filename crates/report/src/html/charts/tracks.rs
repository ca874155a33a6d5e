//! Processes over the time of the run: when each of them lived.

use iostrata_core::trace::{TaskRow, TraceResult, by_process};

use super::scale::even_ticks;
use super::svg::{Area, Svg, letters, text_width};
use crate::format::{beginning, time};
use crate::html::markup::Markup;

/// Processes that are drawn: those that took most time.
const MOST: usize = 40;
/// Height of a track.
const TRACK: f64 = 20.0;
/// Room for the axis.
const AXIS: f64 = 40.0;
/// Room at the right for half an axis label.
const MARGIN: f64 = 24.0;

/// One process.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Track {
    label: String,
    /// Seconds since the start of the run.
    from_s: f64,
    to_s: f64,
    words: String,
}

/// When each process lived, the earliest first; empty where there is only one.
pub(super) fn tracks(result: &TraceResult) -> Vec<Track> {
    let processes = by_process(&result.tasks);
    let track = |task: &TaskRow| {
        let to_s = task.ended_s.unwrap_or(result.wall_s).max(task.started_s);
        Track {
            label: format!("{} {}", task.name, task.process),
            from_s: task.started_s.max(0.0),
            to_s,
            words: format!(
                "{} ({}): from {} to {}, {} in calls",
                task.name,
                task.process,
                time(task.started_s),
                time(to_s),
                time(task.time_s)
            ),
        }
    };
    if processes.len() < 2 {
        return Vec::new();
    }
    let mut tracks: Vec<Track> = processes.iter().take(MOST).map(track).collect();
    tracks.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    tracks
}

/// The drawing at a width; `None` without a track.
pub(super) fn draw(tracks: &[Track], class: &str, width: f64) -> Option<Markup> {
    let end_s = tracks.iter().map(|track| track.to_s).fold(0.0, f64::max);
    if !(end_s > 0.0 && end_s.is_finite()) {
        return None;
    }
    let widest = tracks.iter().map(|track| text_width(&track.label));
    let left = widest.fold(40.0, f64::max).min(width * 0.3) + 10.0;
    let plot = width - left - MARGIN;
    let mut svg = Svg::new(width);
    let bottom = tracks.len() as f64 * TRACK;
    for tick in even_ticks(end_s, if width > 500.0 { 8 } else { 4 }) {
        let x = left + plot * tick / end_s;
        svg.line("grid", (x, 0.0), (x, bottom));
        let name = format!("{tick:.6}");
        let name = name.trim_end_matches('0').trim_end_matches('.');
        svg.text("tick middle", (x, bottom + 16.0), name);
    }
    let under = "seconds since the start";
    svg.text("axis end", (left + plot, bottom + 34.0), under);
    for (position, track) in tracks.iter().enumerate() {
        let y = position as f64 * TRACK;
        let label = beginning(&track.label, letters(left - 10.0));
        svg.text("label end", (left - 10.0, y + 14.0), &label);
        let (from, to) = (track.from_s / end_s * plot, track.to_s / end_s * plot);
        svg.mark(&track.words, |svg| {
            let area = Area::at((left + from, y + 3.0), ((to - from).max(1.5), TRACK - 6.0));
            svg.rect("part calls", area);
        });
    }
    Some(svg.finish(class, bottom + AXIS))
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
        };
        let tracks = [track(0.0, 4.0), track(1.0, 2.0)];
        let text = draw(&tracks, "wide", 474.0).unwrap().finish();
        // The label takes 40 and the gap 10; 400 are left for 4 s.
        assert!(text.contains(r#"x="50" y="3" width="400""#), "{text}");
        assert!(text.contains(r#"x="150" y="23" width="100""#), "{text}");
        assert!(draw(&[], "wide", 474.0).is_none());
    }

    #[test]
    fn one_process_needs_no_tracks() {
        let mut result = crate::view::trace::fixture::full();
        result.tasks.truncate(1);
        assert_eq!(tracks(&result), []);
    }
}
