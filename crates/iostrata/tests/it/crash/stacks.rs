//! Where in the program the operations of a finding were called.

use std::fs;
use std::process::Command;

use rustix::process::geteuid;
use serde_json::Value;

use super::Case;
use crate::place::{Outcome, run};

const SOURCE: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) static int fill(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    int failed = write(fd, "0123456789", 10) != 10;
    return failed + close(fd);
}
__attribute__((noinline)) static int put_in_place(const char *from, const char *to)
{
    return rename(from, to) + 0 * getpid();
}
int main(void)
{
    int failed = fill("t");
    return failed + put_in_place("t", "f") + (puts("saved") < 0);
}
"#;

fn compiled(case: &Case) -> String {
    let (source, program) = (case.place.path("save.c"), case.place.path("save"));
    fs::write(&source, SOURCE).unwrap();
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-o"]).arg(&program).arg(&source);
    assert!(compile.status().unwrap().success());
    program.to_str().unwrap().to_owned()
}

fn names_both(result: &Value, shown: &Outcome) {
    let findings = result["findings"].as_array().unwrap();
    let lost = findings
        .iter()
        .find(|finding| finding["kind"] == "ordering")
        .unwrap();
    let functions = |operation: &Value| -> Vec<String> {
        let stack = operation["stack"].as_array().unwrap().iter();
        stack
            .map(|function| function.as_str().unwrap().to_owned())
            .collect()
    };
    let (culprit, before) = (functions(&lost["culprit"]), functions(&lost["before"]));
    let has = |stack: &[String], name: &str| stack.iter().any(|function| function == name);
    assert!(
        has(&culprit, "fill (save)") && has(&culprit, "main (save)"),
        "{culprit:?}"
    );
    assert!(has(&before, "put_in_place (save)"), "{before:?}");
    let told = "The rename of t to f was called by put_in_place (save) ← main (save)";
    assert!(shown.stdout.contains(told), "{}", shown.stdout);
}

/// By eBPF and by ptrace.
#[test]
fn the_functions_that_called_are_named() {
    let case = Case::new("f", "old");
    let program = compiled(&case);
    let saved = case.place.dir().join("crash.json");
    let read = || serde_json::from_str(&fs::read_to_string(&saved).unwrap()).unwrap();
    let mut command = case.bare();
    command.arg(&case.dir).arg("--json").arg(&saved);
    let shown = run({
        command.args(["--", &program]);
        command
    })
    .expect(1);
    names_both(&read(), &shown);
    if geteuid().is_root() {
        fs::remove_file(&saved).unwrap();
        let mut command = case.place.iostrata_of_nobody("crash --dir");
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.arg(&case.dir).arg("--json").arg(&saved);
        command.args(["--", &program]);
        let shown = run(command).expect(1);
        names_both(&read(), &shown);
    }
    fs::remove_file(&saved).unwrap();
    case.place.assert_nothing_left();
}

/// A kept recording has them too.
#[test]
fn a_kept_recording_names_them() {
    let case = Case::new("f", "old");
    let program = compiled(&case);
    let kept = case.place.path("kept");
    let mut command = case.bare();
    command.arg(&case.dir).arg("--record").arg(&kept);
    command.args(["--", &program]);
    let first = run(command).expect(1);
    let mut command = case.place.iostrata("crash");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.arg("--from").arg(&kept);
    let again = run(command).expect(1);
    let told = "The rename of t to f was called by put_in_place (save) ← main (save)";
    for shown in [first, again] {
        assert!(shown.stdout.contains(told), "{}", shown.stdout);
    }
}
