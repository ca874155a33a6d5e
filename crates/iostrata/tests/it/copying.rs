//! `lab copy` as a user sees it.

use std::fs::File;
use std::io::Write as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;
use rustix::mount::{MountFlags, mount};
use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, entries, is_root, run, with_own_mounts};
use crate::results::valid;
use crate::running::Running;

/// Far more than a test waits for.
const ENDLESS: &str = "lab copy --thorough --fs host --method read_write --buffer 64 --size 64MiB";

fn with_tools(mut command: Command) -> Command {
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

#[track_caller]
fn refused(arguments: &str) -> String {
    let place = Place::new();
    let outcome = run(place.iostrata(arguments));
    place.assert_nothing_left();
    outcome.text(&place)
}

#[test]
fn what_cannot_be_copied_is_refused() {
    assert_snapshot!(refused("lab copy --size 0"), @r"
    exit 2
    --- stderr
    error: --size 0 copies nothing; give 1 byte or more
    ");
    assert_snapshot!(refused("lab copy --method direct --buffer 64"), @r"
    exit 2
    --- stderr
    error: --buffer 64 cannot be used with direct: O_DIRECT transfers whole blocks; give multiples of 4096, or leave direct out
    ");
    assert_snapshot!(refused("lab copy --buffer 0"), @r"
    exit 2
    --- stderr
    error: --buffer 0 holds nothing; give 1 byte or more
    ");
    for arguments in [
        "lab copy --method scp",
        "lab copy --source lukewarm",
        "lab copy --target other",
        "lab copy --buffer -1",
        "lab copy --buffer 1K",
        "lab buffering --method sendfile",
    ] {
        assert!(refused(arguments).starts_with("exit 2\n"), "{arguments}");
    }
}

#[test]
fn a_file_larger_than_the_disk_is_refused() {
    let text = refused("lab copy --fs host --size 1000TB");
    assert!(text.starts_with("exit 3\n"), "{text}");
    assert!(text.contains("not enough space"), "{text}");
}

#[test]
fn every_method_has_a_row_that_the_schema_takes() {
    let place = Place::new();
    let command = with_tools(place.iostrata("lab copy --quick --fs host --size 1MB --json -"));
    let outcome = run(command).expect(0);
    let result = valid("iostrata.lab-1.schema.json", &outcome.stdout);
    let experiment = &result["experiments"][0];
    assert_eq!(experiment["id"], "copy");
    let rows = experiment["rows"].as_array().unwrap();
    let missing = experiment["missing"].as_array().unwrap();
    for method in [
        "fgetc_fputc",
        "getc_unlocked",
        "read_write",
        "readv_writev",
        "mmap_memcpy",
        "mmap_write",
        "sendfile",
        "splice",
        "copy_file_range",
        "reflink",
        "io_uring",
        "direct",
        "cp",
    ] {
        let has_row = rows.iter().any(|row| row["case"]["method"] == method);
        let named = format!("{method} on host");
        let has_gap = missing.iter().any(|gap| gap["what"] == named.as_str());
        assert!(has_row != has_gap, "{method}: a row or a reason");
    }
    assert!(rows.iter().all(|row| row["verified"] == true));
    assert!(experiment["method"]["verified_copies"].as_u64().unwrap() >= 6 * rows.len() as u64);
    place.assert_nothing_left();
}

#[test]
fn without_cp_it_is_missing_and_the_rest_is_there() {
    let place = Place::new();
    let options = "lab copy --quick --fs host --size 1MB --method sendfile,cp --json -";
    let outcome = run(place.iostrata(options)).expect(0);
    let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let experiment = &result["experiments"][0];
    assert_eq!(experiment["rows"].as_array().unwrap().len(), 1);
    let missing = experiment["missing"].as_array().unwrap();
    let cp = missing.iter().find(|gap| gap["what"] == "cp on host");
    let why = cp.unwrap()["why"].as_str().unwrap();
    assert!(why.contains("No such file or directory"), "{why}");
}

#[test]
fn as_a_user_without_privilege() {
    let place = Place::new();
    let options = "lab copy --quick --fs host --size 1MB --method read_write,mmap_memcpy,cp,direct \
                   --json -";
    let outcome = run(with_tools(place.iostrata_of_nobody(options))).expect(0);
    let result = valid("iostrata.lab-1.schema.json", &outcome.stdout);
    let rows = result["experiments"][0]["rows"].as_array().unwrap();
    for row in rows {
        assert_eq!(row["figures"]["calls"], Value::Null, "unknown is not 0");
        assert_eq!(row["figures"]["device_bytes"], Value::Null);
        assert!(row["figures"]["faults"].is_u64());
    }
    place.assert_nothing_left();
}

#[test]
fn interrupted_in_the_middle_of_a_copy() {
    let place = Place::new();
    let running = Running::start(&place, "run", place.iostrata(ENDLESS));
    running.workload("host", "copy");
    running.signal(Signal::INT);
    let outcome = running.finish().expect(130);
    outcome.says(&["interrupted by SIGINT before the first row was complete"]);
    assert_eq!(outcome.stdout, "");
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
        let options = c"size=192m";
        mount("none", place.dir(), "tmpfs", MountFlags::empty(), options).unwrap();
        let mut running = Running::start(&place, "run", place.iostrata(ENDLESS));
        // Copies are tried out on a small file before the source is written.
        running.scratch_file("host", "source-67108864", 64 << 20);
        running.workload("host", "copy");
        let mut file = File::create(&fill).unwrap();
        let block = vec![7; 1 << 16];
        while !running.has_ended() {
            if file.write_all(&block).is_err() {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let outcome = running.finish().expect(3);
        outcome.says(&["error: timing read_write 64 B", "No space left on device"]);
        assert_eq!(outcome.stdout, "");
        assert_eq!(entries(&place.dir()), [fill.as_path()]);
    });
    place.assert_nothing_left();
}
