//! Results that are kept without being asked for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::place::{Place, entries, run};

const LAB: &str = "lab --quick --fs host --mode flush --size 1 --count 20";

fn results(place: &Place) -> PathBuf {
    place.path("home/.local/state/iostrata/results")
}

#[test]
fn the_last_result_is_shown_again() {
    let place = Place::new();
    let lab = run(place.iostrata(LAB)).expect(0);
    assert_eq!(run(place.iostrata("report")).expect(0).stdout, lab.stdout);
    let tables = run(place.iostrata("report buffering")).expect(0).stdout;
    assert!(tables.starts_with("buffering · "), "{tables}");
    assert!(tables.contains("1 flush"), "{tables}");
    let refused = run(place.iostrata("report sync")).expect(2);
    refused.says(&["no saved result of a run of lab with sync"]);

    let program = env!("CARGO_BIN_EXE_iostrata");
    let trace = run(place.iostrata(&format!("trace --backend ptrace -- {program} man")));
    let trace = trace.expect(0);
    let again = run(place.iostrata("report")).expect(0).stdout;
    assert!(trace.stderr.starts_with(&again), "{again}");
    // What only lab has is shown of the last lab result.
    let method = run(place.iostrata("report --method")).expect(0).stdout;
    assert!(method.contains("timing 5 runs"), "{method}");

    let list = run(place.iostrata("report --list")).expect(0).stdout;
    let at = |word: &str| list.find(word).unwrap_or_else(|| panic!("{word}: {list}"));
    assert!(at("trace /") < at("lab buffering"), "{list}");
    for path in entries(&results(&place)) {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        assert!(list.contains(path.to_str().unwrap()), "{list}");
    }
    place.assert_nothing_left();
}

/// Not for as long as the clock was ahead.
#[test]
fn what_was_saved_by_a_clock_that_was_ahead_is_not_the_last_for_ever() {
    const LATER: Duration = Duration::from_hours(24 * 365 * 5);
    let place = Place::new();
    run(place.iostrata(LAB)).expect(0);
    let [first] = &entries(&results(&place))[..] else {
        panic!()
    };
    let number = first.file_name().unwrap().to_str().unwrap();
    let number: u64 = number.split('-').next().unwrap().parse().unwrap();
    let ahead = number + u64::try_from(LATER.as_millis()).unwrap();
    let ahead = results(&place).join(format!("{ahead}-lab-1.json"));
    fs::rename(first, &ahead).unwrap();
    let file = fs::File::options().append(true).open(&ahead).unwrap();
    file.set_modified(SystemTime::now() + LATER).unwrap();
    let list = || run(place.iostrata("report --list")).expect(0).stdout;
    assert!(list().starts_with(" clock ahead  lab "), "{}", list());
    let program = env!("CARGO_BIN_EXE_iostrata");
    run(place.iostrata(&format!("trace --backend ptrace -- {program} man"))).expect(0);
    let last = run(place.iostrata("report")).expect(0).stdout;
    assert!(last.contains("observed by ptrace"), "{last}");
    let list = list();
    assert!(list.find("trace /") < list.find("clock ahead"), "{list}");
}

#[test]
fn twenty_are_kept() {
    let place = Place::new();
    let dir = results(&place);
    fs::create_dir_all(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    for number in 1..=25 {
        fs::write(dir.join(format!("{number:013}-lab-1.json")), "{}").unwrap();
    }
    fs::write(dir.join("mine.txt"), "").unwrap();
    run(place.iostrata(LAB)).expect(0);
    let mut names: Vec<_> = entries(&dir);
    names.sort();
    assert_eq!(names.len(), 21, "{names:?}");
    assert!(names[0].ends_with("0000000000007-lab-1.json"), "{names:?}");
    assert!(names.last().unwrap().ends_with("mine.txt"), "{names:?}");
}

#[test]
fn nothing_is_kept_where_nothing_is_to_be() {
    let place = Place::new();
    let lab = run(place.iostrata(&format!("{LAB} --no-save"))).expect(0);
    assert!(lab.stdout.contains("was not saved"), "{}", lab.stdout);
    assert!(entries(&place.path("home")).is_empty());
    let none = run(place.iostrata("report")).expect(2);
    none.says(&["no saved result of a run of lab or trace", "--json"]);
    let list = run(place.iostrata("report --list")).expect(0);
    assert!(
        list.stdout.starts_with("No saved results"),
        "{}",
        list.stdout
    );
}

#[test]
fn a_place_that_cannot_be_used_is_a_note() {
    let place = Place::new();
    fs::write(place.path("home/.local"), "").unwrap();
    let lab = run(place.iostrata(LAB)).expect(0);
    lab.says(&["note: this result was not saved", "--no-save"]);
    let notes = lab.stderr.lines().filter(|line| line.starts_with("note: "));
    assert_eq!(notes.count(), 1, "{}", lab.stderr);

    // A directory that other users may write to may hold anything.
    let place = Place::new();
    let dir = results(&place);
    fs::create_dir_all(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
    run(place.iostrata(LAB))
        .expect(0)
        .says(&["other users may write"]);
    assert!(entries(&dir).is_empty());
    run(place.iostrata("report"))
        .expect(3)
        .says(&["other users may write"]);
}

#[test]
fn a_user_keeps_his_own() {
    let place = Place::new();
    run(place.iostrata_of_nobody(LAB)).expect(0);
    assert_eq!(entries(&results(&place)).len(), 1);
}
