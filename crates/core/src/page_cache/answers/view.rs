//! The rows of one target, and what they can be asked.

use crate::bytes;
use crate::judge::{Compared, HOST, Missing};
use crate::page_cache::{PageCacheResult, PageCacheRow, Parse, Reader, State};
use crate::timing::Timing;

/// Rows of one target.
pub(super) struct TargetRows<'a> {
    pub(super) name: &'a str,
    pub(super) rows: Vec<Numbered<'a>>,
}

/// A row with its 1-based number in the result.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'a> {
    pub(super) number: usize,
    pub(super) row: &'a PageCacheRow,
}

impl<'a> TargetRows<'a> {
    /// The targets of a result: the host first, then in the order of the rows.
    pub(super) fn of(result: &'a PageCacheResult) -> Vec<Self> {
        let mut targets: Vec<Self> = Vec::new();
        for (index, row) in result.rows.iter().enumerate() {
            let name = row.row.target.as_str();
            let numbered = Numbered {
                number: index + 1,
                row,
            };
            match targets.iter_mut().find(|target| target.name == name) {
                Some(target) => target.rows.push(numbered),
                None => targets.push(Self {
                    name,
                    rows: vec![numbered],
                }),
            }
        }
        // Stable: the others keep their order.
        targets.sort_by_key(|target| target.name != HOST);
        targets
    }

    /// The row that was asked for as this case, with no parser.
    fn asked(&self, state: State, reader: Reader, size_bytes: u64) -> Option<Numbered<'a>> {
        self.unparsed().find(|numbered| {
            let case = numbered.row.row.case;
            numbered.row.asked_state == state
                && (case.reader, case.size_bytes) == (reader, size_bytes)
        })
    }

    fn unparsed(&self) -> impl Iterator<Item = Numbered<'a>> {
        let rows = self.rows.iter().copied();
        rows.filter(|numbered| numbered.row.row.case.parse == Parse::None)
    }

    /// Rows of a state without parser, of any reader and size.
    pub(super) fn in_state(&self, state: State) -> Result<Vec<Numbered<'a>>, Missing> {
        let asked: Vec<Numbered<'a>> = self
            .unparsed()
            .filter(|numbered| numbered.row.asked_state == state)
            .collect();
        let right = asked.iter().copied().filter(|row| row.row.is_as_asked());
        let right: Vec<Numbered<'a>> = right.collect();
        match (right.is_empty(), asked.first()) {
            (false, _) => Ok(right),
            (true, Some(first)) => Err(first.not_as_asked()),
            (true, None) => Err(Missing::Rows(format!(
                "no {} row on {}",
                state.as_str(),
                self.name
            ))),
        }
    }

    /// Pairs of rows of the same size, ascending; never empty.
    pub(super) fn pairs(
        &self,
        first: (State, Reader),
        second: (State, Reader),
    ) -> Result<Vec<[Numbered<'a>; 2]>, Missing> {
        let mut sizes: Vec<u64> = self
            .unparsed()
            .map(|numbered| numbered.row.row.case.size_bytes)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let asked: Vec<[Numbered<'a>; 2]> = sizes
            .iter()
            .filter_map(|&size| {
                let row = |(state, reader)| self.asked(state, reader, size);
                Some([row(first)?, row(second)?])
            })
            .collect();
        let wrong = asked.iter().flatten().find(|row| !row.row.is_as_asked());
        let right: Vec<[Numbered<'a>; 2]> = asked
            .iter()
            .filter(|pair| pair.iter().all(|row| row.row.is_as_asked()))
            .copied()
            .collect();
        match (right.is_empty(), wrong) {
            (false, _) => Ok(right),
            (true, Some(wrong)) => Err(wrong.not_as_asked()),
            (true, None) => Err(Missing::Rows(format!(
                "no size has rows of {} {} and {} {} on {}",
                first.0.as_str(),
                first.1.as_str(),
                second.0.as_str(),
                second.1.as_str(),
                self.name
            ))),
        }
    }
}

impl<'a> Numbered<'a> {
    /// Why the row decides nothing.
    pub(super) fn not_as_asked(&self) -> Missing {
        let why = self.row.not_as_asked.as_deref().unwrap_or("unknown why");
        Missing::Evidence(format!(
            "row {} was to be {} and is {}: {why}",
            self.number,
            self.row.asked_state.as_str(),
            self.row.row.case.state.as_str()
        ))
    }

    /// Size of the file as text.
    pub(super) fn size(&self) -> String {
        bytes::exact(self.row.row.case.size_bytes)
    }

    pub(super) fn timing(&self) -> Result<&'a Timing, Missing> {
        let timing = self.row.row.timing.as_ref();
        timing.ok_or_else(|| Missing::Evidence(format!("row {} has no timing run", self.number)))
    }

    /// How many times as long this row took as `other`.
    pub(super) fn time_over(&self, other: &Self) -> Result<Compared, Missing> {
        Compared::of(
            (self.number, &self.timing()?.samples_s),
            (other.number, &other.timing()?.samples_s),
        )
    }

    /// Minor faults of the observed run.
    pub(super) fn minor_faults(&self) -> Option<u64> {
        self.row.row.evidence.faults.minor
    }
}

/// Numbers of rows, for a finding.
pub(super) fn numbers<'a>(rows: impl IntoIterator<Item = &'a Numbered<'a>>) -> Vec<usize> {
    rows.into_iter().map(|row| row.number).collect()
}
