//! The disks under the measured file systems, and the settings that determine the work left for a
//! sync.

use iostrata_core::environment::Device;
use iostrata_core::lab::machine_of;
use iostrata_core::sync::SyncResult;

use crate::view::lab::view::distinct;
use crate::view::page::{GLUE, Page, SEPARATOR};

pub(super) fn draw(page: &mut Page, result: &SyncResult) {
    let disks = result.targets.iter().flat_map(|target| {
        let devices = target.storage.devices.iter();
        devices.map(|disk| (machine_of(&target.name), disk))
    });
    // Images made by iostrata say nothing about the machine.
    let disks = disks.filter(|(_, disk)| !disk.name.starts_with("loop"));
    for (machine, disk) in distinct(disks) {
        let whose = machine.map(|machine| format!("{machine}: "));
        page.paragraph(0, &(whose.unwrap_or_default() + &identity(disk)));
    }
    let settings: Vec<String> = result
        .settings
        .iter()
        .flatten()
        .filter(|setting| setting.name.starts_with("vm."))
        .map(|setting| format!("{} {}", setting.name, setting.value).replace(' ', GLUE))
        .collect();
    if !settings.is_empty() {
        page.paragraph(0, &settings.join(SEPARATOR));
    }
}

/// `vda: no model · rotational · write cache write back · no FUA · scheduler mq-deadline`.
fn identity(disk: &Device) -> String {
    let known = |value: Option<bool>, yes: &str, no: &str, unknown: &str| {
        value
            .map_or(unknown, |is| if is { yes } else { no })
            .to_owned()
    };
    let text = |name: &str, value: &Option<String>| match value {
        Some(value) => format!("{name} {value}"),
        None => format!("{name} unknown"),
    };
    let words = [
        disk.model
            .clone()
            .unwrap_or_else(|| "model unknown".to_owned()),
        known(
            disk.rotational,
            "reports rotational=1",
            "reports rotational=0",
            "rotation unknown",
        ),
        text("write cache", &disk.write_cache),
        known(disk.fua, "FUA", "no FUA", "FUA unknown"),
        text("scheduler", &disk.scheduler),
    ];
    format!("{}: {}", disk.name, words.join(SEPARATOR))
}
