//! Properties of this machine that limit what the rows mean, found, not recited.

use iostrata_core::atime::AtimeRow;

use crate::target::Target;

/// Share of a row's time that the hypervisor may take before it is said.
const STEAL_LIMIT: f64 = 0.05;

/// The caveats of a run.
pub(super) fn caveats(
    targets: &[Target],
    virtualization: Option<&str>,
    rows: &[AtimeRow],
) -> Vec<String> {
    let mut caveats = Vec::new();
    // A container alone shares the kernel that drives the disk.
    if let Some(kind) = virtualization.filter(|kind| kind.contains("virtual machine")) {
        caveats.push(format!(
            "{kind}: other guests' work is part of the noise in all times"
        ));
    }
    let looped = |target: &&Target| {
        rows.iter().any(|row| match row {
            AtimeRow::Loop(row) => row.row.target == target.name,
            AtimeRow::Touch(_) => false,
        })
    };
    if targets
        .iter()
        .filter(looped)
        .any(|target| target.image && !target.is_memory())
    {
        caveats.push(
            "images are files behind loop devices: their syncs include the file system that holds \
             them, their requests are counted at the loop device"
                .to_owned(),
        );
    }
    let seeks = targets
        .iter()
        .filter(looped)
        .any(|target| !target.is_memory());
    if seeks {
        caveats.push(
            "no time here includes seeks between data and inodes: files were in memory, and inodes \
             were written together at the sync"
                .to_owned(),
        );
    }
    caveats.extend(stolen(rows));
    caveats
}

fn stolen(rows: &[AtimeRow]) -> Option<String> {
    let loops = || {
        rows.iter().filter_map(|row| match row {
            AtimeRow::Loop(row) => Some(row),
            AtimeRow::Touch(_) => None,
        })
    };
    let disturbed = loops().filter(|row| {
        let timing = row.row.timing.as_ref();
        let measured_s: f64 = timing.map_or(0.0, |timing| timing.samples_s.iter().sum());
        let stolen_s = row.row.interference.steal_s;
        stolen_s.is_some_and(|steal_s| steal_s > measured_s * STEAL_LIMIT && steal_s > 0.0)
    });
    let count = disturbed.count();
    (count > 0).then(|| {
        format!(
            "the hypervisor took CPU time away during the timing of {count} of {} loops",
            loops().count()
        )
    })
}
