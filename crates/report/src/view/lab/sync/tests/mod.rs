mod fixture;
mod pages;

use iostrata_core::lab::LabResult;

use crate::view::lab::drawn::{
    ALL_ROWS, HOSTILE, assert_colour_only_repeats, assert_escaped, assert_lines_fit, plain,
};
use fixture::{result, sync};

#[test]
fn lines_fit_and_end_in_a_letter() {
    let mut hostile = result();
    spoil(&mut hostile);
    assert_lines_fit(&[result(), hostile, wide()]);
}

/// The longest names and counts of a real run.
fn wide() -> LabResult {
    let mut result = result();
    let experiment = sync(&mut result);
    experiment.targets[1].name = "ext4-data_journal".to_owned();
    for row in &mut experiment.rows {
        row.per_sync.bytes = Some(233_398.4);
        row.per_sync.requests.metadata = Some(13.29);
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
    result.environment.kernel = HOSTILE.to_owned();
    let experiment = sync(result);
    for target in &mut experiment.targets {
        target.storage.path = format!("/{}", HOSTILE.repeat(20));
        target.storage.filesystem = HOSTILE.to_owned();
        let disk = &mut target.storage.devices[0];
        disk.name = HOSTILE.to_owned();
        disk.model = Some(HOSTILE.repeat(9));
        disk.scheduler = Some(HOSTILE.to_owned());
    }
    for row in &mut experiment.rows {
        row.row.notes = vec![HOSTILE.to_owned()];
        row.row.evidence.missing = vec![crate::fixture::gap(HOSTILE, HOSTILE)];
    }
    for projection in &mut experiment.own.projections {
        projection.device.name = HOSTILE.to_owned();
    }
    for setting in experiment.settings.iter_mut().flatten() {
        setting.value = HOSTILE.repeat(9);
    }
    experiment.answers[0].because = HOSTILE.repeat(30);
    experiment.caveats = vec![HOSTILE.to_owned()];
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
fn without_evidence_rates_remain() {
    let mut blind = result();
    for row in &mut sync(&mut blind).rows {
        row.per_sync = iostrata_core::sync::PerSync::default();
        row.row.evidence.device = None;
        for second in &mut row.series.seconds {
            (
                second.requests.data,
                second.requests.journal,
                second.requests.commit,
            ) = (None, None, None);
            (second.requests.metadata, second.requests.flushes) = (None, None);
        }
    }
    sync(&mut blind).own.projections.clear();
    let text = plain(&blind, 100);
    assert!(!text.contains("metadata  flushes"), "{text}");
    assert!(!text.contains("projection"), "{text}");
    assert!(text.contains("second 1"), "{text}");
    assert!(text.contains("without any value in"), "{text}");
}

#[test]
fn writes_of_unknown_cause_are_in_the_seconds_where_there_were_any() {
    let mut seen = result();
    assert!(!plain(&seen, 200).contains("unknown/s"));
    let mut rows = sync(&mut seen).rows.iter_mut();
    let second = rows.find_map(|row| row.series.seconds.first_mut());
    second.unwrap().requests.unknown = Some(7);
    assert!(plain(&seen, 200).contains("unknown/s"));
}
