//! When the bytes of each step were visible to others, and when durable.

use iostrata_core::buffering::{BufferingResult, Step, Timeline};
use iostrata_core::bytes::{exact, grouped};

use crate::view::lab::view::distinct;
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{Cell, Column, Table};

/// Modes whose steps went the same way, on the same file systems.
struct Group<'a> {
    modes: Vec<&'static str>,
    targets: Vec<&'a str>,
    steps: &'a [Step],
}

pub(super) fn draw(page: &mut Page, result: &BufferingResult) {
    let all = || result.own.timelines.iter();
    for size_bytes in distinct(all().map(|timeline| timeline.size_bytes)) {
        let timelines = all().filter(|timeline| timeline.size_bytes == size_bytes);
        let timelines: Vec<&Timeline> = timelines.collect();
        let targets = distinct(timelines.iter().map(|timeline| timeline.target.as_str()));
        let groups = groups(&timelines);
        let size = exact(size_bytes);
        let text = format!("bytes visible and durable after each write of {size}");
        page.heading(SectionId::Timeline, &text);
        table(&groups, targets.len()).named(text).draw(page);
    }
}

fn groups<'a>(timelines: &[&'a Timeline]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for mode in distinct(timelines.iter().map(|timeline| timeline.mode)) {
        let of_mode = || timelines.iter().filter(|timeline| timeline.mode == mode);
        for steps in distinct(of_mode().map(|timeline| timeline.steps.as_slice())) {
            let same = of_mode().filter(|timeline| timeline.steps == steps);
            let targets: Vec<&str> = same.map(|timeline| timeline.target.as_str()).collect();
            let known = groups
                .iter_mut()
                .find(|group| group.steps == steps && group.targets == targets);
            match known {
                Some(group) => group.modes.push(mode.as_str()),
                None => groups.push(Group {
                    modes: vec![mode.as_str()],
                    targets,
                    steps,
                }),
            }
        }
    }
    groups
}

fn table(groups: &[Group<'_>], targets: usize) -> Table {
    let lines = ["  written", "  visible to others", "  durable"];
    let labels = groups.iter().flat_map(|_| lines.map(str::to_owned));
    let mut columns = vec![Column::label("after", labels)];
    for action in actions(groups) {
        let cells = groups.iter().flat_map(|group| cells(group, action));
        columns.push(Column::number(action, cells));
    }
    let mut table = Table::new(2, columns);
    for (index, group) in groups.iter().enumerate() {
        let modes = group.modes.join(", ");
        let title = if group.targets.len() == targets {
            modes
        } else {
            format!("{modes}, on {}", group.targets.join(", "))
        };
        table.title(index * lines.len(), title);
    }
    table
}

/// The steps of all groups in their order, without those before the first write.
fn actions<'a>(groups: &[Group<'a>]) -> Vec<&'a str> {
    let mut actions: Vec<&str> = Vec::new();
    for group in groups {
        let mut place = 0;
        for step in group.steps.iter().filter(|step| step.written_bytes > 0) {
            let known = actions.iter().position(|action| *action == step.action);
            if known.is_none() {
                actions.insert(place, &step.action);
            }
            place = known.unwrap_or(place) + 1;
        }
    }
    actions
}

fn cells(group: &Group<'_>, action: &str) -> [Cell; 3] {
    let step = group.steps.iter().find(|step| step.action == action);
    step.map_or([const { Cell::NotApplicable }; 3], |step| {
        [
            grouped(step.written_bytes).into(),
            grouped(step.visible_bytes).into(),
            Cell::seen(step.durable_bytes, grouped),
        ]
    })
}
