mod fixture;
mod pages;

use iostrata_core::Gap;
use iostrata_core::lab::LabResult;
use textwrap::core::display_width;

use crate::terminal::lab::{Style, draw};
use fixture::{result, sync};

const ALL_ROWS: Style = Style {
    colour: false,
    all_rows: true,
};

fn plain(result: &LabResult, width: usize) -> String {
    draw(result, width, Style::default())
}

#[test]
fn lines_fit_and_end_in_a_letter() {
    let mut hostile = result();
    spoil(&mut hostile);
    for result in [result(), hostile, wide()] {
        for width in [80, 81, 100, 120, 200] {
            for style in [Style::default(), ALL_ROWS] {
                for line in draw(&result, width, style).lines() {
                    assert!(display_width(line) <= width, "{width}: {line:?}");
                    assert_eq!(line, line.trim_end());
                }
            }
        }
    }
}

/// The longest names and counts of a real run.
fn wide() -> LabResult {
    let mut result = result();
    let experiment = sync(&mut result);
    experiment.targets[1].name = "ext4-data_journal".to_owned();
    for row in &mut experiment.rows {
        row.per_sync.bytes = Some(233_398.4);
        row.per_sync.metadata = Some(13.29);
        row.per_sync.reads = Some(0.001);
        row.latency_s.max = Some(1.234_567);
        if row.row.target == "ext4" {
            row.row.target = "ext4-data_journal".to_owned();
        }
    }
    experiment.rows = [experiment.rows.as_slice(); 25].concat();
    experiment.answers[0].rows = vec![70, 80, 90, 100];
    result
}

/// Puts text into every name that a file or a program may choose.
fn spoil(result: &mut LabResult) {
    const TEXT: &str = "a\u{1b}[2J\r\nb\u{202e}\u{9b}31m";
    result.environment.kernel = TEXT.to_owned();
    let experiment = sync(result);
    for target in &mut experiment.targets {
        target.storage.path = format!("/{}", TEXT.repeat(20));
        target.storage.filesystem = TEXT.to_owned();
        let disk = &mut target.storage.devices[0];
        disk.name = TEXT.to_owned();
        disk.model = Some(TEXT.repeat(9));
        disk.scheduler = Some(TEXT.to_owned());
    }
    for row in &mut experiment.rows {
        row.row.notes = vec![TEXT.to_owned()];
        row.row.evidence.missing = vec![Gap::new(TEXT, TEXT)];
    }
    for projection in &mut experiment.projections {
        projection.device.name = TEXT.to_owned();
    }
    for setting in &mut experiment.settings {
        setting.value = TEXT.repeat(9);
    }
    experiment.answers[0].because = TEXT.repeat(30);
    experiment.caveats = vec![TEXT.to_owned()];
    experiment.question = TEXT.to_owned();
}

#[test]
fn a_terminal_never_gets_what_a_name_holds() {
    let mut result = result();
    spoil(&mut result);
    for style in [Style::default(), ALL_ROWS] {
        let text = draw(&result, 100, style);
        let raw = |char: &char| (char.is_control() && *char != '\n') || *char == '\u{202e}';
        assert_eq!(text.chars().find(raw), None);
    }
}

#[test]
fn colour_only_repeats() {
    let style = |colour| Style {
        colour,
        all_rows: true,
    };
    let coloured = draw(&result(), 80, style(true));
    assert!(coloured.contains("\u{1b}[32mholds\u{1b}[0m"), "{coloured}");
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    bare.push_str(rest);
    assert_eq!(bare, draw(&result(), 80, style(false)));
}

#[test]
fn without_evidence_rates_remain() {
    let mut blind = result();
    for row in &mut sync(&mut blind).rows {
        row.per_sync = iostrata_core::sync::PerSync::default();
        row.row.evidence.device = None;
        for second in &mut row.series.seconds {
            (second.data, second.journal, second.commit) = (None, None, None);
            (second.metadata, second.flushes) = (None, None);
        }
    }
    sync(&mut blind).projections.clear();
    let text = plain(&blind, 100);
    assert!(!text.contains("metadata  flushes"), "{text}");
    assert!(!text.contains("projection"), "{text}");
    assert!(text.contains("second 1"), "{text}");
    assert!(text.contains("without any value in"), "{text}");
}
