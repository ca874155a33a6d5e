//! Calls made the 32-bit way.

use iostrata_core::trace::TraceResult;
use iostrata_report::words;

use crate::traced::{iostrata, place};

/// At an address of 32 bits, as the calls take no other.
fn narrow(dir: &std::path::Path) -> String {
    let program = dir.join("narrow");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/narrow.c");
    let mut compile = std::process::Command::new("cc");
    compile.args(["-O1", "-static", "-no-pie", "-o"]);
    assert!(
        compile
            .arg(&program)
            .arg(source)
            .status()
            .unwrap()
            .success()
    );
    program.to_str().unwrap().to_owned()
}

#[test]
fn they_are_counted_and_no_budget_is_kept_by_them() {
    let dir = place();
    let program = narrow(dir.path());
    for backend in ["ebpf", "ptrace"] {
        for (budget, code) in [
            ("fsync<=0", 125),
            ("writes.bytes<=1MiB", 125),
            ("fsync<=11", 0),
        ] {
            let saved = dir.path().join("result.json");
            let mut options = vec!["--json", saved.to_str().unwrap()];
            options.extend(["--backend", backend, "--budget", budget]);
            let mut command = iostrata(&options, &[&program]);
            let output = command.current_dir(dir.path()).output().unwrap();
            assert_eq!(
                output.status.code(),
                Some(code),
                "{backend} {budget}: {output:?}"
            );
            let text = std::fs::read_to_string(&saved).unwrap();
            let result: TraceResult = serde_json::from_str(&text).unwrap();
            assert_eq!(result.lost_events, 11, "{backend}");
            let what = "11 system calls of 32-bit programs";
            let gaps = result
                .missing
                .iter()
                .filter(|gap| words::missing(&gap.what).to_string() == what);
            assert_eq!(gaps.count(), 1, "{backend}: {:?}", result.missing);
        }
    }
}

#[test]
fn a_log_without_them_is_incomplete() {
    let dir = place();
    let program = narrow(dir.path());
    let saved = dir.path().join("result.json");
    let options = ["--json", saved.to_str().unwrap(), "--record", "log"];
    let mut command = iostrata(&options, &[&program]);
    let output = command.current_dir(dir.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&saved).unwrap();
    let result: TraceResult = serde_json::from_str(&text).unwrap();
    let because = result.recording.unwrap().incomplete_because;
    let what = "11 system calls of 32-bit programs";
    assert!(
        because
            .iter()
            .any(|gap| words::missing(&gap.what).to_string() == what),
        "{because:?}"
    );
}

/// A program of which nothing is seen but that it ran, started by one that is seen.
#[test]
fn a_32_bit_program_is_named_and_what_is_seen_beside_it_is_right() {
    let dir = place();
    let program = dir.path().join("i386");
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../workloads/other_machines/i386.c"
    );
    let mut compile = std::process::Command::new("cc");
    compile.args(["-m32", "-O1", "-static", "-nostdlib", "-ffreestanding"]);
    compile.args(["-fno-stack-protector", "-fno-pie", "-no-pie", "-o"]);
    let compiled = compile.arg(&program).arg(source).status().unwrap();
    assert!(compiled.success());
    let script = format!("echo hello > x; {}", program.display());
    for backend in ["ebpf", "ptrace"] {
        let saved = dir.path().join("result.json");
        let options = ["--json", saved.to_str().unwrap(), "--backend", backend];
        let mut command = iostrata(&options, &["sh", "-c", &script]);
        let output = command.current_dir(dir.path()).output().unwrap();
        assert!(output.status.success(), "{backend}: {output:?}");
        let written = std::fs::read(dir.path().join("y")).unwrap();
        assert_eq!(written, b"hello", "it ran as ever");
        let text = std::fs::read_to_string(&saved).unwrap();
        let result: TraceResult = serde_json::from_str(&text).unwrap();
        assert_eq!(result.lost_events, 4, "{backend}");
        let what = "4 system calls of 32-bit programs";
        assert!(
            result
                .missing
                .iter()
                .any(|gap| words::missing(&gap.what).to_string() == what),
            "{backend}"
        );
        let named = |end: &str| result.files.iter().find(|file| file.path.ends_with(end));
        let x = named("/x").unwrap();
        assert_eq!((x.writes.count, x.writes.bytes), (1, 6), "{backend}");
        // Not a row of a file that was read or written 0 times.
        assert!(named("/y").is_none_or(|y| y.writes.count == 0), "{backend}");
    }
}
