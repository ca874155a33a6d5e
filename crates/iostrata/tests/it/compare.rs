//! Two saved results, compared.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::place::{Outcome, Place, is_root, run, with_path};
use crate::results::valid;

const SCHEMA: &str = "iostrata.compare-1.schema.json";

/// A result that was saved once.
fn saved(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/saved");
    serde_json::from_str(&fs::read_to_string(path.join(name)).unwrap()).unwrap()
}

/// Saves a result in the place.
fn save(place: &Place, name: &str, result: &Value) {
    fs::write(place.path(name), result.to_string()).unwrap();
}

/// Makes every time of a lab result so many times as long.
fn slow_down(result: &mut Value, factor: f64) {
    for experiment in result["experiments"].as_array_mut().unwrap() {
        for row in experiment["rows"].as_array_mut().unwrap() {
            let samples = row.pointer_mut("/timing/samples_s");
            for sample in samples.and_then(Value::as_array_mut).into_iter().flatten() {
                *sample = json!(sample.as_f64().unwrap() * factor);
            }
        }
    }
}

fn compare<const N: usize>(place: &Place, options: &str, names: [&str; N]) -> Command {
    let mut command = place.iostrata("compare");
    command.args(options.split_whitespace());
    command.args(names.map(|name| place.path(name)));
    command
}

fn compared<const N: usize>(place: &Place, options: &str, names: [&str; N]) -> Outcome {
    run(compare(place, options, names))
}

/// A result of a real run, beside one that is 10 % slower.
fn measured(place: &Place) -> Value {
    let lab = "lab --quick --fs host --mode buffered,flush --size 1,100 --count 200";
    let lab = with_path(place.iostrata(lab), "--json", place.path("base.json"));
    run(lab).expect(0);
    let text = fs::read_to_string(place.path("base.json")).unwrap();
    let mut result: Value = serde_json::from_str(&text).unwrap();
    let base = result.clone();
    slow_down(&mut result, 1.1);
    save(place, "slow.json", &result);
    base
}

#[test]
fn a_real_result_and_itself_and_one_slowed_down() {
    let place = Place::new();
    measured(&place);
    let same = compared(&place, "--fail-on 10%", ["base.json", "base.json"]).expect(0);
    assert!(
        same.stdout.contains("\nsame, within 10 %; the same calls"),
        "{}",
        same.stdout
    );
    assert!(
        same.stdout.contains("nothing is slower by 10 % or more"),
        "{}",
        same.stdout
    );
    let slow = compared(&place, "", ["base.json", "slow.json"]).expect(0);
    assert!(slow.stdout.contains("\nslower; "), "{}", slow.stdout);
    assert!(
        slow.stdout.contains("slower: 1.10 times as long"),
        "{}",
        slow.stdout
    );
    let fast = compared(&place, "--fail-on 5%", ["slow.json", "base.json"]).expect(0);
    assert!(fast.stdout.contains("\nfaster; "), "{}", fast.stdout);
    let failed = compared(&place, "--fail-on 5% --json -", ["base.json", "slow.json"]).expect(1);
    assert_eq!(failed.stderr, "");
    let result = valid(SCHEMA, &failed.stdout);
    assert_eq!(result["judgement"], "slower");
    assert_eq!(result["verdict"], "slower");
    assert_eq!(result["limit_percent"], 5.0);
    assert_eq!(
        result["fail_on"]["exceeded"][0]["what"],
        "buffering as a whole"
    );
    compared(&place, "--fail-on 20%", ["base.json", "slow.json"]).expect(0);
    place.assert_nothing_left();
}

/// Makes every other time of a lab result so many times as long.
fn disturb(result: &mut Value, factors: [f64; 3]) {
    for experiment in result["experiments"].as_array_mut().unwrap() {
        for row in experiment["rows"].as_array_mut().unwrap() {
            let samples = row.pointer_mut("/timing/samples_s");
            let samples = samples.and_then(Value::as_array_mut).into_iter().flatten();
            for (sample, factor) in samples.zip(factors.iter().cycle()) {
                *sample = json!(sample.as_f64().unwrap() * factor);
            }
        }
    }
}

#[test]
fn a_limit_that_the_noise_hides_fails() {
    let place = Place::new();
    let mut noisy = saved("lab.json");
    save(&place, "base.json", &noisy);
    disturb(&mut noisy, [1.0, 6.0, 0.4]);
    save(&place, "noisy.json", &noisy);
    let files = ["base.json", "noisy.json"];
    let unasked = compared(&place, "", files).expect(0);
    assert!(
        unasked.stdout.contains("\ninconclusive; "),
        "{}",
        unasked.stdout
    );
    let failed = compared(&place, "--fail-on 5%", files).expect(3);
    assert!(
        failed.stdout.contains("inconclusive: may be slower by 5 %"),
        "{}",
        failed.stdout
    );
    failed.says(&[
        "the noise may hide a slowdown of 5 %",
        "--allow-inconclusive",
    ]);
    let allowed = "--fail-on 5% --allow-inconclusive --json -";
    let allowed = compared(&place, allowed, files).expect(0);
    let result = valid(SCHEMA, &allowed.stdout);
    assert_eq!(result["verdict"], "inconclusive");
    assert_eq!(result["judgement"], "no_difference");
    let undecided = result["fail_on"]["undecided"].as_array().unwrap();
    assert!(undecided[0]["time"]["high_ratio"].as_f64().unwrap() > 1.05);
    // What is slower fails all the same.
    let mut slow = saved("lab.json");
    slow_down(&mut slow, 1.2);
    save(&place, "slow.json", &slow);
    let slower = ["base.json", "slow.json"];
    compared(&place, "--fail-on 5% --allow-inconclusive", slower).expect(1);
    compared(&place, "--allow-inconclusive", files)
        .expect(2)
        .says(&["--fail-on"]);
}

#[test]
fn several_pairs_are_held_against_each_other() {
    let place = Place::new();
    let mut slow = saved("lab.json");
    save(&place, "base.json", &slow);
    slow_down(&mut slow, 1.1);
    save(&place, "slow.json", &slow);
    let three = ["base.json", "slow.json"].repeat(3);
    let three: [&str; 6] = three.try_into().unwrap();
    let found = compared(&place, "--json - --fail-on 5%", three).expect(1);
    let result = valid(SCHEMA, &found.stdout);
    assert_eq!(result["judgement"], "slower");
    assert_eq!(result["further"].as_array().unwrap().len(), 2);
    let time = &result["lab"]["experiments"][0]["time"];
    assert_eq!(time["rounds"], 3, "the pairs");
    let ratio = time["ratio"].as_f64().unwrap();
    assert!((ratio - 1.1).abs() < 1e-9, "{ratio}");

    let shown = compared(&place, "", three).expect(0);
    assert!(
        shown.stdout.contains("and 2 more pairs"),
        "{}",
        shown.stdout
    );
    let all = compared(&place, "--all", three).expect(0);
    assert!(all.stdout.contains("  pairs  "), "{}", all.stdout);
    let markdown = compared(&place, "--markdown", three).expect(0);
    assert!(
        markdown.stdout.contains(" and 2 more pairs\n"),
        "{}",
        markdown.stdout
    );

    let to_and_fro = ["base.json", "slow.json", "slow.json", "base.json"];
    let same = compared(&place, "--json -", to_and_fro).expect(0);
    let result: Value = serde_json::from_str(&same.stdout).unwrap();
    assert_eq!(result["judgement"], "no_difference");
    assert_eq!(result["verdict"], "inconclusive");
}

#[test]
fn further_results_come_in_pairs_and_are_of_lab() {
    let place = Place::new();
    save(&place, "lab.json", &saved("lab.json"));
    save(&place, "trace.json", &saved("trace.json"));
    let odd = compared(&place, "", ["lab.json", "lab.json", "lab.json"]).expect(2);
    odd.says(&["lab.json is one too many", "name a NEW for every BASE"]);
    for further in ["lab.json", "trace.json"] {
        let names = ["trace.json", "trace.json", further, further];
        let refused = compared(&place, "", names).expect(2);
        refused.says(&["only results of lab", "several pairs"]);
    }
    let mut inputs = compare(&place, "", ["lab.json", "lab.json"]);
    inputs.args(["-", "-"]);
    let refused = run(inputs).expect(2);
    refused.says(&["standard input can be only one of the results"]);
}

#[test]
fn other_machines_and_settings_are_refused_and_listed() {
    let place = Place::new();
    let mut other = saved("lab.json");
    save(&place, "base.json", &other);
    other["environment"]["kernel"] = json!("5.4.0");
    other["environment"]["cpus"] = json!(64);
    other["experiments"][0]["method"]["timing_runs"] = json!([10, 30]);
    save(&place, "other.json", &other);
    let json = place.path("out.json");
    let command = compare(&place, "", ["base.json", "other.json"]);
    let command = with_path(command, "--json", &json);
    let refused = run(command).expect(3);
    assert_eq!(refused.stdout, "");
    refused.says(&[
        "kernel: ",
        " → 5.4.0",
        "CPUs: ",
        "timing runs of ",
        "--anyway",
    ]);
    assert!(!json.exists());
    let anyway = compared(&place, "--anyway", ["base.json", "other.json"]).expect(0);
    assert!(
        anyway.stdout.contains("different conditions"),
        "{}",
        anyway.stdout
    );
    assert!(anyway.stdout.contains(" → 5.4.0"), "{}", anyway.stdout);
}

#[test]
fn another_version_of_iostrata_is_only_named() {
    let place = Place::new();
    let mut other = saved("lab.json");
    save(&place, "base.json", &other);
    other["environment"]["iostrata_version"] = json!("9.9.9");
    save(&place, "other.json", &other);
    let outcome = compared(&place, "", ["base.json", "other.json"]).expect(0);
    assert!(outcome.stdout.contains(" → 9.9.9"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("different conditions"));
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let place = Place::new();
    let mut other = saved("lab.json");
    save(&place, "base.json", &other);
    other["experiments"] = json!([]);
    save(&place, "other.json", &other);
    save(&place, "trace.json", &saved("trace.json"));
    save(&place, "doctor.json", &saved("doctor.json"));
    fs::write(place.path("cut.json"), "{\"schema\": \"iostrata.lab/1\",").unwrap();
    let outcome = compared(&place, "--anyway", ["base.json", "other.json"]).expect(3);
    outcome.says(&["nothing can be compared"]);
    let outcome = compared(&place, "", ["base.json", "trace.json"]).expect(2);
    outcome.says(&["a result of lab with one of trace"]);
    compared(&place, "", ["doctor.json", "doctor.json"]).expect(2);
    let outcome = compared(&place, "", ["base.json", "cut.json"]).expect(4);
    outcome.says(&["cut.json ends too early"]);
    compared(&place, "", ["base.json", "missing.json"]).expect(4);
    run(place.iostrata("compare - -")).expect(2);
    run(place.iostrata("compare only-one.json")).expect(2);
    let outcome = compared(&place, "--fail-on a-lot", ["base.json", "base.json"]).expect(2);
    outcome.says(&["`a-lot` is not a number of per cent"]);
}

#[test]
fn one_side_is_read_from_standard_input() {
    let place = Place::new();
    save(&place, "base.json", &saved("lab.json"));
    let mut command = place.iostrata("compare -");
    command.arg(place.path("base.json"));
    command.stdin(fs::File::open(place.path("base.json")).unwrap());
    let outcome = Outcome::from(command.output().unwrap()).expect(0);
    assert!(outcome.stdout.starts_with("- → /"), "{}", outcome.stdout);
}

#[test]
fn single_runs_hold_no_limit() {
    let place = Place::new();
    let mut single = saved("lab.json");
    for experiment in single["experiments"].as_array_mut().unwrap() {
        for row in experiment["rows"].as_array_mut().unwrap() {
            if let Some(samples) = row.pointer_mut("/timing/samples_s") {
                samples.as_array_mut().unwrap().truncate(1);
            }
        }
    }
    save(&place, "single.json", &single);
    let outcome = compared(&place, "--fail-on 5%", ["single.json", "single.json"]).expect(3);
    assert!(
        outcome.stdout.contains("times are not judged"),
        "{}",
        outcome.stdout
    );
    outcome.says(&["nothing could be judged"]);
}

#[test]
fn traces_have_their_counts_compared() {
    if !is_root("eBPF") {
        return;
    }
    let place = Place::new();
    for (name, script) in [
        ("one", "echo 1 > a; sync a"),
        ("two", "echo 1 > a; sync a; sync a"),
    ] {
        fs::write(place.path("script"), script).unwrap();
        let mut command = place.iostrata("trace -o");
        command.arg(place.path(format!("{name}.json")));
        command.args(["--", "sh"]).arg(place.path("script"));
        command.env("PATH", "/usr/bin:/bin");
        run(command).expect(0);
    }
    let same = compared(&place, "--fail-on 1%", ["one.json", "one.json"]).expect(0);
    assert!(
        same.stdout.contains("1.00 times as long; the same calls"),
        "{}",
        same.stdout
    );
    let twice = compared(&place, "--fail-on 50% --json -", ["one.json", "two.json"]).expect(1);
    let result = valid(SCHEMA, &twice.stdout);
    let strata = result["trace"]["strata"].as_array().unwrap();
    let syncs = strata.iter().find(|one| one["what"] == "syncs").unwrap();
    assert_eq!(syncs["ratio"], 2.0, "{syncs}");
    let changed = result["trace"]["changed"].as_array().unwrap();
    let file = changed
        .iter()
        .find(|file| file["path"].as_str().unwrap().ends_with("/a"));
    assert_eq!(file.unwrap()["new"]["syncs"], 2);
    assert_eq!(result["calls_differ"], true);
    let exceeded = result["fail_on"]["exceeded"].as_array().unwrap();
    let fsync = exceeded
        .iter()
        .find(|one| one["what"] == "fsync calls")
        .unwrap();
    assert_eq!(fsync["counts"], json!({ "base": 1.0, "new": 2.0 }));
    assert_eq!(fsync["percent"], 100.0);
}

#[test]
fn a_page_holds_all_of_it() {
    let place = Place::new();
    save(&place, "base.json", &saved("trace.json"));
    let names = ["base.json", "base.json"];
    let page = place.path("page.html");
    let command = compare(&place, "--json -", names);
    run(with_path(command, "--html", &page)).expect(0);
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>"), "{text}");
    assert!(text.contains("1.00 times as long; the same calls"));
    let printed = compared(&place, "--html -", names).expect(0);
    assert!(printed.stdout.starts_with("<!DOCTYPE html>"));
    assert!(!printed.stdout.contains("every row, count, call and file"));
    compared(&place, "--html - --json -", names)
        .expect(2)
        .says(&["both write to standard output"]);
}

#[test]
fn markdown_is_for_reading_only() {
    let place = Place::new();
    let mut trace = saved("trace.json");
    save(&place, "base.json", &trace);
    trace["files"][0]["path"] = json!("/srv/|x|`<b>@everyone\n# big");
    save(&place, "new.json", &trace);
    let outcome = compared(&place, "--markdown", ["base.json", "new.json"]).expect(0);
    assert!(outcome.stdout.starts_with("### iostrata: wall time "));
    assert!(!outcome.stdout.contains('@') && !outcome.stdout.contains("<b>"));
    assert!(!outcome.stdout.contains("\n# big"), "{}", outcome.stdout);
}

/// A stranger's results.
#[test]
fn texts_of_megabytes_are_held_few_times() {
    let place = Place::new();
    let mut trace = saved("trace.json");
    for (name, letter) in [("base.json", "x"), ("new.json", "y")] {
        let long = letter.repeat(24 << 20);
        trace["command"] = json!([long]);
        trace["files"][0]["path"] = json!(long);
        save(&place, name, &trace);
    }
    for options in ["--all", "--markdown", "--html -", "--json -"] {
        let compare = compare(&place, options, ["base.json", "new.json"]);
        let mut limited = Command::new("sh");
        // Kilobytes of address space; the two files have 96 MiB.
        limited.args(["-c", "ulimit -v 550000 && exec \"$@\"", "sh"]);
        // Each thread that allocates at the same time as another reserves addresses that it never uses.
        limited.env("MALLOC_ARENA_MAX", "1");
        limited.arg(compare.get_program()).args(compare.get_args());
        let ended = limited.current_dir(place.dir()).stdout(Stdio::null());
        let ended = Outcome::from(ended.output().unwrap());
        assert_eq!(ended.expect(0).stderr, "", "{options}");
    }
}

#[test]
fn all_results_together_have_a_limit() {
    let place = Place::new();
    save(&place, "base.json", &saved("trace.json"));
    let large = fs::File::create(place.path("large.json")).unwrap();
    large.set_len(256 << 20).unwrap();
    compared(&place, "", ["base.json", "large.json"])
        .expect(4)
        .says(&[
            "cannot read ",
            "which the limit for all results together leaves",
        ]);
}
