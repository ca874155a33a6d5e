//! The rows of one target, and what they can be asked.

use crate::bytes;
use crate::copy::{Case, CopyResult, CopyRow, Measure, Method, Source, Yardstick};
use crate::judge::{Compared, HOST, Missing};

/// Rows and yardsticks of one target.
pub(super) struct TargetRows<'a> {
    pub(super) name: &'a str,
    pub(super) rows: Vec<Numbered<'a>>,
    yardsticks: &'a [Yardstick],
}

/// A row with its 1-based number in the result.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'a> {
    pub(super) number: usize,
    pub(super) row: &'a CopyRow,
}

impl<'a> TargetRows<'a> {
    /// The targets of a result: the host first, then in the order of the rows.
    pub(super) fn of(result: &'a CopyResult) -> Vec<Self> {
        let mut targets: Vec<Self> = Vec::new();
        for (index, row) in result.rows.iter().enumerate() {
            let numbered = Numbered {
                number: index + 1,
                row,
            };
            let name = row.row.target.as_str();
            match targets.iter_mut().find(|target| target.name == name) {
                Some(target) => target.rows.push(numbered),
                None => targets.push(Self {
                    name,
                    rows: vec![numbered],
                    yardsticks: &result.yardsticks,
                }),
            }
        }
        // Stable: the others keep their order.
        targets.sort_by_key(|target| target.name != HOST);
        targets
    }

    /// The row of a method that is like `wanted` says; of several sizes the largest, and
    /// of several buffers the one that took the least time.
    pub(super) fn best(
        &self,
        what: &str,
        wanted: impl Fn(&Case) -> bool,
    ) -> Result<Numbered<'a>, Missing> {
        let size = self.size_bytes(&wanted);
        self.rows
            .iter()
            .filter(|row| wanted(row.case()) && Some(row.case().size_bytes) == size)
            .min_by(|one, other| one.median_s().total_cmp(&other.median_s()))
            .copied()
            .ok_or_else(|| Missing::Rows(format!("no row of {what} on {}", self.name)))
    }

    fn size_bytes(&self, wanted: &impl Fn(&Case) -> bool) -> Option<u64> {
        let sizes = self.rows.iter().filter(|row| wanted(row.case()));
        sizes.map(|row| row.case().size_bytes).max()
    }

    /// The same of a method, from a warm source, to the page cache.
    pub(super) fn plain(&self, method: Method) -> Result<Numbered<'a>, Missing> {
        self.best(method.as_str(), |case| {
            case.method == method && is_plain(case)
        })
    }

    /// The row like `row` in all but what `change` changes.
    pub(super) fn counterpart(
        &self,
        row: &Numbered<'_>,
        what: &str,
        change: impl FnOnce(&mut Case),
    ) -> Result<Numbered<'a>, Missing> {
        let mut case = *row.case();
        change(&mut case);
        let found = self.rows.iter().find(|row| *row.case() == case);
        found
            .copied()
            .ok_or_else(|| Missing::Rows(format!("no row of {what} on {}", self.name)))
    }

    /// A yardstick's median for as many bytes as `row` copies, seconds.
    pub(super) fn yardstick_s(&self, measure: Measure, row: &Numbered<'_>) -> Option<f64> {
        let fits = |yardstick: &&Yardstick| {
            yardstick.measure == measure
                && (yardstick.size_bytes == row.case().size_bytes
                    || measure == Measure::ProgramStart)
                && (!measure.is_of_target() || yardstick.target.as_deref() == Some(self.name))
        };
        Some(self.yardsticks.iter().find(fits)?.timing.median_s)
    }
}

/// Warm, and to the page cache.
pub(super) fn is_plain(case: &Case) -> bool {
    case.source == Source::Warm && !case.durable
}

impl<'a> Numbered<'a> {
    pub(super) fn case(&self) -> &'a Case {
        &self.row.row.case
    }

    /// Infinite for a row that was not timed, so that it is never the quickest.
    pub(super) fn median_s(&self) -> f64 {
        let timing = self.row.row.timing.as_ref();
        timing.map_or(f64::INFINITY, |timing| timing.median_s)
    }

    /// `read_write 64 KiB`, `sendfile`.
    pub(super) fn name(&self) -> String {
        let case = self.case();
        match case.buffer_bytes {
            Some(_) if case.has_whole_buffer() => format!("{} whole file", case.method.as_str()),
            Some(bytes) => format!("{} {}", case.method.as_str(), bytes::exact(bytes)),
            None => case.method.as_str().to_owned(),
        }
    }

    /// How many times as long this row took as `other`.
    pub(super) fn time_over(&self, other: &Self) -> Result<Compared, Missing> {
        Compared::of(
            (self.number, self.times_s()?),
            (other.number, other.times_s()?),
        )
    }

    fn times_s(&self) -> Result<&'a [f64], Missing> {
        let timing = self.row.row.timing.as_ref();
        let timing = timing
            .ok_or_else(|| Missing::Evidence(format!("row {} has no timing run", self.number)))?;
        Ok(&timing.samples_s)
    }

    /// Bytes of file contents that the device took, while it ran and after, if they were
    /// counted without loss.
    pub(super) fn data_bytes(&self) -> Result<u64, Missing> {
        let lost = self.row.row.evidence.lost_events;
        if lost > 0 {
            let lost = bytes::grouped(lost);
            return Err(Missing::Evidence(format!(
                "{lost} events were lost in row {}",
                self.number
            )));
        }
        self.row.figures.data_bytes.ok_or_else(|| {
            let gap = self.row.row.evidence.missing.first();
            let why = gap.map_or_else(String::new, |gap| format!(" ({}: {})", gap.what, gap.why));
            Missing::Evidence(format!(
                "the device requests of row {} were not observed{why}",
                self.number
            ))
        })
    }
}
