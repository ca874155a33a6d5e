//! Users without privilege.

use insta::assert_snapshot;
use serde_json::Value;

use crate::place::{Place, run};
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
