//! `lab sync` as a user runs it.

use std::fs::{self, File};
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;
use rustix::mount::{MountFlags, mount, mount_remount};
use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, entries, is_root, run, with_own_mounts};
use crate::results::valid;
use crate::running::Running;

const SCHEMA: &str = "iostrata.lab-1.schema.json";

#[track_caller]
fn refused(arguments: &str) -> String {
    let place = Place::new();
    let outcome = run(place.iostrata(arguments));
    place.assert_nothing_left();
    outcome.text(&place)
}

#[test]
fn on_the_host_and_an_image() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let options = "lab sync --quick --fs host,ext4 --write append,overwrite \
                   --device nvme-consumer --device write_us=10,flush_us=90 --json -";
    let mut command = place.iostrata(options);
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let outcome = run(command).expect(0);
    for second in 1..=3 {
        let line = format!("fsync append 1 KiB on host, second {second}: ");
        outcome.says(&[&line, " syncs/s; requests/s: ", " flushes"]);
    }
    let result = valid(SCHEMA, &outcome.stdout);
    let experiment = &result["experiments"][0];
    let rows = experiment["rows"].as_array().unwrap();
    let names: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| {
            let (target, write) = (&row["target"], &row["case"]["write"]);
            (target.as_str().unwrap(), write.as_str().unwrap())
        })
        .collect();
    let expected = ["host", "ext4"].map(|on| [(on, "append"), (on, "overwrite")]);
    assert_eq!(names, expected.concat());
    assert_eq!(rows[0]["series"]["seconds"].as_array().unwrap().len(), 3);
    for row in rows {
        assert_eq!(row["case"]["writers"], 1);
        assert_eq!(row["case"]["size_bytes"], 1024);
        assert!(row["syncs_per_s"].as_f64().unwrap() > 0.0);
        assert!(row["latency_s"]["max"].as_f64().unwrap() > 0.0);
        let synced = row["evidence"]["syscalls"]["fsync"]["count"].as_u64();
        assert_eq!(synced, row["observed_syncs"].as_u64());
    }
    let flushes = rows[2]["per_sync"]["flushes"].as_f64().unwrap();
    assert!((1.97..2.15).contains(&flushes), "{flushes}");
    let projections = experiment["projections"].as_array().unwrap();
    let on = |name: &str| {
        let found = projections
            .iter()
            .filter(|one| one["device"]["name"] == name);
        found.count()
    };
    // On the host requests of other programs may forbid it, which the result says.
    // Other devices are projected from the first row of a target, this one from every row.
    let others = on("nvme-consumer");
    assert!(others <= 2, "at most one for each target");
    assert_eq!(on("write_us=10,flush_us=90"), others);
    let host = on("this device (host)");
    assert_eq!(on("hdd-7200"), 0, "only what was asked for");
    assert_eq!(on("this device (ext4)"), 2, "every row of one writer");
    // A projection that is off by more than 30 % here is withheld.
    let misses = |(target, first_row): (&str, u64)| {
        let mut checks = projections.iter();
        let check = checks.find(|one| one["device"]["name"] == target && one["row"] == first_row);
        check.is_none_or(|one| one["error"].as_f64().unwrap().abs() > 0.3)
    };
    let missed = [("this device (host)", 1), ("this device (ext4)", 3)].map(misses);
    let missed = missed.into_iter().filter(|missed| *missed).count();
    assert_eq!(others, 2 - missed, "{projections:?}");
    let missing = experiment["missing"].to_string();
    assert_eq!(
        missing.contains("projections of host"),
        host == 0,
        "{missing}"
    );
    assert!(!experiment["settings"].as_array().unwrap().is_empty());
    place.assert_nothing_left();
}

#[test]
fn without_privilege_rates_and_latencies_are_there() {
    let place = Place::new();
    let options = "lab sync --quick --fs host --writers 1,2 --json ../home/result.json";
    let mut command = place.iostrata_of_nobody(options);
    command.env("COLUMNS", "200");
    let outcome = run(command).expect(0);
    outcome.says(&["second 3: ", " syncs/s; device requests not observed"]);
    assert!(outcome.stdout.contains("run as root"), "{}", outcome.stdout);
    let saved = fs::read_to_string(place.path("home/result.json")).unwrap();
    let result = valid(SCHEMA, &saved);
    for row in result["experiments"][0]["rows"].as_array().unwrap() {
        assert!(row["syncs_per_s"].as_f64().unwrap() > 0.0);
        assert!(row["latency_s"]["samples"].as_u64().unwrap() >= 20);
        for cause in ["data", "journal", "commit", "metadata", "flushes", "bytes"] {
            assert_eq!(row["per_sync"][cause], Value::Null, "{cause}");
        }
        let missing = row["evidence"]["missing"].to_string();
        assert!(missing.contains("device requests"), "{missing}");
    }
    let seconds = &result["experiments"][0]["rows"][0]["series"]["seconds"];
    assert_eq!(seconds[0]["data"], Value::Null);
    assert!(seconds[0]["syncs"].as_u64().unwrap() > 0);
    place.assert_nothing_left();
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert_snapshot!(refused("lab sync --writers 0"), @r"
    exit 2
    --- stderr
    error: --writers 0 leaves nothing to measure; give 1 or more
    ");
    assert_snapshot!(refused("lab sync --writers -1"), @r"
    exit 2
    --- stderr
    error: invalid value '-1' for '--writers <N>': expected a whole number of writers, 1 or more

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab sync --writers 5000"), @r"
    exit 2
    --- stderr
    error: --writers 5000 would measure the scheduler; give at most 1024
    ");
    assert_snapshot!(refused("lab sync --call fsink"), @r"
    exit 2
    --- stderr
    error: invalid value 'fsink' for '--call <CALL>'
      [possible values: fsync, fdatasync, o_dsync, o_sync, sync, syncfs]

      tip: a similar value exists: 'fsync'

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab sync --write truncate"), @r"
    exit 2
    --- stderr
    error: invalid value 'truncate' for '--write <WRITE>'
      [possible values: append, overwrite, preallocated]

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab sync --size 0"), @r"
    exit 2
    --- stderr
    error: --size 0 writes nothing; give 1 byte or more
    ");
    assert_snapshot!(refused("lab sync --size 200TiB"), @r"
    exit 2
    --- stderr
    error: 219902325555200 bytes per write are too large for a file; give a smaller --size
    ");
}

#[test]
fn devices_that_are_none_are_refused() {
    assert_snapshot!(refused("lab sync --device floppy"), @r#"
    exit 2
    --- stderr
    error: invalid value 'floppy' for '--device <DEVICE>': unknown device "floppy"; give one of hdd-7200, sata-ssd, sata-ssd-plp, nvme-consumer, nvme-enterprise, gp3, io2, pd-ssd, or figures such as write_us=20,flush_us=800

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("lab sync --device write_us=fast,flush_us=1"), @r"
    exit 2
    --- stderr
    error: invalid value 'write_us=fast,flush_us=1' for '--device <DEVICE>': write_us=fast: it is not a finite positive number

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab sync --device iops=100"), @r"
    exit 2
    --- stderr
    error: invalid value 'iops=100' for '--device <DEVICE>': flush_us is missing: give write_us or iops, and flush_us (0 without a volatile cache)

    For more information, try '--help'.
    ");
}

#[test]
fn a_directory_that_cannot_be_written() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        mount(
            "none",
            place.dir(),
            "tmpfs",
            MountFlags::empty(),
            c"size=1m",
        )
        .unwrap();
        let outcome = run(place.iostrata("lab sync --quick --fs host")).expect(3);
        outcome.says(&["error: not enough space in /", "--dir"]);
        mount_remount(place.dir(), MountFlags::RDONLY, c"").unwrap();
        let outcome = run(place.iostrata("lab sync --quick --fs host")).expect(3);
        outcome.says(&["is mounted read-only; choose another directory"]);
    });
    place.assert_nothing_left();
}

#[test]
fn a_disk_that_fills_up() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    let fill = place.dir().join("fill");
    with_own_mounts(|| {
        let options = c"size=100m";
        mount("none", place.dir(), "tmpfs", MountFlags::empty(), options).unwrap();
        let options = "lab sync --quick --fs host --write append --size 1KiB,2KiB,4KiB,8KiB \
                       --call fsync,fdatasync,o_dsync,o_sync,syncfs";
        let mut running = Running::start(&place, "run", place.iostrata(options));
        running.workload("host", "sync-0");
        let mut file = File::create(&fill).unwrap();
        let block = vec![7; 1 << 16];
        while !running.has_ended() {
            if file.write_all(&block).is_err() {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let outcome = running.finish().expect(3);
        outcome.says(&["write and sync record ", "No space left on device"]);
        outcome.says(&["free space there, choose another directory"]);
        assert_eq!(outcome.stdout, "");
        assert_eq!(entries(&place.dir()), [fill.as_path()]);
    });
    place.assert_nothing_left();
}

#[test]
fn in_the_middle_of_a_series() {
    let place = Place::new();
    let options = "lab sync --quick --fs host --write append,overwrite --json ../result.json";
    let running = Running::start(&place, "run", place.iostrata(options));
    let told = place.path("run.stderr");
    crate::place::until("no second is told", || {
        let text = fs::read_to_string(&told).unwrap();
        text.contains("second 1: ").then_some(())
    });
    running.signal(Signal::INT);
    let outcome = running.finish().expect(130);
    outcome.says(&["interrupted by SIGINT: the result holds the completed rows"]);
    assert!(
        outcome.stdout.contains("interrupted after 2 of 2 rows"),
        "{}",
        outcome.stdout
    );
    let saved = fs::read_to_string(place.path("result.json")).unwrap();
    let result = valid(SCHEMA, &saved);
    let rows = &result["experiments"][0]["rows"];
    for row in rows.as_array().unwrap() {
        assert!(row["syncs_per_s"].as_f64().unwrap() > 0.0);
        assert_eq!(row["per_sync"]["flushes"], Value::Null);
    }
    place.assert_nothing_left();
}

#[test]
fn memory_has_no_device_and_no_claims_about_one() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        let options = c"size=200m";
        mount("none", place.dir(), "tmpfs", MountFlags::empty(), options).unwrap();
        let mut command = place.iostrata("lab sync --quick --fs host");
        command.args(["--json", "../result.json"]);
        run(command).expect(0);
        let saved = fs::read_to_string(place.path("result.json")).unwrap();
        let result = valid(SCHEMA, &saved);
        let experiment = &result["experiments"][0];
        assert_eq!(experiment["rows"][0]["per_sync"]["flushes"], 0.0);
        let answers = experiment["answers"].to_string();
        assert!(!answers.contains("10,000 syncs"), "{answers}");
        let caveats = experiment["caveats"].to_string();
        assert!(caveats.contains("is in memory"), "{caveats}");
        assert!(entries(&place.dir()).is_empty());
    });
    place.assert_nothing_left();
}
