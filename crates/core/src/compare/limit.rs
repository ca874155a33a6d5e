//! By how much `new` may be worse before that is a failure.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Comparison, Count, Judgement, Sides, time};

/// Larger limits are mistakes.
const MOST_PERCENT: f64 = 10_000.0;

/// From how many per cent on a difference is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Limit {
    /// Per cent.
    pub percent: f64,
}

/// Text that is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitError {
    /// Not a number.
    #[error("`{0}` is not a number of per cent; write 5%")]
    NotANumber(String),
    /// Below 0 or senselessly large.
    #[error("`{0}` is not between 0 and 10,000 %; write 5%")]
    OutOfRange(String),
}

impl Limit {
    /// Reads `5%`, `2.5%` or `5`.
    pub fn parse(text: &str) -> Result<Self, LimitError> {
        let number = text.strip_suffix('%').unwrap_or(text).trim_end();
        let is_decimal = |byte: u8| byte.is_ascii_digit() || byte == b'.' || byte == b'-';
        let percent = match number.parse::<f64>() {
            Ok(percent) if number.bytes().all(is_decimal) => percent,
            _ => return Err(LimitError::NotANumber(text.to_owned())),
        };
        if (0.0..=MOST_PERCENT).contains(&percent) {
            Ok(Self { percent })
        } else {
            Err(LimitError::OutOfRange(text.to_owned()))
        }
    }
}

/// What the comparison was to fail on, and whether it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FailOn {
    /// The limit.
    #[serde(flatten)]
    pub limit: Limit,
    /// What reaches it, beyond the noise.
    pub exceeded: Vec<Exceeded>,
}

/// Something that is worse by at least the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Exceeded {
    /// What it is.
    pub what: String,
    /// By how many per cent; `null` for what `base` had none of.
    pub percent: Option<f64>,
    /// Lower and upper end of the interval of a time, per cent; `null` for counts.
    pub interval_percent: Option<(f64, f64)>,
    /// The counts; `null` for times.
    pub counts: Option<Sides<f64>>,
}

impl Comparison {
    /// Lists what is worse by at least this: times of a lab result that are longer beyond the
    /// noise; of two traces the time too, where both have timed runs, and counts of the calls that
    /// open, read, write and sync, and of their bytes.
    pub fn fail_on(&mut self, limit: Limit) {
        let mut exceeded = Vec::new();
        if let Some(lab) = &self.lab {
            let wholes = lab.experiments.iter().map(|whole| {
                let what = format!("{} as a whole", whole.id);
                (what, whole.time, whole.judgement)
            });
            let rows = lab.rows.iter().map(|row| {
                let what = format!("{}: {} on {}", row.experiment, row.label, row.target);
                (what, row.time, row.judgement)
            });
            let judged = wholes.chain(rows);
            exceeded.extend(judged.filter_map(|(what, time, judgement)| {
                let time = time.filter(|_| judgement == Judgement::Slower)?;
                longer(what, time, limit)
            }));
        }
        if let Some(trace) = &self.trace {
            let slower = trace
                .timed
                .iter()
                .filter(|timed| timed.judgement == Judgement::Slower);
            let slower = slower.filter_map(|timed| Some(("time".to_owned(), timed.time?)));
            exceeded.extend(slower.filter_map(|(what, time)| longer(what, time, limit)));
            let work = trace.counts.iter().filter(|count| count.is_work());
            exceeded.extend(work.filter_map(|count| more(count, limit)));
        }
        self.fail_on = Some(FailOn { limit, exceeded });
    }
}

fn longer(what: String, time: time::Change, limit: Limit) -> Option<Exceeded> {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    (percent(time.ratio) >= limit.percent).then(|| Exceeded {
        what,
        percent: Some(percent(time.ratio)),
        interval_percent: Some((percent(time.low_ratio), percent(time.high_ratio))),
        counts: None,
    })
}

fn more(count: &Count, limit: Limit) -> Option<Exceeded> {
    let sides = count.sides;
    let grown = sides.new - sides.base;
    let percent = (sides.base > 0.0).then(|| grown / sides.base * 100.0);
    let is_reached = grown > 0.0 && percent.is_none_or(|percent| percent >= limit.percent);
    is_reached.then(|| Exceeded {
        what: count.what.clone(),
        percent,
        interval_percent: None,
        counts: Some(sides),
    })
}
