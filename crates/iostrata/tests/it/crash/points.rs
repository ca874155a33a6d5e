//! Which points in time are looked at: those that were asked for, for as long as was asked for.

use serde_json::{Value, json};

use super::{Case, has, kinds};
use crate::place::run;

/// Of a model's mode.
fn states(result: &Value, model: &str) -> Value {
    let modes = result["modes"].as_array().unwrap();
    let mode = modes.iter().find(|mode| mode["model"] == model).unwrap();
    mode["states"].clone()
}

#[test]
fn only_points_after_a_mark_are_looked_at() {
    let marks = [
        "echo loaded >&$IOSTRATA_MARK",
        "iostrata mark loaded",
        // A child has the descriptor, too, and others come later.
        "(iostrata mark first; iostrata mark loaded); iostrata mark last",
    ];
    for mark in marks {
        let case = Case::new("f", "old");
        let binary = env!("CARGO_BIN_EXE_iostrata");
        let mark = mark.replace("iostrata mark", &format!("{binary} mark"));
        // Each of the two is empty at some time, but one of them before the mark only.
        let script = format!("echo a > f && sync f && {mark} && echo b > g && sync g");
        let all = case.crash(&[], &script, 1);
        for name in ["f is empty", "g is empty"] {
            assert!(
                has(&all, "prefix", name, "ext4"),
                "{mark}: {:?}",
                kinds(&all)
            );
        }
        let late = case.crash(&["--after", "loaded"], &script, 1);
        assert!(
            has(&late, "prefix", "g is empty", "ext4"),
            "{:?}",
            kinds(&late)
        );
        assert!(
            !has(&late, "prefix", "f is empty", "ext4"),
            "{:?}",
            kinds(&late)
        );
        assert_eq!(late["settings"]["after"], "loaded");
        let (all, late) = (states(&all, "xfs"), states(&late, "xfs"));
        assert!(
            late["points"].as_u64() < all["points"].as_u64(),
            "{all} {late}"
        );
        let said = run(case.command(&["--after", "never"], &script))
            .expect(2)
            .stderr;
        assert!(
            said.contains("no such mark, but ") && said.contains("loaded") && !said.contains(", ,"),
            "{said}"
        );
        case.place.assert_nothing_left();
    }
    let case = Case::new("f", "old");
    let said = run(case.command(&["--after", "x"], "echo a > f"))
        .expect(2)
        .stderr;
    assert!(said.contains("the program made no mark"), "{said}");
}

/// What was done just before a mark, and reported, is at stake at the mark.
#[test]
fn the_mark_itself_is_a_point() {
    let case = Case::new("f", "old");
    let script = "echo z > z; echo saved; echo end >&$IOSTRATA_MARK";
    let result = case.crash(&["--after", "end"], script, 1);
    assert!(
        has(&result, "lost-after-ack", "z is", "xfs"),
        "{:?}",
        kinds(&result)
    );
}

#[test]
fn a_mark_is_not_written_to_another_file() {
    let case = Case::new("f", "old");
    let binary = env!("CARGO_BIN_EXE_iostrata");
    let script = format!("exec 8>other; {binary} mark x && exit 5; [ ! -s other ] && echo saved");
    let outcome = run(case.command(&[], &script)).expect(1);
    assert!(
        outcome.stderr.contains("leads to another file now"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_part_says_that_it_is_one() {
    let case = Case::new("f", "old");
    let kept = case.place.path("kept");
    let options = ["--check", "true", "--record", kept.to_str().unwrap()];
    case.crash(&options, "cp f g", 0);
    let mut part = case
        .place
        .iostrata("crash --check true --partition 1/2 --from");
    part.env("PATH", std::env::var_os("PATH").unwrap())
        .arg(kept);
    let said = run(part).expect(0).stdout;
    assert!(said.contains("Left out: all states but part 1/2"), "{said}");
}

#[test]
fn a_mark_outside_is_nothing() {
    let case = Case::new("f", "old");
    let outcome = run(case.place.iostrata("mark loaded")).expect(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    let mut lines = case.place.iostrata("mark");
    lines.arg("two\nlines");
    run(lines).expect(2);
}

#[test]
fn one_of_so_many_points_is_looked_at_and_each_after_a_report() {
    let case = Case::new("f", "old");
    let script = "for i in $(seq 40); do echo $i >> f; done; echo saved";
    let all = states(&case.crash(&["--check", "true"], script, 0), "posix");
    let result = case.crash(&["--check", "true", "--every", "10"], script, 0);
    let some = states(&result, "posix");
    assert_eq!(
        (&result["settings"]["every"], &result["verdict"]),
        (&json!(10), &json!("clean"))
    );
    assert_eq!((&all["points"], &some["points"]), (&json!(41), &json!(5)));
    let check =
        "[ $(wc -l < f) -ge 40 ] || ! grep -q saved $IOSTRATA_STDOUT || { echo lost; exit 1; }";
    let lost = case.crash(&["--check", check, "--every", "1000"], script, 1);
    assert!(
        has(&lost, "lost-after-ack", "lost", "xfs"),
        "{:?}",
        kinds(&lost)
    );
    let said = run(case.command(&["--check", "true", "--every", "10"], script))
        .expect(0)
        .stdout;
    let left = said.lines().take(6).collect::<Vec<_>>().join(" ");
    assert!(
        left.contains("Left out: all but one of 10 points"),
        "{said}"
    );
}

#[test]
fn the_time_is_shared_by_the_models() {
    let case = Case::new("f", "old");
    let script = "for i in $(seq 200); do echo $i >> f; done";
    let options = ["--check", "sleep 0.1", "--time", "4s", "--jobs", "1"];
    let result = case.crash(&options, script, 3);
    assert_eq!(
        (&result["verdict"], &result["settings"]["time_s"]),
        (&json!("partial"), &json!(4.0))
    );
    for model in ["posix", "ext4", "xfs", "btrfs"] {
        let states = states(&result, model);
        assert_eq!(states["time_over"], true, "{model}");
        assert_eq!(states["limit_reached"], false, "{model}");
        assert!(
            states["points_not_explored"].as_u64() > Some(0),
            "{model}: {states}"
        );
    }
    let said = run(case.command(&options, script)).expect(3).stdout;
    let first: Vec<&str> = said.split_whitespace().collect();
    let over = "the 4 s of --time were over before the rest";
    assert!(first.join(" ").contains(over), "{said}");
    let options = [&options[..], &["--accept-partial"]].concat();
    case.crash(&options, script, 0);
    // What is found until then is a finding, and no syncs are looked for.
    let options = [
        "--check",
        "sleep 0.1; [ -s f ] || { echo empty; exit 1; }",
        "--time",
        "4s",
    ];
    let script = "for i in $(seq 200); do echo $i > f; done";
    let failing = case.crash(&options, script, 1);
    assert!(
        failing["fix"].is_null() && !failing["fix_unknown_because"].is_null(),
        "{failing:#}"
    );
    case.place.assert_nothing_left();
}
