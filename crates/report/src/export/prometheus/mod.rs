//! Results as metrics in the text exposition format, for the textfile collector of
//! `node_exporter` (Prometheus documentation, "Exposition formats").
//!
//! All are gauges: a result is a finished run, and the next one starts over. Unknown values have no
//! sample.

mod families;

use std::collections::BTreeMap;
use std::io::{self, Write};

use iostrata_core::lab::{Facts, LabResult, Shared};
use iostrata_core::trace::{FileRow, TraceResult};
use serde_json::Value as Json;

use super::results::{Content, Source};
use super::trace::requests::{Requested, requested};
use crate::fields::trace::{call, file, run};
use crate::fields::{Fields, Metric, Scalar, Value, json_name};
use families::{Families, Label};

/// Number of files of a trace with their own metrics: those with the most time. A metrics database
/// keeps a series for every path that it ever received.
pub const MOST_FILES: usize = 20;

/// Writes the metrics of lab and trace results. Operation logs have none.
///
/// # Errors
/// When `output` accepts no more bytes.
pub fn write(sources: &[Source<'_>], mut output: impl Write) -> io::Result<()> {
    let mut families = Families::default();
    for source in sources {
        let result = source.path.to_string_lossy();
        match source.content {
            Content::Lab(lab) => add_lab(&mut families, &result, lab),
            Content::Trace(trace) => add_trace(&mut families, &result, trace),
            Content::Log(_) => {}
        }
    }
    output.write_all(families.text().as_bytes())
}

fn add_lab(families: &mut Families, result: &str, lab: &LabResult) {
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
    let fields = fields();
    for experiment in &lab.experiments {
        for row in experiment.facts() {
            add_row(families, &fields, (result, experiment.shared().id), &row);
        }
    }
    for experiment in &lab.experiments {
        answers(families, result, &experiment.shared());
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

fn answers(families: &mut Families, result: &str, shared: &Shared<'_>) {
    for (answer, place) in shared.answers.iter().zip(1..) {
        let number = u64::to_string(&place);
        let mut labels: Vec<Label<'_>> = vec![
            ("result", result),
            ("experiment", shared.id),
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

fn add_trace(families: &mut Families, result: &str, trace: &TraceResult) {
    let label = ("result", result);
    about(families, label, trace);
    families.add_row(&[label], &run(), &trace);
    for row in &trace.syscalls {
        let labels = [label, ("call", row.name.as_str())];
        families.add_row(&labels, &call(), &row);
    }
    for row in requested(&trace.evidence) {
        requests(families, label, &row);
    }
    for row in trace.files.iter().take(MOST_FILES) {
        of_file(families, label, row);
    }
    findings(families, label, trace);
}

fn about(families: &mut Families, label: Label<'_>, trace: &TraceResult) {
    let environment = &trace.environment;
    let command = trace.command.join(" ");
    let backend = json_name(&trace.backend).unwrap_or_default();
    let about = [
        label,
        ("command", command.as_str()),
        ("backend", backend.as_str()),
        ("kernel", environment.kernel.as_str()),
        ("iostrata_version", environment.iostrata_version.as_str()),
    ];
    let info = ("trace_info", "What was traced, and where");
    families.add(info, &about, &Value::Count(1));
}

const REQUESTS: Metric = (
    "trace_device_requests",
    "Requests to devices by their cause",
);
const REQUEST_BYTES: Metric = ("trace_device_request_bytes", "Bytes of requests to devices");
const REQUEST_SECONDS: Metric = (
    "trace_device_request_seconds",
    "From issue to completion of the requests",
);

/// Exact values have a sample; values possibly shared with other programs have minimum and maximum.
fn requests(families: &mut Families, label: Label<'_>, row: &Requested) {
    let phase = if row.after_exit {
        "after_exit"
    } else {
        "running"
    };
    let labels = [label, ("cause", row.cause), ("phase", phase)];
    add_range(families, REQUESTS, &labels, row.count);
    add_range(families, REQUEST_BYTES, &labels, row.bytes);
    add_range(families, REQUEST_SECONDS, &labels, row.time_s);
}

fn add_range<N: Scalar<'static> + PartialEq>(
    families: &mut Families,
    metric: Metric,
    labels: &[Label<'_>],
    range: Option<(N, N)>,
) {
    let Some((least, most)) = range else { return };
    if least == most {
        families.add(metric, labels, &least.value());
    } else {
        for (bound, value) in [("at_least", least), ("at_most", most)] {
            let labels = [labels, &[("bound", bound)]].concat();
            families.add(metric, &labels, &value.value());
        }
    }
}

/// A path can belong to another file later, and two files can have had the same one.
fn of_file(families: &mut Families, label: Label<'_>, row: &FileRow) {
    let (inode, generation) = (row.inode.to_string(), row.generation.to_string());
    let labels = [
        label,
        ("path", row.path.as_str()),
        ("device", row.device.as_str()),
        ("inode", inode.as_str()),
        ("generation", generation.as_str()),
    ];
    families.add_row(&labels, &file(), &row);
}

fn findings(families: &mut Families, label: Label<'_>, trace: &TraceResult) {
    let mut found: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for finding in &trace.findings {
        let severity = json_name(&finding.severity).unwrap_or_default();
        *found.entry((finding.rule.as_str(), severity)).or_default() += 1;
    }
    for ((rule, severity), number) in found {
        let labels = &[label, ("rule", rule), ("severity", severity.as_str())];
        let metric = ("trace_findings", "Defects that a rule saw");
        families.add(metric, labels, &Value::Count(number));
    }
}
