//! Results as metrics in the text exposition format, for the textfile collector of
//! `node_exporter` (Prometheus documentation, "Exposition formats").
//!
//! All are gauges: a result is a finished run, and the next one starts over. Unknown values have no
//! sample.

mod families;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt as _;

use iostrata_core::bytes::{text_of, text_of_path};
use iostrata_core::lab::{Facts, LabResult, Shared};
use iostrata_core::trace::{FileRow, TraceResult};
use serde_json::Value as Json;

use super::results::{Content, Source};
use super::trace::requests::{Requested, requested};
use crate::fields::trace::{call, file, run};
use crate::fields::{Fields, Scalar, Value, json_name, metric};
use families::{Families, Label, label};

/// Number of files of a trace with their own metrics: those with the most time. A metrics database
/// keeps a series for every path that it ever received.
pub const MOST_FILES: usize = 20;

/// Writes the metrics of lab and trace results. Operation logs have none.
///
/// # Errors
/// When `output` accepts no more bytes.
pub fn write(sources: &[Source<'_>], output: impl Write) -> io::Result<()> {
    let mut families = Families::default();
    for source in sources {
        let result = label("result", text_of(source.path.as_os_str().as_bytes()));
        match source.content {
            Content::Lab(lab) => add_lab(&mut families, &result, lab),
            Content::Trace(trace) => add_trace(&mut families, &result, trace),
            Content::Log(_) => {}
        }
    }
    let mut output = BufWriter::new(output);
    families.write(&mut output)?;
    output.flush()
}

fn add_lab<'l>(families: &mut Families<'l>, result: &Label<'l>, lab: &'l LabResult) {
    for (machine, environment) in lab.environments() {
        let mut about = vec![
            result.clone(),
            label("kernel", environment.kernel.as_str()),
            label("iostrata_version", environment.iostrata_version.as_str()),
        ];
        about.extend(machine.map(|machine| label("machine", machine)));
        families.add(metric("lab_info"), &about.into(), &Value::Count(1));
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
        .measure("lab_median_seconds", |row| Some(row.timing?.median_s))
        .measure("lab_low_seconds", |row| Some(row.timing?.low_s))
        .measure("lab_high_seconds", |row| Some(row.timing?.high_s))
        .measure("lab_runs", |row| Some(row.timing?.samples_s.len() as u64))
        .measure("lab_device_written_bytes", |row| {
            Some(row.evidence.exact_device()?.writes().bytes)
        })
        .measure("lab_device_flushes", |row| {
            Some(row.evidence.exact_device()?.flushes)
        })
        .measure("lab_lost_events", |row| row.evidence.lost_events)
}

fn add_row<'l>(
    families: &mut Families<'l>,
    fields: &Fields<'l, Facts<'l>>,
    (result, experiment): (&Label<'l>, &'l str),
    row: &Facts<'l>,
) {
    let mut labels = vec![
        result.clone(),
        label("experiment", experiment),
        label("row", row.number.to_string()),
        label("target", row.target),
    ];
    labels.extend(row.machine.map(|machine| label("machine", machine)));
    labels.extend(row.case().into_iter().filter_map(|(key, value)| {
        let text = match value {
            Json::Null => return None,
            Json::String(text) => text,
            other => other.to_string(),
        };
        Some(label(key, text))
    }));
    families.add_row(labels, fields, row);
}

fn answers<'l>(families: &mut Families<'l>, result: &Label<'l>, shared: &Shared<'l>) {
    for (answer, place) in shared.answers.iter().zip(1..) {
        let mut labels = vec![
            result.clone(),
            label("experiment", shared.id),
            label("answer", u64::to_string(&place)),
            label("claim", answer.claim.as_str()),
            label("verdict", answer.verdict.as_str()),
        ];
        let machine = answer.machine.as_deref();
        labels.extend(machine.map(|machine| label("machine", machine)));
        families.add(metric("lab_answer"), &labels.into(), &Value::Count(1));
    }
}

fn add_trace<'l>(families: &mut Families<'l>, result: &Label<'l>, trace: &'l TraceResult) {
    about(families, result, trace);
    families.add_row(vec![result.clone()], &run(), &trace);
    for row in &trace.syscalls {
        let labels = vec![result.clone(), label("call", row.name.as_str())];
        families.add_row(labels, &call(), &row);
    }
    for row in requested(&trace.evidence) {
        requests(families, result, &row);
    }
    for row in trace.files.iter().take(MOST_FILES) {
        of_file(families, result, row);
    }
    findings(families, result, trace);
}

fn about<'l>(families: &mut Families<'l>, result: &Label<'l>, trace: &'l TraceResult) {
    let environment = &trace.environment;
    let about = [
        result.clone(),
        label("command", trace.command.join(" ")),
        label("backend", json_name(&trace.backend).unwrap_or_default()),
        label("kernel", environment.kernel.as_str()),
        label("iostrata_version", environment.iostrata_version.as_str()),
    ];
    families.add(metric("trace_info"), &about.into(), &Value::Count(1));
}

/// Exact values have a sample; values possibly shared with other programs have minimum and maximum.
fn requests<'l>(families: &mut Families<'l>, result: &Label<'l>, row: &Requested) {
    let phase = if row.after_exit {
        "after_exit"
    } else {
        "running"
    };
    let labels = [
        result.clone(),
        label("cause", row.cause),
        label("phase", phase),
    ];
    add_range(families, "trace_device_requests", &labels, row.count);
    add_range(families, "trace_device_request_bytes", &labels, row.bytes);
    add_range(
        families,
        "trace_device_request_seconds",
        &labels,
        row.time_s,
    );
}

fn add_range<'l, N: Scalar<'static> + PartialEq>(
    families: &mut Families<'l>,
    name: &'static str,
    labels: &[Label<'l>],
    range: Option<(N, N)>,
) {
    let Some((least, most)) = range else { return };
    if least == most {
        families.add(metric(name), &labels.into(), &least.value());
    } else {
        for (bound, value) in [("at_least", least), ("at_most", most)] {
            let labels = [labels, &[label("bound", bound)]].concat();
            families.add(metric(name), &labels.into(), &value.value());
        }
    }
}

/// A path can belong to another file later, and two files can have had the same one.
fn of_file<'l>(families: &mut Families<'l>, result: &Label<'l>, row: &'l FileRow) {
    let labels = vec![
        result.clone(),
        label("path", text_of_path(&row.path, row.path_hex.as_deref())),
        label("device", row.device.as_str()),
        label("inode", row.inode.to_string()),
        label("generation", row.generation.to_string()),
    ];
    families.add_row(labels, &file(), &row);
}

fn findings<'l>(families: &mut Families<'l>, result: &Label<'l>, trace: &'l TraceResult) {
    let mut found: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for finding in &trace.findings {
        let severity = json_name(&finding.severity).unwrap_or_default();
        *found.entry((finding.rule.as_str(), severity)).or_default() += 1;
    }
    for ((rule, severity), number) in found {
        let labels = [
            result.clone(),
            label("rule", rule),
            label("severity", severity),
        ];
        families.add(
            metric("trace_findings"),
            &labels.into(),
            &Value::Count(number),
        );
    }
}
