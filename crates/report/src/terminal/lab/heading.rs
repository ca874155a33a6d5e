//! What was asked, where, and whether the run came to its end.

use iostrata_core::Environment;
use iostrata_core::bytes::{grouped, short};
use iostrata_core::environment::{Backend, Target};
use iostrata_core::lab::MeasuredTarget;

use super::facts::Facts;
use crate::format;
use crate::terminal::page::{BOLD, GLUE, Page, SEPARATOR, WARNING};

/// Longer names of targets stand on a line of their own.
const LONGEST_NAME: usize = 20;

/// What stands above an experiment's answers.
pub(super) struct Heading<'a> {
    pub(super) name: &'a str,
    pub(super) question: &'a str,
    /// Rows that were asked for, where the run was interrupted.
    pub(super) interrupted: Option<usize>,
    pub(super) targets: &'a [MeasuredTarget],
    pub(super) rows: &'a [Facts<'a>],
}

pub(super) fn draw(page: &mut Page, environment: &Environment, heading: &Heading<'_>) {
    let Heading { name, question, .. } = heading;
    page.styled(0, &format!("{name}{SEPARATOR}{question}"), BOLD);
    if let Some(planned) = heading.interrupted {
        let text = format!(
            "interrupted: {} of {} rows",
            grouped(heading.rows.len() as u64),
            grouped(planned as u64)
        );
        page.styled(0, &text, WARNING);
    }
    losses(page, heading.rows);
    let machine = machine(environment);
    match heading.targets {
        [only] => page.paragraph(0, &format!("on {}{SEPARATOR}{machine}", place(only))),
        several => {
            page.paragraph(0, &machine);
            let names = several.iter().map(|target| target.name.chars().count());
            let column = names
                .filter(|name| *name <= LONGEST_NAME)
                .max()
                .unwrap_or(0)
                + 4;
            for target in several {
                page.entry(&format!("  {}", target.name), BOLD, column, &place(target));
            }
        }
    }
}

/// Losses come first: they make every count they touch doubtful.
fn losses(page: &mut Page, rows: &[Facts<'_>]) {
    let lossy = || rows.iter().filter(|row| row.evidence.lost_events > 0);
    let lost: u64 = lossy().map(|row| row.evidence.lost_events).sum();
    if lost > 0 {
        let numbers: Vec<usize> = lossy().map(|row| row.number).collect();
        let text = format!(
            "{} events lost: counts of {} may be too low",
            grouped(lost),
            format::rows(&numbers)
        );
        page.styled(0, &text, WARNING);
    }
}

fn machine(environment: &Environment) -> String {
    let mut words = vec![
        format!("kernel {}", environment.kernel),
        format!("{} CPUs", environment.cpus),
        format!(
            "{} memory",
            short(environment.memory_bytes).replace(' ', GLUE)
        ),
    ];
    words.extend(environment.virtualization.clone());
    words.push(
        match environment.backend {
            Backend::Ebpf => "observed by eBPF",
            Backend::Ptrace => "observed by ptrace",
            Backend::None => "not observed",
        }
        .to_owned(),
    );
    words.join(SEPARATOR)
}

/// `ext4 (journal, data=ordered) made by iostrata on loop3 → vda`.
fn place(target: &MeasuredTarget) -> String {
    let storage = &target.storage;
    let whose = if target.image {
        " made by iostrata".to_owned()
    } else {
        format!(" at {}", storage.path)
    };
    let devices: Vec<&str> = storage
        .devices
        .iter()
        .map(|device| device.name.as_str())
        .collect();
    let below = if devices.is_empty() {
        ", no block device seen".to_owned()
    } else {
        format!(" on {}", devices.join(" → "))
    };
    format!("{}{whose}{below}", file_system(storage))
}

fn file_system(storage: &Target) -> String {
    let name = storage.filesystem.as_str();
    let mode = storage
        .mount_options
        .split(',')
        .find(|option| option.starts_with("data="));
    match (name, storage.journal, mode) {
        ("btrfs", ..) => "btrfs (copy-on-write)".to_owned(),
        ("xfs", Some(true), _) => "xfs (log)".to_owned(),
        (_, Some(true), Some(mode)) => format!("{name} (journal, {mode})"),
        (_, Some(true), None) => format!("{name} (journal)"),
        (_, Some(false), _) => format!("{name} (no journal)"),
        (_, None, _) => name.to_owned(),
    }
}
