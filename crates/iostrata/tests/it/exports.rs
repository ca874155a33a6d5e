//! Results as tables and metrics, read back by the programs they are for.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::BufWriter;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostrata_core::op::FileId;
use iostrata_core::record as format;
use iostrata_core::record::{
    Begin, Change, Check, Completeness, Description, Durability, End, FileKind, Name, Operation,
    Payload, Writer,
};
use rustix::mount::{MountFlags, mount};
use serde_json::{Value, json};

use crate::place::{Outcome, Place, entries, is_root, run, with_own_mounts};

/// The Python that `scripts/deps test` makes in the target directory, with `duckdb`, `pyarrow`
/// and `prometheus_client`; says so where it is not.
fn python() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_iostrata"));
    let mut above = program.ancestors();
    let found = above.find_map(|dir| {
        let python = dir.join("python/bin/python");
        python.exists().then_some(python)
    });
    if found.is_none() {
        crate::skip::skip("`scripts/deps test` makes the Python that reads tables");
    }
    found
}

/// Runs a script of tests/python.
fn script(
    python: &Path,
    name: &str,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Outcome {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let mut command = Command::new(python);
    command.arg("-B").arg(scripts.join(name)).args(arguments);
    run(command)
}

/// `report` with options, then files.
fn report(place: &Place, options: &[&str], files: &[&Path]) -> Outcome {
    let mut command = place.iostrata("report");
    command.args(options).args(files);
    run(command)
}

/// Saves a result of iostrata.
fn saved(place: &Place, name: &str, arguments: &str, program: &[&[u8]]) -> PathBuf {
    let path = place.path(name);
    let mut command = place.iostrata(arguments);
    command
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C") // without files of a locale all are among the twenty that metrics name
        .arg("--json")
        .arg(&path);
    if !program.is_empty() {
        command
            .arg("--")
            .args(program.iter().map(|word| OsStr::from_bytes(word)));
    }
    run(command).expect(0);
    path
}

const LAB: &str = "lab --quick --fs host --mode flush,fsync --count 20 --size 64KiB --state warm \
                   --reader read,pread_random --call fsync --write append --writers 1 \
                   --operation read,stat --method read_write,cp";

/// Files with names that separate, quote, and are no text.
const HOSTILE: &[&[u8]] = &[
    b"sh",
    b"-c",
    b"for name; do echo x > \"$name\"; cat \"$name\"; done; mv a,b c; cat none; true",
    b"sh",
    b"a,b",
    b"q\"u'o\\te",
    b"l\ni\r\nne",
    b"\xff\xfe",
    b"=1+1",
    "ünï".as_bytes(),
];

#[test]
fn every_value_of_every_result_is_in_its_table() {
    let Some(python) = python() else { return };
    let place = Place::new();
    let mut results = vec![
        saved(&place, "lab.json", LAB, &[]),
        saved(&place, "ptrace.json", "trace --backend ptrace", HOSTILE),
    ];
    if is_root("eBPF") {
        results.push(saved(&place, "ebpf.json", "trace", HOSTILE));
        let runs = "trace --runs 2 --warmup 1 --cold";
        results.push(saved(&place, "runs.json", runs, HOSTILE));
    }
    results.push(emptied(&place, &results[1]));
    let (parquet, text) = (place.path("parquet"), place.path("csv"));
    let mut command = place.iostrata("report");
    command
        .arg("--parquet")
        .arg(&parquet)
        .arg("--csv")
        .arg(&text);
    let outcome = run({
        command.args(&results);
        command
    });
    assert_eq!(outcome.text(&place), "exit 0\n");
    let directories = [parquet, text].into_iter();
    let checked = script(&python, "tables.py", directories.chain(results)).expect(0);
    let nulls = checked.stdout.trim_end().strip_suffix(" nulls").unwrap();
    assert!(nulls.parse::<u64>().unwrap() > 0);
}

/// A result in which there is nothing.
fn emptied(place: &Place, of: &Path) -> PathBuf {
    let mut result: Value = serde_json::from_slice(&fs::read(of).unwrap()).unwrap();
    for (_, value) in result.as_object_mut().unwrap() {
        if let Value::Array(list) = value {
            list.clear();
        }
    }
    let path = place.path("empty.json");
    fs::write(&path, result.to_string()).unwrap();
    path
}

#[test]
fn metrics_are_read_by_a_strict_parser() {
    let Some(python) = python() else { return };
    let place = Place::new();
    let hostile = OsStr::from_bytes(b"r\"e\\s\nult \xff.json");
    let trace = saved(&place, "trace.json", "trace --backend ptrace", HOSTILE);
    fs::rename(&trace, place.path(hostile)).unwrap();
    let lab = saved(&place, "lab.json", LAB, &[]);
    let (trace, metrics) = (place.path(hostile), place.path("metrics.prom"));
    fs::write(&metrics, "old").unwrap();
    let options = ["--prometheus", metrics.to_str().unwrap()];
    let outcome = report(&place, &options, &[&trace, &lab]);
    assert_eq!(outcome.text(&place), "exit 0\n");
    script(&python, "metrics.py", [&metrics, &trace, &lab]).expect(0);
    let printed = report(&place, &["--prometheus", "-"], &[&trace, &lab]).expect(0);
    assert_eq!(printed.stdout, fs::read_to_string(&metrics).unwrap());
    // Nothing beside it: the collector reads whatever is in its directory.
    let names = entries(metrics.parent().unwrap());
    assert!(
        names
            .iter()
            .all(|path| !path.to_string_lossy().contains("metrics.prom."))
    );
    let twice = report(&place, &["--prometheus", "-"], &[&lab, &lab]).expect(2);
    twice.says(&["lab.json is given twice"]);
    let full = report(&place, &["--prometheus", "/dev/full"], &[&lab]).expect(3);
    full.says(&["cannot write the metrics to /dev/full: No space left on device"]);
}

fn begin() -> Begin {
    Begin {
        command: vec![b"app".to_vec(), b"\xff".to_vec()],
        directory: b"/srv".to_vec(),
        started_ns: 1_000,
        reads: false,
    }
}

const FILE: FileId = FileId {
    device: 0x80_0001,
    inode: 4_711,
    generation: 9,
};

fn operation(number: u64, change: Change, outcome: Result<u64, i32>) -> Operation {
    Operation {
        id: 0,
        process: 7,
        thread: 8,
        started_ns: 2_000 + number,
        took_ns: 30,
        call: "call".into(),
        outcome,
        change,
    }
}

/// An operation log of what is made of its writer.
fn log(place: &Place, name: &str, make: impl FnOnce(&mut Writer<BufWriter<File>>)) -> PathBuf {
    let path = place.path(name);
    let file = BufWriter::new(File::create(&path).unwrap());
    let mut writer = Writer::new(file, &begin()).unwrap();
    make(&mut writer);
    let end = End {
        operations: 0,
        stops: 3,
        completeness: Completeness::Complete,
        check: Check::Compared {
            nodes: 1,
            differing: 0,
            skipped: 0,
        },
    };
    writer.finish(end).unwrap().into_inner().unwrap();
    path
}

/// One write of `bytes`.
fn wrote(writer: &mut Writer<BufWriter<File>>, number: u64, bytes: &[u8]) {
    let mut payload = Payload::default();
    writer.store(bytes, &mut payload).unwrap();
    let change = Change::Wrote {
        node: FILE,
        description: Some(Description(1)),
        offset: number,
        flags: 0,
        payload,
    };
    let outcome = Ok(bytes.len() as u64);
    writer
        .operation(&mut operation(number, change, outcome))
        .unwrap();
}

fn small_log(place: &Place) -> PathBuf {
    log(place, "small.log", |writer| {
        let (root, srv) = (FileId { inode: 2, ..FILE }, FileId { inode: 3, ..FILE });
        for (node, place) in [
            (root, format::Place::Root),
            (srv, format::Place::Name(Name::new(root, "srv"))),
        ] {
            let found = Change::Found {
                node,
                kind: FileKind::Directory,
                place,
                mode: None,
                size_bytes: 0,
                contents: None,
            };
            writer.operation(&mut operation(0, found, Ok(0))).unwrap();
        }
        let opened = Change::Opened {
            node: FILE,
            description: Description(1),
            flags: 0o2,
            created: Some(format::Place::Name(Name::new(srv, b"\xe4"))),
            mode: Some(0o644),
            truncated: false,
        };
        writer.operation(&mut operation(0, opened, Ok(3))).unwrap();
        wrote(writer, 1, b"abc");
        let renamed = Change::Attempted {
            paths: vec![b"/srv/\xe4".to_vec(), b"/srv/b".to_vec()],
        };
        writer
            .operation(&mut operation(2, renamed, Err(13)))
            .unwrap();
        let synced = Change::Synced {
            node: Some(FILE),
            description: Some(Description(1)),
            scope: Durability::Data,
        };
        writer.operation(&mut operation(3, synced, Ok(0))).unwrap();
    })
}

/// The rows of a table as `DuckDB` reads them, without what is unknown.
fn rows(python: &Path, table: &Path) -> Value {
    let outcome = script(python, "rows.py", [table]).expect(0);
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn operations_of_a_log_are_rows() {
    let Some(python) = python() else { return };
    let place = Place::new();
    let log = small_log(&place);
    let tables = place.path("tables");
    let options = ["--parquet", tables.to_str().unwrap()];
    assert_eq!(report(&place, &options, &[&log]).text(&place), "exit 0\n");
    let common = |number: u64, rest: Value| {
        let mut row = json!({"result": 1, "recording": 1, "operation": number + 2, "process": 7,
            "thread": 8, "started_ns": 2_000 + number, "took_ns": 30, "call": "call",
            "path": "/srv/\u{fffd}", "path_hex": "2f7372762fe4"});
        row.as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        row
    };
    let file = json!({"device": "8:1", "inode": 4_711, "generation": 9});
    let of_file = |number: u64, rest: Value| {
        let mut row = common(number, rest);
        row.as_object_mut()
            .unwrap()
            .extend(file.as_object().unwrap().clone());
        row
    };
    // b3sum of "abc", from the test vectors of the BLAKE3 paper's repository.
    let hash = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
    let expected = [
        of_file(
            0,
            json!({"returned": 3, "change": "opened", "flags": 0o2, "created": true,
            "truncated": false, "description": 1}),
        ),
        of_file(
            1,
            json!({"returned": 3, "change": "wrote", "offset_bytes": 1, "length_bytes": 3,
            "payload_unknown_bytes": 0, "payload_blake3": hash, "flags": 0,
            "description": 1}),
        ),
        common(
            2,
            json!({"errno": 13, "change": "attempted", "other_path": "/srv/b"}),
        ),
        of_file(
            3,
            json!({"returned": 0, "change": "synced", "durability": "data", "description": 1}),
        ),
    ];
    let operations = rows(&python, &tables.join("operations.parquet"));
    let found = &operations.as_array().unwrap()[..2];
    assert_eq!(
        (&found[0]["path"], &found[1]["path"]),
        (&json!("/"), &json!("/srv"))
    );
    assert_eq!(found[1]["node_kind"], "directory");
    assert_eq!(operations.as_array().unwrap()[2..], expected);
    assert_eq!(
        rows(&python, &tables.join("recordings.parquet")),
        json!([{"result": 1, "recording": 1, "command": "[\"app\",\"\u{fffd}\"]",
            "directory": "/srv", "started_ns": 1_000, "operations": 6, "stops": 3,
            "complete": true}])
    );
    assert_eq!(rows(&python, &tables.join("missing.parquet")), json!([]));
}

#[test]
fn a_log_that_was_cut_off_gives_what_is_before() {
    let Some(python) = python() else { return };
    let place = Place::new();
    let log = log(&place, "cut.log", |writer| {
        wrote(writer, 0, b"first");
        writer.write_out().unwrap();
        wrote(writer, 1, b"second");
    });
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 70]).unwrap();
    let tables = place.path("tables");
    let options = ["--parquet", tables.to_str().unwrap()];
    let outcome = report(&place, &options, &[&log]).expect(4);
    outcome.says(&["cut.log: the operation log is truncated: it ends within the frame at byte"]);
    let operations = rows(&python, &tables.join("operations.parquet"));
    assert_eq!(operations[0]["length_bytes"], 5);
    let recording = &rows(&python, &tables.join("recordings.parquet"))[0];
    assert_eq!(recording["complete"], false);
    assert_eq!(recording.get("operations"), None);
    let missing = rows(&python, &tables.join("missing.parquet"));
    assert_eq!(missing[0]["what"], "the end of a recording");
    assert_eq!(missing[1]["what"], "the rest of the operation log");
}

#[test]
fn a_million_operations_need_no_more_memory() {
    let Some(python) = python() else { return };
    let place = Place::new();
    let log = log(&place, "million.log", |writer| {
        for number in 0..1_000_000_u64 {
            wrote(writer, number, &number.to_le_bytes());
        }
    });
    let tables = place.path("tables");
    let mut command = Command::new("sh");
    // Kilobytes of address space: the rows alone would take more.
    command.args(["-c", "ulimit -v 300000 && exec \"$@\"", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_iostrata"));
    command
        .arg("report")
        .arg(&log)
        .arg("--parquet")
        .arg(&tables);
    // Longer than other tests: the program is not optimized.
    let outcome = Outcome::from(command.output().unwrap());
    assert_eq!(outcome.expect(0).stdout, "");
    let sums = script(&python, "sums.py", [tables.join("operations.parquet")]).expect(0);
    // The sum of 0 to 999,999; 8 bytes each; as many hashes as numbers.
    assert_eq!(sums.stdout, "1000000 499999500000 8000000 1000000\n");
}

/// A stranger's result: it is held, and not copied for each metric or line that names the file.
#[test]
fn a_path_of_megabytes_needs_no_more_memory_for_being_named_often() {
    let place = Place::new();
    let saved = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/results/sqlite.json"
    );
    let mut result: Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    result["files"][0]["path"] = "x".repeat(16 << 20).into();
    fs::write(place.path("long.json"), result.to_string()).unwrap();
    for output in [
        "--prometheus -",
        "--html page",
        "--perfetto -",
        "--folded -",
        "--markdown",
        "--csv csv",
        "--parquet parquet",
    ] {
        let mut command = Command::new("sh");
        // Kilobytes of address space.
        command.args(["-c", "ulimit -v 300000 && exec \"$@\"", "sh"]);
        command.arg(env!("CARGO_BIN_EXE_iostrata"));
        // Each thread that allocates at the same time as another reserves addresses that it never uses.
        command.env("MALLOC_ARENA_MAX", "1");
        command
            .args(["report", "long.json"])
            .args(output.split(' '));
        command.current_dir(place.path("")).stdout(Stdio::null());
        let outcome = Outcome::from(command.output().unwrap());
        assert_eq!(outcome.expect(0).stderr, "", "{output}");
    }
}

#[test]
fn a_full_disk_leaves_an_earlier_export_as_it_was() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    let log = small_log(&place);
    let large = self::log(&place, "large.log", |writer| {
        for number in 0..20_000 {
            wrote(writer, number, &number.to_le_bytes());
        }
    });
    with_own_mounts(|| {
        let options = c"size=256k";
        mount("none", place.dir(), "tmpfs", MountFlags::empty(), options).unwrap();
        report(&place, &["--csv", "tables"], &[&log]).expect(0);
        let tables = place.dir().join("tables");
        let before = fs::read(tables.join("operations.csv")).unwrap();
        let outcome = report(&place, &["--csv", "tables"], &[&large]).expect(3);
        outcome.says(&["cannot write tables/operations.csv: No space left on device"]);
        assert_eq!(fs::read(tables.join("operations.csv")).unwrap(), before);
        let mut names = entries(&tables);
        names.sort();
        let expected = ["missing", "operations", "recordings", "results"];
        assert_eq!(
            names,
            expected.map(|name| tables.join(format!("{name}.csv")))
        );
        // A directory that was made for nothing is removed.
        report(&place, &["--csv", "other"], &[&large]).expect(3);
        assert!(!place.dir().join("other").exists());
    });
}

#[test]
fn what_cannot_be_exported_is_told() {
    let place = Place::new();
    let doctor = saved(&place, "doctor.json", "doctor", &[]);
    let log = small_log(&place);
    let outcome = report(&place, &["--csv", "tables"], &[&doctor]).expect(2);
    outcome.says(&["doctor.json is a result of doctor, which has no tables to export"]);
    let outcome = report(&place, &["--prometheus", "-"], &[&log]).expect(2);
    outcome.says(&["--prometheus is for results of lab and trace"]);
    let outcome = report(&place, &[], &[&log]).expect(2);
    outcome.says(&["small.log is an operation log, which can only be exported"]);
    let mut command = place.iostrata("report -");
    command.stdin(File::open(&log).unwrap());
    let outcome = Outcome::from(command.output().unwrap()).expect(4);
    outcome.says(&["holds an operation log, which is read from a file only"]);
    let mut future = fs::read(&log).unwrap();
    future[16] = 99;
    fs::write(place.path("future.log"), future).unwrap();
    let outcome = report(&place, &["--csv", "tables"], &[&place.path("future.log")]).expect(4);
    outcome.says(&["operation log version 99: this iostrata reads version 2"]);
    let outcome = report(&place, &["--csv", "none/tables"], &[&log]).expect(3);
    outcome.says(&["cannot make the directory none/tables: No such file or directory"]);
    fs::write(place.dir().join("file"), "").unwrap();
    let outcome = report(&place, &["--csv", "file"], &[&log]).expect(3);
    outcome.says(&["cannot make the directory file: File exists"]);
    assert_eq!(entries(&place.dir()), [place.dir().join("file")]);
}

#[test]
fn an_export_takes_the_place_of_an_earlier_one_whole() {
    let place = Place::new();
    let (log, trace) = (
        small_log(&place),
        saved(&place, "t.json", "trace --backend ptrace", &[b"true"]),
    );
    let tables = place.dir().join("tables");
    report(&place, &["--csv", "tables"], &[&trace]).expect(0);
    assert!(tables.join("runs.csv").exists());
    report(&place, &["--csv", "tables"], &[&log]).expect(0);
    assert!(!tables.join("runs.csv").exists(), "it is of other files");
    assert!(tables.join("operations.csv").exists());
    assert_eq!(entries(&place.dir()), [tables]);
}

#[test]
fn a_directory_with_other_contents_is_not_replaced() {
    let place = Place::new();
    let log = small_log(&place);
    let at = |name: &str| place.dir().join(name);
    for (directory, name) in [("one", "mine.csv"), ("two", "files.csv")] {
        fs::create_dir(at(directory)).unwrap();
        fs::write(at(directory).join(name), "mine").unwrap();
        let outcome = report(&place, &["--csv", directory], &[&log]).expect(3);
        outcome.says(&[&format!("{directory} holds {name}, which is not a table")]);
        assert_eq!(fs::read(at(directory).join(name)).unwrap(), b"mine");
    }
    report(&place, &["--csv", "."], &[&log])
        .expect(3)
        .says(&[". cannot be replaced in one step"]);
    let twice = report(&place, &["--csv", "new", "--parquet", "./new"], &[&log]).expect(2);
    twice.says(&["--parquet and --csv both name new"]);
    fs::create_dir(at("empty")).unwrap();
    report(&place, &["--csv", "empty"], &[&log]).expect(0);
    assert!(at("empty/results.csv").exists());
}

#[test]
fn a_log_that_was_cut_between_frames_is_exported_and_told() {
    let place = Place::new();
    let log = small_log(&place);
    let whole = fs::read(&log).unwrap();
    let mut lengths: Vec<usize> = (16..whole.len()).collect();
    // Wherever it was cut: the recording has no end.
    lengths.retain(|length| length % 3 == 0 || whole.len() - length < 40);
    let cut = place.path("cut.log");
    for length in lengths {
        fs::write(&cut, &whole[..length]).unwrap();
        let outcome = report(&place, &["--csv", "tables"], &[&cut]);
        assert_eq!(
            outcome.code,
            Some(4),
            "cut to {length} B: {}",
            outcome.stderr
        );
    }
    assert!(place.dir().join("tables/operations.csv").exists());
}
