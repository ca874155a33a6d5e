//! Budgets as typed.

use thiserror::Error;

use super::{Amount, Budget, Measure, Of};
use crate::bytes::{self, SizeError};
use crate::suggest;
use crate::trace::CallGroup;

/// Units of time with their seconds.
const TIMES: [(&str, f64); 6] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
];

/// Why a text is not a budget.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BudgetError {
    /// Neither `<=` nor `<`.
    #[error(
        "`{text}` is not a budget: it has no `<=` or `<`; write fsync<=10 or writes.bytes<=1MiB"
    )]
    NoLimit { text: String },
    #[error("`{name}` is neither a system call nor one of {known}{hint}", known = names(), hint = did_you_mean(nearest.as_deref()))]
    Unknown {
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// A measure that this subject does not have.
    #[error("`{name}` has no {measure}; it has {known}", measure = measure.as_str(), known = known.join(", "))]
    Measure {
        name: String,
        measure: Measure,
        known: Vec<&'static str>,
    },
    #[error("`{limit}` is not a number of calls; write a whole number such as 10")]
    Count { limit: String },
    #[error(transparent)]
    Size(#[from] SizeError),
    #[error("`{limit}` is not a time; write 100us, 20ms, 1.5s or 2min")]
    Time { limit: String },
}

fn names() -> String {
    Of::NAMED.map(|(name, _)| name).join(", ")
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// Parses one budget: `<name>[.<measure>] <= <limit>`, or `<` for less than the limit.
///
/// The name is one of [`Of::NAMED`] or one of `calls`; the measure is `calls`, `bytes`, `time` or
/// `errors`. Blanks are ignored.
pub fn parse<'a>(
    text: &str,
    calls: impl IntoIterator<Item = &'a str>,
) -> Result<Budget, BudgetError> {
    let (what, limit) = text.split_once('<').ok_or_else(|| BudgetError::NoLimit {
        text: text.to_owned(),
    })?;
    let (inclusive, limit) = match limit.strip_prefix('=') {
        Some(limit) => (true, limit.trim()),
        None => (false, limit.trim()),
    };
    let (name, measure) = split(what.trim());
    let of = find(name, calls)?;
    let known = of.measures();
    let measure = measure.unwrap_or(known[0]);
    if !known.contains(&measure) {
        return Err(BudgetError::Measure {
            name: name.to_owned(),
            measure,
            known: known.iter().map(|measure| measure.as_str()).collect(),
        });
    }
    Ok(Budget {
        of,
        measure,
        inclusive,
        limit: amount(measure, limit)?,
    })
}

/// The name, and the measure after its last dot.
fn split(what: &str) -> (&str, Option<Measure>) {
    let found = what.rsplit_once('.').and_then(|(name, last)| {
        let measure = Measure::ALL
            .into_iter()
            .find(|measure| measure.as_str() == last)?;
        Some((name, Some(measure)))
    });
    found.unwrap_or((what, None))
}

fn find<'a>(name: &str, calls: impl IntoIterator<Item = &'a str>) -> Result<Of, BudgetError> {
    let named = Of::NAMED.into_iter().find(|(known, _)| *known == name);
    if let Some((_, of)) = named {
        return Ok(of);
    }
    let calls: Vec<&str> = calls.into_iter().collect();
    if calls.contains(&name) {
        return Ok(Of::Call(name.to_owned()));
    }
    // Named subjects take precedence over calls that are only spelt similarly.
    let usual = calls.iter().copied();
    let usual = usual.filter(|call| CallGroup::of(call).is_some());
    let usual = Of::NAMED.iter().map(|(known, _)| *known).chain(usual);
    let nearest = suggest::nearest(name, usual);
    Err(BudgetError::Unknown {
        name: name.to_owned(),
        nearest: nearest
            .or_else(|| suggest::nearest(name, calls.iter().copied()))
            .map(str::to_owned),
    })
}

fn amount(measure: Measure, limit: &str) -> Result<Amount, BudgetError> {
    match measure {
        Measure::Calls | Measure::Errors => {
            let count = limit.parse().ok().map(Amount::Count);
            count.ok_or_else(|| BudgetError::Count {
                limit: limit.to_owned(),
            })
        }
        Measure::Bytes => Ok(Amount::Bytes(bytes::parse(limit)?)),
        Measure::Time => {
            let time = seconds(limit).ok_or_else(|| BudgetError::Time {
                limit: limit.to_owned(),
            })?;
            Ok(Amount::Seconds(time))
        }
    }
}

fn seconds(text: &str) -> Option<f64> {
    let digits = text
        .find(|char: char| !(char.is_ascii_digit() || char == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start();
    let (_, factor) = TIMES.iter().find(|(name, _)| *name == unit)?;
    let number: f64 = number.parse().ok()?;
    Some(number * factor).filter(|time| time.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CALLS: [&str; 8] = [
        "fspick",
        "getpid",
        "fsync",
        "write",
        "openat",
        "fdatasync",
        "io_uring.write",
        "io_uring.fsync",
    ];

    fn read(text: &str) -> Budget {
        parse(text, CALLS).unwrap()
    }

    fn refused(text: &str) -> String {
        parse(text, CALLS).unwrap_err().to_string()
    }

    #[test]
    fn what_people_write() {
        for (text, shown) in [
            ("fsync<=10", "fsync <= 10"),
            ("write.calls<=1000", "write <= 1,000"),
            (" writes.bytes  < 1MiB ", "writes.bytes < 1 MiB"),
            ("fdatasync.time<=1.5s", "fdatasync.time <= 1.50 s"),
            ("openat.errors<=0", "openat.errors <= 0"),
            ("device.writes<=5", "device.writes <= 5"),
            (
                "device.writes.bytes<=64KiB",
                "device.writes.bytes <= 64 KiB",
            ),
            ("flushes<3", "flushes < 3"),
            ("dirty_at_exit<=0", "dirty_at_exit <= 0 B"),
            ("wall<=2min", "wall <= 120 s"),
            ("wall < 20 ms", "wall < 20.0 ms"),
            ("io_uring.write<=7", "io_uring.write <= 7"),
            ("io_uring.fsync.time<=7us", "io_uring.fsync.time <= 7.00 µs"),
        ] {
            assert_eq!(read(text).to_string(), shown, "{text}");
        }
        assert_eq!(read("wall<=90s").limit, Amount::Seconds(90.0));
        assert_eq!(read("reads<=1").of, Of::Reads);
    }

    #[test]
    fn what_is_refused_says_what_is_known() {
        says(
            "fsync",
            "`fsync` is not a budget: it has no `<=` or `<`; write fsync<=10 or writes.bytes<=1MiB",
        );
        says(
            "fsink<=1",
            "`fsink` is neither a system call nor one of reads, writes, syncs, opens, \
             device.reads, device.writes, flushes, dirty_at_exit, wall; did you mean fsync?",
        );
        says(
            "zzz<=1",
            "`zzz` is neither a system call nor one of reads, writes, syncs, opens, \
             device.reads, device.writes, flushes, dirty_at_exit, wall",
        );
        assert!(refused("getpit<=1").ends_with("did you mean getpid?"));
        says("wall.calls<=1", "`wall` has no calls; it has time");
        says(
            "flushes.bytes<=1",
            "`flushes` has no bytes; it has calls, time",
        );
        says(
            "fsync<=ten",
            "`ten` is not a number of calls; write a whole number such as 10",
        );
        says(
            "wall<=3",
            "`3` is not a time; write 100us, 20ms, 1.5s or 2min",
        );
        says(
            "wall<=1.2.3s",
            "`1.2.3s` is not a time; write 100us, 20ms, 1.5s or 2min",
        );
        says(
            "writes.bytes<=many",
            "`many` is not a size: it does not start with a number; write 4096, 64KiB or 100kB",
        );
        assert!(refused("<=1").starts_with("`` is neither"));
        assert!(refused("io_uring.writ<=1").ends_with("did you mean io_uring.write?"));
    }

    #[track_caller]
    fn says(text: &str, message: &str) {
        assert_eq!(refused(text), message);
    }

    proptest! {
        #[test]
        fn nothing_typed_panics(text in ".{0,40}") {
            drop(parse(&text, CALLS));
        }

        #[test]
        fn what_is_shown_means_the_same(count in any::<u32>(), strict in any::<bool>()) {
            let sign = if strict { "<" } else { "<=" };
            let budget = read(&format!("fsync{sign}{count}"));
            prop_assert_eq!(budget.limit, Amount::Count(count.into()));
            prop_assert_eq!(budget.inclusive, !strict);
        }
    }
}
