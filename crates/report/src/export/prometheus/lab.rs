//! Metrics of a lab result.

use iostrata_core::lab::LabResult;
use serde_json::Value as Json;

use super::families::{Families, Label};
use crate::fields::{Fields, Value};
use crate::lab::{Facts, Whole};

pub(super) fn add(families: &mut Families, result: &str, lab: &LabResult) {
    for (machine, environment) in lab.environments() {
        let mut about = vec![
            ("result", result),
            ("kernel", environment.kernel.as_str()),
            ("iostrata_version", environment.iostrata_version.as_str()),
        ];
        about.extend(machine.map(|machine| ("machine", machine)));
        let info = ("lab_info", "Where the lab was run");
        families.add(info, &about, &Value::Count(1));
    }
    let wholes: Vec<Whole<'_>> = lab.experiments.iter().map(Whole::of).collect();
    let fields = fields();
    for whole in &wholes {
        for row in &whole.rows {
            add_row(families, &fields, (result, whole.name), row);
        }
    }
    for whole in &wholes {
        answers(families, result, whole);
    }
}

fn fields<'a>() -> Fields<'a, Facts<'a>> {
    Fields::<Facts<'a>>::new()
        .field("", |row| Some(row.timing?.median_s))
        .metric("lab_median_seconds", "Median time of a run of the case")
        .field("", |row| Some(row.timing?.low_s))
        .metric(
            "lab_low_seconds",
            "Lower end of the 95 % interval of the median; the least of five runs or fewer",
        )
        .field("", |row| Some(row.timing?.high_s))
        .metric(
            "lab_high_seconds",
            "Upper end of the 95 % interval of the median; the most of five runs or fewer",
        )
        .field("", |row| Some(row.timing?.samples_s.len() as u64))
        .metric("lab_runs", "Runs that were timed")
        .field("", |row| Some(row.evidence.device.as_ref()?.writes().bytes))
        .metric(
            "lab_device_written_bytes",
            "Bytes that devices wrote in the observed run",
        )
        .field("", |row| Some(row.evidence.device.as_ref()?.flushes))
        .metric(
            "lab_device_flushes",
            "Flushes that devices were asked for in the observed run",
        )
        .field("", |row| row.evidence.lost_events)
        .metric(
            "lab_lost_events",
            "Events that were lost in the observed run",
        )
}

fn add_row<'a>(
    families: &mut Families,
    fields: &Fields<'a, Facts<'a>>,
    (result, experiment): (&str, &str),
    row: &Facts<'a>,
) {
    let number = row.number.to_string();
    let mut labels: Vec<Label<'_>> = vec![
        ("result", result),
        ("experiment", experiment),
        ("row", &number),
        ("target", row.target),
    ];
    labels.extend(row.machine.map(|machine| ("machine", machine)));
    let case = row.case();
    let keys = case.iter().filter_map(|(key, value)| {
        let text = match value {
            Json::Null => return None,
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((key.as_str(), text))
    });
    let keys: Vec<(&str, String)> = keys.collect();
    labels.extend(keys.iter().map(|(key, text)| (*key, text.as_str())));
    families.add_row(&labels, fields, row);
}

fn answers(families: &mut Families, result: &str, whole: &Whole<'_>) {
    for (answer, place) in whole.answers.iter().zip(1..) {
        let number = u64::to_string(&place);
        let mut labels: Vec<Label<'_>> = vec![
            ("result", result),
            ("experiment", whole.name),
            ("answer", &number),
            ("claim", &answer.claim),
            ("verdict", answer.verdict.as_str()),
        ];
        let machine = answer.machine.as_deref();
        labels.extend(machine.map(|machine| ("machine", machine)));
        let metric = ("lab_answer", "What the rows say of a claim");
        families.add(metric, &labels, &Value::Count(1));
    }
}
