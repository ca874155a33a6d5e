//! What a user without privilege gets, and what one line of doctor's adds.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::place::{Place, is_root, run, script};
use crate::undisturbed::undisturbed;

/// Files by all that changes names and contents, and a read of what was written.
const WORK: &str = "/bin/echo one > a; /bin/cp a b; /bin/mv b c; /bin/echo two >> a; /bin/ln a l
    /bin/mkdir q; /bin/mv c q/c; /bin/rm l; /usr/bin/truncate -s 6 a; /bin/sync a; /bin/cat a q/c";

fn result(place: &Place) -> Value {
    let saved = std::fs::read_to_string(place.path("home/result.json")).unwrap();
    serde_json::from_str(&saved).unwrap()
}

/// What a trace has not seen. How much of a shared disk's requests were others' is chance.
fn missing(result: &Value) -> BTreeSet<String> {
    let gaps = result["missing"].as_array().unwrap().iter();
    let whats = gaps.map(|gap| gap["what"].as_str().unwrap().to_owned());
    whats
        .filter(|what| what != "exact counts of requests without a file")
        .collect()
}

/// The line that doctor prints for root's shell.
fn doctors_line(command: Command) -> String {
    let text = run(command).expect(0).stdout;
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| line.starts_with("setcap "));
    line.unwrap_or_else(|| panic!("no line in {text}"))
        .to_owned()
}

#[test]
fn doctors_line_gives_a_user_all_that_root_sees() {
    if !is_root("file capabilities") {
        return;
    }
    undisturbed(|| {
        let place = Place::new();
        script(&place.path("work"), WORK);
        let trace = "trace --no-measure --json ../home/result.json -- ../work";
        run(place.iostrata(trace)).expect(0);
        let by_root = result(&place);
        std::fs::remove_dir_all(place.dir()).unwrap();
        std::fs::create_dir(place.dir()).unwrap();
        std::fs::remove_file(place.path("home/result.json")).unwrap();

        // Commands are made before the line is run: making one copies the program.
        let mut doctor = place.iostrata_of_nobody("doctor --json ../home/doctor.json");
        let trace = place.iostrata_of_nobody(trace);
        let ptrace =
            "trace --backend ptrace --no-measure --json ../home/result.json -- /bin/cat q/c";
        let ptrace = place.iostrata_of_nobody(ptrace);
        let line = doctors_line(place.iostrata_of_nobody("doctor"));
        let program = place.path("iostrata");
        assert!(line.ends_with(program.to_str().unwrap()), "{line}");
        let mut shell = Command::new("sh");
        assert!(shell.args(["-c", &line]).status().unwrap().success());

        doctor.env("COLUMNS", "200");
        run(doctor).expect(0);
        let saved = std::fs::read_to_string(place.path("home/doctor.json")).unwrap();
        let said: Value = serde_json::from_str(&saved).unwrap();
        for ability in said["abilities"].as_array().unwrap() {
            let refused = ability["available"] == false;
            assert!(!(refused && ability["kind"] == "see"), "{ability}");
            assert_eq!(ability["command"], Value::Null, "{ability}");
        }

        run(trace).expect(0);
        let by_user = result(&place);
        assert_eq!(by_user["backend"], "ebpf");
        let mut expected = missing(&by_root);
        expected.insert("the privileges of set-user-ID programs".to_owned());
        assert_eq!(missing(&by_user), expected);
        // As many files and calls, with the same strata filled in.
        for field in ["processes", "lost_events"] {
            assert_eq!(by_user[field], by_root[field], "{field}");
        }
        let counts = |result: &Value| -> BTreeSet<(String, u64)> {
            let rows = result["syscalls"].as_array().unwrap().iter();
            let of_files = rows.filter(|row| row["bytes"].is_u64() || row["name"] == "fsync");
            of_files
                .map(|row| (row["name"].to_string(), row["count"].as_u64().unwrap()))
                .collect()
        };
        assert_eq!(counts(&by_user), counts(&by_root));

        assert_eq!(run(ptrace).expect(0).stdout, "one\n");
        assert_eq!(result(&place)["backend"], "ptrace");
    });
}

#[test]
fn a_log_needs_no_privilege() {
    let place = Place::new();
    script(&place.path("work"), WORK);
    let traced = place.iostrata_of_nobody(
        "trace --no-measure --record ../home/log --json ../home/result.json -- ../work",
    );
    let outcome = run(traced).expect(0);
    assert_eq!(outcome.stdout, "one\ntwone\n");
    let saved = result(&place);
    if is_root("to become another user") {
        assert_eq!(saved["backend"], "ptrace");
    }
    assert_eq!(
        saved["recording"]["incomplete_because"],
        Value::Array(vec![])
    );
    run(place.iostrata_of_nobody("rebuild ../home/log ../home/rebuilt")).expect(0);
    let mut diff = Command::new("diff");
    let rebuilt = place.path("home/rebuilt");
    let rebuilt = rebuilt.join(place.dir().strip_prefix("/").unwrap());
    diff.arg("-r").arg(place.dir()).arg(rebuilt);
    assert_eq!(run(diff).text(&place), "exit 0\n");
}
