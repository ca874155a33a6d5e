//! Axes: positions of values, and their labels.

use super::drawing::short;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogScale {
    low: f64,
    high: f64,
}

/// Values that an axis names at most.
const NAMED: usize = 8;

/// Range of an axis: a file may contain any value, and outside it the steps are lost in
/// the numbers.
const LEAST: f64 = 1e-30;
const MOST: f64 = 1e30;

/// Steps within a decade.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

impl LogScale {
    /// An axis that holds every value above 0, widened to the next 1, 2 or 5. `None` without such a value: a
    /// logarithmic axis has no 0.
    pub(super) fn covering(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (least, most) = values
            .filter(|value| (LEAST..=MOST).contains(value))
            .fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        if most <= 0.0 {
            return None;
        }
        let low = step_below(least);
        let mut high = step_below(most);
        while high < most || high <= low {
            high = step_above(high);
        }
        Some(Self { low, high })
    }

    /// Where a value stands, as a share of the axis; values outside stand at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        let share = if share.is_nan() { 0.0 } else { share };
        share.clamp(0.0, 1.0)
    }

    /// Values to name, with where they stand: decades, and their 2 and 5 where there is room.
    pub(super) fn ticks(&self, name: fn(f64) -> String) -> Vec<(f64, String)> {
        let ticks = self.round_values().into_iter();
        ticks.map(|tick| (self.at(tick), name(tick))).collect()
    }

    fn round_values(&self) -> Vec<f64> {
        let mut every = Vec::new();
        let mut tick = self.low;
        while tick <= self.high * 1.0001 {
            every.push(tick);
            tick = step_above(tick);
        }
        if every.len() <= NAMED {
            return every;
        }
        let decades: Vec<f64> = every.into_iter().filter(|tick| is_decade(*tick)).collect();
        let stride = decades.len().div_ceil(NAMED).max(1);
        decades.into_iter().step_by(stride).collect()
    }
}

fn is_decade(value: f64) -> bool {
    let exponent = value.log10();
    (exponent - exponent.round()).abs() < 1e-6
}

fn step_below(value: f64) -> f64 {
    let decade = 10_f64.powf((value * 1.000_001).log10().floor());
    STEPS
        .iter()
        .rev()
        .map(|step| step * decade)
        .find(|step| *step <= value * 1.000_001)
        .unwrap_or(decade)
}

fn step_above(value: f64) -> f64 {
    let decade = 10_f64.powf((value * 1.000_001).log10().floor());
    STEPS
        .iter()
        .map(|step| step * decade)
        .find(|step| *step > value * 1.000_001)
        .unwrap_or(decade * 10.0)
}

/// A time that is named at an axis: `20 µs`, `1 s`, `0.5 ns`.
pub(super) fn time_tick(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    let (unit_s, unit) = units
        .into_iter()
        .find(|(unit_s, _)| seconds >= unit_s * 0.999_999)
        .unwrap_or((1e-9, "ns"));
    format!("{}\u{a0}{unit}", short(seconds / unit_s, 3))
}

/// A number of an axis: `5`, `200`, `2k`, `0.1`.
pub(super) fn number_tick(value: f64) -> String {
    if value >= 10_000.0 {
        return format!("{}k", short(value / 1e3, 3));
    }
    short(value, 3)
}

/// Evenly spaced round values from 0 to `end`, at most `count` of them.
pub(super) fn even_ticks(end: f64, count: usize) -> Vec<f64> {
    if !(LEAST..=MOST).contains(&end) {
        return vec![0.0];
    }
    let mut step = step_below(end / count.max(1) as f64);
    while (end / step).floor() + 1.0 > count as f64 {
        step = step_above(step);
    }
    let mut ticks = Vec::new();
    let mut position = 0.0;
    while position * step <= end * 1.000_001 {
        ticks.push(position * step);
        position += 1.0;
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_its_values() {
        let scale = LogScale::covering([0.0, 3e-6, 0.4].into_iter()).unwrap();
        assert!(scale.at(2e-6).abs() < 1e-9);
        assert!((scale.at(0.5) - 1.0).abs() < 1e-9);
        // Half of the way from 2e-6 to 0.5 is their geometric mean, 1e-3.
        assert!((scale.at(1e-3) - 0.5).abs() < 1e-9);
        assert!(scale.at(1e-12).abs() < 1e-9);
        let names = scale.ticks(time_tick).into_iter().map(|tick| tick.1);
        let names: Vec<String> = names.collect();
        let expected = ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms"];
        assert_eq!(names, expected.map(|name| name.replace(' ', "\u{a0}")));
        let wide = LogScale::covering([1e-9, 1e9].into_iter()).unwrap();
        assert!(wide.ticks(time_tick).len() <= NAMED);
    }

    #[test]
    fn one_value_has_an_axis_and_nothing_has_none() {
        let scale = LogScale::covering([1.0].into_iter()).unwrap();
        assert!((scale.at(1.0)).abs() < 1e-9 && (scale.at(2.0) - 1.0).abs() < 1e-9);
        assert_eq!(LogScale::covering([0.0].into_iter()), None);
        for odd in [f64::NAN, f64::MAX, f64::MIN_POSITIVE, -1.5] {
            assert_eq!(LogScale::covering([odd].into_iter()), None);
            assert!((0.0..=1.0).contains(&scale.at(odd)), "{odd}");
            assert_eq!(even_ticks(odd, 5), [0.0], "{odd}");
        }
    }

    #[test]
    fn ticks_have_short_names() {
        let numbers = [0.1, 5.0, 2000.0, 20_000.0, 1e6].map(number_tick);
        assert_eq!(numbers, ["0.1", "5", "2000", "20k", "1000k"]);
        assert_eq!(even_ticks(4.2, 6), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(even_ticks(0.35, 5), [0.0, 0.1, 0.2, 0.1 * 3.0]);
        assert_eq!(even_ticks(0.0, 5), [0.0]);
    }
}
