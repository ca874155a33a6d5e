//! Claims about what access times cost, decided by the loops.

use crate::answer::{Answer, Verdict};
use crate::atime::comparison::Saving;
use crate::atime::{AtimeResult, Comparison, Loop, LoopRow, Mount, Reading};
use crate::bytes;
use crate::judge::figures::number;
use crate::judge::{Finding, Missing, answer};

/// By how much noatime was faster in the article, per cent: 0.4835 s against 0.5478 s.
const ARTICLE_PERCENT: f64 = 12.0;

/// Sectors per read from which on a loop is said to write for its reads: what a journal
/// writes on its own in the background is far less, what an inode takes is about one.
const WRITES_PER_READ: f64 = 0.1;

/// Below this many sectors per read a loop shows nothing of what updates cost the device:
/// whatever is written is the update of one inode, or the file system's own.
const NOTHING_PER_READ: f64 = 0.01;

/// Judges one claim on one target.
type Judge = fn(&Loops<'_>) -> Result<Finding, Missing>;

const CLAIMS: [(&str, Judge); 7] = [
    (
        "reading files makes the device write: about a sector for each file, the first time",
        first_reading_writes,
    ),
    (
        "under relatime files that are read again are not written again",
        second_reading_writes_nothing,
    ),
    (
        "a loop over one file shows what relatime costs",
        one_file_shows_the_cost,
    ),
    (
        "noatime makes the loop over one file 12 % faster, as in the article",
        as_in_the_article,
    ),
    (
        "noatime makes reading changed files faster than relatime, their write-back included",
        faster_at_first,
    ),
    (
        "noatime makes reading files again faster than relatime",
        faster_again,
    ),
    (
        "lazytime spares the device the writes of relatime",
        lazytime_spares_writes,
    ),
];

pub(super) fn answers(result: &AtimeResult) -> Vec<Answer> {
    let targets = Loops::of(result);
    let judged = |judge: Judge| -> Vec<(&str, Result<Finding, Missing>)> {
        targets
            .iter()
            .map(|target| (target.name, judge(target)))
            .collect()
    };
    CLAIMS
        .iter()
        .filter_map(|(claim, judge)| answer(claim, &judged(*judge)))
        .collect()
}

/// Loops and comparisons of one target.
struct Loops<'a> {
    name: &'a str,
    in_memory: bool,
    rows: Vec<(usize, &'a LoopRow)>,
    comparisons: Vec<&'a Comparison>,
}

impl<'a> Loops<'a> {
    fn of(result: &'a AtimeResult) -> Vec<Self> {
        let mut targets: Vec<Self> = Vec::new();
        for (number, row) in result.loops() {
            let name = row.row.target.as_str();
            if let Some(known) = targets.iter_mut().find(|target| target.name == name) {
                known.rows.push((number, row));
                continue;
            }
            let own = |comparison: &&Comparison| comparison.target == name;
            targets.push(Self {
                name,
                in_memory: matches!(row.row.case.filesystem.as_str(), "tmpfs" | "ramfs"),
                rows: vec![(number, row)],
                comparisons: result.comparisons.iter().filter(own).collect(),
            });
        }
        targets
    }

    fn row(
        &self,
        files: Loop,
        reading: Reading,
        mount: Mount,
    ) -> Result<(usize, &'a LoopRow), Missing> {
        let wanted = |row: &LoopRow| {
            let case = &row.row.case;
            (case.files, case.reading, case.mount) == (files, reading, mount)
        };
        let found = self.rows.iter().find(|(_, row)| wanted(row)).copied();
        found.ok_or_else(|| {
            Missing::Rows(format!(
                "no {} loop under {}",
                files.as_str(),
                mount.as_str()
            ))
        })
    }

    /// Sectors that a loop made the device write.
    fn written(&self, files: Loop, reading: Reading, mount: Mount) -> Result<Written, Missing> {
        let (number, row) = self.row(files, reading, mount)?;
        if self.in_memory {
            return Err(Missing::Rows(format!("{} has no device", self.name)));
        }
        let sectors = row.sectors.ok_or_else(|| {
            Missing::Evidence(format!(
                "the device writes of row {number} were not observed whole"
            ))
        })?;
        Ok(Written {
            number,
            mount,
            sectors,
            reads: row.row.case.reads,
        })
    }

    fn comparison(
        &self,
        files: Loop,
        reading: Reading,
        mount: Mount,
    ) -> Result<&'a Comparison, Missing> {
        // Says which row is missing, if one is.
        self.row(files, reading, mount)?;
        self.row(files, reading, Mount::Noatime)?;
        let wanted =
            |one: &&&Comparison| (one.files, one.reading, one.mount) == (files, reading, mount);
        let found = self.comparisons.iter().find(wanted).copied();
        found.ok_or_else(|| Missing::Evidence("a loop has no timing run".to_owned()))
    }
}

/// What a loop wrote.
struct Written {
    number: usize,
    mount: Mount,
    sectors: u64,
    reads: u64,
}

impl Written {
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

fn interval(saving: &Saving) -> Result<(f64, f64), Missing> {
    saving.interval().ok_or_else(|| {
        Missing::Evidence("the timing runs are too few for a 95 % interval".to_owned())
    })
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

fn first_reading_writes(loops: &Loops<'_>) -> Result<Finding, Missing> {
    let written = |mount| loops.written(Loop::ManyFiles, Reading::First, mount);
    let relatime = written(Mount::Relatime)?;
    let mut all = vec![written(Mount::Strictatime), written(Mount::Noatime)];
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

fn second_reading_writes_nothing(loops: &Loops<'_>) -> Result<Finding, Missing> {
    let written = |reading| loops.written(Loop::ManyFiles, reading, Mount::Relatime);
    let (first, second) = (written(Reading::First)?, written(Reading::Second)?);
    let mut because = format!(
        "sectors written under relatime: first reading {}, second {}",
        bytes::grouped(first.sectors),
        bytes::grouped(second.sectors)
    );
    let mut rows = numbers([&first, &second]);
    if let Ok(strict) = loops.written(Loop::ManyFiles, Reading::Second, Mount::Strictatime) {
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
fn one_file_shows_the_cost(loops: &Loops<'_>) -> Result<Finding, Missing> {
    let written = loops.written(Loop::OneFile, Reading::First, Mount::Relatime)?;
    let mut because = format!(
        "{} reads made the device write {} sectors",
        bytes::grouped(written.reads),
        bytes::grouped(written.sectors)
    );
    let mut rows = vec![written.number];
    if let Ok(compared) = loops.comparison(Loop::OneFile, Reading::First, Mount::Relatime)
        && let Ok(figure) = saved(&compared.timing)
    {
        because = format!("{because}; noatime saves {figure} of the time");
        rows.extend(compared.rows);
    }
    let verdict = match written.per_read() {
        few if few < NOTHING_PER_READ => Verdict::Refuted,
        many if many >= WRITES_PER_READ => Verdict::Holds,
        _ => Verdict::Inconclusive,
    };
    Ok(Finding {
        verdict,
        because,
        rows,
    })
}

/// The article's `atime` is what Linux calls strictatime; the same loop under Linux's
/// default is told beside it.
fn as_in_the_article(loops: &Loops<'_>) -> Result<Finding, Missing> {
    let strict = loops.comparison(Loop::OneFile, Reading::First, Mount::Strictatime)?;
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
    if let Ok(relatime) = loops.comparison(Loop::OneFile, Reading::First, Mount::Relatime)
        && let Ok(figure) = saved(&relatime.timing)
    {
        because = format!("{because}, {figure} against relatime");
        rows.extend(relatime.rows);
    }
    Ok(Finding {
        verdict,
        because,
        rows,
    })
}

fn faster_at_first(loops: &Loops<'_>) -> Result<Finding, Missing> {
    let compared = loops.comparison(Loop::ManyFiles, Reading::First, Mount::Relatime)?;
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

fn faster_again(loops: &Loops<'_>) -> Result<Finding, Missing> {
    let compared = loops.comparison(Loop::ManyFiles, Reading::Second, Mount::Relatime)?;
    Ok(Finding {
        verdict: above_zero(interval(&compared.timing)?),
        because: format!("noatime saves {} of reading", saved(&compared.timing)?),
        rows: compared.rows.to_vec(),
    })
}

/// Up to the next sync of the file system, which writes lazy times too
/// (`__writeback_single_inode`, fs/fs-writeback.c).
fn lazytime_spares_writes(loops: &Loops<'_>) -> Result<Finding, Missing> {
    let written = |mount| loops.written(Loop::ManyFiles, Reading::First, mount);
    let (lazy, relatime) = (written(Mount::Lazytime)?, written(Mount::Relatime)?);
    if relatime.per_read() < WRITES_PER_READ {
        return Err(Missing::Evidence(
            "relatime made the device write nothing either".to_owned(),
        ));
    }
    let share = lazy.sectors as f64 / relatime.sectors as f64;
    let verdict = match share {
        share if share <= 0.1 => Verdict::Holds,
        share if share >= 0.9 => Verdict::Refuted,
        _ => Verdict::Inconclusive,
    };
    Ok(Finding {
        verdict,
        because: format!(
            "sectors written for the first reading of {} files, up to a sync: {}, {}: a sync writes \
             what lazytime had put off",
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
