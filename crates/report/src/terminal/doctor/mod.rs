//! `iostrata doctor` on a terminal.

use iostrata_core::Environment;
use iostrata_core::bytes::short;
use iostrata_core::doctor::{
    Ability, AbilityKind, DoctorResult, Layer, LayerKind, Queue, Setting, Stack,
};
use textwrap::Options;

use crate::format::printable;

/// Text of the result, `width` columns wide where words allow, without colour.
pub fn draw(result: &DoctorResult, width: usize) -> String {
    let mut page = Page {
        text: String::new(),
        width: width.max(NARROWEST),
    };
    page.paragraph(0, &answer(result));
    page.paragraph(0, &machine(&result.environment));
    page.heading("storage, from the file system to the device");
    let names = result
        .stack
        .layers
        .iter()
        .map(|layer| indented(layer).chars().count());
    let column = names.max().unwrap_or_default() + 4;
    for layer in &result.stack.layers {
        page.entry(
            &format!("  {}", indented(layer)),
            column,
            &facts(layer).join(SEPARATOR),
        );
    }
    if !result.settings.is_empty() {
        page.heading("settings, and what they mean");
        settings(&mut page, &result.settings);
    }
    if !result.warnings.is_empty() {
        page.heading("keep in mind");
        for warning in &result.warnings {
            page.entry("  -", 4, warning);
        }
    }
    abilities(&mut page, &result.abilities);
    page.text
}

const NARROWEST: usize = 40;

/// A space that lines are not broken at; it is printed as a space.
const GLUE: &str = "\u{a0}";
/// The dot stays on the line it ends.
const SEPARATOR: &str = "\u{a0}· ";

/// Text with hanging indents.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn heading(&mut self, text: &str) {
        self.text.push('\n');
        self.paragraph(0, text);
    }

    fn paragraph(&mut self, indent: usize, text: &str) {
        let hanging = " ".repeat(indent);
        let options = Options::new(self.width)
            .initial_indent(&hanging)
            .subsequent_indent(&hanging);
        for line in textwrap::wrap(&printable(text), options) {
            self.line(&line);
        }
    }

    /// `lead`, then `text` from `column` on. A lead that reaches the column, and
    /// a column that leaves too little room, put the text below.
    fn entry(&mut self, lead: &str, column: usize, text: &str) {
        let lead = printable(lead);
        let used = textwrap::core::display_width(&lead);
        let column = if column + ROOM > self.width {
            6
        } else {
            column
        };
        if used >= column {
            self.line(&lead);
            self.paragraph(column, text);
            return;
        }
        let first = format!("{lead}{}", " ".repeat(column - used));
        let hanging = " ".repeat(column);
        let options = Options::new(self.width)
            .initial_indent(&first)
            .subsequent_indent(&hanging);
        for line in textwrap::wrap(&printable(text), options) {
            self.line(&line);
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.replace(GLUE, " ").trim_end());
        self.text.push('\n');
    }
}

/// Columns that text needs to be readable.
const ROOM: usize = 24;

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
    format!(
        "{}: {}{below}",
        result.environment.target.path,
        file_system(top)
    )
}

/// What the file system stands on, and where that ends.
fn below(stack: &Stack) -> Option<String> {
    let names = |chosen: &dyn Fn(&Layer) -> bool| {
        stack.layers.iter().filter(|layer| chosen(layer)).fold(
            Vec::new(),
            |mut names: Vec<&str>, layer| {
                if !names.contains(&layer.name.as_str()) {
                    names.push(&layer.name);
                }
                names
            },
        )
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
        format!("{first_text}, in the end on {}", last.join(" and "))
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
        format!("{} CPUs", environment.cpus),
        format!("{} memory", short(environment.memory_bytes)),
    ];
    words.extend(environment.virtualization.clone());
    words.join(SEPARATOR)
}

fn indented(layer: &Layer) -> String {
    let depth = usize::try_from(layer.depth).unwrap_or_default();
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
    facts.extend(
        layer
            .queue
            .as_ref()
            .map(queue)
            .filter(|text| !text.is_empty()),
    );
    if layer.charged {
        facts.push("requests are counted here".to_owned());
    }
    facts
}

fn size(bytes: u64) -> String {
    short(bytes).replace(' ', GLUE)
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
            format!("blocks of {logical}{GLUE}B, {physical}{GLUE}B inside")
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
    words
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(SEPARATOR)
}

fn settings(page: &mut Page, settings: &[Setting]) {
    let longest =
        |of: &dyn Fn(&Setting) -> usize| settings.iter().map(of).max().unwrap_or_default();
    let names = longest(&|setting| setting.name.chars().count());
    let values = longest(&|setting| setting.value.chars().count());
    for setting in settings {
        let lead = format!("  {:names$}  {:values$}", setting.name, setting.value);
        page.entry(&lead, names + values + 6, &setting.meaning);
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
        ("can see", AbilityKind::See, true),
        ("cannot see", AbilityKind::See, false),
        ("can use", AbilityKind::Use, true),
        ("cannot use", AbilityKind::Use, false),
    ];
    for (label, kind, available) in groups {
        let group = abilities
            .iter()
            .filter(|ability| ability.kind == kind && ability.available == available);
        for (position, ability) in group.enumerate() {
            if position == 0 {
                page.text.push('\n');
            }
            let label = if position == 0 { label } else { "" };
            page.entry(
                &format!("{label:LABEL$}{}", ability.name),
                column,
                &ability.why,
            );
            if let Some(remedy) = &ability.remedy {
                page.entry("", column, &format!("→ {remedy}"));
            }
        }
    }
}

const LABEL: usize = 12;
/// Longer names stand on a line of their own.
const LONGEST_NAME: usize = 36;

#[cfg(test)]
mod tests;
