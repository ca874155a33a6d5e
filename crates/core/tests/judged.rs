//! Saved results, judged again and written again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use iostrata_core::answer::{Answer, Verdict};
use iostrata_core::lab::{Experiment, LabResult};
use serde_json::Value;

/// Results that were measured, one experiment each.
const SAVED: [&str; 6] = [
    "crates/report/tests/browser/saved/buffering.json",
    "crates/report/tests/browser/saved/page-cache.json",
    "crates/report/tests/browser/saved/sync.json",
    "crates/report/tests/browser/saved/atime.json",
    "crates/report/tests/browser/saved/copy.json",
    "docs/results/quick.json",
];

fn read(path: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(path),
    )
    .expect("the checkout has the saved results")
}

fn answers(experiment: &Experiment) -> Vec<Answer> {
    let mut experiment = experiment.clone();
    experiment.judge();
    experiment.shared().answers.to_vec()
}

/// Without the words: those of older results come from the version that wrote them.
#[test]
fn the_same_rows_have_the_same_answers() {
    for path in SAVED {
        let saved: LabResult = serde_json::from_str(&read(path)).unwrap();
        for experiment in &saved.experiments {
            let judged = answers(experiment);
            let judged: Vec<_> = judged.iter().map(said).collect();
            let saved: Vec<_> = experiment.shared().answers.iter().map(said).collect();
            assert!(!judged.is_empty(), "{path}");
            assert_eq!(judged, saved, "{path}");
        }
    }
}

fn said(answer: &Answer) -> (Verdict, &[usize], Option<&str>) {
    (answer.verdict, &answer.rows, answer.machine.as_deref())
}

/// The values of each row's case and target, joined by hand.
#[test]
fn rows_have_ids_that_answers_cite() {
    for path in SAVED {
        let saved: LabResult = serde_json::from_str(&read(path)).unwrap();
        for experiment in &saved.experiments {
            let written = serde_json::to_value(experiment).unwrap();
            let ids: Vec<&str> = written["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| {
                    let id = row["id"].as_str().unwrap();
                    let mut parts: Vec<String> = row["case"]
                        .as_object()
                        .unwrap()
                        .values()
                        .map(|value| value.to_string().replace('"', ""))
                        .collect();
                    parts.insert(0, experiment.shared().id.to_owned());
                    parts.push(row["target"].as_str().unwrap().to_owned());
                    assert_eq!(id, parts.join("/"), "{path}");
                    id
                })
                .collect();
            let unique: BTreeSet<&&str> = ids.iter().collect();
            assert_eq!(unique.len(), ids.len(), "{path}: {ids:?}");
            for answer in answers(experiment) {
                let cited: Vec<&str> = answer.rows.iter().map(|row| ids[row - 1]).collect();
                assert_eq!(answer.row_ids, cited, "{path}");
            }
        }
    }
    let sync: LabResult = serde_json::from_str(&read(SAVED[2])).unwrap();
    let written = serde_json::to_value(&sync).unwrap();
    let id = &written["experiments"][0]["rows"][0]["id"];
    assert_eq!(id, "sync/fsync/append/1024/1/ext4");
}

/// Whether `after` contains all of `before` with the same names, values and order; fields may be
/// added.
fn is_kept(before: &Value, after: &Value) -> bool {
    match (before, after) {
        // A gap, whose words are not made here.
        (Value::Object(before), Value::Object(after)) if before.contains_key("code") => {
            before["code"] == after["code"]
        }
        (Value::Object(before), Value::Object(after)) => {
            let names = after.keys().filter(|name| before.contains_key(*name));
            names.eq(before.keys())
                && before
                    .iter()
                    .all(|(name, value)| is_kept(value, &after[name]))
        }
        (Value::Array(before), Value::Array(after)) => {
            let mut pairs = before.iter().zip(after);
            before.len() == after.len() && pairs.all(|(before, after)| is_kept(before, after))
        }
        _ => before == after,
    }
}

#[test]
fn what_was_read_is_written_as_it_was() {
    for path in SAVED {
        let before: Value = serde_json::from_str(&read(path)).unwrap();
        let saved: LabResult = serde_json::from_value(before.clone()).unwrap();
        let after = serde_json::to_value(&saved).unwrap();
        assert!(is_kept(&before, &after), "{path}");
    }
}
