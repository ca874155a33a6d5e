//! Properties of this machine that limit what the rows mean, found, not recited.

use iostrata_core::buffering::{BufferingRow, Method};

use crate::target::Target;

/// Share of a row's time that the measuring loop may cost before it is said.
const OWN_COST_LIMIT: f64 = 0.05;

/// Share of a row's time that the hypervisor may take before it is said.
const STEAL_LIMIT: f64 = 0.05;

/// The caveats of a run.
pub(super) fn caveats(
    targets: &[Target],
    virtualization: Option<&str>,
    rows: &[BufferingRow],
    method: &Method,
) -> Vec<String> {
    let mut caveats = Vec::new();
    // A container alone shares the kernel that drives the disk.
    if let Some(kind) = virtualization.filter(|kind| kind.contains("virtual machine")) {
        caveats.push(format!(
            "{kind}: a flush that has completed here reached the host, which may keep it in memory"
        ));
    }
    caveats.extend(targets.iter().filter_map(of_target));
    if targets.iter().any(|target| target.image) {
        caveats.push(
            "images are files behind loop devices: their times include the file system that holds them, their requests are counted at the loop device"
                .to_owned(),
        );
    }
    caveats.extend(stolen(rows));
    caveats.extend(own_cost(rows, method));
    caveats
}

/// What of a target limits what its rows mean.
pub(crate) fn of_target(target: &Target) -> Option<String> {
    let name = &target.name;
    if target.is_memory() {
        let filesystem = &target.storage.filesystem;
        return Some(format!(
            "{name} is {filesystem}: it lives in memory, every sync returns at once and nothing survives a restart"
        ));
    }
    if target.storage.filesystem == "overlay" {
        return Some(format!(
            "{name} is overlayfs: the writes go to a file system below it, whose requests are not charged here"
        ));
    }
    // btrfs has none either, but commits trees instead.
    let is_ext = target.storage.filesystem.starts_with("ext");
    (is_ext && target.storage.journal == Some(false)).then(|| {
        format!(
            "{name} has no journal: a sync writes the inode in its place and commits no transaction, so it is cheaper than on a file system with one"
        )
    })
}

fn stolen(rows: &[BufferingRow]) -> Option<String> {
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

fn own_cost(rows: &[BufferingRow], method: &Method) -> Option<String> {
    let own_ns = method.own_cost_ns?;
    let costly = rows.iter().filter(|row| {
        let case = &row.row.case;
        row.row.timing.as_ref().is_some_and(|timing| {
            own_ns > timing.median_s * 1e9 / case.count as f64 * OWN_COST_LIMIT
        })
    });
    let count = costly.count();
    (count > 0).then(|| {
        format!(
            "making a record costs {own_ns:.1} ns, more than 5 % of the time of {count} of {} rows; it is not subtracted",
            rows.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use iostrata_core::buffering::{Case, Mode};
    use iostrata_core::evidence::Evidence;
    use iostrata_core::lab::{Interference, Row};
    use iostrata_core::timing::{Sample, Timing};

    use super::*;
    use crate::session::target;

    fn row(median_s: f64, steal_s: f64) -> BufferingRow {
        let sample = Sample {
            real_s: median_s,
            user_s: 0.0,
            system_s: 0.0,
        };
        let row = Row {
            case: Case {
                mode: Mode::Flush,
                size_bytes: 1,
                count: 1000,
            },
            target: "t".to_owned(),
            timing: Timing::from_samples(&[sample; 3]),
            evidence: Evidence::default(),
            interference: Interference {
                steal_s: Some(steal_s),
                ..Interference::default()
            },
            notes: vec![],
        };
        BufferingRow::new(row, None)
    }

    #[test]
    fn an_ordinary_disk_has_none() {
        let method = Method {
            own_cost_ns: Some(5.0),
            ..Method::default()
        };
        assert!(
            caveats(
                &[target("ext4", false, &[7])],
                None,
                &[row(1.0, 0.0)],
                &method
            )
            .is_empty()
        );
    }

    #[test]
    fn a_file_system_that_never_has_a_journal_is_not_blamed_for_it() {
        let mut trees = target("btrfs", false, &[7]);
        trees.storage.journal = Some(false);
        assert!(caveats(&[trees], None, &[], &Method::default()).is_empty());
    }

    #[test]
    fn what_is_found_is_named() {
        let mut bare = target("ext4", true, &[7]);
        bare.storage.journal = Some(false);
        let targets = [
            target("tmpfs", false, &[]),
            target("overlay", false, &[]),
            bare,
        ];
        let found = caveats(
            &targets,
            Some("virtual machine (kvm)"),
            &[row(1.0, 0.5)],
            &Method::default(),
        );
        for word in [
            "(kvm)",
            "in memory,",
            "overlayfs",
            "no journal",
            "loop devices",
            "hypervisor took",
        ] {
            assert!(
                found.iter().any(|caveat| caveat.contains(word)),
                "{word}: {found:?}"
            );
        }
        assert_eq!(found.len(), 6);
    }

    #[test]
    fn a_loop_that_costs_too_much_is_named() {
        let method = Method {
            own_cost_ns: Some(5.0),
            ..Method::default()
        };
        let found = caveats(&[], None, &[row(20e-6, 0.0), row(1.0, 0.0)], &method);
        assert!(
            found[0].contains("5.0 ns") && found[0].contains("1 of 2 rows"),
            "{found:?}"
        );
    }
}
