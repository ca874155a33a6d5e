//! The rows of one target, and queries on them.

use super::{Compared, Missing, Requests};
use crate::bytes;
use crate::environment::Device;
use crate::evidence::{DeviceCounts, Evidence};
use crate::gap::{self, Stratum};
use crate::lab::{Case, MeasuredTarget, Row, machine_of, target_of};
use crate::noun::counted;

/// A row that claims can be judged on.
pub(crate) trait Judged {
    type Case: Case;
    /// The type that distinguishes rows of one size.
    type Kind: Copy + PartialEq;
    /// The unit for which device requests are counted.
    const UNIT: &'static str = "run";

    fn row(&self) -> &Row<Self::Case>;
    fn kind(&self) -> Self::Kind;
    fn size_bytes(&self) -> u64;

    /// The case in the form that answers use.
    fn name(&self) -> String {
        self.row().case.label()
    }

    /// [`Self::UNIT`]s of a timing run.
    fn timed(&self) -> u64 {
        1
    }

    /// [`Self::UNIT`]s of the observed run.
    fn observed(&self) -> u64 {
        1
    }

    /// Why the row is not as requested, and decides nothing.
    fn unfit(&self) -> Option<String> {
        None
    }

    /// Why its requests may belong to others.
    fn disturbed(&self) -> Option<String> {
        None
    }
}

/// Rows of one target of a result.
pub(crate) struct TargetRows<'a, R, X> {
    /// Its name, followed by the machine in a result of several machines.
    pub(crate) key: &'a str,
    /// Its name on its machine.
    pub(crate) name: &'a str,
    pub(crate) rows: Vec<Numbered<'a, R>>,
    pub(crate) result: &'a X,
}

/// A row with its 1-based number in the result.
pub(crate) struct Numbered<'a, R> {
    pub(crate) number: usize,
    pub(crate) row: &'a R,
    target: Option<&'a MeasuredTarget>,
}

impl<R> Clone for Numbered<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Numbered<'_, R> {}

impl<'a, R: Judged, X> TargetRows<'a, R, X> {
    /// The targets of a result in the order of the rows, and then those of `names` without rows.
    pub(crate) fn of(
        result: &'a X,
        measured: &'a [MeasuredTarget],
        rows: impl Iterator<Item = (usize, &'a R)>,
        names: impl Iterator<Item = &'a str>,
    ) -> Vec<Self> {
        let mut targets: Vec<Self> = Vec::new();
        for (number, row) in rows {
            let key = row.row().target.as_str();
            let numbered = Numbered {
                number,
                row,
                target: measured.iter().find(|target| target.name == key),
            };
            Self::keyed(&mut targets, key, result).rows.push(numbered);
        }
        for key in names {
            Self::keyed(&mut targets, key, result);
        }
        targets
    }

    fn keyed<'b>(targets: &'b mut Vec<Self>, key: &'a str, result: &'a X) -> &'b mut Self {
        let known = targets.iter().position(|target| target.key == key);
        let place = known.unwrap_or(targets.len());
        if known.is_none() {
            targets.push(Self {
                key,
                name: target_of(key),
                rows: Vec::new(),
                result,
            });
        }
        &mut targets[place]
    }

    /// The machine, in a result of several machines.
    pub(crate) fn machine(&self) -> Option<&'a str> {
        machine_of(self.key)
    }

    /// The row of a kind, of any size.
    pub(crate) fn one(&self, kind: R::Kind) -> Result<Numbered<'a, R>, Missing> {
        let mut rows = self.rows.iter();
        let found = rows.find(|row| row.row.kind() == kind);
        found.copied().ok_or(Missing::Rows)
    }

    pub(crate) fn of_size(&self, kind: R::Kind, size_bytes: u64) -> Option<Numbered<'a, R>> {
        let is_wanted =
            |row: &&Numbered<'_, R>| (row.row.kind(), row.row.size_bytes()) == (kind, size_bytes);
        self.rows.iter().find(is_wanted).copied()
    }

    /// One row of each kind for every size that all of them have, ascending; never empty.
    pub(crate) fn each_size<const N: usize>(
        &self,
        kinds: [R::Kind; N],
    ) -> Result<Vec<[Numbered<'a, R>; N]>, Missing> {
        let mut sizes: Vec<u64> = self.rows.iter().map(|row| row.row.size_bytes()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let of_size = |size: u64| -> Option<[Numbered<'a, R>; N]> {
            let rows = kinds.iter().map(|kind| self.of_size(*kind, size));
            rows.collect::<Option<Vec<_>>>()?.try_into().ok()
        };
        let mut found: Vec<[Numbered<'a, R>; N]> = sizes.into_iter().filter_map(of_size).collect();
        let unfit = found.iter().flatten().find_map(Numbered::unfit);
        found.retain(|rows| rows.iter().all(|row| row.row.unfit().is_none()));
        if found.is_empty() {
            return Err(unfit.unwrap_or(Missing::Rows));
        }
        Ok(found)
    }

    /// One row of each kind, at the smallest size that all of them have.
    pub(crate) fn smallest<const N: usize>(
        &self,
        kinds: [R::Kind; N],
    ) -> Result<[Numbered<'a, R>; N], Missing> {
        let sizes = self.each_size(kinds)?;
        sizes.first().copied().ok_or(Missing::Rows)
    }

    /// The same at the largest size.
    pub(crate) fn largest<const N: usize>(
        &self,
        kinds: [R::Kind; N],
    ) -> Result<[Numbered<'a, R>; N], Missing> {
        let sizes = self.each_size(kinds)?;
        sizes.last().copied().ok_or(Missing::Rows)
    }

    /// The rows of the smallest and of the largest size that all kinds have.
    pub(crate) fn extremes<const N: usize>(
        &self,
        kinds: [R::Kind; N],
    ) -> Result<[[Numbered<'a, R>; N]; 2], Missing> {
        match self.each_size(kinds)?.as_slice() {
            [smallest, .., largest] => Ok([*smallest, *largest]),
            _ => Err(Missing::Rows),
        }
    }

    /// The row that differs from `row` only in `change`.
    pub(crate) fn like(
        &self,
        row: &Numbered<'_, R>,
        change: impl FnOnce(&mut R::Case),
    ) -> Result<Numbered<'a, R>, Missing>
    where
        R::Case: Clone + PartialEq,
    {
        let mut case = row.case().clone();
        change(&mut case);
        let mut rows = self.rows.iter();
        let found = rows.find(|row| *row.case() == case);
        found.copied().ok_or(Missing::Rows)
    }

    /// Among the rows accepted by `is`, those of the largest size; among them the fastest.
    pub(crate) fn best(&self, is: impl Fn(&R) -> bool) -> Result<Numbered<'a, R>, Missing> {
        let wanted = || self.rows.iter().filter(|row| is(row.row));
        let size = wanted().map(|row| row.row.size_bytes()).max();
        wanted()
            .filter(|row| Some(row.row.size_bytes()) == size)
            .min_by(|one, other| one.median_s().total_cmp(&other.median_s()))
            .copied()
            .ok_or(Missing::Rows)
    }
}

impl<'a, R: Judged> Numbered<'a, R> {
    pub(crate) fn case(&self) -> &'a R::Case {
        &self.row.row().case
    }

    pub(crate) fn evidence(&self) -> &'a Evidence {
        &self.row.row().evidence
    }

    pub(crate) fn size(&self) -> String {
        bytes::exact(self.row.size_bytes())
    }

    /// Why the row decides nothing, if so.
    pub(crate) fn unfit(&self) -> Option<Missing> {
        let why = self.row.unfit()?;
        let number = self.number;
        Some(Missing::Evidence(format!("row {number} {why}")))
    }

    /// A count of the observed run per [`Judged::UNIT`].
    pub(crate) fn each(&self, count: u64) -> f64 {
        count as f64 / self.row.observed() as f64
    }

    /// Median time of a run; infinite for a row without times, so that it is never the fastest.
    pub(crate) fn median_s(&self) -> f64 {
        let timing = self.row.row().timing.as_ref();
        timing.map_or(f64::INFINITY, |timing| timing.median_s)
    }

    /// Seconds per [`Judged::UNIT`] of every timing run.
    pub(crate) fn times_s(&self) -> Result<Vec<f64>, Missing> {
        let timing = self.row.row().timing.as_ref();
        let timing = timing
            .ok_or_else(|| Missing::Evidence(format!("row {} has no timing run", self.number)))?;
        let units = self.row.timed() as f64;
        Ok(timing.samples_s.iter().map(|run_s| run_s / units).collect())
    }

    /// Ratio of this row's time to that of `other`.
    pub(crate) fn time_over(&self, other: &Self) -> Result<Compared, Missing> {
        Compared::of(
            (self.number, &self.times_s()?),
            (other.number, &other.times_s()?),
        )
    }

    /// Whether its file system is in memory: there are no device requests, and a claim about
    /// requests is meaningless.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.target.is_some_and(MeasuredTarget::is_in_memory)
    }

    /// Disks from the file system down to the hardware.
    pub(crate) fn devices(&self) -> &'a [Device] {
        self.target
            .map_or(&[], |target| target.storage.devices.as_slice())
    }

    /// Fails if any event of the observed run was lost.
    pub(crate) fn whole(&self) -> Result<(), Missing> {
        match self.evidence().lost_events {
            0 => Ok(()),
            lost => Err(Missing::Evidence(format!(
                "{} lost in row {}",
                counted(lost, "event"),
                self.number
            ))),
        }
    }

    /// Why its requests are unknown.
    pub(crate) fn unseen(&self) -> Missing {
        const DEVICE: gap::Missing = gap::Missing::Stratum(Stratum::Device);
        // Without an observer, every stratum has a gap with the same reason.
        let gaps = &self.evidence().missing;
        let mut of_device = gaps.iter().filter(|gap| gap.what == DEVICE);
        let gap = of_device.next().or(gaps.first());
        let gap = gap.map_or_else(String::new, |gap| {
            format!(" ({}: {})", gap.what.text(), gap.why.text())
        });
        Missing::Evidence(format!(
            "the device requests of row {} were not observed{gap}",
            self.number
        ))
    }

    /// Device requests while the program ran, if they are its own and were observed without loss.
    pub(crate) fn device(&self) -> Result<&'a DeviceCounts, Missing> {
        if self.is_in_memory() {
            return Err(Missing::Rows);
        }
        self.whole()?;
        if let Some(why) = self.row.disturbed() {
            return Err(Missing::Evidence(format!("{why} (row {})", self.number)));
        }
        self.evidence().exact_device().ok_or_else(|| self.unseen())
    }

    /// The same per [`Judged::UNIT`], by cause.
    pub(crate) fn requests(&self) -> Result<Requests, Missing> {
        let device = self.device()?;
        if self.row.observed() == 0 {
            let (unit, number) = (R::UNIT, self.number);
            return Err(Missing::Evidence(format!(
                "no {unit} of row {number} was observed"
            )));
        }
        Ok(Requests::of(device, |count| self.each(count)))
    }
}

pub(crate) fn numbers<'a, R: 'a>(
    rows: impl IntoIterator<Item = &'a Numbered<'a, R>>,
) -> Vec<usize> {
    rows.into_iter().map(|row| row.number).collect()
}
