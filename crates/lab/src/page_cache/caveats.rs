//! Properties of this machine that limit what the rows mean, found, not recited.

use std::fs;

use iostrata_core::buffering::Method;
use iostrata_core::doctor::PageOut;
use iostrata_core::page_cache::{PageCacheRow, Reader};
use iostrata_tracer::page_cache::page_out;

use crate::target::Target;

/// Share of a read's time that the measuring loop may cost before it is said.
const OWN_COST_LIMIT: f64 = 0.05;

/// The caveats of a run.
pub(super) fn caveats(
    targets: &[Target],
    virtualization: Option<&str>,
    rows: &[PageCacheRow],
    method: &Method,
) -> Vec<String> {
    let mut caveats = Vec::new();
    // A container alone shares the page cache that is measured.
    if let Some(kind) = virtualization.filter(|kind| kind.contains("virtual machine")) {
        caveats.push(format!(
            "{kind}: cold means not in this machine's page cache; the host may have the blocks in its memory"
        ));
    }
    if targets.iter().any(|target| target.image) {
        caveats.push(
            "images are files behind loop devices: their reads pass through the file system that holds them"
                .to_owned(),
        );
    }
    caveats.extend(targets.iter().filter(|target| target.backing_cached).map(|target| {
        format!(
            "{}: the file that holds the image is cached by the file system under it, so what \
             is cold on the image may come from memory",
            target.name
        )
    }));
    caveats.extend(page_out().iter().map(PageOut::in_words));
    let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    caveats.extend(huge.ok().as_deref().and_then(huge_pages));
    caveats.extend(own_cost(rows, method));
    caveats
}

/// The choice in force stands in brackets.
fn huge_pages(enabled: &str) -> Option<String> {
    enabled.contains("[always]").then(|| {
        "transparent huge pages are always on: one page fault of a new buffer may bring 2 MiB"
            .to_owned()
    })
}

fn own_cost(rows: &[PageCacheRow], method: &Method) -> Option<String> {
    let own_ns = method.own_cost_ns?;
    let random = || {
        rows.iter()
            .filter(|row| row.row.case.reader == Reader::PreadRandom)
    };
    let costly = random().filter(|row| {
        row.latency_s
            .is_some_and(|latency| own_ns > latency.p50 * 1e9 * OWN_COST_LIMIT)
    });
    let count = costly.count();
    (count > 0).then(|| {
        format!(
            "timing a random read costs {own_ns:.1} ns, more than 5 % of the median read of {count} of {} rows; it is not subtracted",
            random().count()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::target;

    #[test]
    fn a_plain_disk_has_none_but_the_machines() {
        let found = caveats(
            &[target("ext4", false, &[7])],
            None,
            &[],
            &Method::default(),
        );
        assert!(
            found
                .iter()
                .all(|caveat| caveat.contains("huge pages") || caveat.contains("DAMON")),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_found_is_named() {
        let targets = [Target {
            backing_cached: true,
            ..target("ext4", true, &[7])
        }];
        let kvm = Some("virtual machine (kvm)");
        let found = caveats(&targets, kvm, &[], &Method::default());
        for word in ["(kvm)", "loop devices", "may come from memory"] {
            assert!(
                found.iter().any(|caveat| caveat.contains(word)),
                "{word}: {found:?}"
            );
        }
        assert!(huge_pages("[always] madvise never\n").is_some());
        assert_eq!(huge_pages("always [madvise] never\n"), None);
    }
}
