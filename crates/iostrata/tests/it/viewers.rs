//! Runs as trace events, folded stacks and Markdown.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::place::{Outcome, Place, entries, is_root, run};
use crate::undisturbed::undisturbed;

/// Makes, syncs and renames a file whose name has what JSON, Markdown and HTML act on.
const HOSTILE: &str = "n='a\"|`<b>\\
c'; echo x > \"$n\"; sync \"$n\"; mv \"$n\" \"$n.new\"; sync";

fn traced(place: &Place, options: &str) -> Command {
    let mut command = place.iostrata(&format!("trace --no-save {options}"));
    command.env("PATH", "/usr/bin:/bin");
    command.args(["--", "sh", "-c", HOSTILE]);
    command
}

fn report(place: &Place, arguments: &str) -> Outcome {
    let mut command = place.iostrata(&format!("report {arguments}"));
    command.current_dir(place.path("home"));
    run(command)
}

fn read(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path("home").join(name)).unwrap()
}

fn events(place: &Place, name: &str) -> Vec<Value> {
    let read: Value = serde_json::from_str(&read(place, name)).unwrap();
    read["traceEvents"].as_array().unwrap().clone()
}

fn nanoseconds(event: &Value, field: &str) -> i64 {
    let micros = event[field].as_f64().unwrap();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a time since the machine was started"
    )]
    let nanoseconds = (micros * 1000.0).round() as i64;
    nanoseconds
}

/// Slices of a thread follow one another, as its calls did, within its life.
fn check_slices(events: &[Value]) -> usize {
    let lives = |phase: &str| -> HashMap<u64, i64> {
        let lives = events
            .iter()
            .filter(|event| event["ph"] == phase && event["cat"] == "thread");
        let lives = lives.map(|event| (event["tid"].as_u64().unwrap(), nanoseconds(event, "ts")));
        lives.collect()
    };
    let begins = lives("b");
    let mut ends: HashMap<u64, i64> = HashMap::new();
    let mut slices = 0;
    for slice in events.iter().filter(|event| event["ph"] == "X") {
        let (start, took) = (nanoseconds(slice, "ts"), nanoseconds(slice, "dur"));
        let thread = slice["tid"].as_u64().unwrap();
        assert!(
            begins.get(&thread).is_some_and(|begin| *begin <= start),
            "{slice}"
        );
        let before = ends.insert(thread, start + took);
        assert!(before.is_none_or(|before| before <= start), "{slice}");
        slices += 1;
    }
    slices
}

#[test]
fn a_recorded_run_has_a_slice_for_each_call() {
    undisturbed(|| {
        let place = Place::new();
        let options = "-o ../home/run.json --record ../home/run.log --perfetto ../home/run.trace";
        let outcome = run(traced(&place, options)).expect(0);
        assert!(outcome.stderr.contains("wall"), "{}", outcome.stderr);
        let all = events(&place, "run.trace");
        assert!(check_slices(&all) >= 4, "{all:?}");
        let names: Vec<&str> = all
            .iter()
            .filter(|event| event["name"] == "thread_name")
            .map(|event| event["args"]["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"sh") && names.contains(&"mv"), "{names:?}");
        let renamed = all
            .iter()
            .find(|event| event["args"]["change"] == "renamed")
            .unwrap();
        let path = renamed["args"]["path"].as_str().unwrap();
        assert!(path.contains("a\"|`<b>\\\nc"), "{path}");
        // From the files, in whatever order, it is the same.
        for files in ["run.json run.log", "run.log run.json"] {
            report(&place, &format!("{files} --perfetto again")).expect(0);
            assert_eq!(read(&place, "again"), read(&place, "run.trace"));
        }
        // Of the log alone, the calls alone; of the result alone, none.
        report(&place, "run.log --perfetto calls").expect(0);
        report(&place, "run.json --perfetto sums").expect(0);
        let (calls, sums) = (events(&place, "calls"), events(&place, "sums"));
        assert_eq!(calls.len() + sums.len(), all.len());
        assert!(sums.iter().all(|event| event["ph"] != "X"));
        assert!(sums.iter().any(|event| event["ph"] == "C"));
    });
}

#[test]
fn folded_stacks_come_to_the_blocked_time() {
    if !is_root("blocked time") {
        return;
    }
    undisturbed(|| {
        let place = Place::new();
        run(traced(
            &place,
            "-o ../home/run.json --folded ../home/run.folded",
        ))
        .expect(0);
        let folded = read(&place, "run.folded");
        let weights = folded.lines().map(|line| {
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            assert!(stack.starts_with("sh;"), "{line}");
            weight.parse::<u64>().unwrap()
        });
        let sum: u64 = weights.sum();
        let result: Value = serde_json::from_str(&read(&place, "run.json")).unwrap();
        let calls = result["syscalls"].as_array().unwrap().iter();
        let blocked_s: f64 = calls.filter_map(|call| call["blocked_s"].as_f64()).sum();
        assert!(sum > 0);
        assert!(
            (sum as f64 - blocked_s * 1e6).abs() <= 0.5,
            "{sum} of {blocked_s}"
        );
        let again = report(&place, "run.json --folded -").expect(0);
        assert_eq!(again.stdout, folded);
    });
}

#[test]
fn markdown_takes_the_place_of_the_text_or_is_a_file() {
    let place = Place::new();
    let outcome = run(traced(
        &place,
        "--backend ptrace -o ../home/run.json --markdown",
    ))
    .expect(0);
    assert_eq!(outcome.stderr, "");
    let first = outcome.stdout.lines().next().unwrap();
    assert!(first.starts_with("### iostrata trace: <code>sh"), "{first}");
    assert!(!outcome.stdout.contains('`'), "{}", outcome.stdout);
    assert_eq!(
        report(&place, "run.json --markdown").expect(0).stdout,
        outcome.stdout
    );
    assert_eq!(
        report(&place, "run.json --markdown=run.md")
            .expect(0)
            .stdout,
        ""
    );
    assert_eq!(read(&place, "run.md"), outcome.stdout);
    let lab = "lab --quick --fs host --mode buffered,flush --size 1 --count 20 --json ../home/lab.json \
               --markdown=../home/lab.md";
    let lab = run(place.iostrata(lab)).expect(0);
    assert!(
        lab.stdout.starts_with("iostrata lab buffering: "),
        "{}",
        lab.stdout
    );
    let written = read(&place, "lab.md");
    assert!(
        written.contains("\n| When do others see it? | "),
        "{written}"
    );
    assert_eq!(
        report(&place, "lab.json --markdown").expect(0).stdout,
        written
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    let record = "--backend ptrace -o ../home/run.json --record ../home/run.log";
    run(traced(&place, record)).expect(0);
    run(traced(&place, "--backend ptrace -o ../home/other.json")).expect(0);
    run(place.iostrata("doctor --json ../home/doctor.json")).expect(0);
    let before = entries(&place.path("home")).len();
    for (arguments, code, said) in [
        ("run.json other.json --perfetto out", 2, "are for one run"),
        (
            "run.log --folded out",
            2,
            "an operation log has no call sites",
        ),
        (
            "run.log other.json --perfetto out",
            2,
            "run.log is not the operation log of this run",
        ),
        (
            "run.json --folded out",
            3,
            "the time blocked in calls was not seen",
        ),
        (
            "run.json --perfetto run.json",
            2,
            "--perfetto would overwrite run.json",
        ),
        (
            "run.json --perfetto out --folded out",
            2,
            "--perfetto and --folded both name out",
        ),
        (
            "run.json --perfetto - --markdown",
            2,
            "both write to standard output",
        ),
        ("run.json --perfetto none/out", 3, "with --perfetto"),
        (
            "doctor.json --perfetto out",
            2,
            "doctor.json is a result of doctor",
        ),
        (
            "doctor.json --markdown",
            2,
            "--markdown is for results of lab and trace",
        ),
        (
            "run.json --all-rows --markdown",
            2,
            "--all-rows is for lab and cache results",
        ),
    ] {
        let outcome = report(&place, arguments).expect(code);
        outcome.says(&[said]);
        assert_eq!(outcome.stdout, "", "{arguments}");
    }
    assert_eq!(entries(&place.path("home")).len(), before);
}
