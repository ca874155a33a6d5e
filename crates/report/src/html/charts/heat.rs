//! How long calls took, one line each: the darker a cell, the more calls took that long.

use iostrata_core::bytes::grouped;
use iostrata_core::duration;

use super::distribution::{Distributions, Lane};
use super::scale::{LogScale, time_tick};
use super::svg::{Area, Svg, letters, text_width};
use crate::format::beginning;
use crate::html::markup::Markup;

/// Shades, from one call to the most of all cells; the style sheet has as many.
const SHADES: u32 = 8;
/// Height of a line, and of its cells.
const LINE: f64 = 24.0;
const CELL: f64 = 18.0;
/// Height of the names of the shades.
const LEGEND: f64 = 34.0;
/// Room for the axis.
const AXIS: f64 = 40.0;
/// Room at the right for half an axis label.
const MARGIN: f64 = 24.0;

/// The drawing at a width; `None` when nothing was timed.
pub(super) fn draw(of: &Distributions, class: &str, width: f64) -> Option<Markup> {
    let widest = of.lanes.iter().map(|lane| text_width(&lane.label));
    let left = widest.fold(40.0, f64::max).min(width * 0.34) + 10.0;
    let scale = LogScale::covering(of.values(), (left, width - MARGIN))?;
    let bars = of.lanes.iter().flat_map(|lane| &lane.bars);
    let most = bars.map(|bar| bar.count).max().unwrap_or(0);
    let mut svg = Svg::new(width);
    legend(&mut svg, left, (most, of.noun));
    let bottom = LEGEND + of.lanes.len() as f64 * LINE;
    for tick in scale.ticks((letters(width - left) / 8).max(2)) {
        let x = scale.at(tick);
        svg.line("grid", (x, LEGEND), (x, bottom));
        svg.text("tick middle", (x, bottom + 16.0), &time_tick(tick));
    }
    let under = "time of one call; lines: p50 and p99";
    svg.text("axis end", (width - 2.0, bottom + 34.0), under);
    for (position, lane) in of.lanes.iter().enumerate() {
        let y = LEGEND + position as f64 * LINE;
        let label = beginning(&lane.label, letters(left - 10.0));
        svg.text("label end", (left - 10.0, y + 16.0), &label);
        draw_lane(&mut svg, &scale, lane, (y, most, of.noun));
    }
    Some(svg.finish(class, bottom + AXIS))
}

fn draw_lane(svg: &mut Svg, scale: &LogScale, lane: &Lane, (y, most, noun): (f64, u64, &str)) {
    for bar in lane.bars.iter().filter(|bar| bar.count > 0) {
        let (from, to) = (scale.at(bar.from_s), scale.at(bar.upto_s));
        let words = format!(
            "{}: {} {noun} took {} to {}",
            lane.label,
            grouped(bar.count),
            duration(bar.from_s),
            duration(bar.upto_s),
        );
        let class = format!("heat heat-{}", shade(bar.count, most));
        svg.mark(&words, |svg| {
            let area = Area::at((from, y + 3.0), ((to - from - 1.0).max(1.0), CELL));
            svg.rect(&class, area);
        });
    }
    for (name, seconds) in &lane.marks {
        let x = scale.at(*seconds);
        let words = format!("{}: {name} {}", lane.label, duration(*seconds));
        svg.mark(&words, |svg| {
            svg.line("percentile", (x, y + 1.0), (x, y + CELL + 5.0));
        });
    }
}

/// From 1 for one call to [`SHADES`] for the most, by the logarithm.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the shades"
)]
fn shade(count: u64, most: u64) -> u32 {
    let share = (count as f64).ln() / (most.max(2) as f64).ln();
    let step = share * f64::from(SHADES - 1);
    1 + step.round().clamp(0.0, f64::from(SHADES - 1)) as u32
}

fn legend(svg: &mut Svg, left: f64, (most, noun): (u64, &str)) {
    let step = 16.0;
    svg.text("tick end", (left - 8.0, 15.0), "1");
    for shade in 1..=SHADES {
        let x = left + f64::from(shade - 1) * step;
        let area = Area::at((x, 4.0), (step - 1.0, 14.0));
        svg.rect(&format!("heat heat-{shade}"), area);
    }
    let x = left + f64::from(SHADES) * step + 6.0;
    svg.text("tick", (x, 15.0), &format!("{} {noun}", grouped(most)));
}

#[cfg(test)]
mod tests {
    use super::super::distribution::octaves;
    use super::*;

    #[test]
    fn shades_follow_the_logarithm_of_the_count() {
        let shades = [1, 2, 10, 100, 1_000, 10_000].map(|count| shade(count, 10_000));
        assert_eq!(shades, [1, 2, 3, 5, 6, 8]);
        assert_eq!([shade(1, 1), shade(0, 0)], [1, 1]);
    }

    #[test]
    fn every_filled_octave_is_a_cell_on_the_line_of_its_call() {
        let lane = |label: &str, counts: &[u64]| Lane {
            group: String::new(),
            label: label.into(),
            bars: octaves(counts),
            marks: vec![("p50", 1e-6)],
        };
        let mut counts = [0; 12];
        counts[9..].copy_from_slice(&[4, 0, 800]);
        let of = Distributions {
            lanes: vec![lane("fsync", &counts), lane("read", &counts[..10])],
            noun: "calls",
        };
        let text = draw(&of, "wide", 500.0).unwrap().finish();
        let cells = text.matches("calls took").count();
        assert_eq!(cells, 3, "{text}");
        assert!(
            text.contains("fsync: 800 calls took 2.05 µs to 4.10 µs"),
            "{text}"
        );
        // The first line begins at 34, the second at 58.
        assert_eq!(text.matches(r#"y="37""#).count(), 2);
        assert_eq!(text.matches(r#"y="61""#).count(), 1);
        let nothing = Distributions {
            lanes: Vec::new(),
            noun: "calls",
        };
        assert!(draw(&nothing, "wide", 500.0).is_none());
    }
}
