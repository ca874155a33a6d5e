//! Properties of this machine that limit what the rows mean, found, not recited.

use iostrata_core::sync::{Call, SyncRow};

use crate::buffering::caveats::of_target;
use crate::target::Target;

/// Share of a row's time that the hypervisor may take before it is said.
const STEAL_LIMIT: f64 = 0.05;

/// The caveats of a run.
pub(super) fn caveats(
    targets: &[Target],
    virtualization: Option<&str>,
    rows: &[SyncRow],
) -> Vec<String> {
    let mut caveats = Vec::new();
    // A container alone shares the kernel that drives the disk.
    if let Some(kind) = virtualization.filter(|kind| kind.contains("virtual machine")) {
        caveats.push(format!(
            "{kind}: a flush that has completed here reached the host, which may keep it in memory; a rate from here is not one of a disk"
        ));
    }
    caveats.extend(targets.iter().filter_map(of_target));
    caveats.extend(targets.iter().filter_map(shared));
    if targets.iter().any(|target| target.image) {
        caveats.push(
            "images are files behind loop devices: their times include the file system that holds them, their requests are counted at the loop device"
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.row.case.call == Call::Sync) {
        caveats.push(
            "sync(2) writes every file system of the machine: its times include what others had left dirty"
                .to_owned(),
        );
    }
    caveats.extend(stolen(rows));
    caveats
}

/// Requests without a file cannot be told from those of others on a shared disk.
fn shared(target: &Target) -> Option<String> {
    let others = !target.image && target.unchargeable().is_none() && !target.is_memory();
    others.then(|| {
        format!(
            "{} is shared: its data requests are charged by file, but journal, commit, metadata and flush requests name none, and those of other programs are among them",
            target.name
        )
    })
}

fn stolen(rows: &[SyncRow]) -> Option<String> {
    let disturbed = rows.iter().filter(|row| {
        let timing = row.row.timing.as_ref();
        let measured_s: f64 = timing.map_or(0.0, |timing| timing.samples_s.iter().sum());
        row.row
            .interference
            .steal_s
            .is_some_and(|steal_s| steal_s > measured_s * STEAL_LIMIT && steal_s > 0.0)
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
    use super::*;
    use crate::session::target;

    #[test]
    fn what_is_found_is_named() {
        let image = target("ext4", true, &[7]);
        assert!(caveats(&[], None, &[]).is_empty());
        let found = caveats(
            std::slice::from_ref(&image),
            Some("container (docker)"),
            &[],
        );
        assert_eq!(found.len(), 1, "{found:?}");
        let host = target("ext4", false, &[8]);
        let memory = target("tmpfs", false, &[]);
        let found = caveats(&[host, memory, image], Some("virtual machine (kvm)"), &[]);
        for word in ["(kvm)", "is shared", "in memory,", "loop devices"] {
            assert!(
                found.iter().any(|caveat| caveat.contains(word)),
                "{word}: {found:?}"
            );
        }
        assert_eq!(found.len(), 4);
    }
}
