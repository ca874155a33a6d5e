//! What a crash would leave of small programs whose outcome is known.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::place::{Place, run};

mod again;
mod checkers;
mod ended;
mod formats;
mod full;
mod guide;
mod living;
mod machines;
mod mapped;
mod named;
mod points;
mod programs;
mod proven;
mod room;
mod sectors;
mod servers;
mod stacks;
mod states;
mod traps;

/// A directory with one file, and a result of crash in it.
struct Case {
    place: Place,
    dir: PathBuf,
}

impl Case {
    fn new(name: &str, contents: &str) -> Self {
        let place = Place::new();
        let dir = place.path("files");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(name), contents).unwrap();
        Self { place, dir }
    }

    /// With the programs of this machine.
    fn bare(&self) -> Command {
        let mut command = self.place.iostrata("crash --dir");
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command
    }

    fn command(&self, options: &[&str], script: &str) -> Command {
        let mut command = self.bare();
        command.arg(&self.dir).args(options);
        command.args(["--", "/bin/sh", "-c", script]);
        command
    }

    fn crash(&self, options: &[&str], script: &str, code: i32) -> Value {
        let saved = self.place.path("crash.json");
        let json = ["--json", saved.to_str().unwrap()];
        run(self.command(&[options, &json].concat(), script)).expect(code);
        serde_json::from_str(&fs::read_to_string(saved).unwrap()).unwrap()
    }
}

impl Case {
    /// Explores without running anything.
    fn explored(&self, options: &[&str], code: i32) -> Value {
        let saved = self.place.path("explored.json");
        let mut command = self.place.iostrata("crash");
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.args(options).arg("--json").arg(&saved);
        run(command).expect(code);
        serde_json::from_str(&fs::read_to_string(saved).unwrap()).unwrap()
    }
}

fn kinds(result: &Value) -> Vec<(String, String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = result["findings"].as_array().unwrap().iter();
    let mut all: Vec<_> = findings
        .map(|finding| {
            let models = finding["possible_on"].as_array().unwrap();
            let models = models.iter().map(text).collect();
            (text(&finding["kind"]), text(&finding["message"]), models)
        })
        .collect();
    all.sort();
    all
}

fn has(result: &Value, kind: &str, message: &str, model: &str) -> bool {
    kinds(result).iter().any(|(own, said, models)| {
        own == kind && said.contains(message) && models.iter().any(|one| one == model)
    })
}

fn fixes(result: &Value) -> Vec<String> {
    let fix = result["fix"].as_array().unwrap().iter();
    fix.map(|row| {
        let before = row["before"]["syscall"].as_str().unwrap_or("end");
        format!("{} before {before}", row["path"].as_str().unwrap())
    })
    .collect()
}

/// More than a block, so that there are two.
const NEW: &str = "head -c 6000 /dev/zero | tr '\\0' n";

#[test]
fn a_file_that_is_written_in_place_may_be_empty() {
    let case = Case::new("f", "old");
    let result = case.crash(&[], &format!("{NEW} > f; echo saved"), 1);
    assert_eq!(result["verdict"], "failing");
    for model in ["posix", "ext4", "xfs", "btrfs"] {
        assert!(
            has(&result, "prefix", "f is empty", model),
            "{:?}",
            kinds(&result)
        );
    }
    assert!(has(&result, "lost-after-ack", "f is older", "ext4"));
    assert_eq!(result["fix"], Value::Null, "no sync makes it whole");
    assert_eq!(fs::read_to_string(case.dir.join("f")).unwrap(), "old");
    case.place.assert_nothing_left();
}

#[test]
fn a_rename_without_syncs_loses_what_each_file_system_loses() {
    let case = Case::new("f", "old");
    let result = case.crash(&[], &format!("{NEW} > t; mv t f; echo saved"), 1);
    assert!(has(&result, "ordering", "f is empty", "xfs"));
    assert!(has(
        &result,
        "ordering",
        "f holds nothing but zeros",
        "ext4"
    ));
    let on_btrfs =
        |finding: &&(String, String, Vec<String>)| finding.2.contains(&"btrfs".to_owned());
    let all = kinds(&result);
    let btrfs: BTreeSet<_> = all
        .iter()
        .filter(on_btrfs)
        .map(|(kind, ..)| kind.as_str())
        .collect();
    assert_eq!(
        btrfs,
        BTreeSet::from(["lost-after-ack", "ordering"]),
        "a commit does not wait for the data that a rename has on its way"
    );
    assert!(has(&result, "ordering", "f is empty", "btrfs"));
    assert!(!has(
        &result,
        "ordering",
        "f holds nothing but zeros",
        "btrfs"
    ));
    assert_eq!(fixes(&result).len(), 2, "{:?}", fixes(&result));
}

#[test]
fn each_sync_closes_what_it_should() {
    let case = Case::new("f", "old");
    let with_file = format!("{NEW} > t; sync t; mv t f; echo saved");
    let result = case.crash(&[], &with_file, 1);
    let all = kinds(&result);
    assert!(
        all.iter().all(|(kind, ..)| kind == "lost-after-ack"),
        "{all:?}"
    );
    assert_eq!(fixes(&result), [". before write"]);
    let with_both = format!("{NEW} > t; sync t; mv t f; sync .; echo saved");
    let result = case.crash(&[], &with_both, 0);
    assert_eq!(result["verdict"], "clean");
    for mode in result["modes"].as_array().unwrap() {
        assert_eq!(mode["states"]["failing"], 0);
        assert!(mode["states"]["distinct"].as_u64() > Some(1), "{mode}");
        assert_eq!(mode["complete"], true);
    }
}

#[test]
fn gzip_loses_data_and_its_option_keeps_it() {
    let lines: Vec<String> = (0..4000).map(|number| number.to_string()).collect();
    let contents = lines.join("\n");
    let check = format!(
        "{{ [ -e data ] && [ $(wc -c < data) = {} ]; }} || gzip -t data.gz 2>/dev/null || {{ echo lost; exit 1; }}",
        contents.len()
    );
    let case = Case::new("data", &contents);
    let result = case.crash(&["--check", &check], "gzip data && echo done", 1);
    for model in ["posix", "ext4", "xfs", "btrfs"] {
        assert!(has(&result, "ordering", "lost", model), "{model}");
    }
    let culprit = &result["findings"][0];
    assert_eq!(culprit["culprit"]["path"], "data.gz");
    assert_eq!(culprit["before"]["path"], "data");
    let result = case.crash(
        &["--check", &check],
        "gzip --synchronous data && echo done",
        0,
    );
    assert_eq!(result["verdict"], "clean");
}

#[test]
fn sqlite_keeps_what_its_settings_promise() {
    let case = Case::new("unused", "");
    fs::remove_file(case.dir.join("unused")).unwrap();
    let made = Command::new("sqlite3")
        .arg(case.dir.join("t.db"))
        .arg(
            "create table t(i, v); with recursive c(x) as (select 1 union all select x + 1 from c \
              where x < 200) insert into t select x, 'old' from c",
        )
        .status();
    assert!(made.unwrap().success());
    let check = "said=$(sqlite3 t.db 'pragma integrity_check' 2>&1); [ \"$said\" = ok ] || { echo damaged; exit 1; }; \
                 new=$(sqlite3 t.db \"select count(*) from t where v = 'new'\"); \
                 [ $new = 0 ] || [ $new = 200 ] || { echo half; exit 1; }; \
                 ! grep -q committed \"$IOSTRATA_STDOUT\" || [ $new = 200 ] || { echo lost; exit 1; }";
    let crash = |setting: &str, code| {
        let script = format!(
            "sqlite3 t.db \"pragma synchronous={setting}; begin; update t set v = 'new'; commit; select 'committed'\""
        );
        case.crash(&["--check", check], &script, code)
    };
    let normal = crash("NORMAL", 1);
    assert!(has(&normal, "ordering", "damaged", "posix"));
    let full = crash("FULL", 1);
    let [only] = full["findings"].as_array().unwrap().as_slice() else {
        panic!("{full:#}")
    };
    assert_eq!(only["message"], "lost");
    assert_eq!(only["culprit"]["syscall"], "unlink");
    assert_eq!(only["culprit"]["path"], "t.db-journal");
    assert_eq!(fixes(&full), [". before write"]);
    crash("EXTRA", 0);
}

#[test]
fn a_checker_that_never_ends_is_ended() {
    let case = Case::new("f", "old");
    let options = [
        "--check",
        "sleep 1000 & sleep 1000",
        "--check-timeout",
        "0.2",
    ];
    let outcome = run(case.command(&options, "echo new > f")).expect(2);
    assert!(
        outcome.stderr.contains("took more than 0.2 s"),
        "{}",
        outcome.stderr
    );
    case.place.assert_nothing_left();
}

#[test]
fn a_checker_cannot_touch_the_files() {
    let case = Case::new("f", "old");
    let outside = case.dir.join("f");
    let check = "rm -rf \"$IOSTRATA_DIR\"/*; touch \"$IOSTRATA_DIR\"/made; exit 0".to_owned();
    let result = case.crash(&["--check", &check], "echo new > f; sync f; echo told", 0);
    assert_eq!(result["verdict"], "clean");
    assert_eq!(fs::read_to_string(outside).unwrap(), "old");
}

#[test]
fn what_was_not_explored_is_never_clean() {
    let case = Case::new("f", "old");
    let clean = "for i in 1 2 3 4 5; do echo $i > n && sync n && mv n f && sync .; done";
    case.crash(&["--model", "ext4"], clean, 0);
    let few = ["--model", "ext4", "--states", "4"];
    let outcome = run(case.command(&few, clean)).expect(3);
    let flowed = outcome.stdout.split_whitespace().collect::<Vec<_>>();
    let flowed = flowed.join(" ");
    assert!(flowed.contains("Clean so far: none of "), "{flowed}");
    assert!(
        flowed.contains("a higher --states explores the rest"),
        "{flowed}"
    );
    assert_eq!(case.crash(&few, clean, 3)["verdict"], "partial");
    case.crash(&[&few[..], &["--accept-partial"]].concat(), clean, 0);
    // One change that is durable when it is reported leaves no more states than a report alone.
    let outcome = run(case.command(&[], "mkdir g; sync .; echo saved")).expect(0);
    assert!(
        outcome.stdout.contains("Clean: none of "),
        "{}",
        outcome.stdout
    );
    // Damage on one file system is not all that is lost.
    let outcome = run(case.command(&[], "printf bbbbbbbb >> f; echo done")).expect(1);
    let flowed: Vec<&str> = outcome.stdout.split_whitespace().collect();
    let said = "; on btrfs, xfs it can lose what the program reported.";
    assert!(flowed.join(" ").contains(said), "{}", outcome.stdout);
    // Of a model that was not explored, nothing is said.
    let outcome = run(case.command(&["--model", "posix"], "echo new > f")).expect(1);
    let said = "A crash can break this as far as POSIX goes: ";
    assert!(outcome.stdout.contains(said), "{}", outcome.stdout);
}

#[test]
fn a_program_that_fails_is_never_clean() {
    let case = Case::new("f", "old");
    for (script, says, code) in [
        ("exit 7", "the program failed (exit code 7)", 7),
        (
            "kill -9 $$",
            "the program failed (exit code 137, as of signal 9)",
            137,
        ),
    ] {
        let record = case.place.path(format!("record-{code}"));
        let outcome = run(case.command(&["--record", record.to_str().unwrap()], script)).expect(3);
        let flowed = outcome.stdout.split_whitespace().collect::<Vec<_>>();
        let flowed = flowed.join(" ");
        assert!(flowed.contains(&format!("Incomplete: {says}")), "{flowed}");
        assert!(flowed.contains("it changed nothing in the directory"));
        // A recording that is explored again knows it too.
        let again = case.explored(&["--from", record.to_str().unwrap()], 3);
        assert_eq!(again["verdict"], "incomplete");
        let mode = &again["modes"][0];
        assert_eq!(mode["exit_code"], code);
        assert_eq!(mode["complete"], false);
        let missing = &mode["incomplete_because"][0]["what"];
        assert_eq!(missing, "the program after its failure");
    }
    let clean = "echo new > n && sync n && mv n f && sync . && echo saved";
    let result = case.crash(&[], &format!("{clean}; exit 7"), 3);
    assert_eq!(result["findings"].as_array().unwrap().len(), 0);
    case.crash(&[], clean, 0);
    // What breaks, breaks.
    let result = case.crash(&[], "echo new > f; exit 7", 1);
    assert_eq!(result["modes"][0]["exit_code"], 7);
    let result = case.crash(&[], "echo new > f", 1);
    assert_eq!(result["modes"][0]["exit_code"], 0);
}

#[test]
fn a_directory_that_is_none_and_a_program_that_is_none() {
    let case = Case::new("f", "old");
    let mut command = case.bare();
    command.arg(case.dir.join("none")).args(["--", "true"]);
    let outcome = run(command).expect(2);
    assert!(outcome.stderr.contains("no such directory"));
    for (dir, why) in [
        ("/", "its copy would be below it"),
        ("/proc/self", "the kernel makes what is there"),
        ("/sys", "the kernel makes what is there"),
    ] {
        let mut command = case.bare();
        command.args([dir, "--", "true"]);
        let said = run(command).expect(2).stderr;
        assert!(said.contains(why), "{dir}: {said}");
    }
    let mut command = case.bare();
    command.arg(&case.dir).args(["--", "no-such-program"]);
    run(command).expect(127);
    assert!(case.dir.join("f").exists());
    case.place.assert_nothing_left();
}
