//! The request, the place, and whether the run was complete.

use iostrata_core::bytes::grouped;
use iostrata_core::lab::{Facts, MeasuredTarget};
use iostrata_core::noun::counted;

use super::Frame;
use crate::format;
use crate::view::page::{Page, SEPARATOR, Tone};
use crate::view::place::{below, file_system, machine, observed};

/// Longer names of targets stand on a line of their own.
const LONGEST_NAME: usize = 20;

pub(super) fn draw(page: &mut Page, frame: &Frame<'_>) {
    let Frame { shared, rows, .. } = frame;
    page.title(shared.id, shared.id, vec![shared.question.to_owned()]);
    if shared.interrupted {
        let [done, planned] = [rows.len(), shared.planned_rows].map(|rows| grouped(rows as u64));
        let text = format!("interrupted: {done} of {planned} rows");
        page.styled(0, &text, Tone::Warning);
    }
    losses(page, rows);
    page.machine();
    let machines = frame.result.environments().map(|(name, environment)| {
        let words = [
            machine(environment),
            observed(environment.backend).to_owned(),
        ];
        let words = words.join(SEPARATOR);
        name.map_or(words.clone(), |name| format!("{name}: {words}"))
    });
    let machines: Vec<String> = machines.collect();
    match (shared.targets, machines.as_slice()) {
        ([only], [machine]) => {
            page.paragraph(0, &format!("on {}{SEPARATOR}{machine}", place(only)));
        }
        (several, machines) => {
            for machine in machines {
                page.paragraph(0, machine);
            }
            let names = several.iter().map(|target| target.name.chars().count());
            let column = names
                .filter(|name| *name <= LONGEST_NAME)
                .max()
                .unwrap_or(0)
                + 4;
            for target in several {
                let name = format!("  {}", target.name);
                page.entry(name, Tone::Strong, column, place(target));
            }
        }
    }
}

/// Losses come first: they make every count they touch doubtful.
fn losses(page: &mut Page, rows: &[Facts<'_>]) {
    let lossy = || rows.iter().filter(|row| row.evidence.lost_events > 0);
    let lost = lossy().map(|row| row.evidence.lost_events);
    let lost = lost.fold(0, u64::saturating_add);
    if lost > 0 {
        let numbers: Vec<usize> = lossy().map(|row| row.number).collect();
        let (lost, rows) = (counted(lost, "event"), format::rows(&numbers));
        let text = format!("{lost} lost: counts of {rows} may be too low");
        page.styled(0, &text, Tone::Warning);
    }
}

/// `ext4 (journal, data=ordered) made by iostrata on loop3 → vda`.
fn place(target: &MeasuredTarget) -> String {
    let storage = &target.storage;
    let whose = if target.image {
        " made by iostrata".to_owned()
    } else {
        format!(" at {}", storage.path)
    };
    format!("{}{whose}{}", file_system(storage), below(storage))
}
