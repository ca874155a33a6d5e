//! What the metrics say, beside a program whose counts are known.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use iostrata_report::is_printable;

use super::{Server, samples, skips, value};
use crate::image::{Image, text};
use crate::install::install;
use crate::watched::workload;

const APPENDS: u32 = 60;

/// A program that appends so many records to a file and syncs each, with a name that no other has.
struct Append(tempfile::TempDir, &'static str);

impl Append {
    fn new(name: &'static str) -> Self {
        let append = Self(tempfile::tempdir().unwrap(), name);
        let program = append.0.path().join(append.name());
        install(workload("append"), program);
        append
    }

    fn name(&self) -> String {
        format!("{}-{}", self.1, std::process::id())
    }

    fn to(&self, file: &str) {
        let mut append = Command::new(self.0.path().join(self.name()));
        append.args([file, &APPENDS.to_string(), "100", "fsync"]);
        assert!(append.status().unwrap().success());
    }
}

/// All that is summed, by its line without the value.
fn counters(metrics: &str) -> HashMap<String, f64> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    let sums = lines.filter_map(|line| {
        let (name, value) = line.rsplit_once(' ')?;
        let is_sum = name.split('{').next()?.ends_with("_total");
        is_sum.then(|| (name.to_owned(), value.parse().unwrap()))
    });
    sums.collect()
}

/// Rows of one kind that have lost their place.
fn displaced(metrics: &str, of: &str) -> f64 {
    value(metrics, &format!("iostrata_displaced_total{{of=\"{of}\"}}"))
}

#[test]
#[expect(clippy::float_cmp, reason = "counts are whole numbers")]
fn counts_are_those_of_the_program_and_never_fall() {
    if skips() {
        return;
    }
    let image = Image::new();
    let (one, two) = (text(&image.path("one")), text(&image.path("two")));
    let append = Append::new("known");
    let server = Server::start(&["--label-paths", "--top", "1000"]);
    append.to(&one);
    let first = server.settled();
    let appended = f64::from(APPENDS);
    let of = |metrics: &str, rest: &str| value(metrics, &format!("iostrata_{rest}"));
    let syncs = format!(
        "process_calls_total{{process=\"{}\",purpose=\"sync\"}}",
        append.name()
    );
    let file = format!("file_calls_total{{file=\"{one}\",purpose=\"write\"}}");
    assert_eq!(of(&first, &syncs), appended);
    assert_eq!(of(&first, &file), appended);
    let bytes = format!("file_call_bytes_total{{file=\"{one}\",purpose=\"write\"}}");
    assert_eq!(of(&first, &bytes), appended * 100.0);
    let to_disk = format!("file_disk_requests_total{{file=\"{one}\",direction=\"write\"}}");
    assert!(
        of(&first, &to_disk) >= appended,
        "at least one for each sync"
    );
    append.to(&two);
    let second = server.settled();
    assert_eq!(
        of(&second, &syncs),
        2.0 * appended,
        "also of another process"
    );
    assert_eq!(of(&second, &file), appended);
    let later = counters(&second);
    for (name, before) in counters(&first) {
        let now = later.get(&name).copied();
        // What other programs do on this machine may take the place of a row, which begins again at 0 if it
        // gets one again, and the metrics say so.
        let of_row = |of: &&str| name.starts_with(&format!("iostrata_{of}_"));
        let of = ["file", "process", "cgroup"].into_iter().find(of_row);
        let is_displaced = of.is_some_and(|of| displaced(&second, of) > 0.0);
        assert!(
            now.is_some_and(|now| now >= before) || is_displaced,
            "{name}: {before}, then {now:?}"
        );
    }
    let disk = samples(&second, "iostrata_disk_requests_total");
    assert!(
        disk.iter()
            .any(|(labels, count)| labels.contains("cause=\"commit\"") && *count > 0.0)
    );
    assert_eq!(of(&second, "observed{what=\"calls\"}"), 1.0);
}

#[test]
#[expect(clippy::float_cmp, reason = "counts are whole numbers")]
fn names_of_other_bytes_are_other_series_and_act_on_no_terminal() {
    if skips() {
        return;
    }
    let (image, programs) = (Image::new(), tempfile::tempdir().unwrap());
    let server = Server::start(&["--label-paths", "--top", "1000"]);
    let names: [(&[u8], &str, u32); 4] = [
        (b"n\xff", r"n\\xff", 3),
        (b"n\xfe", r"n\\xfe", 5),
        (br"n\xff", r"n\\x5cxff", 7),
        (
            b"\x1b]0;\x07\r\x7f\xc2\x9b\xe2\x80\xae",
            r"\\u{1b}]0;\\u{7}\\u{d}\\u{7f}\\u{9b}\\u{202e}",
            9,
        ),
    ];
    for (name, _, syncs) in names {
        let name = OsStr::from_bytes(name);
        let program = programs.path().join(name);
        install(workload("append"), &program);
        let mut append = Command::new(program);
        append
            .arg(image.path("").join(name))
            .args([&syncs.to_string(), "100", "fsync"]);
        assert!(append.status().unwrap().success());
    }
    let metrics = server.settled();
    let directory = text(&image.path(""));
    for (_, shown, syncs) in names {
        // A process has 15 bytes of its name (PR_SET_NAME(2const)).
        for who in [
            format!("file_calls_total{{file=\"{directory}/{shown}"),
            format!("process_calls_total{{process=\"{shown}"),
        ] {
            let calls = format!("iostrata_{who}\",purpose=\"sync\"}}");
            assert_eq!(value(&metrics, &calls), f64::from(syncs), "{calls}");
        }
    }
    let acts = metrics
        .chars()
        .find(|char| *char != '\n' && !is_printable(*char));
    assert_eq!(acts, None);
}

#[test]
#[expect(clippy::float_cmp, reason = "counts are whole numbers")]
fn rows_without_a_place_are_one_sample_that_says_so() {
    if skips() {
        return;
    }
    let image = Image::new();
    let append = Append::new("many");
    let server = Server::start(&["--top", "2"]);
    for name in ["a", "b", "c", "d"] {
        append.to(&text(&image.path(name)));
    }
    let metrics = server.settled();
    let files = samples(&metrics, "iostrata_file_calls_total");
    let own = files
        .iter()
        .filter(|(labels, _)| labels.contains("purpose=\"write\""));
    let own: Vec<_> = own.collect();
    assert_eq!(own.len(), 3, "two, and all others: {own:?}");
    assert!(
        own.iter()
            .any(|(labels, _)| labels.contains("file=\"(others)\",others=\"true\""))
    );
    assert_eq!(value(&metrics, "iostrata_places{of=\"file\"}"), 2.0);
    // What others have done is in the sums of the machine.
    let all = value(&metrics, "iostrata_calls_total{purpose=\"sync\"}");
    assert!(all >= f64::from(4 * APPENDS));
    // Nobody has asked for paths.
    assert!(!metrics.contains("/var/tmp"), "{metrics}");
    assert!(
        own.iter()
            .any(|(labels, _)| labels.contains("file=\"inode ")),
        "{own:?}"
    );
}

#[test]
fn both_formats_are_what_they_are_said_to_be() {
    if skips() {
        return;
    }
    let server = Server::start(&[]);
    let metrics = server.settled();
    let open = server.ask(
        b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text; version=1.0.0\r\n\r\n",
    );
    assert!(open.contains("Content-Type: application/openmetrics-text; version=1.0.0"));
    assert!(open.ends_with("# EOF\n"));
    assert!(open.contains("# TYPE iostrata_calls counter"));
    assert!(metrics.contains("# TYPE iostrata_calls_total counter"));
    let Ok(mut promtool) = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    else {
        crate::skip::skip("promtool is not installed; scripts/deps test installs it");
        return;
    };
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(metrics.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!((output.stdout, output.stderr), (Vec::new(), Vec::new()));
}

#[test]
#[expect(clippy::float_cmp, reason = "counts are whole numbers")]
fn without_privilege_proc_is_served_and_the_rest_is_said() {
    const NOBODY: u32 = 65_534;
    if skips() {
        return;
    }
    let copy = crate::unprivileged::Copy::new();
    let mut program = Command::new(copy.program());
    program.uid(NOBODY).gid(NOBODY);
    let server = Server::of(program, &[]);
    let mut writer = Command::new("sh");
    writer
        .args(["-c", "while :; do echo; done"])
        .stdout(Stdio::null());
    let mut writer = writer.uid(NOBODY).gid(NOBODY).spawn().unwrap();
    let of_shell = "iostrata_process_io_syscw_total{process=\"sh\"}";
    let metrics = server.until(|metrics| value(metrics, of_shell) > 0.0);
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert_eq!(value(&metrics, "iostrata_observed{what=\"calls\"}"), 0.0);
    assert_eq!(value(&metrics, "iostrata_observed{what=\"proc_io\"}"), 1.0);
    assert!(
        !metrics.contains("iostrata_calls_total"),
        "unknown has no sample"
    );
    assert!(!metrics.contains("iostrata_disk_requests_total"));
}
