//! Each part of iostrata fails at each of its stages: the program keeps running, the run fails aloud,
//! and what was seen is saved with what is missing.
#![cfg(debug_assertions)]

use iostrata_report::words;
use std::process::Output;

use iostrata_core::trace::TraceResult;

use crate::marked::Marked;

const RECORD: &[&str] = &["--record", "LOG"];
const PTRACE: &[&str] = &["--backend", "ptrace"];
const EVERY_CALL: &[&str] = &["--backend", "ptrace", "--every-call"];

/// Runs with a part that fails, and looks at what must hold whatever fails.
#[track_caller]
fn failed(stage: &str, options: &[&str]) -> (Marked, Output, Option<TraceResult>) {
    let marked = Marked::new();
    let mut command = marked.command(options);
    command.env("IOSTRATA_FAIL", stage);
    let output = command.output().unwrap();
    let what = format!("{stage} {options:?}");
    marked.assert_all_end(&what);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{what}: {text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: "), "{what}: {text}");
    let result = marked.result();
    (marked, output, result)
}

/// The program was not affected; what is missing is said, and nothing is concluded.
#[track_caller]
fn assert_incomplete(stage: &str, options: &[&str]) -> TraceResult {
    let (marked, output, result) = failed(stage, options);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(marked.is_done(), "{stage} {options:?}: {text}");
    let result = result.unwrap_or_else(|| panic!("{stage} {options:?}: {text}"));
    let name = stage.split('@').next().unwrap();
    let why = format!("injected at {name}");
    let is_told = result
        .missing
        .iter()
        .any(|gap| words::reason(&gap.why).to_string().contains(&why));
    assert!(is_told, "{stage} {options:?}: {:?}", result.missing);
    let concluded = result
        .missing
        .iter()
        .all(|gap| words::missing(&gap.what).to_string() != "findings");
    assert!(concluded || text.contains("findings: none"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.contains(&why) && last.contains("report"), "{last}");
    assert!(last.contains("not affected") || last.contains("not stopped"));
    result
}

#[track_caller]
fn assert_nothing_is_concluded(result: &TraceResult) {
    assert_eq!(result.findings, []);
    assert!(result.lost_events > 0, "no figure is taken for certain");
    assert!(
        result
            .missing
            .iter()
            .any(|gap| words::missing(&gap.what).to_string() == "findings")
    );
}

#[test]
fn the_reader_of_the_ring() {
    for stage in ["reader.drain", "reader.drain@5", "reader.event@300"] {
        for options in [&[][..], RECORD] {
            let result = assert_incomplete(stage, options);
            assert_nothing_is_concluded(&result);
            let because = result.recording.map(|log| log.incomplete_because);
            assert!(because.is_none_or(|because| !because.is_empty()));
        }
    }
    // With the first process stopped, and with one of several.
    for stage in ["reader.stop", "reader.stop@5"] {
        assert_nothing_is_concluded(&assert_incomplete(stage, RECORD));
    }
}

#[test]
fn the_writer_of_the_log() {
    for stage in [
        "writer.begin",
        "writer.batch",
        "writer.batch@2",
        "writer.end",
    ] {
        let result = assert_incomplete(stage, RECORD);
        assert_eq!(result.recording, None, "{stage}");
        assert_eq!(result.lost_events, 0, "{stage}");
    }
}

#[test]
fn the_guard_of_stopped_processes() {
    let (marked, output, result) = failed("guard.start", RECORD);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!marked.has_begun(), "not without a guard: {text}");
    assert_eq!(result, None);
}

/// Only a cause of requests is less certain: that is no failure.
#[test]
fn the_thread_that_reads_addresses() {
    let marked = Marked::new();
    let mut command = marked.command(&[]);
    let output = command.env("IOSTRATA_FAIL", "symbols.read").output();
    assert_eq!(output.unwrap().status.code(), Some(0));
    let result = marked.result().unwrap();
    marked.assert_right(&result, "symbols.read");
    let told = |gap: &iostrata_core::Gap| {
        words::reason(&gap.why)
            .to_string()
            .contains("injected at symbols.read")
    };
    assert!(result.missing.iter().any(told), "{:?}", result.missing);
}

#[test]
fn the_parts_that_wait_and_conclude() {
    for stage in [
        "history.finish",
        "main.executed",
        "main.wait",
        "main.others",
        "main.stop",
        "main.aftermath",
        "main.assemble",
        "main.findings",
        "signals.begin",
    ] {
        let result = assert_incomplete(stage, &[]);
        if stage == "main.findings" {
            assert_eq!(result.findings, []);
        } else {
            assert_nothing_is_concluded(&result);
        }
    }
}

#[test]
fn the_tracer_by_stops() {
    for stage in [
        "tracer.loop@7",
        "tracer.loop@700",
        "tracer.record",
        "tracer.record@300",
        "tracer.record@900",
        "record.finish",
        "main.wait",
        "main.others",
        "main.assemble",
        "signals.begin",
    ] {
        for options in [PTRACE, EVERY_CALL] {
            assert_nothing_is_concluded(&assert_incomplete(stage, options));
        }
    }
    for options in [PTRACE, EVERY_CALL] {
        let (marked, output, result) = failed("tracer.end", options);
        assert!(marked.is_done(), "{output:?}");
        assert_nothing_is_concluded(&result.unwrap());
    }
}
