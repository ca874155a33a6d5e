//! Java, Go, Node.js, cargo and pip: what they write is known beforehand, and is what is seen.

use std::fs;
use std::path::Path;
use std::process::Command;

use iostrata_core::trace::TraceResult;

use crate::traced::{file, place, trace};

const EVENTS: usize = 20_000;

/// `event 0` to `event 19999`, a line each.
fn events_bytes() -> u64 {
    let lines = (0..EVENTS).map(|event| format!("event {event}\n").len());
    u64::try_from(lines.sum::<usize>()).unwrap()
}

/// Whether a program is installed; otherwise says why the test is skipped.
fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .unwrap()
        .status
        .success();
    if !found {
        crate::skip::skip(format_args!("{program} is not installed"));
    }
    found
}

#[track_caller]
fn prepare(dir: &Path, command: &[&str]) {
    let mut program = Command::new(command[0]);
    let output = program.args(&command[1..]).current_dir(dir).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// One write for each event, and the program's own function among those it comes from; or
/// why it is not.
#[track_caller]
fn assert_event_by_event(result: &TraceResult, log: &str, function: &str) {
    let log = file(result, log);
    assert_eq!(log.writes.count, u64::try_from(EVENTS).unwrap());
    assert_eq!(log.writes.bytes, events_bytes());
    let write = log.calls.iter().find(|call| call.row.name == "write");
    let sites = &write.unwrap().sites;
    let mut functions = sites.iter().flat_map(|site| site.stack.iter());
    let is_named = functions.any(|name| name.contains(function));
    // On a busy machine a program can be gone before its memory map is read.
    let is_excused = sites.iter().all(|site| site.why_not.is_some());
    assert!(!sites.is_empty(), "no sites");
    assert!(is_named || is_excused, "no {function} in {sites:#?}");
}

/// Just-in-time compilers leave the names of their functions there.
fn remove_perf_maps(result: &TraceResult) {
    for task in &result.tasks {
        drop(fs::remove_file(format!("/tmp/perf-{}.map", task.process)));
    }
}

#[test]
fn java_that_writes_event_by_event() {
    if !has("javac") || !has("java") {
        return;
    }
    let dir = place();
    let source = format!(
        "class Events {{
            public static void main(String[] words) throws java.io.IOException {{
                try (var log = new java.io.FileOutputStream(\"java.log\")) {{
                    for (int event = 0; event < {EVENTS}; event++)
                        log.write((\"event \" + event + \"\\n\").getBytes());
                }}
            }}
        }}"
    );
    fs::write(dir.path().join("Events.java"), source).unwrap();
    prepare(dir.path(), &["javac", "Events.java"]);
    let result = trace(
        dir.path(),
        &[
            "java",
            "-XX:+PreserveFramePointer",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+DumpPerfMapAtExit",
            "Events",
        ],
    );
    remove_perf_maps(&result);
    assert_event_by_event(&result, "java.log", "java.io.FileOutputStream.write");
}

#[test]
fn go_that_writes_event_by_event() {
    if !has("go") {
        return;
    }
    let dir = place();
    let source = format!(
        "package main
        import \"os\"
        import \"strconv\"
        func main() {{
            log, err := os.Create(\"go.log\")
            for event := 0; event < {EVENTS} && err == nil; event++ {{
                _, err = log.WriteString(\"event \" + strconv.Itoa(event) + \"\\n\")
            }}
            if err != nil {{ panic(err) }}
        }}"
    );
    fs::write(dir.path().join("events.go"), source).unwrap();
    prepare(dir.path(), &["go", "build", "-o", "events", "events.go"]);
    let result = trace(dir.path(), &["./events"]);
    assert_event_by_event(&result, "go.log", "main.main");
}

#[test]
fn node_that_writes_event_by_event() {
    if !has("node") {
        return;
    }
    let dir = place();
    let source = format!(
        "const fs = require('fs');
        const log = fs.openSync('node.log', 'w');
        for (let event = 0; event < {EVENTS}; event++) fs.writeSync(log, `event ${{event}}\\n`);
        fs.closeSync(log);"
    );
    fs::write(dir.path().join("events.js"), source).unwrap();
    let result = trace(dir.path(), &["node", "--perf-basic-prof", "events.js"]);
    remove_perf_maps(&result);
    assert_event_by_event(&result, "node.log", "events.js");
}

#[test]
fn cargo_build_of_a_small_crate() {
    if !has("cargo") {
        return;
    }
    let dir = place();
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let source = "fn main() { println!(\"small\"); }\n";
    fs::create_dir(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.path().join("src/main.rs"), source).unwrap();
    let command = [
        "cargo",
        "build",
        "--quiet",
        "--offline",
        "--target-dir",
        "built",
    ];
    let result = trace(dir.path(), &command);
    // cargo, rustc that is asked for its version, rustc that compiles, and the linker.
    assert!(result.processes >= 3, "{}", result.processes);
    let length = |text: &str| u64::try_from(text.len()).unwrap();
    assert_eq!(file(&result, "src/main.rs").reads.bytes, length(source));
    let told = fs::metadata(dir.path().join("built/debug/small.d")).unwrap();
    assert_eq!(
        file(&result, "built/debug/small.d").writes.bytes,
        told.len()
    );
}

/// In the wheel that is installed.
const MODULES: usize = 20;

#[test]
fn pip_install_of_a_wheel() {
    if !has("pip") {
        return;
    }
    let dir = place();
    fs::write(dir.path().join("wheel.py"), include_str!("wheel.py")).unwrap();
    prepare(dir.path(), &["python3", "wheel.py", &MODULES.to_string()]);
    let command = [
        "env",
        "TMPDIR=.",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-compile",
        "--target",
        "packages",
        "small-1.0-py3-none-any.whl",
    ];
    let result = trace(dir.path(), &command);
    for module in 0..MODULES {
        let name = format!("small/m{module}.py");
        let there = fs::read_to_string(dir.path().join("packages").join(&name)).unwrap();
        assert_eq!(there, format!("value = {module}\n"));
        let row = file(&result, &name);
        assert_eq!(
            row.writes.bytes,
            u64::try_from(there.len()).unwrap(),
            "{name}"
        );
        assert_eq!(row.writes.count, 1, "{name}");
        assert_eq!(row.syncs.count, 0, "{name}");
    }
}
