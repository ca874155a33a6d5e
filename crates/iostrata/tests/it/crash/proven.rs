//! The command that `trace` shows with a finding about a crash shows the same, typed into a shell.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Case;
use crate::place::{Place, run};

fn with_programs(mut command: Command) -> Command {
    let iostrata = Path::new(env!("CARGO_BIN_EXE_iostrata")).parent().unwrap();
    command.env("PATH", format!("{}:/usr/bin:/bin", iostrata.display()));
    command
}

/// The finding of a rule about a program's run in a directory.
fn found(place: &Place, directory: &Path, words: &[&str], rule: &str) -> Value {
    let saved = place.path("trace.json");
    let mut command = with_programs(place.iostrata("trace --no-measure --json"));
    command
        .arg(&saved)
        .arg("--")
        .args(words)
        .current_dir(directory);
    run(command).expect(0);
    let result: Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    let findings = result["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["rule"] == rule);
    finding.unwrap_or_else(|| panic!("{findings:#?}")).clone()
}

#[test]
fn the_command_of_a_finding_shows_it() {
    let lines: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
    let lines = lines.join("\n");
    let elsewhere = Path::new("/");
    for (rule, words, message, is_here) in [
        (
            "rename-without-fsync",
            &["sed", "-i", "s/^1/9/", "a b"][..],
            "a b is empty",
            true,
        ),
        (
            "unlink-before-durable",
            &["sh", "-c", "gzip 'a b'; echo \"it's done\""],
            "a b.gz is empty",
            true,
        ),
        (
            "rename-without-fsync",
            &["perl", "-i", "-pe", "s/^1/9/", "DIR/a b"],
            "a b is empty",
            false,
        ),
    ] {
        let case = Case::new("a b", &lines);
        let dir = case.dir.to_str().unwrap();
        let words: Vec<String> = words.iter().map(|word| word.replace("DIR", dir)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let working = if is_here { &*case.dir } else { elsewhere };
        let finding = found(&case.place, working, &words, rule);
        let line = finding["crash_command"]
            .as_str()
            .unwrap_or_else(|| panic!("{finding:#}"));
        // As it was before.
        fs::remove_dir_all(&case.dir).unwrap();
        fs::create_dir(&case.dir).unwrap();
        fs::write(case.dir.join("a b"), &lines).unwrap();
        let mut shell = with_programs(Command::new("/bin/sh"));
        shell.env("HOME", case.place.path("home"));
        shell.args(["-c", line]).current_dir(working);
        let outcome = run(shell).expect(1);
        assert!(
            outcome.stdout.contains(message),
            "{line}: {}",
            outcome.stdout
        );
        assert!(outcome.stdout.contains("ordering"), "{}", outcome.stdout);
        assert_eq!(fs::read_to_string(case.dir.join("a b")).unwrap(), lines);
    }
}

#[test]
fn a_finding_without_a_command_says_why() {
    let case = Case::new("f", "old");
    let dir = case.dir.to_str().unwrap();
    let script = format!("seq 2000 > {dir}/t; mv {dir}/t {dir}/f");
    let finding = found(
        &case.place,
        Path::new("/"),
        &["sh", "-c", &script],
        "rename-without-fsync",
    );
    assert_eq!(finding["crash_command"], Value::Null);
    let why = finding["no_crash_command_because"].as_str().unwrap();
    assert!(why.contains("script"), "{why}");
}
