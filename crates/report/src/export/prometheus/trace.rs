//! Metrics of a trace.

use std::collections::BTreeMap;

use iostrata_core::evidence::DeviceRange;
use iostrata_core::trace::{Descent, FileRow, TraceResult};

use super::super::column::json_name;
use super::super::trace::CAUSES;
use super::MOST_FILES;
use super::families::{Families, Label, Number};

pub(super) fn add(families: &mut Families, result: &str, trace: &TraceResult) {
    let label = ("result", result);
    about(families, label, trace);
    run(families, label, trace);
    descent(families, label, &trace.bytes);
    calls(families, label, trace);
    let evidence = &trace.evidence;
    let phases = [
        ("running", evidence.device_range()),
        ("after_exit", evidence.device_after_exit_range()),
    ];
    for (phase, device) in phases {
        if let Some(device) = device {
            requests(families, label, phase, &device);
        }
    }
    for row in trace.files.iter().take(MOST_FILES) {
        file(families, label, row);
    }
    findings(families, label, trace);
}

fn about(families: &mut Families, label: (&str, &str), trace: &TraceResult) {
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
        Some(1_u64),
    );
}

/// Figures of the whole run.
fn run(families: &mut Families, label: (&str, &str), trace: &TraceResult) {
    let labels = &[label];
    let evidence = &trace.evidence;
    let code = trace.exit_code;
    families.add(
        ("trace_exit_code", "Exit code of the program"),
        labels,
        code,
    );
    let signal = trace.signal;
    families.add(("trace_signal", "Signal that ended it"), labels, signal);
    let mut seconds = |name, value: Option<f64>| families.add(name, labels, value);
    seconds(
        ("trace_wall_seconds", "From its start to its end"),
        Some(trace.wall_s),
    );
    seconds(
        ("trace_on_cpu_seconds", "All its threads on CPUs"),
        evidence.on_cpu_s,
    );
    seconds(
        ("trace_blocked_seconds", "All its threads blocked in calls"),
        evidence.blocked_s,
    );
    let mut count = |name, value: Option<u64>| families.add(name, labels, value);
    count(("trace_processes", "Processes seen"), Some(trace.processes));
    count(("trace_threads", "Threads seen"), Some(trace.threads));
    count(
        (
            "trace_lost_events",
            "Events that were lost: counts may be too low by them",
        ),
        Some(trace.lost_events),
    );
    count(
        ("trace_files", "Files that were used"),
        Some(trace.files.len() as u64),
    );
}

/// Bytes on their way down.
fn descent(families: &mut Families, label: (&str, &str), bytes: &Descent) {
    let labels = &[label];
    let mut count = |name, value: Option<u64>| families.add(name, labels, value);
    count(
        (
            "trace_read_bytes",
            "Bytes that calls read from regular files",
        ),
        Some(bytes.read_bytes),
    );
    count(
        (
            "trace_written_bytes",
            "Bytes that calls wrote to regular files",
        ),
        Some(bytes.written_bytes),
    );
    count(
        (
            "trace_dirtied_bytes",
            "Bytes of the page cache turned dirty",
        ),
        bytes.dirtied_bytes,
    );
    count(
        ("trace_device_read_bytes", "Bytes that devices read for it"),
        bytes.device_read_bytes,
    );
    count(
        (
            "trace_device_written_bytes",
            "Bytes that devices wrote while it ran",
        ),
        bytes.device_written_bytes,
    );
    count(
        (
            "trace_dirty_at_exit_bytes",
            "Bytes left to write-back at its end",
        ),
        bytes.dirty_at_exit_bytes,
    );
}

fn calls(families: &mut Families, label: (&str, &str), trace: &TraceResult) {
    for call in &trace.syscalls {
        let labels = &[label, ("call", call.name.as_str())];
        families.add(("trace_calls", "Calls"), labels, Some(call.count));
        let errors = Some(call.errors);
        families.add(("trace_call_errors", "Calls that failed"), labels, errors);
        let bytes = Some(call.bytes);
        families.add(("trace_call_bytes", "Bytes moved by calls"), labels, bytes);
        let time_s = Some(call.time_s);
        families.add(("trace_call_seconds", "Time in calls"), labels, time_s);
        families.add(
            ("trace_call_blocked_seconds", "Time blocked in calls"),
            labels,
            call.blocked_s,
        );
    }
}

const REQUESTS: (&str, &str) = (
    "trace_device_requests",
    "Requests to devices by their cause",
);
const REQUEST_BYTES: (&str, &str) = ("trace_device_request_bytes", "Bytes of requests to devices");
const REQUEST_SECONDS: (&str, &str) = (
    "trace_device_request_seconds",
    "From issue to completion of the requests",
);

/// What is exact has a sample; of what other programs may share, the least and the most.
fn requests(families: &mut Families, label: (&str, &str), phase: &str, device: &DeviceRange) {
    for (cause, part) in CAUSES {
        let labels = [label, ("cause", cause), ("phase", phase)];
        add_range(families, REQUESTS, &labels, device.of(|it| part(it).count));
        add_range(
            families,
            REQUEST_BYTES,
            &labels,
            device.of(|it| part(it).bytes),
        );
        add_range(
            families,
            REQUEST_SECONDS,
            &labels,
            device.of(|it| part(it).time_s),
        );
    }
    let labels = [label, ("cause", "flush"), ("phase", phase)];
    add_range(families, REQUESTS, &labels, device.of(|it| it.flushes));
    let seconds = device.of(|it| it.flush_time_s);
    add_range(families, REQUEST_SECONDS, &labels, seconds);
    let labels = [label, ("cause", "discard"), ("phase", phase)];
    add_range(families, REQUESTS, &labels, device.of(|it| it.discards));
}

fn add_range<N: Into<Number> + PartialEq>(
    families: &mut Families,
    metric: (&'static str, &'static str),
    labels: &[Label<'_>],
    (least, most): (N, N),
) {
    if least == most {
        families.add(metric, labels, Some(least));
    } else {
        for (bound, value) in [("at_least", least), ("at_most", most)] {
            let labels = [labels, &[("bound", bound)]].concat();
            families.add(metric, &labels, Some(value));
        }
    }
}

/// A path can be another file's later, and two files can have had the same one.
fn file(families: &mut Families, label: (&str, &str), file: &FileRow) {
    let (inode, generation) = (file.inode.to_string(), file.generation.to_string());
    let labels = &[
        label,
        ("path", file.path.as_str()),
        ("device", file.device.as_str()),
        ("inode", inode.as_str()),
        ("generation", generation.as_str()),
    ];
    families.add(
        (
            "trace_file_seconds",
            "Time in calls on the files with the most of it",
        ),
        labels,
        Some(file.time_s()),
    );
    let mut count = |name, value: Option<u64>| families.add(name, labels, value);
    count(
        ("trace_file_opens", "Calls that opened the file"),
        Some(file.opens),
    );
    count(
        (
            "trace_file_read_bytes",
            "Bytes that calls read from the file",
        ),
        Some(file.reads.bytes),
    );
    count(
        (
            "trace_file_written_bytes",
            "Bytes that calls wrote to the file",
        ),
        Some(file.writes.bytes),
    );
    count(
        ("trace_file_syncs", "Syncs of the file"),
        Some(file.syncs.count),
    );
    count(
        (
            "trace_file_dirty_at_exit_bytes",
            "Bytes of the file left to write-back",
        ),
        file.dirty_at_exit_bytes,
    );
}

fn findings(families: &mut Families, label: (&str, &str), trace: &TraceResult) {
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
            Some(number),
        );
    }
}
