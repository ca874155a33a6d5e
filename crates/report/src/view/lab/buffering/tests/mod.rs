mod pages;

use iostrata_core::buffering::Mode;
use iostrata_core::lab::LabResult;

use super::fixture::{buffering, result};
use crate::view::lab::drawn::draw;
use crate::view::lab::drawn::{
    ALL_ROWS, HOSTILE, assert_colour_only_repeats, assert_escaped, assert_lines_fit, plain,
};

#[test]
fn lines_fit_and_end_in_a_letter() {
    let mut hostile = result();
    spoil(&mut hostile);
    assert_lines_fit(&[result(), hostile, wide()]);
}

/// The longest names and counts of a real run.
fn wide() -> LabResult {
    let mut result = result();
    let experiment = buffering(&mut result);
    experiment.targets[1].name = "ext4-data_journal".to_owned();
    for row in experiment.rows.iter_mut().skip(1) {
        row.row.case.mode = Mode::SyncFileRange;
        row.per_write.amplification = Some(108_134.4);
        row.per_write.requests.data = Some(0.001);
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
    result.environment.virtualization = Some(HOSTILE.to_owned());
    result.environment.kernel = HOSTILE.to_owned();
    let experiment = buffering(result);
    for target in &mut experiment.targets {
        target.name = HOSTILE.repeat(3);
        target.storage.path = format!("/{}", HOSTILE.repeat(20));
        target.storage.filesystem = HOSTILE.to_owned();
        target.storage.mount_options = format!("data={HOSTILE}");
        target.storage.devices[0].name = HOSTILE.to_owned();
    }
    for row in &mut experiment.rows {
        let name = if row.row.target == "host" { "" } else { "2" };
        row.row.target = format!("{HOSTILE}{name}");
        row.row.notes = vec![HOSTILE.to_owned()];
        row.row.evidence.missing = vec![crate::fixture::gap(HOSTILE, HOSTILE)];
        if let Some(calls) = &mut row.row.evidence.syscalls {
            let write = *calls.get("write").unwrap();
            calls.insert(HOSTILE.to_owned(), write);
        }
    }
    for timeline in &mut experiment.own.timelines {
        timeline.target = format!("{HOSTILE}{}", timeline.target);
    }
    for runtime in &mut experiment.own.runtimes {
        runtime.runtime = HOSTILE.to_owned();
        runtime.version = HOSTILE.to_owned();
        runtime.api = HOSTILE.repeat(9);
        runtime.ten_kib[0].name = HOSTILE.to_owned();
        runtime.note = Some(HOSTILE.to_owned());
    }
    for answer in &mut experiment.answers {
        answer.claim = HOSTILE.to_owned();
        answer.because = HOSTILE.repeat(30);
    }
    experiment.caveats = vec![HOSTILE.to_owned()];
    experiment.missing = vec![crate::fixture::gap(HOSTILE.repeat(20), HOSTILE)];
    experiment.question = HOSTILE.to_owned();
}

#[test]
fn a_terminal_never_gets_what_a_name_holds() {
    let mut result = result();
    spoil(&mut result);
    assert_escaped(&result);
}

#[test]
fn colour_only_repeats() {
    assert_colour_only_repeats(&result());
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
