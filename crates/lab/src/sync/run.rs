//! The experiment from end to end.

use iostrata_core::doctor::Setting;
use iostrata_core::gap::{Gap, Missing, Reason, TargetPart};
use iostrata_core::lab;
use iostrata_core::sync::{
    self, Calibration, Case, Projected, SyncCall, SyncResult, SyncRow, Write,
};
use iostrata_tracer::machine;
use rustix::io::Errno;

use super::calibration::calibrate;
use super::item::Item;
use super::settings::{self, Plan, shows};
use crate::caveats;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::refused::Refused;
use crate::scratch::ImageKind;
use crate::session::{Effort, Session, measure};
use crate::target::Target;
use crate::tool::or_gap;

impl Experiment for Plan {
    fn nothing(&self) -> &'static str {
        "nothing to measure: give at least one call, size and file system"
    }

    fn usual_images(&self, effort: Effort) -> &'static [ImageKind] {
        match effort {
            Effort::Quick => &[ImageKind::Ext4],
            Effort::Normal => &[ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs],
            Effort::Thorough => &ImageKind::ALL,
        }
    }

    fn rows_on(&self, _: &Target) -> usize {
        self.cases.len()
    }

    fn needed_bytes(&self) -> u64 {
        settings::needed_bytes(self.effort, &self.cases)
    }

    fn measure(&self, session: &mut Session<'_>) -> Result<lab::Experiment, LabError> {
        let items = self.items(session)?;
        let rows = measure(session, &items, session.targets.len())?;
        session.lack_what_is_unseen();
        let calibrations = calibrations(session)?;
        let settings = machine_settings(session);
        let mut result = session.result(
            sync::QUESTION,
            rows,
            Projected {
                calibrations,
                projections: Vec::new(),
            },
            (),
            items.len(),
        );
        result.caveats = caveats(session, &result.rows);
        result.settings = Some(settings);
        result.own.projections = sync::projections(&result, &self.devices);
        let unprojected = unprojected(&result);
        result.missing.extend(unprojected);
        Ok(lab::Experiment::Sync(result))
    }
}

impl Plan {
    /// Every case on every target; unsupported ones are listed as missing.
    fn items<'a>(&self, session: &mut Session<'a>) -> Result<Vec<Item<'a>>, LabError> {
        let mut items = Vec::new();
        let is_preallocated = |case: &Case| case.write == Write::Preallocated;
        let wanted = self.cases.iter().any(is_preallocated);
        for target in session.targets {
            let mut refused = Refused::nothing();
            if wanted && let Some(why) = settings::no_preallocation(target)? {
                let part = TargetPart::Case(Write::Preallocated.as_str().to_owned());
                refused.add(part, why, is_preallocated);
            }
            let shows = shows(self.effort, items.is_empty());
            items.extend(
                refused
                    .possible(&self.cases)
                    .enumerate()
                    .map(|(index, &case)| Item {
                        target,
                        case,
                        shown: index == 0 && shows,
                    }),
            );
            session.missing.extend(refused.gaps(target, &self.cases));
        }
        match session.missing.as_slice() {
            [gap, ..] if items.is_empty() => Err(LabError::io(
                format!("measure {} ({})", gap.what.text(), gap.why.text()),
                Errno::OPNOTSUPP,
            )),
            _ => Ok(items),
        }
    }
}

/// Targets without a projection because others also sent requests to their disks.
fn unprojected(result: &SyncResult) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for target in &result.targets {
        let on_target = |row: &&SyncRow| row.row.target == target.name;
        let projected = result.own.projections.iter().any(|one| {
            let row = result.rows.get(one.row - 1);
            row.as_ref().is_some_and(on_target)
        });
        let disturbed = result
            .rows
            .iter()
            .filter(on_target)
            .find_map(SyncRow::disturbance);
        if let (false, Some(why)) = (projected, disturbed) {
            let target = target.name.clone();
            gaps.push(Gap::new(Missing::Projections { target }, why));
        }
    }
    gaps
}

fn calibrations(session: &mut Session<'_>) -> Result<Vec<Calibration>, LabError> {
    let mut calibrations = Vec::new();
    for target in session.targets {
        let what = target.part(TargetPart::DirectLatency);
        match session.unless_failed(|session| or_gap(calibrate(session, target), what))? {
            Some(Ok(calibration)) => calibrations.push(calibration),
            Some(Err(gap)) => session.missing.push(gap),
            None => break,
        }
    }
    Ok(calibrations)
}

/// Settings of the storage under the first target.
fn machine_settings(session: &mut Session<'_>) -> Vec<Setting> {
    let read = session.targets.first();
    match read.map(|target| machine::settings(&target.dir)) {
        Some(Ok(settings)) => settings,
        Some(Err(error)) => {
            let gap = Gap::new(Missing::StorageSettings, Reason::Error(error.to_string()));
            session.missing.push(gap);
            Vec::new()
        }
        None => Vec::new(),
    }
}

fn caveats(session: &Session<'_>, rows: &[SyncRow]) -> Vec<String> {
    let targets = session.targets;
    let flushed = "a completed flush has reached the host, which may keep the data in memory; \
                   this rate is not that of a disk";
    let mut caveats = caveats::begun(session, flushed);
    caveats.extend(targets.iter().filter_map(caveats::of_written));
    caveats.extend(targets.iter().filter_map(shared));
    caveats.extend(caveats::images(targets, caveats::IMAGE_WRITES));
    if rows.iter().any(|row| row.row.case.call == SyncCall::Sync) {
        caveats.push(
            "sync(2) writes every file system of the machine: its times include dirty data of \
             other programs"
                .to_owned(),
        );
    }
    caveats.extend(caveats::stolen(rows.iter().map(|row| &row.row), "rows"));
    caveats
}

/// On a shared disk, requests without a file cannot be separated from those of others.
fn shared(target: &Target) -> Option<String> {
    let others = !target.image && target.unchargeable().is_none() && !target.is_memory();
    others.then(|| {
        format!(
            "{} is shared: data requests are charged by file, but journal, commit, metadata and \
             flush requests belong to no file, and may include those of other programs",
            target.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::target;

    #[test]
    fn a_disk_that_others_use_is_named_and_an_image_or_memory_is_not() {
        let seen = |target: &Target| shared(target).is_some();
        assert!(seen(&target("ext4", false, &[8])));
        assert!(!seen(&target("ext4", true, &[7])));
        assert!(!seen(&target("tmpfs", false, &[])));
    }
}
