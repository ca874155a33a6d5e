//! Metrics of a lab result.

use iostrata_core::lab::{Experiment, LabResult};
use serde_json::Value;

use super::super::lab::{LabRow, name, rows};
use super::families::{Families, Label};

pub(super) fn add(families: &mut Families, result: &str, lab: &LabResult) {
    let environment = &lab.environment;
    let about = [
        ("result", result),
        ("kernel", environment.kernel.as_str()),
        ("iostrata_version", environment.iostrata_version.as_str()),
    ];
    let info = ("lab_info", "Where the lab was run");
    families.add(info, &about, Some(1_u64));
    for row in rows(0, lab) {
        add_row(families, result, &row);
    }
    for experiment in &lab.experiments {
        answers(families, result, experiment);
    }
}

fn add_row(families: &mut Families, result: &str, row: &LabRow<'_>) {
    let number = row.row.to_string();
    let mut labels: Vec<Label<'_>> = vec![
        ("result", result),
        ("experiment", row.experiment),
        ("row", &number),
        ("target", row.target),
    ];
    let keys = row.case.iter().filter_map(|(key, value)| {
        let text = match value {
            Value::Null => return None,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((key.as_str(), text))
    });
    let keys: Vec<(&str, String)> = keys.collect();
    labels.extend(keys.iter().map(|(key, text)| (*key, text.as_str())));
    let timing = row.timing;
    let mut seconds = |name, value| families.add(name, &labels, value);
    seconds(
        ("lab_median_seconds", "Median time of a run of the case"),
        timing.map(|timing| timing.median_s),
    );
    seconds(
        (
            "lab_low_seconds",
            "Lower end of the 95 % interval of the median",
        ),
        timing.map(|timing| timing.low_s),
    );
    seconds(
        (
            "lab_high_seconds",
            "Upper end of the 95 % interval of the median",
        ),
        timing.map(|timing| timing.high_s),
    );
    let device = row.evidence.device.as_ref();
    let mut count = |name, value: Option<u64>| families.add(name, &labels, value);
    count(
        ("lab_runs", "Runs that were timed"),
        timing.map(|timing| timing.samples_s.len() as u64),
    );
    count(
        (
            "lab_device_written_bytes",
            "Bytes that devices wrote in the observed run",
        ),
        device.map(|device| device.writes().bytes),
    );
    count(
        (
            "lab_device_flushes",
            "Flushes that devices were asked for in the observed run",
        ),
        device.map(|device| device.flushes),
    );
    count(
        (
            "lab_lost_events",
            "Events that were lost in the observed run",
        ),
        Some(row.evidence.lost_events),
    );
}

fn answers(families: &mut Families, result: &str, experiment: &Experiment) {
    let answers = match experiment {
        Experiment::Buffering(one) => &one.answers,
        Experiment::PageCache(one) => &one.answers,
        Experiment::Sync(one) => &one.answers,
        Experiment::Atime(one) => &one.answers,
        Experiment::Copy(one) => &one.answers,
    };
    for (answer, place) in answers.iter().zip(1..) {
        let number = u64::to_string(&place);
        let labels = [
            ("result", result),
            ("experiment", name(experiment)),
            ("answer", &number),
            ("claim", &answer.claim),
            ("verdict", answer.verdict.as_str()),
        ];
        families.add(
            ("lab_answer", "What the rows say of a claim"),
            &labels,
            Some(1_u64),
        );
    }
}
