//! Pages of HTML: where they go, what they hold, and what keeps them from being written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use insta::assert_snapshot;

use crate::place::{
    Outcome, Place, entries, is_root, run, script, until, with_own_mounts, with_path,
};

const LAB: &str = include_str!("../../../report/tests/saved/lab.json");
const TRACE: &str = include_str!("../../../report/tests/saved/trace.json");
const DOCTOR: &str = include_str!("../../../report/tests/saved/doctor.json");

/// A place with saved results beside the measured directory.
fn place() -> Place {
    let place = Place::new();
    for (name, text) in [
        ("lab.json", LAB),
        ("trace.json", TRACE),
        ("doctor.json", DOCTOR),
    ] {
        fs::write(place.path(name), text).unwrap();
    }
    place
}

fn report(place: &Place, arguments: &str) -> Outcome {
    let arguments = arguments.split_whitespace().map(|word| {
        if word.contains('.') {
            place.path(word).into_os_string()
        } else {
            word.into()
        }
    });
    let mut command = place.iostrata("report");
    command.args(arguments);
    run(command)
}

#[track_caller]
fn assert_is_page(text: &str) {
    assert!(
        text.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"),
        "{text}"
    );
    assert!(text.ends_with("</html>\n"), "{text}");
}

#[test]
fn a_report_writes_a_page_and_no_text() {
    let place = place();
    let outcome = report(&place, "trace.json --html page.html").expect(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert_is_page(&page);
    let to_output = report(&place, "trace.json --html -").expect(0);
    assert_eq!(to_output.stdout, page);
    assert_eq!(to_output.stderr, "");
}

#[test]
fn several_files_are_one_page() {
    let place = place();
    let outcome = report(&place, "lab.json trace.json doctor.json --html -").expect(0);
    assert_is_page(&outcome.stdout);
    assert!(outcome.stdout.contains("<h1>3 results</h1>"));
    for name in ["lab.json", "trace.json", "doctor.json"] {
        assert!(outcome.stdout.contains(&format!("{name}</h2>")), "{name}");
    }
}

#[test]
fn standard_input_is_drawn_too() {
    let place = place();
    let mut command = place.iostrata("report - --html -");
    command.stdin(fs::File::open(place.path("lab.json")).unwrap());
    let outcome = Outcome::from(command.output().unwrap()).expect(0);
    assert_is_page(&outcome.stdout);
    assert!(outcome.stdout.contains("<code>standard input</code>"));
}

#[test]
fn a_lab_and_a_trace_draw_what_they_saved() {
    let place = Place::new();
    let lab = "lab --quick --fs host --mode flush --size 1 --count 20";
    let lab = with_path(place.iostrata(lab), "--json", place.path("lab.json"));
    let lab = run(with_path(lab, "--html", place.path("lab.html"))).expect(0);
    assert!(
        lab.stdout.starts_with("iostrata lab buffering: "),
        "{}",
        lab.stdout
    );
    let trace = place.iostrata("trace --backend ptrace");
    let trace = with_path(trace, "--json", place.path("trace.json"));
    let mut trace = with_path(trace, "--html", place.path("trace.html"));
    trace.args(["--", "/bin/true"]);
    let trace = run(trace).expect(0);
    assert_eq!(trace.stdout, "");
    assert!(trace.stderr.contains("/bin/true"), "{}", trace.stderr);
    for name in ["lab", "trace"] {
        let written = fs::read_to_string(place.path(format!("{name}.html"))).unwrap();
        assert_is_page(&written);
        let again = report(&place, &format!("{name}.json --html -")).expect(0);
        assert!(again.stdout == written, "{name}");
    }
    place.assert_nothing_left();
}

#[test]
fn a_page_on_standard_output_stands_alone() {
    let place = Place::new();
    let lab = "lab --quick --fs host --mode flush --size 1 --count 20 --html -";
    assert_is_page(&run(place.iostrata(lab)).expect(0).stdout);
    let mut trace = place.iostrata("trace --backend ptrace --html -");
    trace.args(["--", "/bin/true"]);
    let trace = run(trace).expect(0);
    assert_is_page(&trace.stdout);
    assert_eq!(trace.stderr, "");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = place();
    let mut text = String::new();
    for arguments in [
        "trace.json --open",
        "trace.json --html - --open",
        "trace.json --html page.html --files",
        "lab.json --html page.html --all-rows",
        "trace.json --html trace.json",
    ] {
        text += &report(&place, arguments).text(&place);
    }
    let mut trace = place.iostrata("trace --json - --html -");
    trace.args(["--", "/bin/true"]);
    text += &run(trace).text(&place);
    assert_snapshot!(text);
    assert!(!place.path("page.html").exists());
    assert_eq!(fs::read_to_string(place.path("trace.json")).unwrap(), TRACE);
}

#[test]
fn unreadable_results_leave_no_page() {
    let place = place();
    let future = TRACE.replacen("iostrata.trace/1", "iostrata.trace/2", 1);
    fs::write(place.path("future.json"), future).unwrap();
    fs::write(place.path("half.json"), &TRACE[..TRACE.len() / 2]).unwrap();
    fs::write(place.path("empty.json"), "").unwrap();
    for (name, says) in [
        ("future.json", "holds iostrata.trace/2, which iostrata"),
        ("half.json", "ends too early"),
        ("empty.json", "is empty"),
        ("no.json", "No such file"),
    ] {
        let outcome = report(&place, &format!("lab.json {name} --html page.html")).expect(4);
        outcome.says(&[says]);
        assert!(!place.path("page.html").exists());
    }
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_measuring() {
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    let out = place.path("file").join("page.html");
    let lab = place.iostrata("lab --quick --fs host --mode flush --size 1 --count 20");
    let lab = run(with_path(lab, "--html", &out)).expect(3);
    lab.says(&[
        "cannot write the result to",
        "Not a directory",
        "with --html",
    ]);
    assert_eq!(lab.stdout, "");
    let mut trace = with_path(place.iostrata("trace --backend ptrace"), "--html", &out);
    trace.args(["--", "/bin/touch", "ran"]);
    run(trace).expect(125).says(&["with --html"]);
    place.assert_nothing_left();
}

#[test]
fn a_full_disk_leaves_no_half_page() {
    if !is_root("a small file system") {
        return;
    }
    let place = place();
    let small = place.path("small");
    fs::create_dir(&small).unwrap();
    with_own_mounts(|| {
        rustix::mount::mount(
            "tmpfs",
            &small,
            "tmpfs",
            rustix::mount::MountFlags::empty(),
            Some(c"size=16k"),
        )
        .unwrap();
        let outcome = report(&place, "trace.json --html small/page.html").expect(3);
        outcome.says(&["No space left on device"]);
        assert_eq!(entries(&small), Vec::<std::path::PathBuf>::new());
    });
}

#[test]
fn without_a_desktop_nothing_is_opened() {
    let place = place();
    let outcome = report(&place, "trace.json --html page.html --open").expect(3);
    outcome.says(&[
        "neither DISPLAY nor WAYLAND_DISPLAY is set",
        "leave --open out",
    ]);
    assert!(!place.path("page.html").exists());
    let mut command = with_path(place.iostrata("report --open"), "--html", "page.html");
    command.env("DISPLAY", ":0").arg(place.path("trace.json"));
    run(command)
        .expect(3)
        .says(&["xdg-open is not on the PATH"]);
    // A program is not run without use.
    let mut trace = place.iostrata("trace --backend ptrace --html page.html --open");
    trace.args(["--", "/bin/touch", "ran"]);
    run(trace).expect(125);
    place.assert_nothing_left();
}

#[test]
fn a_desktop_is_handed_the_page_and_not_waited_for() {
    let place = place();
    let tools = place.path("tools");
    fs::create_dir(&tools).unwrap();
    fs::set_permissions(place.path("home"), fs::Permissions::from_mode(0o777)).unwrap();
    let told = place.path("home/told");
    script(
        &tools.join("xdg-open"),
        &format!("echo \"$1\" > {0}.new; mv {0}.new {0}", told.display()),
    );
    // A name that begins like an option is none to the desktop.
    let mut command = place.iostrata("report --open --html=-page.html");
    command
        .env("WAYLAND_DISPLAY", "wayland-0")
        .env("PATH", format!("{}:/usr/bin:/bin", tools.display()))
        .arg(place.path("trace.json"));
    run(command).expect(0);
    let opened = until("nothing was opened", || fs::read_to_string(&told).ok());
    let path = Path::new(opened.trim_end());
    assert!(
        path.is_absolute() && path.ends_with("-page.html"),
        "{opened}"
    );
    assert_is_page(&fs::read_to_string(path).unwrap());
}
