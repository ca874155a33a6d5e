//! What real ext4, xfs and btrfs leave of programs whose outcome is known, and what block mode leaves behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::place::{Outcome, Place, is_root, run, until};
use crate::running::Running;

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
            "--json",
            saved.to_str().unwrap(),
        ];
        run(self.command(&[options, &own].concat(), script)).expect(code);
        serde_json::from_str(&fs::read_to_string(saved).unwrap()).unwrap()
    }
}

/// Kind, message and culprit of each finding.
fn found(result: &Value) -> BTreeSet<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = result["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            assert_eq!(finding["proven_by"], serde_json::json!(["real recovery"]));
            let culprit = text(&finding["culprit"]["syscall"]);
            (text(&finding["kind"]), text(&finding["message"]), culprit)
        })
        .collect()
}

#[track_caller]
fn assert_has(result: &Value, kind: &str, message: &str, culprit: &str) {
    let all = found(result);
    let is_there = all.iter().any(|(own, said, call)| {
        own == kind && said.contains(message) && call.starts_with(culprit)
    });
    assert!(is_there, "no {kind} {message:?} of {culprit}: {all:?}");
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
        let result = case.crash((filesystem, "fsync"), &[], &script, 1);
        assert_has(&result, "prefix", "f is empty", "");
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
    let ext4 = case.crash(("ext4", "fsync"), &[], &script, 1);
    assert_has(&ext4, "prefix", "f holds nothing but zeros", "rename");
    let mode = &ext4["modes"][0];
    assert_eq!(
        (&mode["mode"], &mode["filesystem"]),
        (&"block".into(), &"ext4".into())
    );
    assert_eq!(mode["model"], Value::Null);
    assert_eq!(mode["recording"]["pressure"], "fsync");
    assert_eq!(mode["complete"], true);
    assert!(mode["recording"]["epochs"].as_u64() > Some(3), "{mode}");
    let xfs = case.crash(("xfs", "fsync"), &[], &script, 1);
    assert_has(&xfs, "prefix", "f is empty", "rename");
    let btrfs = case.crash(("btrfs", "all"), &[], &script, 1);
    assert_only_lost(&btrfs, "rename");
    let pressures = btrfs["modes"].as_array().unwrap().iter();
    let pressures: Vec<_> = pressures
        .map(|mode| &mode["recording"]["pressure"])
        .collect();
    assert_eq!(pressures, ["fsync", "timer", "none"]);
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

#[test]
fn a_checker_that_hangs_or_deletes_everything_is_bounded() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let file = case.dir.join("f");
    for (does, says) in [
        ("sleep 1000".to_owned(), "the checker took more than 0.5 s"),
        (
            format!(
                "rm -rf {} 2>/dev/null; echo gone; exit 1",
                case.dir.display()
            ),
            "gone",
        ),
    ] {
        let check = format!("[ -s f ] || {{ {does}; }}");
        let options = ["--check-timeout", "0.5", "--check", &check];
        let result = case.crash(("ext4", "fsync"), &options, "echo new > f", 1);
        assert_has(&result, "prefix", says, "");
        assert_eq!(fs::read_to_string(&file).unwrap(), OLD);
    }
    case.place.assert_nothing_left();
}

#[test]
fn a_page_has_the_operations_of_a_recovered_state() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let page = case.place.path("crash.html");
    let script = "echo new > n; sync n; mv n f; echo saved";
    let options = ["--html", page.to_str().unwrap()];
    let result = case.crash(("ext4", "none"), &options, script, 1);
    assert_only_lost(&result, "rename");
    let timeline = result["findings"][0]["timeline"].as_array().unwrap();
    let left = |call: &str| {
        let is_of = |moment: &&Value| {
            let name = moment["operation"]["syscall"].as_str();
            name.is_some_and(|name| name.starts_with(call))
        };
        let moment = timeline.iter().find(is_of).unwrap();
        (moment["left"].clone(), moment["durable_by"].is_u64())
    };
    assert_eq!(left("write"), ("durable".into(), true));
    assert_eq!(left("rename"), ("unknown".into(), false));
    let text = fs::read_to_string(page).unwrap();
    for words in ["the power fails", "<svg", "on disk or not", "durable by"] {
        assert!(text.contains(words), "no {words:?}");
    }
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
        let result = case.crash(on, &options, "gzip data && echo done", 1);
        assert_has(&result, "prefix", "lost", "unlink");
        let synced = "gzip --synchronous data && echo done";
        assert_eq!(case.crash(on, &options, synced, 0)["verdict"], "clean");
    }
    let case = Case::new("f", OLD);
    let script = "sed -i s/older/newer/ f; echo done";
    let result = case.crash(("xfs", "fsync"), &[], script, 1);
    assert_has(&result, "prefix", "f is empty", "rename");
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

/// Devices that a process has open, and the processes that it started.
fn held(pid: u32) -> (BTreeSet<PathBuf>, Vec<u32>) {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let loops = links.filter(|link| link.to_string_lossy().starts_with("/dev/loop"));
    let loops = loops
        .filter(|link| !link.ends_with("loop-control"))
        .collect();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let children = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    (loops, children.collect())
}

/// Mounts of recovered images that a process sees.
fn recovered(pid: u32) -> usize {
    let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    mounts.matches("/recovered-").count()
}

/// Ends a run that recovers several images at once and has found something.
fn assert_ends_recovering(case: &Case, signal: Signal, code: Option<i32>) -> Outcome {
    // Many different trees, which one checker after the other looks at.
    let script =
        format!("{NEW} > f; for one in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $one > g$one; done");
    let saved = case.place.path("ended.json");
    let check = "sleep 1; [ -s f ] || { echo empty; exit 1; }";
    let options = [
        "--fs",
        "ext4",
        "--pressure",
        "fsync",
        "--jobs",
        "1",
        "--check",
        check,
        "--json",
    ];
    let options = [&options[..], &[saved.to_str().unwrap()]].concat();
    let iostrata = Running::start(&case.place, "crash", case.command(&options, &script));
    let said = case.place.path("crash.stderr");
    until("no images are recovered side by side", || {
        let said = fs::read_to_string(&said).unwrap_or_default();
        // The first line comes after some seconds.
        (said.contains("recovering ext4") && recovered(iostrata.pid()) > 3).then_some(())
    });
    assert_leaves_nothing(case, iostrata, signal, code)
}

#[test]
fn ctrl_c_during_recovery_keeps_what_was_found() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let outcome = assert_ends_recovering(&case, Signal::INT, Some(130));
    outcome.says(&["interrupted by SIGINT: the result holds what was found until then"]);
    let saved = fs::read_to_string(case.place.path("ended.json")).unwrap();
    let result: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(result["verdict"], "failing");
    assert_eq!(result["interrupted_by"], "SIGINT");
    assert_has(&result, "prefix", "empty", "");
    let mode = &result["modes"][0];
    assert_eq!(mode["complete"], false);
    assert_eq!(
        mode["incomplete_because"][0]["why"],
        "the exploration was ended"
    );
}

#[test]
fn nothing_is_left_after_a_kill_during_recovery() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    assert_ends_recovering(&case, Signal::KILL, None);
    // The next run has its own devices and ends as ever.
    case.crash(("ext4", "none"), &[], "echo new > f", 0);
    case.place.assert_nothing_left();
}

/// Of the processes that one started, the one that serves devices.
fn serving(pid: u32) -> u32 {
    let mut children = held(pid).1.into_iter();
    let serves = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command
            .split(|byte| *byte == 0)
            .any(|word| word == b"__device")
    };
    children.find(serves).unwrap()
}

#[test]
fn a_device_whose_server_ends_leaves_an_incomplete_result() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let [started, lost, saved] =
        ["started", "lost", "crash.json"].map(|name| case.place.path(name));
    let script = format!(
        "echo new > n; sync n; : > {}; until [ -e {} ]; do sleep 0.05; done; sync n; mv n f; echo saved",
        started.display(),
        lost.display()
    );
    // What is printed after the loss is no promise of what is on disk.
    let check = "! grep -q saved \"$IOSTRATA_STDOUT\" || grep -qx new f";
    let options = [
        "--fs",
        "ext4",
        "--pressure",
        "fsync",
        "--check",
        check,
        "--json",
    ];
    let options = [&options[..], &[saved.to_str().unwrap()]].concat();
    let iostrata = Running::start(&case.place, "crash", case.command(&options, &script));
    until("the program does not start", || {
        started.exists().then_some(())
    });
    let server = Pid::from_raw(i32::try_from(serving(iostrata.pid())).unwrap()).unwrap();
    kill_process(server, Signal::KILL).unwrap();
    fs::write(lost, "").unwrap();
    let outcome = iostrata.finish().expect(3);
    let result: Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    assert_eq!(result["verdict"], "incomplete", "{}", outcome.stdout);
    let because = result["modes"][0]["incomplete_because"].as_array().unwrap();
    let why = "the process that served the device ended before the program";
    assert!(because.iter().any(|gap| gap["why"] == why), "{because:?}");
    case.place.assert_nothing_left();
}

#[track_caller]
fn assert_ends(case: &Case, signal: Signal, code: Option<i32>) {
    let started = case.place.path("started");
    let script = format!("echo new > f; : > {}; sleep 600", started.display());
    let command = case.command(&["--fs", "ext4", "--pressure", "fsync"], &script);
    let iostrata = Running::start(&case.place, "crash", command);
    until("the program does not start", || {
        started.exists().then_some(())
    });
    assert_leaves_nothing(case, iostrata, signal, code);
}

#[track_caller]
fn assert_leaves_nothing(
    case: &Case,
    iostrata: Running<'_>,
    signal: Signal,
    code: Option<i32>,
) -> Outcome {
    let (devices, children) = held(iostrata.pid());
    assert!(
        !devices.is_empty() && children.len() >= 2,
        "{devices:?} {children:?}"
    );
    iostrata.signal(signal);
    let outcome = iostrata.finish();
    assert_eq!(outcome.code, code, "{}", outcome.stderr);
    until("processes are left", || {
        let is_there = |pid: &u32| fs::exists(format!("/proc/{pid}")).unwrap_or(true);
        (!children.iter().any(is_there)).then_some(())
    });
    for device in devices {
        let name = device.file_name().unwrap().to_str().unwrap().to_owned();
        until("a loop device is left", || {
            let file = format!("/sys/block/{name}/loop/backing_file");
            let backing = fs::read_to_string(file).unwrap_or_default();
            (!backing.starts_with("/disk") && !backing.contains("iostrata disk")).then_some(())
        });
    }
    case.place.assert_nothing_left();
    outcome
}

#[test]
fn nothing_is_left_after_an_end_by_signal() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    assert_ends(&case, Signal::TERM, Some(143));
}

#[test]
fn nothing_is_left_after_a_kill() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    assert_ends(&case, Signal::KILL, None);
}
