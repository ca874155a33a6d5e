//! Users without privilege.

use std::process::{Child, Command};

use insta::assert_snapshot;
use serde_json::Value;

use crate::place::{Place, is_root, run};
use crate::undisturbed::undisturbed;

#[test]
fn everything_runs_with_less_evidence() {
    undisturbed(|| {
        let place = Place::new();
        let mut command = place.iostrata_of_nobody(
        "lab --quick --fs host --mode flush,fsync --size 1 --count 50 --json ../home/result.json",
    );
        command.env("COLUMNS", "200");
        let outcome = run(command).expect(0);
        outcome.says(&[
            "no kernel evidence: eBPF is not permitted to this user",
            "run as root",
        ]);
        assert!(outcome.stdout.contains("run as root"), "{}", outcome.stdout);
        // Told once, however many answers it leaves open.
        let reasons = outcome.stdout.matches("eBPF is not permitted").count();
        assert_eq!(reasons, 1, "{}", outcome.stdout);
        assert!(!outcome.stdout.contains("EBPF"), "{}", outcome.stdout);

        let saved = std::fs::read_to_string(place.path("home/result.json")).unwrap();
        let result: Value = serde_json::from_str(&saved).unwrap();
        assert_eq!(result["environment"]["backend"], "none");
        let rows = result["experiments"][0]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2);
        for row in rows {
            let evidence = &row["evidence"];
            for unknown in ["syscalls", "device", "device_after_exit", "blocked_s"] {
                assert_eq!(evidence[unknown], Value::Null, "{unknown}");
            }
            assert_eq!(evidence["cache"]["dirtied_bytes"], Value::Null);
            let missing = evidence["missing"].as_array().unwrap();
            for what in ["system calls", "device requests", "page-cache events"] {
                let gap = missing.iter().find(|gap| gap["what"] == what);
                assert!(gap.unwrap()["why"].as_str().unwrap().contains("CAP_BPF"));
            }
            // What any process may ask.
            assert!(row["timing"]["median_s"].as_f64().unwrap() > 0.0);
            assert!(evidence["faults"]["minor"].is_u64(), "{evidence}");
            assert!(evidence["on_cpu_s"].is_f64(), "{evidence}");
            let resident = evidence["cache"]["resident_after_bytes"].as_u64();
            assert!(resident.unwrap() >= 50, "{evidence}");
        }
        place.assert_nothing_left();
    });
}

#[test]
fn images_that_were_asked_for_need_root() {
    let place = Place::new();
    let outcome = run(place.iostrata_of_nobody("lab buffering --quick --fs host,ext4"));
    assert_snapshot!(outcome.text(&place), @r"
    exit 3
    --- stderr
    error: cannot make file-system images: no mount namespace: Operation not permitted (os error 1); images need root (CAP_SYS_ADMIN in the initial user namespace): run as root, or measure the directory's own file system with --fs host
    ");
    place.assert_nothing_left();
}

#[test]
fn images_that_were_not_asked_for_are_left_out() {
    let place = Place::new();
    let outcome = run(place.iostrata_of_nobody("lab --mode flush --size 1 --count 20"));
    let outcome = outcome.expect(0);
    outcome.says(&[
        "left out: ext4, xfs, btrfs: cannot make file-system images",
        "need root",
    ]);
    place.assert_nothing_left();
}

#[test]
fn doctor_names_the_remedy() {
    let place = Place::new();
    let mut command = place.iostrata_of_nobody("doctor");
    command.env("COLUMNS", "200");
    let outcome = run(command).expect(0);
    assert_eq!(outcome.stderr, "");
    for word in [
        "cannot see",
        "→ run as root, or give iostrata CAP_BPF and CAP_PERFMON",
    ] {
        assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
    }
}

/// A copy of the program with capabilities in its file, as `doctor` recommends it.
fn with_file_capabilities(place: &Place, arguments: &str) -> Command {
    let command = place.iostrata_of_nobody(arguments);
    let mut setcap = Command::new("setcap");
    setcap
        .arg("cap_bpf,cap_perfmon,cap_syslog+ep")
        .arg(place.path("iostrata"));
    assert!(setcap.status().unwrap().success());
    command
}

/// A process of another, ended when the test ends.
struct Sleeper(Child);

impl Sleeper {
    fn of(user: &str) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
        Self(command.args(["sleep", "600"]).spawn().unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn file_capabilities_let_nobody_watch_processes_of_others() {
    if !is_root("file capabilities") {
        return;
    }
    for (user, code) in [("0", 125), ("12345", 125), ("65534", 0)] {
        let place = Place::new();
        let sleeper = Sleeper::of(user);
        // Until it is what it becomes: before, it is setpriv of root.
        crate::place::until("it does not sleep", || {
            let line = std::fs::read(format!("/proc/{}/cmdline", sleeper.0.id())).ok()?;
            line.starts_with(b"sleep").then_some(())
        });
        let arguments = format!("trace --for 100ms -p {}", sleeper.0.id());
        let outcome = run(with_file_capabilities(&place, &arguments)).expect(code);
        if code == 125 {
            outcome.says(&[
                "this user may not observe process",
                "does not permit tracing it",
            ]);
        } else {
            assert!(
                outcome.stdout.contains("observed by eBPF"),
                "{}",
                outcome.stdout
            );
        }
        place.assert_nothing_left();
    }
}

#[test]
fn file_capabilities_let_nobody_watch_set_user_id_programs() {
    if !is_root("file capabilities") {
        return;
    }
    let place = Place::new();
    // The program tells whom it runs as: a copy of id that is set-user-ID root.
    let id = place.path("id");
    let mut install = Command::new("install");
    install.args(["-m", "4755", "/usr/bin/id"]).arg(&id);
    assert!(install.status().unwrap().success());
    let mut command = with_file_capabilities(&place, "trace --json ../home/result.json --");
    command.arg(&id).arg("-u");
    let outcome = run(command).expect(0);
    assert_eq!(outcome.stdout, "65534\n");
    let saved = std::fs::read_to_string(place.path("home/result.json")).unwrap();
    let result: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(result["environment"]["backend"], "ebpf");
    let missing = result["missing"].as_array().unwrap();
    let what = "the privileges of set-user-ID programs";
    assert!(missing.iter().any(|gap| gap["what"] == what), "{missing:?}");
}

#[test]
fn ptrace_says_that_it_takes_the_capabilities_of_a_file() {
    if !is_root("file capabilities") {
        return;
    }
    let place = Place::new();
    let program = place.path("true");
    let mut install = Command::new("install");
    install.args(["-m", "755", "/usr/bin/true"]).arg(&program);
    assert!(install.status().unwrap().success());
    let mut setcap = Command::new("setcap");
    setcap.arg("cap_net_raw+ep").arg(&program);
    assert!(setcap.status().unwrap().success());
    let mut command =
        place.iostrata_of_nobody("trace --backend ptrace --json ../home/result.json --");
    command.arg(&program);
    run(command).expect(0);
    let saved = std::fs::read_to_string(place.path("home/result.json")).unwrap();
    let result: Value = serde_json::from_str(&saved).unwrap();
    let what = format!("the privileges of {}", program.display());
    let missing = result["missing"].as_array().unwrap();
    assert!(
        missing.iter().any(|gap| gap["what"] == *what),
        "{missing:?}"
    );
}
