//! Results against their published schemas.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::place::{Place, is_root, run};

/// Fails unless `text` is one JSON value that the schema in `docs/schema` takes.
#[track_caller]
pub(crate) fn valid(schema: &str, text: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schema")
        .join(schema);
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let result: Value = serde_json::from_str(text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(&result)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    result
}

#[test]
fn lab_on_the_host_and_an_image() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let mut command = place.iostrata(
        "lab --quick --fs host,ext4 --mode buffered,flush,fsync --size 1 --count 100 --json -",
    );
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let outcome = run(command).expect(0);
    assert_eq!(outcome.stderr, "");
    let result = valid("iostrata.lab-1.schema.json", &outcome.stdout);
    assert_eq!(result["environment"]["backend"], "ebpf");
    let experiment = &result["experiments"][0];
    let rows = experiment["rows"].as_array().unwrap();
    let names = rows.iter().map(|row| {
        let (target, mode) = (&row["target"], &row["case"]["mode"]);
        (target.as_str().unwrap(), mode.as_str().unwrap())
    });
    let modes = ["buffered", "flush", "fsync"];
    let expected = ["host", "ext4"].map(|target| modes.map(|mode| (target, mode)));
    assert_eq!(names.collect::<Vec<_>>(), expected.concat());
    assert_eq!(rows[5]["id"], "buffering/fsync/1/100/ext4");
    // One record, one write, one fsync, two flushes of a journalled file system; and those of the commits that its
    // timer begins meanwhile (jbd2, every 5 s).
    let fsync = &rows[5]["evidence"];
    assert_eq!(fsync["syscalls"]["fsync"]["count"], 100);
    let flushes = fsync["device"]["flushes"].as_u64();
    assert!((Some(200)..Some(300)).contains(&flushes), "{flushes:?}");
    assert!(!experiment["runtimes"].as_array().unwrap().is_empty());
    place.assert_nothing_left();
}

#[test]
fn page_cache_of_every_kind_of_row() {
    let place = Place::new();
    let options =
        "lab page-cache --quick --fs host --size 1MiB --parse none,json,checksum --json -";
    let outcome = run(place.iostrata(options)).expect(0);
    let result = valid("iostrata.lab-1.schema.json", &outcome.stdout);
    let experiment = &result["experiments"][0];
    assert_eq!(experiment["id"], "page-cache");
    assert_eq!(experiment["parsing"].as_array().unwrap().len(), 2);
    place.assert_nothing_left();
}

#[test]
fn lab_without_privilege() {
    let place = Place::new();
    let command =
        place.iostrata_of_nobody("lab --quick --fs host --mode flush --size 1 --count 20 --json -");
    let outcome = run(command).expect(0);
    valid("iostrata.lab-1.schema.json", &outcome.stdout);
}

#[test]
fn a_saved_result_and_its_text() {
    let place = Place::new();
    let path = place.path("result.json");
    let mut command = place.iostrata("lab --quick --fs host --mode flush --size 1 --count 20");
    command.arg("--json").arg(&path);
    let outcome = run(command).expect(0);
    assert!(
        outcome.stdout.starts_with("iostrata lab buffering: "),
        "{}",
        outcome.stdout
    );
    valid(
        "iostrata.lab-1.schema.json",
        &fs::read_to_string(path).unwrap(),
    );
    place.assert_nothing_left();
}

#[test]
fn doctor() {
    let place = Place::new();
    let outcome = run(place.iostrata("doctor --json -")).expect(0);
    assert_eq!(outcome.stderr, "");
    let result = valid("iostrata.doctor-1.schema.json", &outcome.stdout);
    let path = fs::canonicalize(place.dir()).unwrap();
    assert_eq!(
        result["environment"]["target"]["path"],
        path.to_str().unwrap()
    );

    let outcome = run(place.iostrata_of_nobody("doctor --json -")).expect(0);
    valid("iostrata.doctor-1.schema.json", &outcome.stdout);
}

#[test]
fn doctor_saves_and_draws() {
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    let outcome = run(place.iostrata("doctor ../file --json ../result.json")).expect(0);
    assert!(outcome.stdout.contains("can use"), "{}", outcome.stdout);
    let saved = fs::read_to_string(place.path("result.json")).unwrap();
    valid("iostrata.doctor-1.schema.json", &saved);
}

#[test]
fn doctor_on_what_is_not_there() {
    let place = Place::new();
    let outcome = run(place.iostrata("doctor none"));
    insta::assert_snapshot!(outcome.text(&place), @r"
    exit 2
    --- stderr
    error: cannot access none: No such file or directory (os error 2); name an existing file or directory that you can reach
    ");
}
