//! Times of loops: their spread, and every mount option against noatime.

use serde::{Deserialize, Serialize};

use super::{AtimeResult, LoopCase, LoopRow, Mount, Reading};
use crate::atime::Loop;
use crate::stats;
use crate::timing::Timing;

/// Mean and standard deviation of the samples of a timing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Spread {
    pub mean_s: f64,
    /// Standard deviation, the sum of squares divided by the number of samples, as the
    /// article's script does; seconds.
    pub standard_deviation_s: f64,
    /// The same in per cent of the mean.
    pub standard_deviation_percent: f64,
}

impl Spread {
    /// Of the samples of a timing; `None` when there is none or they took no time.
    pub(super) fn of(timing: &Timing) -> Option<Self> {
        let samples = &timing.samples_s;
        let count = samples.len() as f64;
        let mean_s = samples.iter().sum::<f64>() / count;
        // Not a number without samples.
        if mean_s.is_nan() || mean_s <= 0.0 {
            return None;
        }
        let squares: f64 = samples.iter().map(|s| (s - mean_s).powi(2)).sum();
        let standard_deviation_s = (squares / count).sqrt();
        Some(Self {
            mean_s,
            standard_deviation_s,
            standard_deviation_percent: standard_deviation_s / mean_s * 100.0,
        })
    }
}

/// By how much noatime makes a loop faster than another mount option.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Comparison {
    pub filesystem: String,
    pub target: String,
    #[serde(rename = "loop")]
    pub files: Loop,
    /// First or second reading.
    pub reading: Reading,
    /// The option that is compared with noatime.
    pub mount: Mount,
    /// Time of the reading.
    pub timing: Saving,
    /// Time of the reading and the `syncfs` after it.
    pub with_sync: Saving,
    /// The rows: of the option and of noatime, 1-based.
    pub rows: [usize; 2],
}

/// A part of a time that noatime saves, in per cent of it, negative when it costs:
/// the Hodges-Lehmann estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Saving {
    /// Estimate, per cent.
    pub percent: f64,
    /// Lower end of the interval; `null` when the samples are too few for one.
    pub low_percent: Option<f64>,
    /// Upper end of the interval; `null` when the samples are too few for one.
    pub high_percent: Option<f64>,
}

impl Saving {
    /// Of `timing` when `noatime` takes its place; `None` when a time is not positive.
    fn of(timing: &Timing, noatime: &Timing) -> Option<Self> {
        let ratio = stats::ratio(&noatime.samples_s, &timing.samples_s)?;
        let saved = |factor: f64| (1.0 - factor) * 100.0;
        Some(Self {
            percent: saved(ratio.estimate),
            low_percent: ratio.interval.map(|bounds| saved(bounds.high)),
            high_percent: ratio.interval.map(|bounds| saved(bounds.low)),
        })
    }

    /// Both ends of the interval, if there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low_percent.zip(self.high_percent)
    }

    /// Whether the samples show a difference at 95 %; `None` when they are too few.
    pub fn differs(&self) -> Option<bool> {
        self.interval().map(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// Compares every loop with the same one under noatime on the same target.
pub fn comparisons(result: &AtimeResult) -> Vec<Comparison> {
    let found = result.loops().filter_map(|(number, row)| {
        let case = &row.row.case;
        let is_noatime = |other: &LoopCase| {
            LoopCase {
                mount: other.mount,
                ..case.clone()
            } == *other
                && other.mount == Mount::Noatime
        };
        let (noatime_number, noatime) = result
            .loops()
            .find(|(_, other)| other.row.target == row.row.target && is_noatime(&other.row.case))?;
        (case.mount != Mount::Noatime)
            .then(|| compared((number, row), (noatime_number, noatime)))
            .flatten()
    });
    found.collect()
}

fn compared(
    (number, row): (usize, &LoopRow),
    (noatime_number, noatime): (usize, &LoopRow),
) -> Option<Comparison> {
    let case = &row.row.case;
    let saving = |pick: fn(&LoopRow) -> Option<&Timing>| Saving::of(pick(row)?, pick(noatime)?);
    Some(Comparison {
        filesystem: case.filesystem.clone(),
        target: row.row.target.clone(),
        files: case.files,
        reading: case.reading,
        mount: case.mount,
        timing: saving(|row| row.row.timing.as_ref())?,
        with_sync: saving(|row| row.with_sync.as_ref())?,
        rows: [number, noatime_number],
    })
}
