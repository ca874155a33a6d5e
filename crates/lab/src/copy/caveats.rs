//! Properties of this machine that limit what the rows mean, found, not recited.

use std::fs::File;

use iostrata_core::copy::{CopyRow, Method};
use iostrata_core::lab::MeasuredTarget;
use rustix::fs::{IFlags, ioctl_getflags};

use crate::target::Target;

/// Share of a row's time that the hypervisor may take before it is said.
const STEAL_LIMIT: f64 = 0.05;

/// The caveats of a run.
pub(super) fn caveats(
    targets: &[Target],
    virtualization: Option<&str>,
    rows: &[CopyRow],
) -> Vec<String> {
    let mut caveats = Vec::new();
    // A container alone shares the kernel that drives the disk.
    if let Some(kind) = virtualization.filter(|kind| kind.contains("virtual machine")) {
        caveats.push(format!(
            "{kind}: page faults cost more than on bare metal, and what the device has made \
             durable here reached the host, which may keep it in memory"
        ));
    }
    for target in targets {
        caveats.extend(of_target(target));
        caveats.extend(compression(target));
        caveats.extend(fewer_bytes(&target.measured(), rows));
    }
    if targets.iter().any(|target| target.image) {
        caveats.push(
            "images are files behind loop devices: their times include the file system that \
             holds them, their requests are counted at the loop device"
                .to_owned(),
        );
    }
    caveats.extend(stolen(rows));
    caveats
}

fn of_target(target: &Target) -> Option<String> {
    let (name, filesystem) = (&target.name, &target.storage.filesystem);
    if target.is_memory() {
        return Some(format!(
            "{name} is {filesystem}: it lives in memory, so that nothing is durable, no source \
             is cold, and no row has a device in it"
        ));
    }
    (filesystem == "overlay").then(|| {
        format!(
            "{name} is overlayfs: copies go to a file system below it, whose requests are not \
             charged here"
        )
    })
}

/// What the directory's own flag or the mount says (`ioctl_iflags(2)`, `FS_COMPR_FL`).
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
            "{} compresses: the source does not compress, but trying to costs time",
            target.name
        )
    })
}

/// Where the device took less than the file: blocks were shared, compressed or not written.
fn fewer_bytes(target: &MeasuredTarget, rows: &[CopyRow]) -> Option<String> {
    let mut names: Vec<&str> = rows
        .iter()
        .filter(|row| row.row.target == target.name && row.row.case.method != Method::Reflink)
        .filter(|row| row.figures.is_shared == Some(true))
        .map(|row| row.row.case.method.as_str())
        .collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        format!(
            "on {} the device took less than half of the file for {}: its blocks are shared, \
             deduplicated or compressed, so the row is no copy of the data",
            target.name,
            names.join(", ")
        )
    })
}

fn stolen(rows: &[CopyRow]) -> Option<String> {
    let disturbed = rows.iter().filter(|row| {
        let timing = row.row.timing.as_ref();
        let measured_s: f64 = timing.map_or(0.0, |timing| timing.samples_s.iter().sum());
        let steal_s = row.row.interference.steal_s;
        steal_s.is_some_and(|steal_s| steal_s > measured_s * STEAL_LIMIT && steal_s > 0.0)
    });
    let count = disturbed.count();
    (count > 0).then(|| {
        format!(
            "the hypervisor took CPU time away during the timing of {count} of {} rows",
            rows.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use iostrata_core::copy::{Case, Destination, Source};
    use iostrata_core::evidence::{DeviceCounts, Evidence, RequestCount};
    use iostrata_core::lab::{Interference, Row};

    use super::*;
    use crate::session::target;

    fn row(method: Method, data_bytes: u64) -> CopyRow {
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
                device: Some(counts),
                device_after_exit: Some(DeviceCounts::default()),
                ..Evidence::default()
            },
            interference: Interference::default(),
            notes: Vec::new(),
        };
        CopyRow::new(row, &[])
    }

    #[test]
    fn an_ordinary_disk_has_none() {
        let rows = [row(Method::Cp, 1000), row(Method::Reflink, 0)];
        assert!(caveats(&[target("ext4", false, &[7])], None, &rows).is_empty());
    }

    #[test]
    fn what_is_found_is_named() {
        let mut squeezed = target("btrfs", true, &[7]);
        squeezed.storage.mount_options = "rw,compress=zstd:3".to_owned();
        let targets = [
            target("tmpfs", false, &[]),
            target("overlay", false, &[]),
            squeezed,
        ];
        let found = caveats(&targets, Some("virtual machine (kvm)"), &[]);
        for word in [
            "(kvm)",
            "in memory,",
            "overlayfs",
            "compresses",
            "loop devices",
        ] {
            assert!(
                found.iter().any(|caveat| caveat.contains(word)),
                "{word}: {found:?}"
            );
        }
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn shared_blocks_are_seen_by_what_the_device_took() {
        let rows = [row(Method::Cp, 0), row(Method::ReadWrite, 1000)];
        let found = caveats(&[target("xfs", false, &[7])], None, &rows);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("for cp:"), "{found:?}");
    }
}
