//! Results of several machines, merged: every row knows its machine and is judged only among the
//! rows of that machine.

#![expect(clippy::unwrap_used, reason = "test helpers")]

use iostrata_core::gap::{Gap, Missing, Reason};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use iostrata_core::answer::Answer;
use iostrata_core::lab::{Experiment, Input, LabResult, MergeError, machine_of, merge};
use iostrata_core::timing::{Sample, Timing};
use serde_json::Value;

/// A result of all five experiments.
fn quick() -> LabResult {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/quick.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The same for a machine with other answers: times are longer by a factor that grows from row to
/// row, and operations that changed an access time do not.
fn other() -> LabResult {
    let mut result = quick();
    "6.12.0".clone_into(&mut result.environment.kernel);
    result.environment.machine = result.environment.label();
    for experiment in &mut result.experiments {
        match experiment {
            Experiment::Buffering(one) => {
                slow_down(one.rows.iter_mut().map(|row| &mut row.row.timing));
            }
            Experiment::PageCache(one) => {
                slow_down(one.rows.iter_mut().map(|row| &mut row.row.timing));
            }
            Experiment::Sync(one) => {
                slow_down(one.rows.iter_mut().map(|row| &mut row.row.timing));
                for projection in &mut one.own.projections {
                    projection.error = projection.error.map(|error| error + 2.0);
                }
            }
            Experiment::Atime(one) => {
                for probe in &mut one.own.relatime {
                    probe.atime_changed ^= true;
                }
            }
            Experiment::Copy(one) => {
                slow_down(one.rows.iter_mut().map(|row| &mut row.row.timing));
                for yardstick in &mut one.own.yardsticks {
                    yardstick.timing.median_s *= 3.0;
                }
            }
        }
    }
    result
}

fn slow_down<'a>(timings: impl Iterator<Item = &'a mut Option<Timing>>) {
    for (place, timing) in timings.enumerate() {
        let factor = 1.5 + place as f64 / 3.0;
        let samples = timing.iter().flat_map(|timing| &timing.samples_s);
        let samples: Vec<Sample> = samples
            .map(|real_s| Sample {
                real_s: real_s * factor,
                user_s: 0.0,
                system_s: 0.0,
            })
            .collect();
        *timing = Timing::from_samples(&samples);
    }
}

fn input<'a>(file: &'a str, machine: &'a str, result: &'a LabResult) -> Input<'a> {
    Input {
        file,
        machine: Some(machine),
        result,
    }
}

fn both() -> LabResult {
    merge(&[
        input("a.json", "web1", &quick()),
        input("b.json", "web2", &other()),
    ])
    .unwrap()
}

/// The answers to the rows of a result.
fn judged(mut experiment: Experiment) -> Vec<Answer> {
    experiment.judge();
    experiment.shared().answers.to_vec()
}

fn rows(experiment: &Experiment) -> Vec<Value> {
    let written = serde_json::to_value(experiment).unwrap();
    written["rows"].as_array().unwrap().clone()
}

fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap().to_owned()
}

#[test]
fn ids_are_unique_and_say_the_machine() {
    let merged = both();
    let pairs = quick().experiments.into_iter().zip(&merged.experiments);
    for (single, merged) in pairs {
        let (before, after) = (rows(&single), rows(merged));
        assert_eq!(after.len(), 2 * before.len());
        let ids: BTreeSet<String> = after.iter().map(|row| text(row, "id")).collect();
        assert_eq!(ids.len(), after.len());
        for (place, row) in after.iter().enumerate() {
            let own = &before[place % before.len()];
            let machine = if place < before.len() { "web1" } else { "web2" };
            assert_eq!(text(row, "machine"), machine);
            assert!(own.get("machine").is_none());
            for key in ["id", "target"] {
                assert_eq!(text(row, key), format!("{}@{machine}", text(own, key)));
            }
            assert_eq!(row["case"], own["case"]);
        }
    }
    let sync = rows(&merged.experiments[2]);
    assert_eq!(sync[0]["id"], "sync/fsync/append/1024/1/host@web1");
    assert_eq!(sync[10]["id"], "sync/fsync/append/1024/1/host@web2");
}

/// An answer without the row numbers in its text: a merged result numbers rows consecutively.
fn without_numbers(answer: &Answer, machine: Option<&str>) -> (String, &'static str, String) {
    let mut words: Vec<String> = Vec::new();
    for word in answer.because.split(' ') {
        let last = words.last().map(String::as_str);
        let is_number = word.trim_end_matches([',', ';', ':', ')']).parse::<usize>();
        let of_row = matches!(last, Some("row" | "rows" | "(row" | "(rows" | "N,"));
        words.push(match (of_row, is_number) {
            (true, Ok(_)) => "N,".to_owned(),
            _ => word.to_owned(),
        });
    }
    assert_eq!(answer.machine.as_deref(), machine);
    (
        answer.claim.clone(),
        answer.verdict.as_str(),
        words.join(" "),
    )
}

#[test]
fn each_machine_has_the_answers_that_it_has_alone() {
    let merged = both();
    let mut verdicts_differ = 0;
    for (machine, single) in [("web1", quick()), ("web2", other())] {
        for (alone, among) in single.experiments.into_iter().zip(&merged.experiments) {
            let before = alone.rows();
            let alone = judged(alone);
            let of_machine = |one: &&Answer| one.machine.as_deref() == Some(machine);
            let answers = among.shared().answers.iter();
            let among: Vec<&Answer> = answers.filter(of_machine).collect();
            assert_eq!(among.len(), alone.len(), "{machine}");
            assert!(!alone.is_empty());
            for (alone, among) in alone.iter().zip(among) {
                let expected = without_numbers(alone, None);
                assert_eq!(without_numbers(among, Some(machine)), expected);
                let added = if machine == "web1" { 0 } else { before };
                let numbers: Vec<usize> = alone.rows.iter().map(|row| row + added).collect();
                assert_eq!(among.rows, numbers);
                let ids = alone.row_ids.iter().map(|id| format!("{id}@{machine}"));
                assert_eq!(among.row_ids, ids.collect::<Vec<_>>());
            }
        }
    }
    for experiment in &merged.experiments {
        for pair in experiment.shared().answers.windows(2) {
            let same = pair[0].claim == pair[1].claim;
            verdicts_differ += usize::from(same && pair[0].verdict != pair[1].verdict);
        }
    }
    // Otherwise nothing would distinguish the machines.
    assert!(verdicts_differ >= 5, "{verdicts_differ}");
}

#[test]
fn a_merged_result_comes_back_and_can_be_judged_again() {
    let merged = both();
    let saved = serde_json::to_string(&merged).unwrap();
    let again: LabResult = serde_json::from_str(&saved).unwrap();
    assert_eq!(again, merged);
    for experiment in again.experiments {
        let before = experiment.shared().answers.to_vec();
        assert_eq!(judged(experiment), before);
    }
    let parts = merged.parts.iter();
    let parts: Vec<(&str, &str)> = parts
        .map(|part| (part.machine.as_str(), part.environment.kernel.as_str()))
        .collect();
    assert_eq!(parts, [("web1", "6.18.44-fc-v669"), ("web2", "6.12.0")]);
}

/// Whether an experiment's row is kept.
fn keep(result: &mut LabResult, is: fn(&str) -> bool) {
    result.experiments.retain(|one| one.shared().id == "sync");
    let Experiment::Sync(sync) = &mut result.experiments[0] else {
        panic!("not sync")
    };
    sync.rows.retain(|row| is(row.row.case.write.as_str()));
    sync.own.projections.clear();
}

#[test]
fn rows_of_two_machines_are_never_compared() {
    let claim = "an append and its fsync cost more than an overwrite and its fsync";
    let is_made = |result: &LabResult| {
        let mut answers = result.experiments[0].shared().answers.iter();
        answers.any(|answer| answer.claim == claim)
    };
    let (mut appends, mut overwrites) = (quick(), other());
    keep(&mut appends, |write| write == "append");
    keep(&mut overwrites, |write| write == "overwrite");
    let both = [
        input("a.json", "web1", &appends),
        input("b.json", "web2", &overwrites),
    ];
    assert!(!is_made(&merge(&both).unwrap()));
    let mut whole = quick();
    keep(&mut whole, |_| true);
    let both = [
        input("a.json", "web1", &whole),
        input("b.json", "web2", &overwrites),
    ];
    assert!(is_made(&merge(&both).unwrap()));
}

#[test]
fn what_names_rows_names_those_of_its_machine() {
    let merged = both();
    let cited = |place: usize, list: &str, key: &str| {
        let experiment = serde_json::to_value(&merged.experiments[place]).unwrap();
        let rows = experiment["rows"].as_array().unwrap().clone();
        let entries = experiment[list].as_array().unwrap().clone();
        let numbers = move |entry: &Value| match &entry[key] {
            Value::Array(all) => all.iter().map(|one| one.as_u64().unwrap()).collect(),
            one => vec![one.as_u64().unwrap()],
        };
        let found = entries.into_iter().map(move |entry| {
            let targets = numbers(&entry).into_iter().map(|number| {
                let row = usize::try_from(number).unwrap() - 1;
                text(&rows[row], "target")
            });
            (entry.clone(), targets.collect::<Vec<_>>())
        });
        found.collect::<Vec<_>>()
    };
    for (place, list) in [(1, "parsing"), (3, "comparisons")] {
        let entries = cited(place, list, "rows");
        assert!(entries.len() >= 2, "{list}");
        for (entry, targets) in entries {
            let own = text(&entry, "target");
            assert_eq!(targets, [own.clone(), own], "{list}");
        }
    }
    let projected = cited(2, "projections", "row");
    let (first, second) = projected.split_at(projected.len() / 2);
    let are_of = |part: &[(Value, Vec<String>)], machine| {
        let mut targets = part.iter().flat_map(|(_, targets)| targets);
        !part.is_empty() && targets.all(|target| machine_of(target) == Some(machine))
    };
    assert!(are_of(first, "web1") && are_of(second, "web2"));
}

#[test]
fn what_the_machines_do_not_share_is_named() {
    let (mut ours, theirs) = (quick(), other());
    ours.experiments.remove(1);
    let merged = merge(&[
        input("a.json", "web1", &ours),
        input("b.json", "web2", &theirs),
    ]);
    let merged = merged.unwrap();
    let names: Vec<&str> = merged
        .experiments
        .iter()
        .map(|one| one.shared().id)
        .collect();
    assert_eq!(names, ["buffering", "sync", "atime", "copy", "page-cache"]);
    let gap = &merged.experiments[4].shared().missing[0];
    assert_eq!(
        *gap,
        Gap::new(
            Missing::RowsOf {
                machine: "web1".to_owned()
            },
            Reason::NotInFile {
                file: "a.json".to_owned(),
                experiment: "page-cache".to_owned()
            }
        )
    );
    let Experiment::Buffering(buffering) = &merged.experiments[0] else {
        panic!("not buffering")
    };
    // The loop costs the same in both.
    assert_eq!(buffering.method.own.own_cost_ns, Some(7.6089));
    assert!(buffering.caveats[0].starts_with("web1: "));
    assert_eq!(buffering.method.planned_rows, 80);
    assert_eq!(buffering.method.warm_up_runs, 80);
    let (mut ours, mut theirs) = (quick(), other());
    for (result, cost) in [(&mut ours, 5.0), (&mut theirs, 7.0)] {
        result.experiments.truncate(1);
        if let Experiment::Buffering(one) = &mut result.experiments[0] {
            one.method.own.own_cost_ns = Some(cost);
        }
    }
    let merged = merge(&[
        input("a.json", "web1", &ours),
        input("b.json", "web2", &theirs),
    ]);
    let written = serde_json::to_value(merged.unwrap()).unwrap();
    let buffering = &written["experiments"][0];
    assert!(buffering["method"]["own_cost_ns"].is_null());
    let missing = buffering["missing"].as_array().unwrap();
    assert_eq!(missing.last().unwrap()["code"]["what"], "own_cost");
}

#[test]
fn a_machine_is_named_by_its_label_unless_it_is_named() {
    let (ours, theirs) = (quick(), other());
    let unnamed = |file, result| Input {
        file,
        machine: None,
        result,
    };
    let merged = merge(&[unnamed("a.json", &ours), unnamed("b.json", &theirs)]).unwrap();
    let labels = [&ours, &theirs].map(|result| result.environment.label());
    assert!(labels.iter().all(|label| label.starts_with("vda-2cpu-")));
    let machines: Vec<&String> = merged.parts.iter().map(|part| &part.machine).collect();
    assert_eq!(machines, labels.iter().collect::<Vec<_>>());
}

#[track_caller]
fn refused(inputs: &[Input<'_>]) -> String {
    merge(inputs).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_merged_is_refused_with_the_reason() {
    let (ours, theirs) = (quick(), other());
    let label = ours.environment.label();
    let unnamed = Input {
        file: "a.json",
        machine: None,
        result: &ours,
    };
    assert_eq!(merge(&[unnamed]).unwrap_err(), MergeError::Alone);
    assert_eq!(
        refused(&[
            unnamed,
            Input {
                file: "b.json",
                ..unnamed
            }
        ]),
        format!(
            "a.json and b.json are both of machine {label}, so their rows would have the same \
             ids; leave one out if they were measured on the same machine, or else name each \
             machine (--machine)"
        )
    );
    for name in ["", "a/b", "a@b", "a b", "ä", &"a".repeat(41)] {
        let why = refused(&[unnamed, input("b.json", name, &theirs)]);
        assert!(why.contains("cannot name a machine"), "{why}");
    }
    let merged = both();
    assert_eq!(
        refused(&[unnamed, input("m.json", "web3", &merged)]),
        "m.json is itself merged from results of several machines; name the results it was made \
         from"
    );
    let mut newer = other();
    newer.environment.iostrata_version = "0.2.0".to_owned();
    assert_eq!(
        refused(&[unnamed, input("b.json", "web2", &newer)]),
        "a.json was saved by iostrata 0.1.0 and b.json by iostrata 0.2.0, which may not measure \
         in the same way; run lab with one version on all machines"
    );
    let mut longer = other();
    if let Experiment::Sync(sync) = &mut longer.experiments[2] {
        sync.method.timing_runs = (5, 9);
    }
    assert_eq!(
        refused(&[unnamed, input("b.json", "web2", &longer)]),
        "sync was timed 5 times a case in a.json and 5 to 9 times in b.json, so their intervals \
         do not mean the same; run lab with the same options on all machines"
    );
}
