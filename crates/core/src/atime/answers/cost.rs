//! Claims about what access times cost, decided by the loops.

use super::TargetRows;
use crate::answer::Verdict;
use crate::atime::comparison::Saving;
use crate::atime::{Comparison, Loop, Mount, Reading};
use crate::bytes;
use crate::figures::number;
use crate::judge::{Finding, Missing};

/// By how much noatime was faster in the article, per cent: 0.4835 s against 0.5478 s.
const ARTICLE_PERCENT: f64 = 12.0;

/// Sectors per read above which a loop is said to write for its reads: what a journal
/// writes on its own in the background is far less, what an inode takes is about one.
const WRITES_PER_READ: f64 = 0.1;

/// Below this many sectors per read a loop shows nothing of what updates cost the device:
/// whatever is written is the update of one inode, or the file system's own.
const NOTHING_PER_READ: f64 = 0.01;

/// Sectors that a loop made the device write.
pub(super) fn written(
    target: &TargetRows<'_>,
    files: Loop,
    reading: Reading,
    mount: Mount,
) -> Result<Written, Missing> {
    let row = target.one((files, reading, mount))?;
    if row.is_in_memory() {
        return Err(Missing::Rows);
    }
    let number = row.number;
    let sectors = row.row.sectors.ok_or_else(|| {
        Missing::Evidence(format!(
            "the device writes of row {number} were not fully observed"
        ))
    })?;
    Ok(Written {
        number,
        mount,
        sectors,
        reads: row.case().reads,
    })
}

/// The share of a loop that noatime saves.
pub(super) fn comparison<'a>(
    target: &TargetRows<'a>,
    files: Loop,
    reading: Reading,
    mount: Mount,
) -> Result<&'a Comparison, Missing> {
    target.one((files, reading, mount))?;
    target.one((files, reading, Mount::Noatime))?;
    let is_wanted = |one: &&Comparison| {
        one.target == target.key && (one.files, one.reading, one.mount) == (files, reading, mount)
    };
    let mut comparisons = target.result.own.comparisons.iter();
    let found = comparisons.find(is_wanted);
    found.ok_or_else(|| Missing::Evidence("a loop has no timing run".to_owned()))
}

/// Bytes that a loop wrote.
pub(super) struct Written {
    number: usize,
    mount: Mount,
    sectors: u64,
    reads: u64,
}

impl Written {
    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(super) fn reads(&self) -> u64 {
        self.reads
    }

    fn per_read(&self) -> f64 {
        self.sectors as f64 / self.reads as f64
    }

    /// `relatime 5,048`.
    fn figure(&self) -> String {
        format!("{} {}", self.mount.as_str(), bytes::grouped(self.sectors))
    }
}

/// `3.1 % (95 %: 1.0 to 5.2)`.
fn saved(saving: &Saving) -> Result<String, Missing> {
    let (low, high) = interval(saving)?;
    let figure = |percent: f64| {
        let sign = if percent < 0.0 { "−" } else { "" };
        format!("{sign}{}", number(percent.abs()))
    };
    Ok(format!(
        "{} % (95 %: {} to {})",
        figure(saving.percent),
        figure(low),
        figure(high)
    ))
}

pub(super) fn interval(saving: &Saving) -> Result<(f64, f64), Missing> {
    saving
        .interval()
        .ok_or_else(|| Missing::Evidence("too few timing runs for a 95 % interval".to_owned()))
}

/// Holds above 0, refuted below, inconclusive around it.
fn above_zero((low, high): (f64, f64)) -> Verdict {
    if low > 0.0 {
        Verdict::Holds
    } else if high < 0.0 {
        Verdict::Refuted
    } else {
        Verdict::Inconclusive
    }
}

pub(super) fn first_reading_writes(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let of = |mount| written(target, Loop::ManyFiles, Reading::First, mount);
    let relatime = of(Mount::Relatime)?;
    let mut all = vec![of(Mount::Strictatime), of(Mount::Noatime)];
    all.retain(Result::is_ok);
    let others: Vec<Written> = all.into_iter().flatten().collect();
    let figures: Vec<String> = std::iter::once(&relatime)
        .chain(&others)
        .map(Written::figure)
        .collect();
    Ok(Finding {
        verdict: Verdict::from_fact(relatime.per_read() >= WRITES_PER_READ),
        because: format!(
            "sectors written for reading {} files and a sync: {}",
            bytes::grouped(relatime.reads),
            figures.join(", ")
        ),
        rows: numbers(std::iter::once(&relatime).chain(&others)),
    })
}

pub(super) fn second_reading_writes_nothing(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let of = |reading| written(target, Loop::ManyFiles, reading, Mount::Relatime);
    let (first, second) = (of(Reading::First)?, of(Reading::Second)?);
    let mut because = format!(
        "sectors written under relatime: first reading {}, second {}",
        bytes::grouped(first.sectors),
        bytes::grouped(second.sectors)
    );
    let mut rows = numbers([&first, &second]);
    if let Ok(strict) = written(target, Loop::ManyFiles, Reading::Second, Mount::Strictatime) {
        because = format!("{because}; second under {}", strict.figure());
        rows.push(strict.number);
    }
    Ok(Finding {
        verdict: Verdict::from_fact(second.per_read() < WRITES_PER_READ),
        because,
        rows,
    })
}

/// One inode is written, however often its file is read: no figure of such a loop can be
/// the cost of an update for each read.
pub(super) fn one_file_shows_the_cost(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let written = written(target, Loop::OneFile, Reading::First, Mount::Relatime)?;
    let mut because = format!(
        "{} reads made the device write {} sectors",
        bytes::grouped(written.reads),
        bytes::grouped(written.sectors)
    );
    let mut rows = vec![written.number];
    if let Ok(compared) = comparison(target, Loop::OneFile, Reading::First, Mount::Relatime)
        && let Ok(figure) = saved(&compared.timing)
    {
        because = format!("{because}; noatime saves {figure} of the time");
        rows.extend(compared.rows);
    }
    Ok(Finding {
        verdict: Verdict::by(written.per_read(), WRITES_PER_READ.., ..NOTHING_PER_READ),
        because,
        rows,
    })
}

/// The article's `atime` is what Linux calls strictatime; the same loop under Linux's
/// default is given beside it.
pub(super) fn as_in_the_article(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let strict = comparison(target, Loop::OneFile, Reading::First, Mount::Strictatime)?;
    let (low, high) = interval(&strict.timing)?;
    let covers = |percent: f64| low <= percent && percent <= high;
    let verdict = match (covers(ARTICLE_PERCENT), covers(0.0)) {
        (true, false) => Verdict::Holds,
        (true, true) => Verdict::Inconclusive,
        (false, _) => Verdict::Refuted,
    };
    let mut because = format!(
        "noatime saves {} against strictatime",
        saved(&strict.timing)?
    );
    let mut rows = strict.rows.to_vec();
    if let Ok(relatime) = comparison(target, Loop::OneFile, Reading::First, Mount::Relatime)
        && let Ok(figure) = saved(&relatime.timing)
    {
        because = format!("{because}, {figure} against relatime");
        rows.extend(relatime.rows);
    }
    Ok(Finding::new(verdict, because, rows))
}

pub(super) fn faster_at_first(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let compared = comparison(target, Loop::ManyFiles, Reading::First, Mount::Relatime)?;
    Ok(Finding {
        verdict: above_zero(interval(&compared.with_sync)?),
        because: format!(
            "noatime saves {} of reading and syncing, {} of reading alone",
            saved(&compared.with_sync)?,
            saved(&compared.timing)?
        ),
        rows: compared.rows.to_vec(),
    })
}

pub(super) fn faster_again(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let compared = comparison(target, Loop::ManyFiles, Reading::Second, Mount::Relatime)?;
    Ok(Finding {
        verdict: above_zero(interval(&compared.timing)?),
        because: format!("noatime saves {} of reading", saved(&compared.timing)?),
        rows: compared.rows.to_vec(),
    })
}

/// Up to the next sync of the file system, which writes lazy times too
/// (`__writeback_single_inode`, fs/fs-writeback.c).
pub(super) fn lazytime_spares_writes(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let of = |mount| written(target, Loop::ManyFiles, Reading::First, mount);
    let (lazy, relatime) = (of(Mount::Lazytime)?, of(Mount::Relatime)?);
    if relatime.per_read() < WRITES_PER_READ {
        return Err(Missing::Evidence(
            "relatime also caused no device writes".to_owned(),
        ));
    }
    let share = lazy.sectors as f64 / relatime.sectors as f64;
    Ok(Finding {
        verdict: Verdict::by(share, ..=0.1, 0.9..),
        because: format!(
            "sectors written for the first reading of {} files, up to a sync: {}, {}: a sync \
             writes the updates that lazytime had deferred",
            bytes::grouped(lazy.reads),
            lazy.figure(),
            relatime.figure()
        ),
        rows: numbers([&lazy, &relatime]),
    })
}

fn numbers<'a>(written: impl IntoIterator<Item = &'a Written>) -> Vec<usize> {
    written.into_iter().map(|one| one.number).collect()
}
