//! Which flushes are looked at: `--every`, `--after`, `--time`, `--images`.

use super::{Case, OLD, assert_has};
use crate::place::{is_root, run};

/// Six records, each synced, and then one that is reported without a sync.
const RECORDS: &str =
    "for one in 1 2 3 4 5 6; do echo $one >> log; sync log; done; echo 7 >> log; echo done";

#[test]
fn only_flushes_that_were_asked_for_are_looked_at() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let on = ("ext4", "none");
    let all = case.crash(on, &[], RECORDS, 1)["modes"][0].clone();
    assert_eq!(all["states"]["points"], all["recording"]["epochs"]);
    // One of so many, and those after a report: what was reported is lost at one of these.
    let result = case.crash(on, &["--every", "1000"], RECORDS, 1);
    assert_has(&result, "lost-after-ack", "log", "");
    let some = &result["modes"][0];
    assert_eq!(some["states"]["points_not_explored"], 0);
    let points = |mode: &serde_json::Value| mode["states"]["points"].as_u64();
    // Where there is room for one flush, it is the one with the report.
    let mut first = case
        .place
        .iostrata("crash --mode block --fs ext4 --pressure none --images 2 --dir");
    first.env("PATH", std::env::var_os("PATH").unwrap());
    first.arg(&case.dir).args(["--", "sh", "-c", RECORDS]);
    let said = run(first).expect(1).stdout;
    assert!(said.contains("lost-after-ack"), "{said}");
    assert!(
        points(some) <= Some(3) && points(&all) >= Some(13),
        "{some} {all}"
    );
}

#[test]
fn what_breaks_before_a_mark_is_left_out() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let iostrata = env!("CARGO_BIN_EXE_iostrata");
    let unsafely = "echo new > f; sync f;";
    let safely = "echo newer > g; sync g; mv g f; sync .;";
    let after = &["--after", "ready"];
    let script = format!("{unsafely} {iostrata} mark ready; {safely}");
    for (options, code) in [(&[][..], 1), (after, 0)] {
        case.crash(("ext4", "fsync"), options, &script, code);
    }
    let script = format!("{safely} {iostrata} mark ready; {unsafely}");
    let result = case.crash(("ext4", "fsync"), after, &script, 1);
    assert_has(&result, "prefix", "empty", "");
    let mut unknown = case.command(&["--fs", "ext4", "--after", "raedy"], &script);
    unknown.env("COLUMNS", "200");
    let said = run(unknown).expect(2).stderr;
    assert!(
        said.contains("--after raedy: the program made no such mark, but ready"),
        "{said}"
    );
}

/// A checker that takes a second cannot look at all of it in two.
#[test]
fn the_rest_is_told_when_the_time_is_over() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let saved = case.place.path("crash.json");
    let options = [
        "--fs",
        "ext4",
        "--pressure",
        "none",
        "--time",
        "2s",
        "--jobs",
        "1",
    ];
    let check = ["--check", "sleep 1", "--json", saved.to_str().unwrap()];
    let mut command = case.command(&[&options[..], &check].concat(), RECORDS);
    command.env("COLUMNS", "200");
    let said = run(command).expect(3).stdout;
    assert!(said.contains("Clean so far: none of"), "{said}");
    assert!(
        said.contains("; the 2 s of --time were over before the rest."),
        "{said}"
    );
    let result: serde_json::Value = serde_json::from_slice(&std::fs::read(saved).unwrap()).unwrap();
    assert_eq!(result["verdict"], "partial");
    let (states, epochs) = (
        &result["modes"][0]["states"],
        &result["modes"][0]["recording"]["epochs"],
    );
    assert_eq!(states["time_over"], true);
    let [points, left] =
        ["points", "points_not_explored"].map(|name| states[name].as_u64().unwrap());
    assert!(
        left > 0 && Some(points + left) == epochs.as_u64(),
        "{states} {epochs}"
    );
    case.place.assert_nothing_left();
}

/// In-place writes, each of which a crash tears.
const TORN: &str = "import os
f = os.open('f', os.O_RDWR)
for c in b'bcdefghijklm':
    os.pwrite(f, bytes([c]) * 12288, 0); os.fsync(f)
";

/// A flush of which nothing was tried but all and nothing is not explored where a part of it makes a difference.
#[test]
fn flushes_that_were_not_looked_into_are_not_explored() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", &"a".repeat(12_288));
    let whole =
        "test $(tr -d '\\n' < f | fold -w1 | sort -u | wc -l) = 1 || { echo torn; exit 1; }";
    let slow = format!("sleep 1; {whole}");
    let saved = case.place.path("crash.json");
    let cases: [(&[&str], &str); 2] = [
        (&["--images", "6", "--every", "2"], whole),
        (&["--time", "1500ms", "--jobs", "1"], &slow),
    ];
    for (options, check) in cases {
        let mut command = case
            .place
            .iostrata("crash --mode block --fs ext4 --pressure none --json");
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.arg(&saved).arg("--dir").arg(&case.dir);
        command.args(["--check", check]).args(options);
        command.args(["--", "/usr/bin/python3", "-c", TORN]);
        let outcome = run(command);
        let result: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&saved).unwrap()).unwrap();
        let states = &result["modes"][0]["states"];
        match outcome.code {
            Some(1) => assert_eq!(result["findings"][0]["message"], "torn"),
            Some(3) => {
                assert_eq!(result["verdict"], "partial", "{states}");
                assert!(states["points_not_explored"].as_u64() > Some(0), "{states}");
            }
            other => panic!("{options:?}: {other:?} {states}"),
        }
    }
}
