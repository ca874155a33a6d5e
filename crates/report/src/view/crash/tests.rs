//! Nothing is said of what was not looked at.

use iostrata_core::crash::{CrashResult, FixRow, Model, Verdict};

use super::{fixes, on, points, verdict};

const SAVED: &str = include_str!("../../../../../docs/results/crash.json");

fn saved() -> CrashResult {
    serde_json::from_str(SAVED).unwrap()
}

#[test]
fn only_models_that_were_explored_at_each_point_are_denied() {
    let mut result = saved();
    let said = |result: &CrashResult| on(&[Model::Posix], &result.modes);
    assert_eq!(
        said(&result),
        " as far as POSIX goes, though none of ext4, xfs and btrfs does it"
    );
    // A limit, the time or a signal came before the rest.
    result.modes[2].states.points_not_explored = 1;
    assert_eq!(
        said(&result),
        " as far as POSIX goes, though none of ext4 and btrfs does it"
    );
    result.modes[3].complete = false;
    assert_eq!(
        said(&result),
        " as far as POSIX goes, though ext4 does not do it"
    );
    // After a signal during the first model the others were not begun.
    result.modes.truncate(1);
    assert_eq!(said(&result), " as far as POSIX goes");
    assert_eq!(on(&[Model::Posix, Model::Xfs], &result.modes), " on xfs");
}

#[test]
fn the_first_line_has_the_number_of_points() {
    let mut result = saved();
    result.findings.clear();
    result.verdict = Verdict::Partial;
    result.modes.truncate(2);
    for mode in &mut result.modes {
        (mode.states.points, mode.states.points_not_explored) = (9, 13);
        mode.states.distinct = 2;
    }
    result.modes[1].states.points_not_explored = 14;
    result.settings.models = vec![Model::Posix, Model::Ext4];
    assert_eq!(
        verdict(&result),
        "Clean so far: none of 4 different states of 2 models at 18 of 45 points breaks anything; a higher --states explores the rest."
    );
    result.settings.models.push(Model::Btrfs);
    assert_eq!(points(&result), "18 of 45 points");
    assert!(verdict(&result).contains(" breaks anything; btrfs was not explored; "));
}

#[test]
fn syncs_before_calls_that_are_alike_are_one_line() {
    let result = saved();
    let mut fix = result.fix.unwrap();
    let all = fixes(&fix).len();
    let (path, is_directory) = ("data".to_owned(), false);
    let before = result.findings[0].before.clone();
    let alike = FixRow {
        path,
        is_directory,
        before,
    };
    fix.extend([alike.clone(), alike]);
    let lines = fixes(&fix);
    assert_eq!(lines.len(), all + 1);
    let last = lines.last().unwrap();
    assert!(
        last.starts_with("fsync data ") && last.ends_with(", all 2 times"),
        "{last}"
    );
}

/// The saved program leaves two kinds of damage.
#[test]
fn a_message_is_said_of_the_file_systems_that_show_it() {
    let mut result = saved();
    let [first, second] = &mut result.findings[..2] else {
        panic!("two findings of damage")
    };
    first.possible_on = vec![Model::Posix, Model::Xfs, Model::Btrfs];
    second.possible_on = vec![Model::Posix, Model::Ext4, Model::Xfs];
    second.message = "f holds nothing but zeros.".to_owned();
    first.message = "f is empty".to_owned();
    result.findings.truncate(2);
    let said = verdict(&result);
    let wanted =
        "A crash can break this on xfs, btrfs: f is empty; on ext4: f holds nothing but zeros. ";
    assert!(said.starts_with(wanted), "{said}");
}
