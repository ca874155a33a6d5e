//! What real file systems left of litmus programs, and what the models allow.

use iostrata_core::crash::{CalibrateResult, LitmusRow, Model, OutcomeRow, Soundness};
use iostrata_core::distinct;
use iostrata_core::noun::counted;

use super::page::{Page, Tone};
use crate::format::join;
use crate::view::section::SectionId;
use crate::view::table::{Cell, Rows, Table};

#[cfg(test)]
mod tests;

/// Outcomes of one program on one file system that no recovery showed, on a page with a width.
const MOST_NOT_RECOVERED: usize = 4;

const LEGEND: &str = "old and new are the files before and after the program without a crash. \
                      f=a*2500+0*1596 is a file of 2,500 letters a and 1,596 zero bytes, f=empty has no bytes, A/ is \
                      a directory; a file that is not named is not there. Of programs that end with a sync, \
                      marked †, it is what is left once that has returned; of all others, what is left at any time.";

pub(crate) fn show(page: &mut Page, result: &CalibrateResult) {
    page.title("calibrate", "litmus programs", vec![kernel(result)]);
    let tone = match result.verdict {
        Soundness::Sound => Tone::Good,
        Soundness::Unsound => Tone::Bad,
        Soundness::Incomplete => Tone::Warning,
    };
    page.styled(0, &sentence(result), tone);
    show_denied(page, result);
    page.heading(SectionId::Outcomes, "left by a crash");
    table(result).draw(page);
    page.paragraph(0, LEGEND);
    show_not_recovered(page, result);
    show_runs(page, result);
}

fn kernel(result: &CalibrateResult) -> String {
    format!("Linux {}", result.environment.kernel)
}

fn sentence(result: &CalibrateResult) -> String {
    let kernel = kernel(result);
    let ran = counted(programs(result).len() as u64, "litmus program");
    let ran = format!("what {kernel} left of {ran}");
    let on = join(filesystems(result).into_iter().map(Model::as_str), ", ");
    match result.verdict {
        Soundness::Sound => format!("Sound: the models allow {ran} on {on}."),
        Soundness::Unsound => {
            let rows = result.rows.iter();
            let denied = rows.filter(|row| row.denied().next().is_some());
            let denied = denied.map(|row| format!("{} on {}", row.litmus, row.filesystem.as_str()));
            let denied = join(denied, ", ");
            format!("Unsound: models deny some of {ran}: {denied}.")
        }
        Soundness::Incomplete => {
            format!("Incomplete: the models allow {ran} on {on}, and not everything was run.")
        }
    }
}

fn programs(result: &CalibrateResult) -> Vec<&str> {
    distinct(result.rows.iter().map(|row| row.litmus.as_str()))
}

fn filesystems(result: &CalibrateResult) -> Vec<Model> {
    let mut all: Vec<Model> = result.rows.iter().map(|row| row.filesystem).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What the file system's own model denies, then what POSIX's does, which stands for no file system.
fn show_denied(page: &mut Page, result: &CalibrateResult) {
    for row in &result.rows {
        for outcome in row.denied() {
            let text = format!("{}; the model denies it", left_of(row, outcome));
            page.bullet(2, &text);
        }
    }
    for row in &result.rows {
        let outcomes = row.outcomes.iter();
        for outcome in outcomes.filter(|outcome| outcome.denied_by.contains(&Model::Posix)) {
            page.bullet(2, &format!("{}; POSIX denies it", left_of(row, outcome)));
        }
    }
}

fn left_of(row: &LitmusRow, outcome: &OutcomeRow) -> String {
    let when = if outcome.after_end {
        " after its end"
    } else {
        ""
    };
    let pressures = outcome.pressures.iter().map(|pressure| pressure.as_str());
    let (pressures, filesystem) = (join(pressures, ", "), row.filesystem.as_str());
    let (name, files) = (&row.litmus, &outcome.files);
    format!("{name} on {filesystem}: {files}{when}, pressure {pressures}")
}

fn table(result: &CalibrateResult) -> Table {
    let programs = programs(result);
    let row_of = |name: &str, filesystem: Model| {
        let mut rows = result.rows.iter();
        rows.find(|row| row.litmus == name && row.filesystem == filesystem)
    };
    let rows = Rows::of(&programs).label("litmus", |name| {
        let mut rows = result.rows.iter();
        let ends_with_sync = rows.any(|row| row.litmus == *name && row.ends_with_sync);
        format!("{name}{}", if ends_with_sync { " †" } else { "" })
    });
    let rows = filesystems(result).into_iter().fold(rows, |rows, model| {
        rows.text(model.as_str(), |name| {
            Cell::seen(row_of(name, model), outcomes)
        })
    });
    rows.table(0).named("left by a crash")
}

/// `old, new, f=empty`.
fn outcomes(row: &LitmusRow) -> String {
    let mut all: Vec<(u8, String)> = row
        .telling()
        .map(|outcome| {
            let rank = match &outcome.files {
                files if *files == row.before => 0,
                files if *files == row.after => 1,
                _ => 2,
            };
            (rank, told(row, &outcome.files))
        })
        .collect();
    all.sort();
    join(all.into_iter().map(|(_, text)| text), ", ")
}

fn told(row: &LitmusRow, files: &str) -> String {
    if files == row.before {
        "old".to_owned()
    } else if files == row.after {
        "new".to_owned()
    } else {
        files.to_owned()
    }
}

fn show_not_recovered(page: &mut Page, result: &CalibrateResult) {
    let most = if page.is_endless() {
        usize::MAX
    } else {
        MOST_NOT_RECOVERED
    };
    let title = "allowed by the model, and not recovered";
    page.heading(SectionId::Allowed, title);
    let mut is_exact = true;
    for row in &result.rows {
        let telling = row.not_recovered.iter();
        let telling: Vec<String> = telling
            .filter(|one| one.after_end || !row.ends_with_sync)
            .map(|one| told(row, &one.files))
            .collect();
        if telling.is_empty() {
            continue;
        }
        is_exact = false;
        let more = telling.len().saturating_sub(most);
        let mut shown: Vec<String> = telling.into_iter().take(most).collect();
        if more > 0 {
            shown.push(format!("{more} more"));
        }
        let text = shown.join(", ");
        let filesystem = row.filesystem.as_str();
        page.bullet(2, &format!("{} on {filesystem}: {text}", row.litmus));
    }
    if is_exact {
        page.paragraph(0, "Nothing.");
    }
}

fn show_runs(page: &mut Page, result: &CalibrateResult) {
    page.heading(SectionId::Runs, "how it was run");
    let settings = &result.settings;
    let pressures = settings.pressures.iter().map(|pressure| pressure.as_str());
    let mut facts = vec![format!(
        "pressures {}, {} each, at least {:.1} ms a request",
        join(pressures, ", "),
        counted(u64::from(settings.repeats), "run"),
        settings.delay_s * 1_000.0
    )];
    if let Some(by) = &result.interrupted_by {
        facts.push(format!("ended by {by}"));
    }
    page.bullet(2, &facts.join("; "));
    for filesystem in filesystems(result) {
        let rows = || {
            result
                .rows
                .iter()
                .filter(|row| row.filesystem == filesystem)
        };
        let sum = |of: fn(&LitmusRow) -> u64| rows().map(of).sum::<u64>();
        let seconds: f64 = rows().map(|row| row.seconds).sum();
        let mut facts = vec![format!(
            "{}: {} recovered in {seconds:.0} s",
            filesystem.as_str(),
            counted(sum(|row| row.images), "image")
        )];
        let (sampled, skipped) = (sum(|row| row.sampled_epochs), sum(|row| row.skipped_epochs));
        if sampled > 0 {
            let epochs = counted(sampled, "epoch");
            facts.push(format!("not all subsets of blocks in {epochs}"));
        }
        if skipped > 0 {
            facts.push(format!("{} not tried", counted(skipped, "epoch")));
        }
        page.bullet(2, &facts.join("; "));
    }
}
