//! Axes: positions of values, and their labels.

/// A logarithmic axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// Range of an axis: a file may contain any value, and outside it the steps are lost in
/// the numbers.
const LEAST: f64 = 1e-30;
const MOST: f64 = 1e30;

/// Steps within a decade.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

impl LogScale {
    /// An axis from `from` to `to` on the page that holds every value above 0, widened to the
    /// next 1, 2 or 5. `None` without such a value: a logarithmic axis has no 0.
    pub(super) fn covering(
        values: impl Iterator<Item = f64>,
        (from, to): (f64, f64),
    ) -> Option<Self> {
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
        Some(Self {
            low,
            high,
            from,
            to,
        })
    }

    /// Where a value stands; values outside stand at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        let share = if share.is_nan() { 0.0 } else { share };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }

    /// Where it begins and ends on the page.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// At most `count` values to name: decades, and their 2 and 5 where there is room.
    pub(super) fn ticks(&self, count: usize) -> Vec<f64> {
        let mut every = Vec::new();
        let mut tick = self.low;
        while tick <= self.high * 1.0001 {
            every.push(tick);
            tick = step_above(tick);
        }
        if every.len() <= count {
            return every;
        }
        let decades: Vec<f64> = every.into_iter().filter(|tick| is_decade(*tick)).collect();
        let stride = decades.len().div_ceil(count.max(1)).max(1);
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
    format!("{}\u{a0}{unit}", plain(seconds / unit_s))
}

/// A number of an axis: `5`, `200`, `2k`, `0.1`.
pub(super) fn number_tick(value: f64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e4, "k")];
    match units
        .into_iter()
        .find(|(unit, _)| value >= unit * 0.999_999)
    {
        Some((1e4, _)) => format!("{}k", plain(value / 1e3)),
        Some((unit, letter)) => format!("{}{letter}", plain(value / unit)),
        None => plain(value),
    }
}

fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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
        let scale = LogScale::covering([0.0, 3e-6, 0.4].into_iter(), (100.0, 200.0)).unwrap();
        assert!((scale.at(2e-6) - 100.0).abs() < 1e-6);
        assert!((scale.at(0.5) - 200.0).abs() < 1e-6);
        // Half of the way from 2e-6 to 0.5 is their geometric mean, 1e-3.
        assert!((scale.at(1e-3) - 150.0).abs() < 1e-6);
        assert!((scale.at(1e-12) - 100.0).abs() < 1e-6);
        let names: Vec<String> = scale.ticks(6).into_iter().map(time_tick).collect();
        let expected = ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms"];
        assert_eq!(names, expected.map(|name| name.replace(' ', "\u{a0}")));
        assert_eq!(scale.ticks(3).len(), 3);
    }

    #[test]
    fn one_value_has_an_axis_and_nothing_has_none() {
        let scale = LogScale::covering([1.0].into_iter(), (0.0, 10.0)).unwrap();
        assert!((scale.at(1.0)).abs() < 1e-9 && (scale.at(2.0) - 10.0).abs() < 1e-9);
        assert_eq!(LogScale::covering([0.0].into_iter(), (0.0, 1.0)), None);
        for odd in [f64::NAN, f64::MAX, f64::MIN_POSITIVE, -1.5] {
            assert_eq!(LogScale::covering([odd].into_iter(), (0.0, 1.0)), None);
            assert!((0.0..=10.0).contains(&scale.at(odd)), "{odd}");
            assert_eq!(even_ticks(odd, 5), [0.0], "{odd}");
        }
    }

    #[test]
    fn ticks_have_short_names() {
        let numbers = [0.1, 5.0, 2000.0, 20_000.0, 1e6].map(number_tick);
        assert_eq!(numbers, ["0.1", "5", "2000", "20k", "1M"]);
        assert_eq!(even_ticks(4.2, 6), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(even_ticks(0.35, 5), [0.0, 0.1, 0.2, 0.1 * 3.0]);
        assert_eq!(even_ticks(0.0, 5), [0.0]);
    }
}
