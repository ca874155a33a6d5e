//! Properties of this machine, detected at run time, that limit the meaning of any experiment's
//! rows.

use iostrata_core::lab::Row;

use crate::session::Session;
use crate::target::Target;

/// Share of a row's time that the measuring loop may cost before a caveat reports it.
const OWN_COST_LIMIT: f64 = 0.05;

/// Share of a row's time that the hypervisor may take before a caveat reports it.
const STEAL_LIMIT: f64 = 0.05;

/// The effect of an image as target on times and write requests.
pub(crate) const IMAGE_WRITES: &str = "their times include the file system that holds the images; \
    their requests are counted at the loop device";

/// The caveats of a run, starting with the effect of a virtual machine on its rows.
pub(crate) fn begun(session: &Session<'_>, meaning: &str) -> Vec<String> {
    let virtualization = session.run.virtualization.as_deref();
    guest(virtualization, meaning).into_iter().collect()
}

/// The effect of a virtual machine. A container alone shares the measured kernel.
fn guest(virtualization: Option<&str>, meaning: &str) -> Option<String> {
    let kind = virtualization.filter(|kind| kind.contains("virtual machine"))?;
    Some(format!("{kind}: {meaning}"))
}

/// The effect on the rows of targets that are images.
pub(crate) fn images<'a>(
    targets: impl IntoIterator<Item = &'a Target>,
    meaning: &str,
) -> Option<String> {
    let has_image = targets.into_iter().any(|target| target.image);
    has_image.then(|| format!("images are files behind loop devices: {meaning}"))
}

/// The effect of a target in memory, and what `goes` to the file system below an overlayfs.
pub(crate) fn of_target(target: &Target, in_memory: &str, goes: &str) -> Option<String> {
    let (name, filesystem) = (&target.name, &target.storage.filesystem);
    if target.is_memory() {
        return Some(format!(
            "{name} is {filesystem}: it is in memory, {in_memory}"
        ));
    }
    (filesystem == "overlay").then(|| {
        format!(
            "{name} is overlayfs: {goes} to a lower file system, whose requests are not charged \
             here"
        )
    })
}

/// Properties of a target that limit the meaning of rows of writes.
pub(crate) fn of_written(target: &Target) -> Option<String> {
    let in_memory = "every sync returns at once and nothing survives a restart";
    of_target(target, in_memory, "the writes go").or_else(|| {
        // btrfs has no journal either, but commits trees instead.
        let is_ext = target.storage.filesystem.starts_with("ext");
        (is_ext && target.storage.journal == Some(false)).then(|| {
            format!(
                "{} has no journal: a sync writes the inode in place and commits no transaction, \
                 so it is cheaper than on a journaling file system",
                target.name
            )
        })
    })
}

/// Reports how many `rows`, or items with another name, lost time to the hypervisor.
pub(crate) fn stolen<'a, C: 'a>(
    rows: impl IntoIterator<Item = &'a Row<C>>,
    called: &str,
) -> Option<String> {
    let disturbed = |row: &Row<C>| {
        let timing = row.timing.as_ref();
        let measured_s: f64 = timing.map_or(0.0, |timing| timing.samples_s.iter().sum());
        let steal_s = row.interference.steal_s;
        steal_s.is_some_and(|steal_s| steal_s > measured_s * STEAL_LIMIT && steal_s > 0.0)
    };
    let rows: Vec<bool> = rows.into_iter().map(disturbed).collect();
    let count = rows.iter().filter(|disturbed| **disturbed).count();
    (count > 0).then(|| {
        format!(
            "CPU steal while {count} of {} {called} were timed",
            rows.len()
        )
    })
}

/// Reports how many rows have a high cost of the measuring loop in `part`; the values are its
/// nanoseconds.
pub(crate) fn own_cost(
    doing: &str,
    own_ns: Option<f64>,
    part: &str,
    parts_ns: impl IntoIterator<Item = Option<f64>>,
) -> Option<String> {
    let own_ns = own_ns?;
    let parts_ns: Vec<Option<f64>> = parts_ns.into_iter().collect();
    let costly = |part_ns: &&Option<f64>| part_ns.is_some_and(|ns| own_ns > ns * OWN_COST_LIMIT);
    let count = parts_ns.iter().filter(costly).count();
    (count > 0).then(|| {
        format!(
            "{doing} costs {own_ns:.1} ns, more than 5 % of the {part} of {count} of {} rows; it is not subtracted",
            parts_ns.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use iostrata_core::evidence::Evidence;
    use iostrata_core::lab::Interference;
    use iostrata_core::timing::{Sample, Timing};

    use super::*;
    use crate::session::target;

    fn row(median_s: f64, steal_s: f64) -> Row<()> {
        let sample = Sample {
            real_s: median_s,
            user_s: 0.0,
            system_s: 0.0,
        };
        Row {
            case: (),
            target: "t".to_owned(),
            timing: Timing::from_samples(&[sample; 3]),
            evidence: Evidence::default(),
            interference: Interference {
                steal_s: Some(steal_s),
                ..Interference::default()
            },
            notes: vec![],
        }
    }

    #[test]
    fn an_ordinary_disk_has_none() {
        let disk = target("ext4", false, &[7]);
        assert_eq!(of_written(&disk), None);
        assert_eq!(of_target(&disk, "", ""), None);
        assert_eq!(images([&disk], ""), None);
        assert_eq!(stolen(&[row(1.0, 0.0)], "rows"), None);
        assert_eq!(guest(None, ""), None);
        assert_eq!(guest(Some("container (docker)"), ""), None);
    }

    #[test]
    fn a_file_system_that_never_has_a_journal_is_not_blamed_for_it() {
        let mut trees = target("btrfs", false, &[7]);
        trees.storage.journal = Some(false);
        assert_eq!(of_written(&trees), None);
    }

    #[test]
    fn what_is_found_is_named() {
        let mut bare = target("ext4", true, &[7]);
        bare.storage.journal = Some(false);
        let memory = target("tmpfs", false, &[]);
        let overlay = target("overlay", false, &[]);
        let found = [
            (guest(Some("virtual machine (kvm)"), "slow"), "(kvm): slow"),
            (of_written(&memory), "t is tmpfs: it is in memory, every"),
            (
                of_written(&overlay),
                "overlayfs: the writes go to a lower file",
            ),
            (of_written(&bare), "no journal"),
            (images([&memory, &bare], "so"), "loop devices: so"),
            (stolen(&[row(1.0, 0.5)], "loops"), "while 1 of 1 loops"),
        ];
        for (said, word) in found {
            assert!(
                said.as_ref().is_some_and(|said| said.contains(word)),
                "{word}: {said:?}"
            );
        }
    }

    #[test]
    fn a_loop_that_costs_too_much_is_named() {
        let parts_ns = [Some(20.0), Some(1000.0), None];
        let found = own_cost("doing", Some(5.0), "time", parts_ns);
        let due =
            "doing costs 5.0 ns, more than 5 % of the time of 1 of 3 rows; it is not subtracted";
        assert_eq!(found.as_deref(), Some(due));
        assert_eq!(own_cost("doing", None, "time", parts_ns), None);
    }
}
