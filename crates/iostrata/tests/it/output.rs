//! Where results go, and what happens when they cannot.

use std::fs::{self, File, OpenOptions};
use std::io;

use insta::assert_snapshot;

use crate::place::{Place, run};

const QUICK: &str = "lab --quick --fs host --mode flush --size 1 --count 20";

/// A run that nobody would wait for the end of.
const ENDLESS: &str = "lab --fs host --mode fsync --size 1 --count 100000000 --json";

#[test]
fn a_reader_that_has_gone_is_no_error() {
    for arguments in [
        QUICK,
        "doctor",
        "doctor --json -",
        "--help",
        "lab --help",
        "explain sync",
        "completions bash",
        "man",
    ] {
        let place = Place::new();
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let errors = File::create(place.path("stderr")).unwrap();
        let mut command = place.iostrata(arguments);
        let status = command.stdout(writer).stderr(errors).status().unwrap();
        assert_eq!(status.code(), Some(0), "{arguments}");
        assert_eq!(
            fs::read_to_string(place.path("stderr")).unwrap(),
            "",
            "{arguments}"
        );
        place.assert_nothing_left();
    }
}

#[test]
fn nobody_who_listens_is_no_reason_to_panic() {
    let place = Place::new();
    for (arguments, code) in [("lab --dir none", 2), ("docto", 2), ("lab --count 0", 2)] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = place.iostrata(arguments);
        let status = command.stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments}");
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    let printed = [QUICK, "--help", "trace --help", "--version"].map(|arguments| (arguments, ""));
    for (arguments, what) in printed
        .into_iter()
        .chain([("doctor --json -", "the result ")])
    {
        let place = Place::new();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let errors = File::create(place.path("stderr")).unwrap();
        let mut command = place.iostrata(arguments);
        let status = command.stdout(full).stderr(errors).status().unwrap();
        assert_eq!(status.code(), Some(3), "{arguments}");
        let errors = fs::read_to_string(place.path("stderr")).unwrap();
        let expected =
            format!("error: cannot write {what}to standard output: No space left on device");
        assert!(errors.starts_with(&expected), "{errors}");
        place.assert_nothing_left();
    }
}

#[test]
fn a_result_that_cannot_be_saved_is_told_before_anything_is_measured() {
    let place = Place::new();
    let mut command = place.iostrata(ENDLESS);
    let outcome = run({
        command.arg(place.path("none/result.json"));
        command
    });
    assert_snapshot!(outcome.text(&place), @r"
    exit 3
    --- stderr
    error: cannot write the result to /PLACE/none/result.json: No such file or directory (os error 2); name a writable file with --json
    ");
    let mut command = place.iostrata(ENDLESS);
    let outcome = run({
        command.arg(place.path("home"));
        command
    });
    assert_snapshot!(outcome.text(&place), @r"
    exit 3
    --- stderr
    error: cannot write the result to /PLACE/home: Is a directory (os error 21); name a writable file with --json
    ");
    place.assert_nothing_left();
}

#[test]
fn a_run_that_fails_leaves_an_older_result_alone_and_no_empty_one() {
    let place = Place::new();
    fs::write(place.path("old.json"), "an older result").unwrap();
    for name in ["old.json", "new.json"] {
        let mut command = place.iostrata("lab --fs host --dir none --json");
        command.arg(place.path(name));
        run(command).expect(2);
    }
    assert_eq!(
        fs::read(place.path("old.json")).unwrap(),
        b"an older result"
    );
    assert!(!place.path("new.json").exists());
}

#[test]
fn any_width_is_drawn() {
    let place = Place::new();
    for columns in ["0", "1", "39", "65535", "-7", "wide"] {
        let mut command = place.iostrata("doctor");
        command.env("COLUMNS", columns);
        assert!(
            run(command).expect(0).stdout.contains("storage"),
            "{columns}"
        );
    }
}

/// On a terminal of this many rows, by script(1).
fn on_terminal(rows: u32, arguments: &str) -> String {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_iostrata");
    let mut script = std::process::Command::new("script");
    script
        .arg("-qec")
        .arg(format!("stty rows {rows} cols 80; {program} {arguments}"))
        .arg(place.path("typescript"))
        .env("TERM", "xterm")
        .env("PAGER", "sed s/^/paged:/")
        .stdin(std::process::Stdio::null());
    let outcome = run(script);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome.stdout
}

/// A title, a bell, a line that begins again, and characters that reverse a line or begin a sequence in one byte.
const ACTING: &str = "\u{1b}]0;title\u{7}\r\u{7f}\u{9b}2J\u{202e}\u{2066}";

#[test]
fn no_output_acts_on_a_terminal() {
    let place = Place::new();
    fs::write(place.dir().join(ACTING), "x").unwrap();
    let saved = place.path("saved.json");
    let mut trace = place.iostrata("trace --no-save --backend ptrace -o");
    trace.arg(&saved).args(["--", "/bin/cat", ACTING]);
    run(trace).expect(0);
    let saved = saved.display();
    for arguments in [
        format!("report {saved} --prometheus -"),
        format!("report {saved} --perfetto -"),
        format!("report {saved} --markdown=-"),
        format!("cache show {} --json - 2>/dev/null", place.dir().display()),
    ] {
        // The terminal itself begins a line anew after each.
        let shown = on_terminal(1000, &arguments).replace("\r\n", "\n");
        let acts = |char: &char| match char {
            '\n' | '\t' => false,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
            char => char.is_control(),
        };
        let found: Vec<char> = shown.chars().filter(acts).collect();
        assert_eq!(found, [] as [char; 0], "{arguments}: {shown:?}");
        assert!(shown.contains("title"), "{arguments}: {shown:?}");
    }
}

#[test]
fn what_is_longer_than_the_terminal_is_paged() {
    let saved = "report ../../docs/results/sqlite.json";
    for arguments in ["explain fsync-per-record", saved] {
        let paged = on_terminal(10, arguments);
        assert!(paged.lines().count() > 20, "{paged}");
        assert!(
            paged.lines().all(|line| line.starts_with("paged:")),
            "{paged}"
        );
    }
    assert!(!on_terminal(100, "explain fsync-per-record").contains("paged:"));
}
