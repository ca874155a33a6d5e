//! `lab page-cache` as a user runs it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use insta::assert_snapshot;
use rustix::mount::{MountFlags, mount, mount_remount};
use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, is_root, run, with_own_mounts};
use crate::running::Running;
use crate::undisturbed::undisturbed;

const ONE: &str = "lab page-cache --quick --fs host --state cold,warm --reader read --size 1MiB";

#[track_caller]
fn refused(arguments: &str) -> String {
    let place = Place::new();
    let outcome = run(place.iostrata(arguments));
    place.assert_nothing_left();
    outcome.text(&place)
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert_snapshot!(refused("lab page-cache --size 0"), @r"
    exit 2
    --- stderr
    error: --size 0 has nothing to read; give 1 byte or more
    ");
    assert_snapshot!(refused("lab page-cache --state frozen"), @r"
    exit 2
    --- stderr
    error: invalid value 'frozen' for '--state <STATE>'
      [possible values: cold, warm, direct, dontcache]

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab page-cache --state direct --reader mmap"), @r"
    exit 2
    --- stderr
    error: nothing to measure: a mapping always goes through the page cache; choose other states, readers or parsers
    ");
    assert_snapshot!(refused("lab page-cache --parse json --size 1"), @r"
    exit 2
    --- stderr
    error: --size 1 is too small for a JSON file; give 2 bytes or more
    ");
    assert_snapshot!(refused("lab page-cache --sleep -1"), @r"
    exit 2
    --- stderr
    error: invalid value '-1' for '--sleep <SECONDS>': expected a number of seconds, 0 or more

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab buffering --state cold"), @r"
    exit 2
    --- stderr
    error: --state is for page-cache, which was not selected; name it too, or leave --state out
    ");
}

#[test]
fn a_file_larger_than_the_disk() {
    let place = Place::new();
    let outcome = run(place.iostrata("lab page-cache --fs host --size 1024TiB")).expect(3);
    outcome.says(&["error: not enough space in ", "1.3 PiB are needed"]);
    place.assert_nothing_left();
}

#[test]
fn a_read_only_and_a_full_directory() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        let options = c"size=1m";
        mount("none", place.dir(), "tmpfs", MountFlags::empty(), options).unwrap();
        let outcome = run(place.iostrata(ONE)).expect(3);
        outcome.says(&["not enough space", "1.3 MiB are needed"]);
        mount_remount(place.dir(), MountFlags::RDONLY, c"").unwrap();
        run(place.iostrata(ONE)).expect(3).says(&["read-only"]);
    });
    place.assert_nothing_left();
}

#[test]
fn memory_has_nothing_cold() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        let options = c"size=64m";
        mount("none", place.dir(), "tmpfs", MountFlags::empty(), options).unwrap();
        let outcome = run(place.iostrata(ONE)).expect(0);
        assert!(
            outcome.stdout.contains("cold on host"),
            "{}",
            outcome.stdout
        );
        assert!(!outcome.stdout.contains("cold read"), "{}", outcome.stdout);
        let cold = run(place.iostrata(&ONE.replace("cold,warm", "cold"))).expect(3);
        cold.says(&[
            "nothing can be measured",
            "only in the page cache",
            "choose another",
        ]);
    });
    place.assert_nothing_left();
}

#[test]
fn pauses_show_each_read_on_standard_error() {
    undisturbed(|| {
        let place = Place::new();
        let outcome = run(place.iostrata(&format!("{ONE} --sleep 0"))).expect(0);
        let reads = outcome
            .stderr
            .lines()
            .filter(|line| line.contains(": read "));
        // Two cases, one warm-up and five runs, three reads each.
        assert_eq!(reads.count(), 2 * 6 * 3, "{}", outcome.stderr);
        assert!(outcome.stdout.contains("1 cold read"), "{}", outcome.stdout);
        place.assert_nothing_left();
    });
}

#[test]
fn an_end_in_the_middle() {
    let place = Place::new();
    let options = "lab page-cache --fs host --state cold --reader read --size 1MiB --sleep 60";
    let running = Running::start(&place, "run", place.iostrata(options));
    running.workload("host", "data-1048576");
    running.signal(Signal::INT);
    let outcome = running.finish();
    assert_eq!((outcome.code, outcome.signal.is_some()), (Some(130), false));
    place.assert_nothing_left();
}

#[test]
fn nobody_gets_times_residency_and_what_storage_gave() {
    undisturbed(|| {
        if !is_root("becoming another user") {
            return;
        }
        let place = Place::new();
        fs::set_permissions(place.dir(), fs::Permissions::from_mode(0o777)).unwrap();
        let outcome = run(place.iostrata_of_nobody(&format!("{ONE} --json -"))).expect(0);
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let rows = result["experiments"][0]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2);
        for (row, fetched, resident) in [(&rows[0], 1 << 20, 0), (&rows[1], 0, 1 << 20)] {
            assert_eq!(row["evidence"]["device"], Value::Null);
            assert_eq!(row["storage_read_bytes"], fetched);
            assert_eq!(row["evidence"]["cache"]["resident_before_bytes"], resident);
        }
        place.assert_nothing_left();
    });
}

/// The shortest program that keeps a file in the cache.
const HOLD: &str = "
import glob, mmap, os, sys, time
found = []
while not found:
    found = [f for f in glob.glob(sys.argv[1] + '/.iostrata-*/host/data-1048576')
             if os.path.getsize(f) == 1048576]
m = mmap.mmap(os.open(found[0], os.O_RDONLY), 1048576, prot=mmap.PROT_READ)
sum(m[i] for i in range(0, 1048576, 4096))
time.sleep(60)
";

#[test]
fn a_file_that_something_keeps_is_not_called_cold() {
    undisturbed(|| {
        let place = Place::new();
        let mut holder = Command::new("python3")
            .args(["-c", HOLD])
            .arg(place.dir())
            .spawn()
            .unwrap();
        // Pauses: the first reads may come before the file is held.
        let options = format!(
            "{ONE} --sleep 0.1 --json {}",
            place.path("r.json").display()
        );
        let outcome = run(place.iostrata(&options));
        holder.kill().unwrap();
        holder.wait().unwrap();
        let text = outcome.expect(0).stdout.replace('\n', " ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let mapped = format!("mapped by process {} (python3)", holder.id());
        for said in [
            "row 1 should be cold but is warm. Asked to evict",
            "100 % stayed resident:",
            &mapped,
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        let saved = fs::read_to_string(place.path("r.json")).unwrap();
        let result: Value = serde_json::from_str(&saved).unwrap();
        let row = &result["experiments"][0]["rows"][0];
        assert_eq!(
            (&row["case"]["state"], &row["asked_state"]),
            (&"warm".into(), &"cold".into())
        );
        place.assert_nothing_left();
    });
}
