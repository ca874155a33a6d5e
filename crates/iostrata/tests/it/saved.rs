//! Saved results: shown again, held against their schema, and refused when they are none.

use std::fs;

use insta::assert_snapshot;

use crate::place::{Outcome, Place, is_root, run, with_path};
use crate::results::valid;

/// A trace of `sh` that was saved beside the place's directory, and what was drawn of it.
fn traced(place: &Place, options: &str) -> Outcome {
    let mut command = place.iostrata(options);
    command.env("PATH", "/usr/bin:/bin");
    command.arg("-o").arg(place.path("trace.json"));
    command.args([
        "--",
        "sh",
        "-c",
        "echo one > a; echo two >> a; sync a; rm a",
    ]);
    run(command)
}

fn report(place: &Place, options: &str, names: &[&str]) -> Outcome {
    let mut command = place.iostrata("report");
    command.args(options.split_whitespace());
    run(names.iter().fold(command, |mut command, name| {
        command.arg(place.path(name));
        command
    }))
}

#[test]
fn a_trace_is_valid_and_drawn_again_identically() {
    if !is_root("eBPF") {
        return;
    }
    let place = Place::new();
    let options = "--findings --files --calls --by thread";
    let drawn = traced(&place, &format!("trace {options}")).expect(0);
    assert_eq!(drawn.stdout, "");
    let saved = fs::read_to_string(place.path("trace.json")).unwrap();
    let result = valid("iostrata.trace-1.schema.json", &saved);
    assert_eq!(result["command"][0], "sh");
    // Two words, each with its line break.
    assert_eq!(result["bytes"]["written_bytes"], 8);
    let again = report(&place, options, &["trace.json"]).expect(0);
    assert_eq!(again.stderr, "");
    assert_eq!(again.stdout, drawn.stderr);
    let summary = report(&place, "", &["trace.json"]).expect(0);
    assert!(summary.stdout.lines().count() <= 45, "{}", summary.stdout);
    assert_eq!(summary.stdout.lines().next(), drawn.stderr.lines().next());
    // A table that is shown whole is not begun above.
    assert!(summary.stdout.contains("\ncalls  "), "{}", summary.stdout);
    assert!(!drawn.stderr.contains("\ncalls  "), "{}", drawn.stderr);
}

#[test]
fn a_trace_to_standard_output_is_valid() {
    if !is_root("eBPF") {
        return;
    }
    let place = Place::new();
    let mut command = place.iostrata("trace --json - -- true");
    command.env("PATH", "/usr/bin:/bin");
    let outcome = run(command).expect(0);
    assert_eq!(outcome.stderr, "");
    valid("iostrata.trace-1.schema.json", &outcome.stdout);
}

#[test]
fn lab_and_doctor_are_drawn_again_identically() {
    let place = Place::new();
    let lab = "lab --quick --fs host --mode flush --size 1 --count 20";
    let lab = run(with_path(
        place.iostrata(lab),
        "--json",
        place.path("lab.json"),
    ))
    .expect(0);
    let doctor = run(with_path(
        place.iostrata("doctor"),
        "--json",
        place.path("doctor.json"),
    ));
    let doctor = doctor.expect(0);
    assert_eq!(
        report(&place, "", &["lab.json"]).expect(0).stdout,
        lab.stdout
    );
    assert_eq!(
        report(&place, "", &["doctor.json"]).expect(0).stdout,
        doctor.stdout
    );
    let both = report(&place, "--all-rows", &["lab.json", "doctor.json"]).expect(0);
    let (first, second) = both.stdout.split_once("doctor.json <==\n").unwrap();
    assert!(first.starts_with("==> ") && first.contains("lab.json <==\nbuffering · "));
    assert_eq!(second, doctor.stdout);
}

#[test]
fn standard_input_is_read() {
    let place = Place::new();
    let doctor = run(with_path(
        place.iostrata("doctor"),
        "--json",
        place.path("doctor.json"),
    ));
    let mut command = place.iostrata("report -");
    command.stdin(fs::File::open(place.path("doctor.json")).unwrap());
    let outcome = Outcome::from(command.output().unwrap());
    assert_eq!(outcome.expect(0).stdout, doctor.expect(0).stdout);
}

#[test]
fn what_is_no_result_is_refused_with_its_reason() {
    let place = Place::new();
    let files: [(&str, &[u8]); 8] = [
        ("empty", b""),
        ("text", b"hello\n"),
        ("binary", b"\x7fELF\x02\x01\xff\xfe"),
        (
            "cut",
            b"{\"schema\": \"iostrata.trace/1\",\n\"environment\": {",
        ),
        ("future", b"{\"schema\": \"iostrata.trace/2\"}"),
        ("other", b"{\"schema\": \"iostrata.crash/2\"}"),
        ("none", b"{\"answer\": 42}"),
        ("hollow", b"{\"schema\": \"iostrata.lab/1\"}"),
    ];
    let mut text = String::new();
    for (name, content) in files {
        fs::write(place.path(name), content).unwrap();
        let outcome = report(&place, "", &[name]).expect(4);
        assert_eq!(outcome.stderr.lines().count(), 1);
        text += &outcome.text(&place);
    }
    text += &report(&place, "", &["missing"]).expect(4).text(&place);
    text += &report(&place, "", &["dir"]).expect(4).text(&place);
    assert_snapshot!(text);
}

#[test]
fn an_endless_file_is_refused() {
    let place = Place::new();
    let outcome = run(place.iostrata("report /dev/zero")).expect(4);
    outcome.says(&["/dev/zero is not JSON"]);
}

#[test]
fn a_sparse_file_of_a_terabyte_is_refused() {
    let place = Place::new();
    let path = place.path("huge");
    fs::write(&path, "{").unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let outcome = report(&place, "", &["huge"]).expect(4);
    outcome.says(&["larger than"]);
}

#[test]
fn options_that_mean_nothing_for_the_files_are_refused() {
    let place = Place::new();
    run(with_path(
        place.iostrata("doctor"),
        "--json",
        place.path("doctor.json"),
    ))
    .expect(0);
    let outcome = report(&place, "--files", &["doctor.json"]).expect(2);
    outcome.says(&["are for trace results"]);
    let outcome = report(&place, "--all-rows", &["doctor.json"]).expect(2);
    outcome.says(&["is for lab and cache results"]);
    run(place.iostrata("report")).expect(2);
}

#[test]
fn budgets_fail_the_run_with_a_table() {
    if !is_root("eBPF") {
        return;
    }
    let place = Place::new();
    let limits = "--budget fsync<=0,writes.bytes<=8,fdatasync<1 --budget wall<=1h";
    let outcome = traced(&place, &format!("trace {}", limits.replace("1h", "60min"))).expect(1);
    let table = outcome
        .stderr
        .lines()
        .skip_while(|line| !line.starts_with("budget"));
    let table: Vec<&str> = table.collect();
    assert_eq!(table, ["budget      used", "fsync <= 0  1     exceeded"]);
    let outcome = traced(&place, "trace --budget fsync<=1,writes<=2").expect(0);
    assert!(!outcome.stderr.contains("exceeded"), "{}", outcome.stderr);
}

#[test]
fn a_budget_for_what_is_not_seen_is_not_kept() {
    let place = Place::new();
    let limits = "--budget futex<=9,device.writes<=9,rename<=0";
    let mut command = place.iostrata(&format!("trace --backend ptrace {limits} -- true"));
    command.env("PATH", "/usr/bin:/bin");
    let outcome = run(command).expect(125);
    outcome.says(&[
        "such calls were not observed",
        "device requests were not observed",
    ]);
    assert!(
        !outcome.stderr.contains("rename <= 0"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn the_programs_own_failure_comes_first() {
    if !is_root("eBPF") {
        return;
    }
    let place = Place::new();
    let mut command = place.iostrata("trace --budget execve<1 --");
    command
        .env("PATH", "/usr/bin:/bin")
        .args(["sh", "-c", "exit 7"]);
    run(command).expect(7).says(&["exceeded"]);
}

#[test]
fn rules_and_budgets_that_are_not_known_are_refused() {
    let place = Place::new();
    let outcome = run(place.iostrata("trace --ignore fsync-per-recrod -- true")).expect(2);
    outcome.says(&["a similar value exists: 'fsync-per-record'"]);
    let outcome = run(place.iostrata("trace --budget fsink<=1 -- true")).expect(2);
    outcome.says(&["did you mean fsync?"]);
    let outcome = run(place.iostrata("trace --fail-on worst -- true")).expect(2);
    outcome.says(&["[possible values: high, medium, low]"]);
}

#[test]
fn pages_of_rules_are_explained() {
    let place = Place::new();
    let outcome = run(place.iostrata("explain rename-without-fsync")).expect(0);
    assert!(
        outcome.stdout.starts_with("rename-without-fsync\n\n"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("\nWhat to do\n\n"),
        "{}",
        outcome.stdout
    );
    let list = run(place.iostrata("explain")).expect(0).stdout;
    assert!(list.contains("\nrule "), "{list}");
    assert!(list.contains("\nfsync-per-record "), "{list}");
}
