//! Checkers that misbehave where a recovered tree is broken, and a disk that is full: each is bounded, and reported.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use serde_json::Value;

use super::{Case, NEW, OLD, assert_has};
use crate::place::{is_root, run};

#[test]
fn a_checker_that_hangs_or_deletes_everything_is_bounded() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let file = case.dir.join("f");
    for (timeout, does, says) in [
        (
            "0.5",
            "sleep 1000".to_owned(),
            "the checker took more than 0.5 s",
        ),
        (
            "60",
            format!(
                "rm -rf {} 2>/dev/null; echo gone; exit 1",
                case.dir.display()
            ),
            "gone",
        ),
    ] {
        let check = format!("[ -s f ] || {{ {does}; }}");
        let options = ["--check-timeout", timeout, "--check", &check];
        let result = case.crash(("ext4", "fsync"), &options, "echo new > f", 1);
        assert_has(&result, "prefix", says, "");
        assert_eq!(fs::read_to_string(&file).unwrap(), OLD);
    }
    case.place.assert_nothing_left();
}

/// One that stays is asked of recovered trees, and not believed what it remembers.
#[test]
fn a_checker_that_stays_is_bounded_too() {
    if !is_root("block mode") {
        return;
    }
    let server = |says: &str| {
        format!(
            "tab=$(printf '\\t'); while IFS=$tab read -r copy printed; do \
             if [ -s \"$copy/f\" ]; then echo ok; else {says}; fi; done"
        )
    };
    for (does, says) in [
        ("echo fail \"$copy/f is empty\"", "DIR/f is empty"),
        ("kill -SEGV $$", "the checker was ended by signal 11"),
        ("sleep 1000", "the checker took more than 0.5 s"),
    ] {
        let case = Case::new("f", OLD);
        let check = server(does);
        let options = ["--check-timeout", "0.5", "--check-server", &check];
        let result = case.crash(("ext4", "fsync"), &options, "echo new > f", 1);
        assert_has(&result, "prefix", says, "");
        assert_eq!(result["check_keeps_running"], true);
        case.place.assert_nothing_left();
    }
    let case = Case::new("f", OLD);
    let counts = server("n=$((n + 1)); echo fail $n");
    let check = [
        "--fs",
        "ext4",
        "--pressure",
        "fsync",
        "--check-server",
        &counts,
    ];
    let outcome = run(case.command(&check, "echo new > f")).expect(3);
    outcome.says(&[
        "a state that ext4 recovered",
        "came to \"fail 1\", and to \"fail 2\"",
    ]);
    case.place.assert_nothing_left();
}

/// Runs a checker that does something when the file is empty.
fn misbehaving(case: &Case, what: &str) -> Value {
    let check = format!("[ -s f ] || {{ {what}; }}");
    case.crash(("ext4", "fsync"), &["--check", &check], "echo new > f", 1)
}

#[test]
fn one_that_crashes_or_leaves_processes() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let crashes = misbehaving(&case, "kill -SEGV $$");
    assert_has(&crashes, "prefix", "the checker was ended by signal 11", "");
    let forks = "for one in $(seq 100); do setsid sleep 1000 & done; echo forked; exit 1";
    assert_has(&misbehaving(&case, forks), "prefix", "forked", "");
    case.place.assert_nothing_left();
}

#[test]
fn one_that_fills_its_disk() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let fills = "head -c 900000000 /dev/zero > large; echo never; exit 1";
    let result = misbehaving(&case, fills);
    let says = "the checker filled the 256 MiB that it has";
    assert_has(&result, "prefix", says, "");
    case.place.assert_nothing_left();
}

#[test]
fn one_that_gains_privileges_where_it_may() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let mut install = Command::new("install");
    install.args(["-m", "4755", "/usr/bin/id"]);
    assert!(install.arg(case.dir.join("id")).status().unwrap().success());
    let check = "[ -s f ] || { ./id -u; exit 1; }";
    let other = ["--check-user", "1000:1000", "--check", check];
    for (options, says) in [(&["--check-suid"][..], "0"), (&[], "1000")] {
        let options = [options, &other].concat();
        let result = case.crash(("ext4", "fsync"), &options, "echo new > f", 1);
        assert_has(&result, "prefix", says, "");
    }
    case.place.assert_nothing_left();
}

#[test]
fn one_that_calls_the_network() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let calls = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo called || echo refused; exit 1"
    );
    assert_has(&misbehaving(&case, &calls), "prefix", "refused", "");
}

/// Recovered trees are copied for a checker: where there is no room for one, no verdict is given.
#[test]
fn a_disk_that_is_full_while_trees_are_looked_at() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    fs::write(case.dir.join("large"), vec![b'x'; 12 << 20]).unwrap();
    let options = ["--fs", "ext4", "--pressure", "none", "--check", "[ -s f ]"];
    let inner = case.command(&options, &format!("{NEW} > f"));
    let small = case.place.path("small");
    fs::create_dir(&small).unwrap();
    let mut command = Command::new("unshare");
    let mounts = "mount -t tmpfs -o size=8m none \"$TMPDIR\" && exec \"$@\"";
    command.args(["--mount", "--", "/bin/sh", "-c", mounts, "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.current_dir(inner.get_current_dir().unwrap());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("TMPDIR", &small);
    let outcome = run(command).expect(3);
    let said = &outcome.stderr;
    assert!(said.contains("No space left on device"), "{said}");
    case.place.assert_nothing_left();
}
