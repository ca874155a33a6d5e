//! Results of several machines, merged.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Outcome, Place, run};
use crate::results::valid;

const SCHEMA: &str = "iostrata.lab-1.schema.json";

/// A result that was measured once.
fn quick() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/quick.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// It, and one of another machine.
fn two_machines() -> Place {
    let place = Place::new();
    let mut result = quick();
    fs::write(place.path("a.json"), result.to_string()).unwrap();
    result["environment"]["kernel"] = json!("6.12.0");
    fs::write(place.path("b.json"), result.to_string()).unwrap();
    place
}

fn merge(place: &Place, options: &str, names: &[&str]) -> Outcome {
    let mut command = place.iostrata("merge");
    command.args(options.split_whitespace());
    command.args(names.iter().map(|name| place.path(name)));
    run(command)
}

#[test]
fn two_results_become_one_that_is_read_as_any_other() {
    let place = two_machines();
    let both = place.path("both.json");
    let options = format!("--machine web1,web2 --json {}", both.display());
    let drawn = merge(&place, &options, &["a.json", "b.json"]).expect(0);
    let text = fs::read_to_string(&both).unwrap();
    let merged = valid(SCHEMA, &text);
    assert_eq!(merged["parts"][1]["machine"], "web2");
    assert_eq!(merged["parts"][1]["environment"]["kernel"], "6.12.0");
    let rows = merged["experiments"][2]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 20);
    assert_eq!(rows[10]["machine"], "web2");
    assert_eq!(rows[10]["id"], "sync/fsync/append/1024/1/host@web2");
    let mut report = place.iostrata("report");
    let again = run({
        report.arg(&both);
        report
    })
    .expect(0);
    assert_eq!(again.stdout, drawn.stdout);
    let again = merge(&place, "", &["both.json", "a.json"]).expect(2);
    again.says(&["both.json is itself merged"]);
    place.assert_nothing_left();
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let place = two_machines();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/saved/trace.json");
    fs::copy(trace, place.path("trace.json")).unwrap();
    for (options, names, words) in [
        ("", &["a.json"][..], &["one result alone", "name two"][..]),
        ("", &["a.json", "a.json"], &["both of machine vda-2cpu-"]),
        (
            "",
            &["a.json", "trace.json"],
            &["only lab results can be merged"],
        ),
        (
            "--machine one",
            &["a.json", "b.json"],
            &["--machine names 1 of 2 files"],
        ),
        (
            "--machine a/b,c",
            &["a.json", "b.json"],
            &["cannot name a machine"],
        ),
    ] {
        merge(&place, options, names).expect(2).says(words);
    }
    merge(&place, "", &["a.json", "none.json"]).expect(4);
}
