#[expect(clippy::too_many_lines, reason = "a snapshot is as long as its page")]
mod pages;

use iostrata_core::Gap;
use iostrata_core::buffering::Mode;
use iostrata_core::lab::LabResult;
use textwrap::core::display_width;

use super::fixture::{buffering, result};
use crate::terminal::lab::{Style, draw};

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
    let experiment = buffering(&mut result);
    experiment.targets[1].name = "ext4-data_journal".to_owned();
    for row in experiment.rows.iter_mut().skip(1) {
        row.row.case.mode = Mode::SyncFileRange;
        row.per_write.amplification = Some(108_134.4);
        row.per_write.data = Some(0.001);
        if row.row.target == "ext4" {
            row.row.target = "ext4-data_journal".to_owned();
        }
    }
    experiment.rows = [experiment.rows.as_slice(); 25].concat();
    experiment.answers[1].rows = vec![100, 110, 120, 124];
    result
}

/// Puts text into every name that a file or a program may choose.
fn spoil(result: &mut LabResult) {
    const TEXT: &str = "a\u{1b}[2J\r\nb\u{202e}\u{9b}31m";
    result.environment.virtualization = Some(TEXT.to_owned());
    result.environment.kernel = TEXT.to_owned();
    let experiment = buffering(result);
    for target in &mut experiment.targets {
        target.name = TEXT.repeat(3);
        target.storage.path = format!("/{}", TEXT.repeat(20));
        target.storage.filesystem = TEXT.to_owned();
        target.storage.mount_options = format!("data={TEXT}");
        target.storage.devices[0].name = TEXT.to_owned();
    }
    for row in &mut experiment.rows {
        let name = if row.row.target == "host" { "" } else { "2" };
        row.row.target = format!("{TEXT}{name}");
        row.row.notes = vec![TEXT.to_owned()];
        row.row.evidence.missing = vec![Gap::new(TEXT, TEXT)];
        if let Some(calls) = &mut row.row.evidence.syscalls {
            calls.insert(TEXT.to_owned(), calls["write"]);
        }
    }
    for timeline in &mut experiment.timelines {
        timeline.target = format!("{TEXT}{}", timeline.target);
    }
    for runtime in &mut experiment.runtimes {
        runtime.runtime = TEXT.to_owned();
        runtime.version = TEXT.to_owned();
        runtime.api = TEXT.repeat(9);
        runtime.ten_kib[0].name = TEXT.to_owned();
        runtime.note = Some(TEXT.to_owned());
    }
    for answer in &mut experiment.answers {
        answer.claim = TEXT.to_owned();
        answer.because = TEXT.repeat(30);
    }
    experiment.caveats = vec![TEXT.to_owned()];
    experiment.missing = vec![Gap::new(TEXT.repeat(20), TEXT)];
    experiment.question = TEXT.to_owned();
}

#[test]
fn a_terminal_never_gets_what_a_name_holds() {
    let mut result = result();
    spoil(&mut result);
    for style in [Style::default(), ALL_ROWS] {
        let text = draw(&result, 100, style);
        assert!(
            text.contains("a\\u{1b}[2J\\r\\nb\\u{202e}\\u{9b}31m"),
            "{text}"
        );
        let raw = |char: &char| (char.is_control() && *char != '\n') || *char == '\u{202e}';
        assert_eq!(text.chars().find(raw), None);
    }
}

#[test]
fn colour_only_repeats() {
    for all_rows in [false, true] {
        let style = |colour| Style { colour, all_rows };
        let coloured = draw(&result(), 80, style(true));
        assert!(coloured.contains("\u{1b}[32mholds\u{1b}[0m"), "{coloured}");
        assert_eq!(without_colour(&coloured), draw(&result(), 80, style(false)));
    }
}

fn without_colour(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').unwrap().1)
}

#[test]
fn every_row_on_request() {
    let text = draw(&result(), 100, ALL_ROWS);
    for absent in ["not shown", "each file system"] {
        assert!(plain(&result(), 100).contains(absent));
        assert!(!text.contains(absent), "{text}");
    }
    let tables = text.matches("10,000 × 1 B  ").count();
    assert_eq!(
        tables, 3,
        "times of two file systems, memory of both: {text}"
    );
}

#[test]
fn one_file_system_is_not_compared() {
    let mut result = result();
    let experiment = buffering(&mut result);
    experiment.targets.truncate(1);
    experiment.rows.truncate(3);
    experiment.method.interrupted = false;
    let text = plain(&result, 100);
    let place = "on ext4 (no journal) at /srv/data on vda · kernel 6.18.0";
    assert!(
        text.lines()
            .nth(1)
            .is_some_and(|line| line.starts_with(place)),
        "{text}"
    );
    for absent in ["each file system", "interrupted", "not shown"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
}

#[test]
fn losses_come_first() {
    let mut result = result();
    buffering(&mut result).rows[1].row.evidence.lost_events = 1200;
    let text = plain(&result, 200);
    let line = "1,200 events lost: counts of row 2 may be too low";
    assert_eq!(text.lines().nth(2), Some(line), "{text}");
    assert!(text.contains("observed run, 1,200 events lost\n"), "{text}");
}
