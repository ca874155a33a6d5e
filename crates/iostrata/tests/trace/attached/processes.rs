//! By number and by name.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_core::trace::{Joined, MatchedBy};

use super::{Observing, Waiting, blocks_of_zeros, dd, is_not_seen, matched, wrote};
use crate::install::install;
use crate::traced::place;
use crate::wait::until;

#[test]
fn several_processes_have_one_result() {
    for backend in ["ebpf", "ptrace"] {
        let dir = place();
        let shells = [("a", 11), ("b", 12), ("c", 13), ("other", 14)];
        let shells = shells.map(|(name, count)| {
            let script = format!("{}; true", dd(name, count));
            Waiting::shell(dir.path(), &script)
        });
        let pids = shells.each_ref().map(Waiting::pid);
        let (two, one) = (format!("{},{}", pids[0], pids[1]), pids[2].to_string());
        let observing = Observing::begin(&["--backend", backend, "-p", &two, "-p", &one]);
        for shell in shells {
            shell.go(b"\n");
        }
        let result = observing.ended();
        for (name, count) in [("a", 11), ("b", 12), ("c", 13)] {
            wrote(&result, name, count);
        }
        is_not_seen(&result, "other");
        // Each shell and its dd.
        assert_eq!(result.processes, 6, "{backend}");
        assert_eq!((result.adopted, result.exit_code), (None, None));
        let mut roots: Vec<u32> = pids[..3].to_vec();
        roots.sort_unstable();
        let found: Vec<u32> = matched(&result).iter().map(|one| one.0).collect();
        assert_eq!(found, roots, "{backend}");
        let of_roots = |task: &&iostrata_core::trace::TaskRow| roots.contains(&task.parent);
        assert_eq!(result.tasks.iter().filter(of_roots).count(), 3, "{backend}");
        let asked = &result.attached.as_ref().unwrap().asked;
        let values: Vec<&str> = asked.iter().map(|asked| asked.value.as_str()).collect();
        assert_eq!(
            values,
            pids[..3].iter().map(u32::to_string).collect::<Vec<_>>()
        );
    }
}

#[test]
fn one_process_is_as_before() {
    let dir = place();
    let shell = Waiting::shell(dir.path(), &format!("exec {}", dd("a", 7)));
    let pid = shell.pid();
    let observing = Observing::begin(&["--backend", "ebpf", "-p", &pid.to_string()]);
    shell.go(b"\n");
    let result = observing.ended();
    wrote(&result, "a", 7);
    assert_eq!(result.adopted, Some(pid));
    let by = vec![MatchedBy::Pid];
    assert_eq!(matched(&result), [(pid, "sh", by, Joined::Start)]);
}

/// A copy of `dd` under another name.
fn copy_of_dd(dir: &Path, name: &str) -> PathBuf {
    let copy = dir.join(name);
    install("/bin/dd", &copy);
    copy
}

#[test]
fn a_name_is_that_of_the_thread_the_executable_or_the_argument() {
    use MatchedBy::{Argument, Comm, Executable};
    let dir = place();
    let name = format!("iod{}", std::process::id());
    let program = copy_of_dd(dir.path(), &name);
    let blocks = |program: &Path, file: &str| {
        let mut command = Command::new(program);
        command.args([
            &format!("of={file}"),
            "bs=4096",
            "iflag=fullblock",
            "status=none",
        ]);
        command
    };
    let before = Waiting::of(blocks(&program, "before"), dir.path());
    // Until it is that program, and not this one's copy of it.
    let exe = PathBuf::from(format!("/proc/{}/exe", before.pid()));
    until(|| match fs::read_link(&exe) {
        Ok(path) if path == program => Ok(()),
        other => Err(other),
    });
    let observing = Observing::begin(&["--backend", "ebpf", "--name", &name]);
    let later = Waiting::of(blocks(&program, "later"), dir.path());
    let mut called = blocks(Path::new("/bin/dd"), "called");
    called.arg0(format!("/nowhere/{name}"));
    let called = Waiting::of(called, dir.path());
    // The interpreter's name is another: only the thread is called so.
    let scripts = dir.path().join("scripts");
    fs::create_dir(&scripts).unwrap();
    let script = scripts.join(&name);
    let text = dir.path().join("text");
    let reads = format!("#!/bin/sh\nread go; {}; true\n", dd("script", 23));
    fs::write(&text, reads).unwrap();
    install(text, &script);
    let script = Waiting::of(Command::new(&script), dir.path());
    let other = Waiting::of(blocks(Path::new("/bin/dd"), "other"), dir.path());
    let numbers = [&before, &later, &called, &script].map(Waiting::pid);
    before.go(&blocks_of_zeros(11));
    later.go(&blocks_of_zeros(12));
    called.go(&blocks_of_zeros(13));
    script.go(b"\n");
    other.go(&blocks_of_zeros(14));
    let result = observing.interrupted();
    for (name, count) in [
        ("before", 11),
        ("later", 12),
        ("called", 13),
        ("script", 23),
    ] {
        wrote(&result, name, count);
    }
    is_not_seen(&result, "other");
    let all = vec![Comm, Executable, Argument];
    let expected = [
        (numbers[0], name.as_str(), all.clone(), Joined::Start),
        (numbers[1], name.as_str(), all, Joined::Exec),
        (numbers[2], "dd", vec![Argument], Joined::Exec),
        (numbers[3], name.as_str(), vec![Comm], Joined::Exec),
    ];
    assert_eq!(matched(&result), expected);
    // Four programs, and the script's dd.
    assert_eq!(result.processes, 5);
}

#[test]
fn a_long_name_is_told_from_one_that_begins_like_it() {
    let dir = place();
    let names = ["a-long-name-of-dd-1", "a-long-name-of-dd-2"];
    let [one, other] = names.map(|name| copy_of_dd(dir.path(), name));
    let waits = Waiting::shell(dir.path(), "true");
    // One process must exist at the beginning.
    let pid = waits.pid().to_string();
    let observing = Observing::begin(&["--backend", "ebpf", "-p", &pid, "--name", names[0]]);
    for (program, file, count) in [(one, "one", 21), (other, "other", 22)] {
        let script = dd(file, count);
        let words = script.strip_prefix("dd ").unwrap().split(' ');
        let mut command = Command::new(program);
        assert!(
            command
                .args(words)
                .current_dir(dir.path())
                .status()
                .unwrap()
                .success()
        );
    }
    waits.go(b"\n");
    let result = observing.interrupted();
    wrote(&result, "one", 21);
    is_not_seen(&result, "other");
}
