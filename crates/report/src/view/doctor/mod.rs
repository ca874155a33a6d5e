//! The storage under a path, and what can be observed there.

use iostrata_core::Environment;
use iostrata_core::bytes::short;
use iostrata_core::distinct;
use iostrata_core::doctor::{
    Ability, AbilityKind, DoctorResult, Layer, LayerKind, Queue, Setting, Stack,
};
use iostrata_core::noun::counted;

use super::page::{GLUE, Page, SEPARATOR, Tone};
use crate::format::{join, size};
use crate::view::section::SectionId;

pub(crate) fn show(page: &mut Page, result: &DoctorResult) {
    page.title("doctor", &answer(result), Vec::new());
    page.paragraph(0, &machine(&result.environment));
    let title = "storage, from the file system to the device";
    page.heading(SectionId::Storage, title);
    let names = result
        .stack
        .layers
        .iter()
        .map(|layer| indented(layer).chars().count());
    let column = names.max().unwrap_or_default() + 4;
    for layer in &result.stack.layers {
        let (name, facts) = (indented(layer), facts(layer).join(SEPARATOR));
        page.entry(format!("  {name}"), Tone::Plain, column, facts);
    }
    if !result.settings.is_empty() {
        page.heading(SectionId::Settings, "settings and their meaning");
        settings(page, &result.settings);
    }
    if !result.warnings.is_empty() {
        page.heading(SectionId::Caveats, "caveats");
        for warning in &result.warnings {
            page.bullet(2, warning);
        }
    }
    abilities(page, &result.abilities);
}

fn answer(result: &DoctorResult) -> String {
    let stack = &result.stack;
    let Some(top) = stack.file_system() else {
        return result.environment.target.path.clone();
    };
    let below = match (below(stack), &top.note) {
        (Some(devices), _) => format!(" on {devices}"),
        (None, Some(note)) => format!("; {note}"),
        (None, None) => String::new(),
    };
    let path = &result.environment.target.path;
    format!("{path}: {}{below}", file_system(top))
}

/// The layers under the file system, and where they end.
fn below(stack: &Stack) -> Option<String> {
    let names = |chosen: &dyn Fn(&Layer) -> bool| {
        let layers = stack.layers.iter().filter(|layer| chosen(layer));
        distinct(layers.map(|layer| layer.name.as_str()))
    };
    let first = names(&|layer| layer.depth == 1);
    let last = names(&|layer| matches!(layer.kind, LayerKind::Disk { .. } | LayerKind::Memory));
    if first.is_empty() {
        return None;
    }
    let first_text = first.join(" and ");
    Some(if last.is_empty() || first == last {
        first_text
    } else {
        format!("{first_text}, ultimately on {}", last.join(" and "))
    })
}

fn file_system(layer: &Layer) -> String {
    let journal = layer.mount.as_ref().map(|mount| &mount.journal);
    let Some(present) = journal.and_then(|journal| journal.present) else {
        return layer.name.clone();
    };
    let mode = journal.and_then(|journal| journal.data_mode.as_ref());
    match (layer.name.as_str(), present, mode) {
        ("btrfs", ..) => "btrfs, copy-on-write".to_owned(),
        (name, true, Some(mode)) => format!("{name} with a journal (data={mode})"),
        ("xfs", true, None) => "xfs with a log".to_owned(),
        (name, true, None) => format!("{name} with a journal"),
        (name, false, _) => format!("{name} without a journal"),
    }
}

fn machine(environment: &Environment) -> String {
    let mut words = vec![
        format!("kernel {}", environment.kernel),
        counted(u64::from(environment.cpus), "CPU"),
        format!("{} memory", short(environment.memory_bytes)),
    ];
    words.extend(environment.virtualization.clone());
    words.join(SEPARATOR)
}

fn indented(layer: &Layer) -> String {
    // Real stacks are never this deep; a hostile file must not fill the memory.
    let depth = usize::try_from(layer.depth)
        .unwrap_or_default()
        .min(DEEPEST);
    format!("{}{}", "  ".repeat(depth), layer.name)
}

fn facts(layer: &Layer) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(kind(layer));
    facts.extend(layer.size_bytes.map(size));
    facts.extend(layer.note.clone());
    if let Some(mount) = &layer.mount {
        let journal = &mount.journal;
        facts.push(match mount.root.as_str() {
            "/" => format!("mounted at {}", mount.point),
            root => format!("its directory {root} mounted at {}", mount.point),
        });
        facts.push(mount.options.clone());
        if journal.present.is_some() {
            facts.push(journal.explanation.clone());
        }
        match journal.barrier {
            Some(true) => facts.push("fsync flushes the device's cache".to_owned()),
            Some(false) => facts.push("barriers off".to_owned()),
            None => {}
        }
        if journal.fast_commit == Some(true) {
            facts.push("fast commits".to_owned());
        }
    }
    let queue = layer.queue.as_ref().map(queue);
    facts.extend(queue.filter(|text| !text.is_empty()));
    if layer.charged {
        facts.push("requests are counted here".to_owned());
    }
    facts
}

fn kind(layer: &Layer) -> Option<String> {
    Some(match &layer.kind {
        LayerKind::FileSystem | LayerKind::DeviceMapper => return None,
        LayerKind::Partition => "partition".to_owned(),
        LayerKind::Loop {
            backing_file,
            direct_io,
        } => {
            let how = if *direct_io == Some(true) {
                ", opened with O_DIRECT"
            } else {
                ""
            };
            format!("image {backing_file}{how}")
        }
        LayerKind::Raid => "software RAID".to_owned(),
        LayerKind::Bcache => "cached disk".to_owned(),
        LayerKind::Memory => "disk in memory".to_owned(),
        LayerKind::Disk { bus } => {
            let model = layer.queue.as_ref().and_then(|queue| queue.model.clone());
            let words = [model, bus.as_ref().map(|bus| format!("{bus} disk"))];
            let words: Vec<String> = words.into_iter().flatten().collect();
            if words.is_empty() {
                "disk".to_owned()
            } else {
                words.join(", ")
            }
        }
    })
}

fn queue(queue: &Queue) -> String {
    let blocks = queue.logical_block_bytes.zip(queue.physical_block_bytes);
    let words = [
        blocks.map(|(logical, physical)| {
            format!("{logical}{GLUE}B logical, {physical}{GLUE}B physical blocks")
        }),
        queue
            .rotational
            .map(|rotates| format!("rotational={}", u8::from(rotates))),
        match queue.discard_granularity_bytes {
            None => None,
            Some(0) => Some("no discard".to_owned()),
            Some(unit) => Some(format!("discards {}", size(unit))),
        },
    ];
    join(words.into_iter().flatten(), SEPARATOR)
}

fn settings(page: &mut Page, settings: &[Setting]) {
    // Longer text exceeds its column.
    let longest = |of: fn(&Setting) -> &str| {
        let lengths = settings.iter().map(|setting| of(setting).chars().count());
        let lengths = lengths.filter(|length| *length <= LONGEST_NAME);
        lengths.max().unwrap_or_default()
    };
    let names = longest(|setting| &setting.name);
    let values = longest(|setting| &setting.value);
    for setting in settings {
        let lead = format!("  {:names$}  {:values$}", setting.name, setting.value);
        page.entry(&lead, Tone::Plain, names + values + 6, &setting.meaning);
    }
}

fn abilities(page: &mut Page, abilities: &[Ability]) {
    let names = abilities.iter().map(|ability| ability.name.chars().count());
    let column = LABEL
        + names
            .filter(|name| *name <= LONGEST_NAME)
            .max()
            .unwrap_or_default()
        + 2;
    let groups = [
        (SectionId::CanSee, "can see", AbilityKind::See, true),
        (SectionId::CannotSee, "cannot see", AbilityKind::See, false),
        (SectionId::CanUse, "can use", AbilityKind::Use, true),
        (SectionId::CannotUse, "cannot use", AbilityKind::Use, false),
    ];
    for (id, label, kind, available) in groups {
        let group: Vec<&Ability> = abilities
            .iter()
            .filter(|ability| ability.kind == kind && ability.available == available)
            .collect();
        for (position, ability) in group.iter().enumerate() {
            if position == 0 {
                page.part(id, label);
                page.blank();
            }
            let label = if position == 0 { label } else { "" };
            let label = format!("{label:LABEL$}");
            // A reason shared by several is shown once, next to the last of them.
            let told_below = group.get(position + 1).is_some_and(|next| {
                !available && (&next.why, &next.remedy) == (&ability.why, &ability.remedy)
            });
            let why = if told_below { "" } else { &ability.why };
            page.entry(&ability.name, Tone::Plain, column, why);
            page.with_label(&label);
            if told_below {
                continue;
            }
            if let Some(remedy) = &ability.remedy {
                page.more(column, &format!("→ {remedy}"));
            }
            if let Some(command) = &ability.command {
                page.command(command);
            }
        }
    }
}

const LABEL: usize = 12;
/// Layers below this are not indented further.
const DEEPEST: usize = 16;
/// Longer names are on a separate line.
const LONGEST_NAME: usize = 36;

#[cfg(test)]
mod tests;
