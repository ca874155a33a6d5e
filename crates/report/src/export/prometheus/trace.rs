//! Metrics of a trace.

use std::collections::BTreeMap;

use iostrata_core::trace::{FileRow, TraceResult};

use super::super::trace::requests::{Requested, requested};
use super::MOST_FILES;
use super::families::{Families, Label};
use crate::fields::trace::{call, file, run};
use crate::fields::{Metric, Scalar, Value, json_name};

pub(super) fn add(families: &mut Families, result: &str, trace: &TraceResult) {
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
    families.add(
        ("trace_info", "What was traced, and where"),
        &about,
        &Value::Count(1),
    );
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
        families.add(
            ("trace_findings", "Defects that a rule saw"),
            labels,
            &Value::Count(number),
        );
    }
}
