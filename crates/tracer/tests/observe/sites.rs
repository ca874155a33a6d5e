//! Call sites: with and without frame pointers and unwind tables, and in languages that generate
//! their code at run time.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_core::observe::Stream;
use iostrata_core::trace::{Seen, SiteRow};
use iostrata_tracer::ebpf::{EbpfObserver, Limits};

use crate::session::observe;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/sites.c");

const NO_TABLES: [&str; 2] = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];

fn compile(dir: &Path, flags: &[&str]) -> PathBuf {
    let program = dir.join("sites");
    let built = Command::new("cc")
        .args(["-O2", "-pthread", "-o"])
        .arg(&program)
        .args(flags)
        .arg(SOURCE)
        .status()
        .unwrap();
    assert!(built.success());
    program
}

fn trace(program: &mut Command) -> Seen {
    let mut observer = EbpfObserver::with_limits(Limits::trace()).unwrap();
    let (seen, status) = observe(&mut observer, Stream::default(), program, || {});
    assert!(status.success());
    let seen = seen.seen.unwrap();
    for task in &seen.tasks {
        // Left by runtimes that were started with this option.
        drop(std::fs::remove_file(format!(
            "/tmp/perf-{}.map",
            task.process
        )));
    }
    seen
}

/// The sites of `write` on a file.
fn writes(seen: &Seen, path: &Path) -> Vec<SiteRow> {
    let named = seen
        .names
        .iter()
        .find(|named| named.path == path.as_os_str().as_encoded_bytes());
    let file = named.expect("the file by its path").file;
    let rows = seen.sites.iter();
    rows.filter(|row| row.call == "write" && row.file == file)
        .cloned()
        .collect()
}

/// Runs the C program, and returns the stacks of its writes.
fn of_c(flags: &[&str], arguments: &[&str]) -> Vec<SiteRow> {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(dir.path(), flags);
    let path = dir.path().join("f");
    let seen = trace(Command::new(program).arg(&path).args(arguments));
    let found = writes(&seen, &path);
    assert!(!found.is_empty());
    found
}

const PLACES: [&str; 2] = ["often (sites)", "seldom (sites)"];

fn site_of<'a>(found: &'a [SiteRow], place: &str) -> Option<&'a SiteRow> {
    let through = |row: &&SiteRow| row.stack.get(2).is_some_and(|frame| frame == place);
    found.iter().find(through)
}

/// The same of one of several runs: where the program waits for a CPU, its calls in a whole moment may have no sample.
fn sampled_of_c(flags: &[&str], arguments: &[&str]) -> Vec<SiteRow> {
    let mut runs = (0..20).map(|_| of_c(flags, arguments));
    let is_sampled =
        |found: &Vec<SiteRow>| PLACES.iter().all(|place| site_of(found, place).is_some());
    runs.find(is_sampled)
        .expect("both places have samples in one of 20 runs")
}

fn has_both_places(found: &[SiteRow]) {
    for place in PLACES {
        let site = site_of(found, place).expect(place);
        let begin = ["write (libc.so.6)", "put (sites)", place, "work (sites)"];
        assert_eq!(site.stack[..4], begin);
        assert_eq!(site.why_not, None);
        assert!(site.samples > 0 && site.time_ns > 0);
    }
}

#[test]
fn unwind_tables_are_enough() {
    let found = sampled_of_c(&["-fomit-frame-pointer"], &[]);
    has_both_places(&found);
    assert_eq!(found[0].stack[4], "main (sites)");
    assert_eq!(found[0].stack.last().unwrap(), "_start (sites)");
}

#[test]
fn frame_pointers_are_enough() {
    let flags = [&NO_TABLES[..], &["-fno-omit-frame-pointer"]].concat();
    has_both_places(&sampled_of_c(&flags, &[]));
}

#[test]
fn a_program_at_a_fixed_address_is_named_like_any_other() {
    has_both_places(&sampled_of_c(&["-no-pie"], &[]));
}

#[test]
fn a_thread_has_its_own_stack() {
    let found = of_c(&[], &["thread"]);
    has_both_places(&found);
    let frames = &found[0].stack;
    assert!(!frames.contains(&"main (sites)".to_owned()), "{frames:?}");
}

#[test]
fn without_tables_and_frame_pointers_the_program_is_to_blame() {
    let flags = [&NO_TABLES[..], &["-fomit-frame-pointer"]].concat();
    for site in of_c(&flags, &[]) {
        assert_eq!(site.stack[..2], ["write (libc.so.6)", "put (sites)"]);
        let why_not = site.why_not.unwrap();
        assert!(
            why_not.contains("sites has no unwind table there and no frame pointers"),
            "{why_not}"
        );
    }
}

#[test]
fn without_symbols_there_are_addresses() {
    for site in of_c(&["-s"], &[]) {
        assert_eq!(site.stack[0], "write (libc.so.6)");
        assert!(site.stack[1].starts_with("sites+0x"), "{:?}", site.stack);
        assert_eq!(site.why_not, None, "the tables stay when symbols go");
    }
}

#[test]
fn many_short_processes_have_their_stack_or_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(dir.path(), &[]);
    let path = dir.path().join("f");
    let script = format!(
        "i=0; while [ $i -lt 20 ]; do {} {} & i=$((i+1)); done; wait",
        program.display(),
        path.display()
    );
    let seen = trace(Command::new("/bin/sh").args(["-c", &script]));
    has_both_places(&writes(&seen, &path));
    assert!(
        seen.sites
            .iter()
            .all(|row| !row.stack.is_empty() || row.why_not.is_some())
    );
}

/// Functions of a script that writes through `put`, from `often` and from `seldom`.
fn of_script(interpreter: &mut Command, name: &str, script: &str) -> (Vec<SiteRow>, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join(name);
    std::fs::write(&source, script).unwrap();
    let path = dir.path().join("f");
    let seen = trace(interpreter.arg(&source).arg(&path));
    (writes(&seen, &path), source)
}

fn has_frames(row: &SiteRow, functions: &[&str]) -> bool {
    let mut frames = row.stack.iter();
    functions
        .iter()
        .all(|function| frames.any(|frame| frame.contains(function)))
}

const PYTHON: &str = "
import sys
f = open(sys.argv[1], 'wb', buffering=0)
def put(count):
    for i in range(count):
        f.write(b'x')
def often():
    put(3000)
def seldom():
    put(1000)
for i in range(20):
    often()
    seldom()
";

/// The oldest with perf trampolines (3.12) and later ones, where installed.
fn pythons() -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let versions = std::fs::read_dir(home.join(".pyenv/versions"));
    let installed = versions.into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = installed
        .map(|version| version.path().join("bin/python3"))
        .chain(["/usr/bin/python3", "/usr/local/bin/python3"].map(PathBuf::from))
        .collect();
    found.retain(|python| {
        let check = "import sys; sys.exit(sys.version_info < (3, 12))";
        let run = Command::new(python).args(["-c", check]).status();
        run.is_ok_and(|status| status.success())
    });
    found
}

#[test]
fn functions_of_python_are_seen_with_its_trampolines() {
    let pythons = pythons();
    if pythons.is_empty() {
        crate::skip::skip("no Python 3.12 or later is installed");
    }
    for python in pythons {
        let (found, source) = of_script(Command::new(&python).args(["-X", "perf"]), "w.py", PYTHON);
        for place in ["often", "seldom"] {
            let functions = [
                "write (libc.so.6)".to_owned(),
                format!("py::put:{}", source.display()),
                format!("py::{place}:{}", source.display()),
                format!("py::<module>:{}", source.display()),
            ];
            let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
            let site = found.iter().find(|row| has_frames(row, &functions));
            let site = site.unwrap_or_else(|| panic!("{place} of {}", python.display()));
            assert_eq!(site.why_not, None);
        }
    }
}

#[test]
fn python_without_its_trampolines_says_how_to_get_them() {
    let (found, _) = of_script(&mut Command::new("/usr/bin/python3"), "w.py", PYTHON);
    assert!(!found.is_empty());
    for site in found {
        let why_not = site.why_not.unwrap();
        assert!(why_not.contains("-X perf"), "{why_not}");
    }
}

const NODE: &str = "
const fs = require('fs');
const fd = fs.openSync(process.argv[2], 'w');
function put(count) { for (let i = 0; i < count; i++) fs.writeSync(fd, 'x'); }
function often() { put(3000); return 1; }
function seldom() { put(1000); return 1; }
for (let i = 0; i < 20; i++) often() + seldom();
";

#[test]
fn functions_of_node_are_seen_with_its_perf_map() {
    let Ok(version) = Command::new("node").arg("--version").output() else {
        return crate::skip::skip("Node.js is not installed");
    };
    assert!(version.status.success());
    // The engine writes a log to the working directory, unless this is disabled.
    let mut node = Command::new("node");
    node.args([
        "--perf-basic-prof",
        "--no-logfile-per-isolate",
        "--logfile=/dev/null",
    ]);
    let (named, source) = of_script(&mut node, "w.js", NODE);
    let put = format!("put {}:", source.display());
    assert!(
        named
            .iter()
            .any(|row| has_frames(row, &["write (libc.so.6)", &put])),
        "{named:?}"
    );
    let (unnamed, _) = of_script(&mut Command::new("node"), "w.js", NODE);
    let hint = |row: &SiteRow| {
        let why_not = row.why_not.as_ref();
        why_not.is_some_and(|why_not| why_not.contains("--perf-basic-prof"))
    };
    assert!(unnamed.iter().any(hint), "{unnamed:?}");
}

const JAVA: &str = "
public class W {
    static java.io.FileOutputStream f;
    static void put(int count) throws Exception { for (int i = 0; i < count; i++) f.write(120); }
    static void often() throws Exception { for (int i = 0; i < 600; i++) put(100); }
    public static void main(String[] a) throws Exception {
        f = new java.io.FileOutputStream(a[0]);
        often();
    }
}
";

#[test]
fn functions_of_java_are_seen_with_the_map_that_it_writes_at_its_end() {
    if Command::new("javac").arg("-version").output().is_err() {
        return crate::skip::skip("no Java compiler is installed");
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("W.java"), JAVA).unwrap();
    let built = Command::new("javac")
        .arg(dir.path().join("W.java"))
        .status();
    assert!(built.unwrap().success());
    let path = dir.path().join("f");
    let seen = trace(
        Command::new("java")
            .args([
                "-XX:+PreserveFramePointer",
                "-XX:+UnlockDiagnosticVMOptions",
            ])
            .args(["-XX:+DumpPerfMapAtExit", "-cp"])
            .arg(dir.path())
            .arg("W")
            .arg(&path),
    );
    let found = writes(&seen, &path);
    // The longest-running function is compiled soon; the others may be interpreted.
    let named = [
        "write (libc.so.6)",
        "java.io.FileOutputStream.write",
        "JavaMain (libjli.so)",
    ];
    assert!(found.iter().any(|row| has_frames(row, &named)), "{found:?}");
}
