//! What real ext4, xfs and btrfs leave of programs whose outcome is known, and what block mode leaves behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::place::{Place, is_root, run};

mod checkers;
mod ended;
mod formats;
mod points;
mod told;

/// A directory with one file, for runs in block mode.
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

    fn command(&self, options: &[&str], script: &str) -> Command {
        let mut command = self
            .place
            .iostrata("crash --mode block --images 150 --delay");
        command.arg(DELAY_MS).arg("--dir");
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.arg(&self.dir).args(options);
        command.args(["--", "/bin/sh", "-c", script]);
        command
    }

    fn crash(&self, on: (&str, &str), options: &[&str], script: &str, code: i32) -> Value {
        let saved = self.place.path("crash.json");
        let (filesystem, pressure) = on;
        let own = [
            "--fs",
            filesystem,
            "--pressure",
            pressure,
            "--accept-partial", // of images
            "--json",
            saved.to_str().unwrap(),
        ];
        let ran = || run(self.command(&[options, &own].concat(), script));
        let mut outcome = ran();
        // A sync(2) of another test writes what this program leaves to the kernel: then nothing breaks.
        for _ in 1..TRIES {
            if code != 1 || outcome.code != Some(0) {
                break;
            }
            outcome = ran();
        }
        outcome.expect(code);
        serde_json::from_str(&fs::read_to_string(saved).unwrap()).unwrap()
    }
}

/// What a finding says: its kind, its message and its culprit.
type Says<'s> = (&'s str, &'s str, &'s str);

impl Case {
    /// Runs that fail, until one finds this: a program that others keep from running at the moment that counts leaves its
    /// data to be written before.
    fn finds(&self, on: (&str, &str), options: &[&str], script: &str, says: Says<'_>) -> Value {
        let kept = options
            .iter()
            .skip_while(|option| **option != "--keep")
            .nth(1);
        let mut runs = (0..TRIES).map(|_| {
            kept.map(fs::remove_dir_all);
            self.crash(on, options, script, 1)
        });
        runs.find(|result| has(result, says)).unwrap()
    }
}

/// Kind, message and culprit of each finding; they have the failing states of all runs.
fn found(result: &Value) -> BTreeSet<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = result["findings"].as_array().unwrap().iter();
    let sum = |all: &Value, count: fn(&Value) -> &Value| -> u64 {
        let all = all.as_array().unwrap().iter();
        all.map(|one| count(one).as_u64().unwrap()).sum()
    };
    let failing = sum(&result["modes"], |mode| &mode["states"]["failing"]);
    let shown = sum(&result["findings"], |finding| &finding["states"]);
    assert_eq!(shown, failing);
    findings
        .map(|finding| {
            assert_eq!(finding["proven_by"], serde_json::json!(["real recovery"]));
            let culprit = text(&finding["culprit"]["syscall"]);
            (text(&finding["kind"]), text(&finding["message"]), culprit)
        })
        .collect()
}

fn has(result: &Value, (kind, message, culprit): Says<'_>) -> bool {
    let is_it = |(own, said, call): &(String, String, String)| {
        own == kind && said.contains(message) && call.starts_with(culprit)
    };
    found(result).iter().any(is_it)
}

#[track_caller]
fn assert_has(result: &Value, kind: &str, message: &str, culprit: &str) {
    let is_there = has(result, (kind, message, culprit));
    assert!(
        is_there,
        "no {kind} {message:?} of {culprit}: {:?}",
        found(result)
    );
}

#[track_caller]
fn assert_only_lost(result: &Value, culprit: &str) {
    let all = found(result);
    assert!(
        !all.is_empty()
            && all
                .iter()
                .all(|(kind, _, call)| kind == "lost-after-ack" && call.starts_with(culprit)),
        "{all:?}"
    );
}

/// The sync of another file overtakes writeback that a call has begun only if iostrata gets a processor within this time:
/// on a busy machine 5 ms are not enough.
const DELAY_MS: &str = "40";

/// Of a run that another one's sync(2) can save, or that gets no processor at the moment that counts.
const TRIES: u32 = 15;

/// More than a block.
const NEW: &str = "head -c 6000 /dev/zero | tr '\\0' n";
const OLD: &str = "an older file";

#[test]
fn a_file_that_is_written_in_place() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let script = format!("{NEW} > f; echo saved");
    for filesystem in ["ext4", "xfs"] {
        case.finds(
            (filesystem, "fsync"),
            &[],
            &script,
            ("prefix", "f is empty", ""),
        );
    }
    // A sync of another file commits nothing of this one: the transaction has all of it.
    let result = case.crash(("btrfs", "fsync"), &[], &script, 1);
    assert_only_lost(&result, "write");
    let result = case.crash(("ext4", "none"), &[], &script, 1);
    assert_has(&result, "lost-after-ack", "f is older", "write");
    assert_eq!(fs::read_to_string(case.dir.join("f")).unwrap(), OLD);
    case.place.assert_nothing_left();
}

#[test]
fn a_rename_without_a_sync() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let script = format!("{NEW} > t; mv t f; echo saved");
    let says = ("prefix", "f holds nothing but zeros", "rename");
    let ext4 = case.finds(("ext4", "fsync"), &[], &script, says);
    let mode = &ext4["modes"][0];
    assert_eq!(
        (&mode["mode"], &mode["filesystem"]),
        (&"block".into(), &"ext4".into())
    );
    assert_eq!(mode["model"], Value::Null);
    assert_eq!(mode["recording"]["pressure"], "fsync");
    assert_eq!(mode["complete"], true);
    assert!(mode["recording"]["epochs"].as_u64() > Some(3), "{mode}");
    let says = ("prefix", "f is empty", "rename");
    case.finds(("xfs", "fsync"), &[], &script, says);
    let only_logged = case.crash(("btrfs", "fsync"), &[], &script, 1);
    assert_only_lost(&only_logged, "rename");
    let btrfs = case.finds(("btrfs", "all"), &[], &script, says);
    let pressures = btrfs["modes"].as_array().unwrap().iter();
    let pressures: Vec<_> = pressures
        .map(|mode| &mode["recording"]["pressure"])
        .collect();
    assert_eq!(pressures, ["fsync", "commit", "timer", "none"]);
    let committed = &btrfs["modes"][1]["recording"];
    assert_eq!(committed["mount_options"], "notreelog");
}

#[test]
fn the_timer_of_xfs_has_a_stand_in() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let script = format!("{NEW} > t; mv t f; sleep 1.5; echo saved");
    let xfs = case.crash(("xfs", "timer"), &[], &script, 1);
    let mode = &xfs["modes"][0]["recording"];
    assert_eq!(mode["mount_options"], "");
    let stands_in = mode["stands_in"].as_str().unwrap();
    assert!(stands_in.contains("synced every second"), "{stands_in}");
    // The log has the rename, the data is still in memory.
    assert_has(&xfs, "prefix", "f is empty", "rename");
}

#[test]
fn a_rename_with_the_syncs_that_it_needs() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let with_file = format!("{NEW} > t; sync t; mv t f; echo saved");
    for filesystem in ["ext4", "xfs", "btrfs"] {
        let result = case.crash((filesystem, "none"), &[], &with_file, 1);
        assert_only_lost(&result, "rename");
    }
    let with_both = format!("{NEW} > t; sync t; mv t f; sync .; echo saved");
    for pressure in ["fsync", "none"] {
        let result = case.crash(("all", pressure), &[], &with_both, 0);
        assert_eq!(result["verdict"], "clean");
        assert_eq!(result["modes"].as_array().unwrap().len(), 3);
        for mode in result["modes"].as_array().unwrap() {
            assert_eq!(mode["states"]["failing"], 0);
            assert!(mode["states"]["distinct"].as_u64() > Some(1), "{mode}");
        }
    }
}

#[test]
fn what_was_recovered_is_kept() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let keep = case.place.path("kept");
    let script = format!("{NEW} > t; mv t f; echo saved");
    let options = ["--keep", keep.to_str().unwrap()];
    let result = case.crash(("ext4", "fsync"), &options, &script, 1);
    let findings = result["findings"].as_array().unwrap().iter();
    let zeros = findings
        .filter(|finding| finding["message"] == "f holds nothing but zeros")
        .collect::<Vec<_>>();
    assert_eq!(zeros.len(), 1);
    let proof = PathBuf::from(zeros[0]["proof"].as_str().unwrap());
    assert_eq!(zeros[0]["recovered"][0]["proof"], zeros[0]["proof"]);
    assert_eq!(fs::read(proof.join("f")).unwrap(), [0; 6000]);
    let beside = |name: &str| fs::read_to_string(proof.parent().unwrap().join(name)).unwrap();
    assert_eq!(
        beside("printed"),
        "",
        "it breaks before anything is reported"
    );
    assert!(beside("story.txt").contains("ext4 recovers this"));
    let all: BTreeSet<_> = result["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["proof"].as_str().unwrap().to_owned())
        .collect();
    let count = result["findings"].as_array().unwrap().len();
    assert_eq!(
        (all.len(), fs::read_dir(&keep).unwrap().count()),
        (count, count)
    );
    case.place.assert_nothing_left();
}

/// What is written elsewhere leaves nothing to commit on the file system under test.
#[test]
fn writes_to_another_file_system_commit_nothing() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let script = format!(
        "exec 3> {}; for one in $(seq 200); do echo $one >&3; done; echo new > f",
        case.place.path("elsewhere").display()
    );
    let result = case.crash(("ext4", "fsync"), &[], &script, 1);
    let mode = &result["modes"][0];
    assert!(mode["operations"].as_u64() > Some(200), "{mode}");
    // Each commit has two flushes.
    assert!(mode["recording"]["epochs"].as_u64() < Some(100), "{mode}");
}

#[test]
fn what_the_program_leaves_running_is_ended_and_reported() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let pid = case.place.path("pid");
    let script = format!(
        "setsid sh -c 'exec > log 2>&1 < /dev/null; echo $$ > {}; exec sleep 600' & sync f",
        pid.display()
    );
    for pressure in ["fsync", "none"] {
        let result = case.crash(("ext4", pressure), &[], &script, 3);
        assert_eq!(result["verdict"], "incomplete");
        let why = &result["modes"][0]["incomplete_because"];
        assert!(
            why.to_string().contains("the program is still running"),
            "{why}"
        );
        let left = fs::read_to_string(&pid).unwrap();
        assert!(!fs::exists(format!("/proc/{}", left.trim())).unwrap());
    }
    case.place.assert_nothing_left();
}

#[test]
fn gzip_and_sed() {
    if !is_root("block mode") {
        return;
    }
    let lines: Vec<String> = (0..4000).map(|number| number.to_string()).collect();
    let contents = lines.join("\n");
    let check = format!(
        "{{ [ -e data ] && [ $(wc -c < data) = {} ]; }} || gzip -t data.gz 2>/dev/null || {{ echo lost; exit 1; }}",
        contents.len()
    );
    let case = Case::new("data", &contents);
    let options = ["--check", check.as_str()];
    for filesystem in ["ext4", "xfs"] {
        let on = (filesystem, "fsync");
        let says = ("prefix", "lost", "unlink");
        case.finds(on, &options, "gzip data && echo done", says);
        let synced = "gzip --synchronous data && echo done";
        assert_eq!(case.crash(on, &options, synced, 0)["verdict"], "clean");
    }
    let case = Case::new("f", OLD);
    let script = "sed -i s/older/newer/ f; echo done";
    case.finds(
        ("xfs", "fsync"),
        &[],
        script,
        ("prefix", "f is empty", "rename"),
    );
    let result = case.crash(("ext4", "none"), &[], script, 1);
    assert_only_lost(&result, "rename");
}

#[test]
fn sqlite_keeps_what_its_settings_promise() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("unused", "");
    let init = "rm unused; sqlite3 t.db \"create table t(i, v, p); with recursive c(x) as (select 1 union all \
                select x + 1 from c where x < 200) insert into t select x, 'old', hex(zeroblob(100)) from c\"";
    let check = "said=$(sqlite3 t.db 'pragma integrity_check' 2>&1); [ \"$said\" = ok ] || { echo damaged; exit 1; }; \
                 new=$(sqlite3 t.db \"select count(*) from t where v = 'new'\"); \
                 [ $new = 0 ] || [ $new = 200 ] || { echo half; exit 1; }; \
                 ! grep -q committed \"$IOSTRATA_STDOUT\" || [ $new = 200 ] || { echo lost; exit 1; }";
    let crash = |setting: &str, pressure: &str, code| {
        let script = format!(
            "sqlite3 t.db \"pragma synchronous={setting}; begin; update t set v = 'new'; commit; select 'committed'\""
        );
        case.crash(
            ("ext4", pressure),
            &["--init", init, "--check", check],
            &script,
            code,
        )
    };
    let off = crash("OFF", "none", 1);
    assert_has(&off, "lost-after-ack", "lost", "");
    assert!(
        found(&off)
            .iter()
            .any(|(kind, ..)| kind != "lost-after-ack"),
        "half of it, or damaged: {:?}",
        found(&off)
    );
    // What is lost is the removal of the journal: the database is rolled back, and sound.
    let normal = crash("NORMAL", "none", 1);
    assert_has(&normal, "lost-after-ack", "lost", "unlink");
    assert_only_lost(&normal, "unlink");
    crash("NORMAL", "fsync", 0);
    let full = crash("FULL", "none", 1);
    let all = found(&full);
    assert_eq!(
        all.iter()
            .map(|(kind, said, call)| (kind.as_str(), said.as_str(), call.as_str()))
            .collect::<Vec<_>>(),
        [("lost-after-ack", "lost", "unlink")]
    );
    assert_eq!(full["findings"][0]["culprit"]["path"], "t.db-journal");
    crash("EXTRA", "none", 0);
    crash("EXTRA", "fsync", 0);
}

#[test]
fn both_modes_are_one_result() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let script = format!("{NEW} > t; mv t f; echo saved");
    let saved = case.place.path("crash.json");
    let json = [
        "--json",
        saved.to_str().unwrap(),
        "--fs",
        "ext4",
        "--pressure",
        "fsync",
    ];
    let mut command = case.command(&json, &script);
    command.args(std::iter::empty::<&str>());
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut both = case.place.iostrata("");
    both.env("PATH", std::env::var_os("PATH").unwrap());
    both.args(arguments.iter().map(|one| {
        if one == "block" {
            "both".as_ref()
        } else {
            one.as_os_str()
        }
    }));
    run(both).expect(1);
    let result: Value = serde_json::from_str(&fs::read_to_string(saved).unwrap()).unwrap();
    assert_eq!(result["modes"].as_array().unwrap().len(), 5);
    let findings = result["findings"].as_array().unwrap();
    let zeros = findings
        .iter()
        .filter(|finding| finding["message"] == "f holds nothing but zeros");
    let [zeros] = zeros.collect::<Vec<_>>()[..] else {
        panic!("{findings:#?}")
    };
    assert_eq!(
        zeros["proven_by"],
        serde_json::json!(["model", "real recovery"])
    );
    assert_eq!(zeros["kind"], "ordering", "the model knows the operation");
    assert_eq!(zeros["recovered"][0]["filesystem"], "ext4");
    assert!(result["fix"].is_array());
}

#[test]
fn options_of_the_other_mode_and_users_without_privilege_are_refused() {
    let case = Case::new("f", OLD);
    let mut command = case.place.iostrata("crash --fs ext4 --dir");
    command.arg(&case.dir).args(["--", "true"]);
    assert!(
        run(command)
            .expect(2)
            .stderr
            .contains("--fs needs --mode block or both")
    );
    let mut command = case.command(&["--state", "1"], "true");
    command.env("PATH", "/usr/bin:/bin");
    assert!(
        run(command)
            .expect(2)
            .stderr
            .contains("--state needs --mode syscall")
    );
    let mut command = case.place.iostrata_of_nobody("crash --mode block --dir");
    command.arg(&case.dir).args(["--", "true"]);
    if is_root("taking privilege away") {
        assert!(
            run(command)
                .expect(3)
                .stderr
                .contains("block mode needs root")
        );
    }
}
