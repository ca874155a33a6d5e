//! By how much `new` may be worse before the comparison fails.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Comparison, Count, Judgement, Row, Rows, Sides, Timed, Whole, time};

/// Larger limits are mistakes.
const MOST_PERCENT: f64 = 10_000.0;

/// The percentage from which a difference is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Limit {
    pub percent: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitError {
    #[error("`{0}` is not a number of per cent; write 5%")]
    NotANumber(String),
    /// Negative or implausibly large.
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

/// The failure limit of a comparison, and whether it was exceeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FailOn {
    #[serde(flatten)]
    pub limit: Limit,
    /// Differences that reach it, beyond the noise.
    pub exceeded: Vec<Exceeded>,
    /// Differences that may reach it, undecided: the limit is not known to be kept.
    pub undecided: Vec<Undecided>,
}

/// A value that is worse by at least the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Exceeded {
    pub what: String,
    /// The percentage; `null` if `base` had none.
    pub percent: Option<f64>,
    /// Lower and upper end of the interval of a time, per cent; `null` for counts.
    pub interval_percent: Option<(f64, f64)>,
    /// The counts; `null` for times.
    pub counts: Option<Sides<f64>>,
}

/// A value that may be worse by the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Undecided {
    pub what: String,
    /// The known time; `null` if there is none, and for counts.
    pub time: Option<time::TimeRatio>,
    /// Lost events, by which counts may be too low; `null` for times.
    pub lost_events: Option<Sides<u64>>,
}

impl Comparison {
    /// Lists values that are worse by at least this limit, and those that may be: times of a lab
    /// result, or of two traces with timed runs, that are longer beyond the noise, or whose noise
    /// can hide that much; for two traces also counts of the calls that open, read, write and sync,
    /// and of their bytes. All verdicts then use this limit.
    pub fn fail_on(&mut self, limit: Limit) {
        self.decide(limit);
        let (mut exceeded, mut undecided) = (Vec::new(), Vec::new());
        let timed = self.trace.as_ref().and_then(|trace| trace.timed.as_ref());
        let mut judged: Vec<Judged> = timed.map(Judged::program).into_iter().collect();
        if let Some(lab) = &self.lab {
            judged.extend(
                lab.experiments
                    .iter()
                    .map(|whole| Judged::whole(whole, lab)),
            );
            judged.extend(lab.rows.iter().map(Judged::row));
        }
        for one in judged {
            match one.longer(limit) {
                Some(found) => exceeded.push(found),
                None => undecided.extend(one.undecided(limit)),
            }
        }
        if let Some(trace) = &self.trace {
            let work = trace.counts.iter().filter(|count| count.is_work());
            exceeded.extend(work.filter_map(|count| more(count, limit)));
            let lost_events = trace.lost_events;
            if lost_events != Sides::default() {
                undecided.push(Undecided {
                    what: "calls".to_owned(),
                    time: None,
                    lost_events: Some(lost_events),
                });
            }
        }
        self.fail_on = Some(FailOn {
            limit,
            exceeded,
            undecided,
        });
    }
}

/// A program, an experiment as a whole, or one row.
struct Judged {
    what: String,
    time: Option<time::TimeRatio>,
    judgement: Judgement,
    of: Extent,
}

/// The scope of a judgement.
enum Extent {
    /// The whole, which must be known to keep the limit if it was timed at all.
    Whole { was_timed: bool },
    /// A row, which alone shows only large differences.
    Row,
}

impl Judged {
    fn program(timed: &Timed) -> Self {
        Self {
            what: "time".to_owned(),
            time: timed.time,
            judgement: timed.judgement,
            of: Extent::Whole { was_timed: true },
        }
    }

    fn whole(whole: &Whole, lab: &Rows) -> Self {
        let was_timed = lab.rows.iter().any(|row| {
            let Sides { base, new } = row.median_s;
            row.experiment == whole.id && base.is_some() && new.is_some()
        });
        Self {
            what: format!("{} as a whole", whole.id),
            time: whole.time,
            judgement: whole.judgement,
            of: Extent::Whole { was_timed },
        }
    }

    fn row(row: &Row) -> Self {
        Self {
            what: format!("{}: {} on {}", row.experiment, row.label, row.target),
            time: row.time,
            judgement: row.judgement,
            of: Extent::Row,
        }
    }

    fn longer(&self, limit: Limit) -> Option<Exceeded> {
        let time = self.time.filter(|_| self.judgement == Judgement::Slower)?;
        longer(self.what.clone(), time, limit)
    }

    /// A row is undecided when it seems slower by the limit.
    fn undecided(self, limit: Limit) -> Option<Undecided> {
        let is_open = match (self.of, &self.time) {
            (Extent::Whole { .. }, Some(time)) => limit.may_be_exceeded(time),
            // It was timed, but there is too little to judge by.
            (Extent::Whole { was_timed }, None) => was_timed,
            (Extent::Row, Some(time)) => limit.is_left_open_by(time) && time.ratio > 1.0,
            (Extent::Row, None) => false,
        };
        is_open.then_some(Undecided {
            what: self.what,
            time: self.time,
            lost_events: None,
        })
    }
}

fn longer(what: String, time: time::TimeRatio, limit: Limit) -> Option<Exceeded> {
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
