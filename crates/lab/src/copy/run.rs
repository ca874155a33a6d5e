//! The experiment from end to end.

use std::cell::Cell;
use std::fs::File;

use iostrata_core::copy::{self, CopyMethod, CopyRow, Verified, Yardstick, Yardsticks};
use iostrata_core::lab;
use rustix::fs::{IFlags, ioctl_getflags};

use super::ground::Ground;
use super::item::States;
use super::item::{Item, YardstickItem};
use super::settings::{self, Plan};
use crate::caveats;
use crate::engine::StoppingRule;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::scratch::ImageKind;
use crate::session::{Effort, Item as _, Session, observe_all, time};
use crate::target::Target;

impl Experiment for Plan {
    fn nothing(&self) -> &'static str {
        "nothing to copy: give at least one method, size and file system"
    }

    /// The targets that can share blocks, where that is shown.
    fn usual_images(&self, _: Effort) -> &'static [ImageKind] {
        if self.images.is_empty() {
            &[]
        } else {
            &[ImageKind::Xfs, ImageKind::Btrfs]
        }
    }

    fn rows_on(&self, target: &Target) -> usize {
        self.of(target).len()
    }

    fn needed_bytes(&self) -> u64 {
        settings::needed_bytes(self)
    }

    fn stopping(&self, usual: StoppingRule) -> StoppingRule {
        settings::stopping(self.effort, usual)
    }

    /// A copy that differs from its source is [`LabError::Differs`].
    fn measure(&self, session: &mut Session<'_>) -> Result<lab::Experiment, LabError> {
        let rows = session.targets.iter().map(|target| self.of(target).len());
        let planned_rows: usize = rows.sum();
        let ground = session.until_stopped(|session| Ground::prepare(session, self))?;
        let ground = ground.unwrap_or_default();
        let verified = Cell::new(0);
        let items = ground.items(&verified);
        let (rows, yardsticks) = both(session, &items, &ground.yardsticks(&items))?;
        session.lack_what_is_unseen();
        session.missing.extend(ground.missing.iter().cloned());
        let mut result = session.result(
            copy::QUESTION,
            rows,
            Yardsticks { yardsticks },
            Verified {
                verified_copies: verified.get(),
            },
            planned_rows - ground.left_out,
        );
        result.caveats = caveats(session, &result.rows);
        Ok(lab::Experiment::Copy(result))
    }
}

/// Yardsticks are interleaved with the copies that are compared with them.
fn both(
    session: &mut Session<'_>,
    items: &[Item<'_>],
    yardsticks: &[YardstickItem<'_>],
) -> Result<(Vec<CopyRow>, Vec<Yardstick>), LabError> {
    if session.interrupted {
        return Ok((Vec::new(), Vec::new()));
    }
    let labels = items.iter().map(Item::label);
    let labels: Vec<String> = labels
        .chain(yardsticks.iter().map(YardstickItem::label))
        .collect();
    let mut states: Vec<States> = items.iter().map(|_| States::default()).collect();
    let mut timed = time(
        session,
        &labels,
        items.len(),
        |session, index| match items.get(index) {
            Some(item) => item.run(session, &mut states[index]),
            None => yardsticks[index - items.len()].run(session),
        },
    )?;
    let of_yardsticks = timed.split_off(items.len());
    let yardsticks = yardsticks.iter().zip(of_yardsticks);
    let yardsticks = yardsticks.filter_map(|(item, timed)| {
        let target = item.place.map(|(target, _)| target.name.clone());
        let (measure, size_bytes) = (item.measure, item.size_bytes);
        Some(Yardstick::new(measure, target, size_bytes, timed.timing?))
    });
    let yardsticks: Vec<Yardstick> = yardsticks.collect();
    let rows = observe_all(session, items, timed, states)?.into_iter();
    let rows = rows.map(|row| CopyRow::new(row, &yardsticks)).collect();
    Ok((rows, yardsticks))
}

fn caveats(session: &Session<'_>, rows: &[CopyRow]) -> Vec<String> {
    let targets = session.targets;
    let guest = "page faults cost more than on bare metal, and data made durable by the device \
                 has reached the host, which may keep it in memory";
    let mut caveats = caveats::begun(session, guest);
    for target in targets {
        let in_memory = "so nothing is durable, no source is cold, and no row involves a device";
        caveats.extend(caveats::of_target(target, in_memory, "copies go"));
        caveats.extend(compression(target));
        caveats.extend(fewer_bytes(target, rows));
    }
    caveats.extend(caveats::images(targets, caveats::IMAGE_WRITES));
    caveats.extend(caveats::stolen(rows.iter().map(|row| &row.row), "rows"));
    caveats
}

/// The directory's own flag, or the mount option (`ioctl_iflags(2)`, `FS_COMPR_FL`).
fn compression(target: &Target) -> Option<String> {
    let by_mount = target
        .storage
        .mount_options
        .split(',')
        .any(|option| option.starts_with("compress"));
    let by_flag = File::open(&target.dir)
        .ok()
        .and_then(|dir| ioctl_getflags(&dir).ok())
        .is_some_and(|flags| flags.contains(IFlags::COMPRESSED));
    (by_mount || by_flag).then(|| {
        format!(
            "{} compresses data: the source is incompressible, but the attempt costs time",
            target.name
        )
    })
}

/// Rows where the device received less than the file: blocks were shared, compressed or not
/// written.
fn fewer_bytes(target: &Target, rows: &[CopyRow]) -> Option<String> {
    let mut names: Vec<&str> = rows
        .iter()
        .filter(|row| row.row.target == target.name && row.row.case.method != CopyMethod::Reflink)
        .filter(|row| row.figures.is_shared == Some(true))
        .map(|row| row.row.case.method.as_str())
        .collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        format!(
            "on {} the device wrote less than half of the file for {}: its blocks are shared, \
             deduplicated or compressed, so the row does not copy the data",
            target.name,
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use iostrata_core::copy::{Case, Destination, Source};
    use iostrata_core::evidence::{DeviceCounts, DeviceRange, Evidence, RequestCount};
    use iostrata_core::lab::{Interference, Row};

    use super::*;
    use crate::session::target;

    fn row(method: CopyMethod, data_bytes: u64) -> CopyRow {
        let counts = DeviceCounts {
            data: RequestCount {
                count: 1,
                bytes: data_bytes,
                time_s: 0.0,
            },
            ..DeviceCounts::default()
        };
        let row = Row {
            case: Case {
                method,
                buffer_bytes: None,
                source: Source::Warm,
                durable: true,
                size_bytes: 1000,
                destination: Destination::Fresh,
            },
            target: "t".to_owned(),
            timing: None,
            evidence: Evidence {
                device: Some(counts.into()),
                device_after_exit: Some(DeviceRange::default()),
                ..Evidence::default()
            },
            interference: Interference::default(),
            notes: Vec::new(),
        };
        CopyRow::new(row, &[])
    }

    #[test]
    fn what_a_mount_compresses_is_named() {
        let mut squeezed = target("btrfs", true, &[7]);
        assert_eq!(compression(&squeezed), None);
        squeezed.storage.mount_options = "rw,compress=zstd:3".to_owned();
        assert!(compression(&squeezed).is_some_and(|said| said.starts_with("t compresses")));
    }

    #[test]
    fn shared_blocks_are_seen_by_what_the_device_took() {
        let disk = target("xfs", false, &[7]);
        let whole = [row(CopyMethod::Cp, 1000), row(CopyMethod::Reflink, 0)];
        assert_eq!(fewer_bytes(&disk, &whole), None);
        let shared = [row(CopyMethod::Cp, 0), row(CopyMethod::ReadWrite, 1000)];
        let found = fewer_bytes(&disk, &shared);
        assert!(found.is_some_and(|said| said.contains("for cp:")));
    }
}
