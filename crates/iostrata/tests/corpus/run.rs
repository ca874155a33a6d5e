//! Runs a case under `iostrata trace`, and tells what was found.

use std::path::Path;
use std::process::Command;

use iostrata_core::rules;
use iostrata_core::trace::{Finding, Severity, TraceResult};

use crate::table::{ANY, Case};

/// Rules about what a crash loses; the others are ignored, and their savings not measured.
const DURABILITY: &[&str] = &[
    "acknowledged-not-synced",
    "close-without-sync",
    "directory-not-synced",
    "ignored-fsync-error",
    "mapped-not-synced",
    "overwritten-in-place",
    "rename-without-fsync",
    "sync-range-is-not-durable",
    "truncate-then-write",
    "unlink-before-durable",
];

/// Debian's programs, whatever else is installed.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

const PREAMBLE: &str = "py() { /usr/bin/python3 \"$@\"; }\n";

/// What was said of a case.
pub(crate) struct Ran {
    findings: Vec<Finding>,
    /// Each finding in words.
    pub(crate) told: Vec<String>,
}

impl Ran {
    /// Whether this rule names a file whose path ends so.
    pub(crate) fn names(&self, rule: &str, file: &str) -> bool {
        let is_meant =
            |it: &&Finding| it.rule == rule || rule == ANY && it.severity >= Severity::Medium;
        let of_rule = self.findings.iter().filter(is_meant);
        of_rule
            .flat_map(|finding| &finding.evidence)
            .filter_map(|cited| cited.path.as_ref())
            .any(|path| path.ends_with(file))
    }

    /// Findings that alarm.
    pub(crate) fn loud(&self) -> Vec<&Finding> {
        let is_loud = |it: &&Finding| it.severity >= Severity::Medium;
        self.findings.iter().filter(is_loud).collect()
    }
}

/// Prepares the case in a directory of its own, and runs it under `iostrata trace`.
#[track_caller]
pub(crate) fn observed(case: &Case, workloads: &Path) -> Ran {
    let place = tempfile::Builder::new()
        .prefix("iostrata-corpus-")
        .tempdir_in("/var/tmp")
        .unwrap();
    let home = tempfile::tempdir().unwrap();
    let at = |command: &mut Command| {
        command
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", home.path())
            .env("LANG", "C.UTF-8")
            .env("WORKLOADS", workloads)
            .current_dir(place.path());
    };
    let mut prepare = Command::new("/bin/sh");
    prepare.args(["-ec", &format!("{PREAMBLE}{}", case.prepare)]);
    at(&mut prepare);
    let output = prepare.output().unwrap();
    assert!(output.status.success(), "{}: {output:?}", case.name);

    let saved = home.path().join("result.json");
    let mut trace = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    trace.arg("trace").arg("--json").arg(&saved);
    for rule in rules::ALL {
        if !DURABILITY.contains(&rule.id) {
            trace.args(["--ignore", rule.id]);
        }
    }
    trace.args(["--", "/bin/sh", "-ec"]);
    trace.arg(format!("{PREAMBLE}{}", case.run));
    at(&mut trace);
    let output = trace.output().unwrap();
    assert!(output.status.success(), "{}: {output:?}", case.name);
    let result: TraceResult = serde_json::from_slice(&std::fs::read(saved).unwrap()).unwrap();
    assert_eq!(result.lost_events, 0, "{}", case.name);
    let told = result.findings.iter().map(in_words).collect();
    Ran {
        findings: result.findings,
        told,
    }
}

fn in_words(finding: &Finding) -> String {
    let paths = finding.evidence.iter().filter_map(|it| it.path.as_deref());
    let names: Vec<&str> = paths
        .map(|path| path.rsplit('/').next().unwrap_or(path))
        .collect();
    let severity = format!("{:?}", finding.severity).to_lowercase();
    format!("{severity} {} ({})", finding.rule, names.join(", "))
}
