use std::collections::{BTreeMap, BTreeSet};

use iostrata_core::crash::block::Pressure;
use iostrata_core::crash::litmus::{Litmus, Seen};
use iostrata_core::crash::{
    CALIBRATE_SCHEMA, CalibrateResult, CalibrateSettings, LitmusRow, Model, Shown, Soundness,
};

use crate::fixture::{environment, storage};
use crate::terminal::calibrate as draw;

fn row(name: &str, filesystem: Model, outcomes: &[(&str, bool)]) -> LitmusRow {
    let outcomes = outcomes.iter().map(|(files, ended)| {
        let seen = Seen {
            files: (*files).to_owned(),
            ended: *ended,
        };
        (seen, BTreeSet::from([Pressure::Fsync]))
    });
    let shown = Shown {
        outcomes: outcomes.collect::<BTreeMap<_, _>>(),
        images: 12,
        sampled_epochs: 1,
        ..Shown::default()
    };
    LitmusRow::of(Litmus::named(name).unwrap(), filesystem, &shown)
}

fn result(rows: Vec<LitmusRow>) -> CalibrateResult {
    CalibrateResult {
        schema: CALIBRATE_SCHEMA.to_owned(),
        environment: environment("6.18.44", 24, storage("/tmp", "rw", Vec::new())),
        settings: CalibrateSettings {
            pressures: vec![Pressure::Fsync],
            repeats: 2,
            delay_s: 0.002,
            images: 600,
            seed: 1,
        },
        interrupted_by: None,
        verdict: Soundness::of(&rows, true),
        rows,
    }
}

#[test]
fn outcomes_of_all_file_systems_are_side_by_side() {
    let (old, new) = ("f=a*9000", "f=b*9000");
    let text = draw(
        &result(vec![
            row(
                "replace-by-rename",
                Model::Ext4,
                &[(old, false), ("f=0*9000", false), (new, true)],
            ),
            row(
                "replace-by-rename",
                Model::Xfs,
                &[(old, false), ("f=empty", true), (new, true)],
            ),
            row(
                "fsync-replace-fsync-directory",
                Model::Ext4,
                &[(old, false), (new, true)],
            ),
        ]),
        100,
        false,
    );
    let line = |begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap();
    let words = line("replace-by-rename").split_whitespace();
    let words: Vec<&str> = words.collect();
    assert_eq!(
        words,
        [
            "replace-by-rename",
            "old,",
            "new,",
            "f=0*9000",
            "old,",
            "new,",
            "f=empty"
        ]
    );
    // What was left before its sync returned is not what a program relies on.
    let words: Vec<&str> = line("fsync-replace-fsync-directory")
        .split_whitespace()
        .collect();
    assert_eq!(words, ["fsync-replace-fsync-directory", "†", "new", "n/a"]);
    assert!(
        text.contains("Sound: the models allow what Linux "),
        "{text}"
    );
    assert!(text.contains("replace-by-rename on ext4: "), "{text}");
    assert!(
        text.contains("; not all subsets of blocks in 2 epochs"),
        "{text}"
    );
}

#[test]
fn what_a_model_denies_is_said_first() {
    let rows = vec![row("overwrite", Model::Btrfs, &[("f=b*4096+a*4096", true)])];
    let text = draw(&result(rows), 100, false);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("Unsound: models deny some of what Linux "),
        "{text}"
    );
    assert!(
        words.contains(
            "overwrite on btrfs: f=b*4096+a*4096 after its end, pressure fsync; the model denies it"
        ),
        "{text}"
    );
}
