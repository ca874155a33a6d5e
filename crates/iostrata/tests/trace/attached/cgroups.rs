//! By cgroup, and what stands for one.

use iostrata_report::words;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use iostrata_core::trace::{Asked, AskedBy, Joined, MatchedBy, TraceResult};

use super::{Group, Observing, Waiting, dd, is_not_seen, matched, wrote};
use crate::traced::{file, place, workload};
use crate::wait::until;

#[test]
fn a_cgroup_is_followed_with_all_below_it() {
    let Some(group) = Group::new("iostrata-test-NUMBER") else {
        return;
    };
    let nested = group.below("nested");
    let beside = Group::new("iostrata-test-NUMBER").unwrap();
    let dir = place();
    let shell = |script: &str| Waiting::shell(dir.path(), script);
    let (inside, below, moved) = (
        shell(&format!("{}; true", dd("inside", 11))),
        shell(&dd("below", 12)),
        shell(&format!("{}; true", dd("moved", 13))),
    );
    let numbers = [&inside, &below, &moved].map(Waiting::pid);
    group.take(inside.pid());
    nested.take(below.pid());
    let namespace = shell(&format!(
        "exec unshare -p -f sh -c '{}; true'",
        dd("namespace", 14)
    ));
    let (aside, outside) = (shell(&dd("aside", 15)), shell(&dd("outside", 16)));
    beside.take(aside.pid());
    let observing = Observing::begin(&["--backend", "ebpf", "--cgroup", group.path()]);
    nested.take(moved.pid());
    group.take(namespace.pid());
    for waits in [inside, below, moved, namespace, aside, outside] {
        waits.go(b"\n");
    }
    let mut into = Command::new(workload("into"));
    into.args([group.path(), "sh", "-c", &dd("created", 17)]);
    assert!(into.current_dir(dir.path()).status().unwrap().success());
    let result = observing.interrupted();
    let names = ["inside", "below", "moved", "namespace"];
    for (name, count) in names.into_iter().zip(11..).chain([("created", 17)]) {
        wrote(&result, name, count);
    }
    is_not_seen(&result, "aside");
    is_not_seen(&result, "outside");
    let attached = result.attached.as_ref().unwrap();
    let asked = Asked {
        by: AskedBy::Cgroup,
        value: group.path().to_owned(),
        cgroup: Some(group.inner()),
    };
    assert_eq!(attached.asked, [asked]);
    let found = matched(&result);
    let how = |process: u32| {
        let found = found.iter().find(|one| one.0 == process);
        found.map(|(_, _, by, joined)| (by.clone(), *joined))
    };
    let by_group = |joined| Some((vec![MatchedBy::Cgroup], joined));
    assert_eq!(how(numbers[0]), by_group(Joined::Start));
    assert_eq!(how(numbers[1]), by_group(Joined::Start));
    assert_eq!(how(numbers[2]), by_group(Joined::Move));
    let joined: Vec<Joined> = found.iter().map(|one| one.3).collect();
    let expected = [
        Joined::Start,
        Joined::Start,
        Joined::Move,
        Joined::Move,
        Joined::Fork,
    ];
    assert_eq!(joined, expected, "{found:?}");
}

#[test]
fn the_other_threads_of_a_moved_process_are_found() {
    let Some(group) = Group::new("iostrata-test-NUMBER") else {
        return;
    };
    let dir = place();
    let mut command = Command::new(workload("waiters"));
    command.arg(dir.path()).args(["3", "40"]);
    let waiters = Waiting::of(command, dir.path());
    let threads = PathBuf::from(format!("/proc/{}/task", waiters.pid()));
    until(|| match fs::read_dir(&threads).unwrap().count() {
        4 => Ok(()),
        other => Err(other),
    });
    let observing = Observing::begin(&["--backend", "ebpf", "--cgroup", group.path()]);
    group.take(waiters.pid());
    // They are looked for a hundred times a second.
    std::thread::sleep(Duration::from_secs(2));
    waiters.go(b"abc");
    let result = observing.interrupted();
    for name in ["w0", "w1", "w2"] {
        let writes = &file(&result, name).writes;
        assert_eq!((writes.count, writes.bytes), (40, 640), "{name}");
    }
    assert_eq!((result.processes, result.threads), (1, 4));
    let what = "3 threads' calls right after their process was moved into the cgroup";
    let mut missing = result.missing.iter();
    assert!(
        missing.any(|gap| words::missing(&gap.what).to_string() == what),
        "{:?}",
        result.missing
    );
}

#[test]
fn a_cgroup_that_is_removed_ends_the_observation() {
    let Some(group) = Group::new("iostrata-test-NUMBER") else {
        return;
    };
    let dir = place();
    let observing = Observing::begin(&["--backend", "ebpf", "--cgroup", &group.inner()]);
    let shell = Waiting::shell(dir.path(), &dd("a", 31));
    group.take(shell.pid());
    shell.go(b"\n");
    let inner = group.inner();
    drop(group);
    let said = observing.dir.path().join("said");
    let text = until(|| {
        let text = fs::read_to_string(&said).unwrap();
        let has_ended = text.contains("the observation has ended");
        if has_ended { Ok(text) } else { Err(text) }
    });
    let words = format!("the observation has ended: cgroup {inner} was removed");
    assert!(text.contains(&words), "{text}");
    wrote(&observing.ended(), "a", 31);
}

#[test]
fn a_container_and_a_unit_are_cgroups() {
    const ID: &str = "5e1f00000000000000000000000000000000000000000000000000000000";
    let id = format!("{ID}{:04x}", std::process::id() & 0xffff);
    let options = [
        (
            "--container",
            format!("docker-{id}.scope"),
            id[..4].to_owned() + &id[4..60],
        ),
        ("--container", format!("libpod-{id}.scope"), id.clone()),
        (
            "--unit",
            "iostrata-NUMBER.service".to_owned(),
            String::new(),
        ),
    ];
    for (option, name, value) in options {
        let Some(group) = Group::new(&name) else {
            return;
        };
        let unit = group.inner()[1..].trim_end_matches(".service").to_owned();
        let value = if value.is_empty() { unit } else { value };
        let dir = place();
        let observing = Observing::begin(&["--backend", "ebpf", option, &value]);
        let shell = Waiting::shell(dir.path(), &dd("a", 19));
        group.take(shell.pid());
        shell.go(b"\n");
        let result = observing.interrupted();
        wrote(&result, "a", 19);
        let asked = &result.attached.as_ref().unwrap().asked[0];
        assert_eq!(asked.cgroup.as_deref(), Some(group.inner().as_str()));
        assert_eq!(asked.value, value);
    }
}

/// What it does is never among what it shows.
#[test]
fn iostrata_does_not_observe_itself() {
    let Some(group) = Group::new("iostrata-test-NUMBER") else {
        return;
    };
    let procs = group.0.join("cgroup.procs");
    for (script, option) in [
        (
            format!("echo $$ > {}; \"$0\" \"$@\"", procs.display()),
            ["--cgroup", group.path()],
        ),
        ("\"$0\" \"$@\" -p $$".to_owned(), ["--backend", "ebpf"]),
    ] {
        let dir = place();
        let result = dir.path().join("result.json");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{script}; {}", dd("after", 1))]);
        shell.arg(env!("CARGO_BIN_EXE_iostrata"));
        shell.args([
            "trace",
            "--no-measure",
            "--no-save",
            "--for",
            "300ms",
            "--json",
        ]);
        let output = shell
            .arg(&result)
            .args(option)
            .current_dir(dir.path())
            .output();
        assert!(output.unwrap().status.success());
        let result: TraceResult =
            serde_json::from_str(&fs::read_to_string(result).unwrap()).unwrap();
        let names: Vec<&str> = result.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["sh"]);
        assert_eq!((result.processes, result.threads), (1, 1));
    }
}

/// By ptrace those of the beginning are observed, and what they start.
#[test]
fn ptrace_says_whom_it_cannot_follow() {
    let Some(group) = Group::new("iostrata-test-NUMBER") else {
        return;
    };
    let dir = place();
    let (inside, moved) = (
        Waiting::shell(dir.path(), &format!("{}; true", dd("inside", 11))),
        Waiting::shell(dir.path(), &dd("moved", 12)),
    );
    group.take(inside.pid());
    let observing = Observing::begin(&["--backend", "ptrace", "--cgroup", group.path()]);
    group.take(moved.pid());
    moved.go(b"\n");
    inside.go(b"\n");
    let result = observing.ended();
    wrote(&result, "inside", 11);
    is_not_seen(&result, "moved");
    let mut missing = result.missing.iter();
    let told =
        missing.any(|gap| words::missing(&gap.what).to_string() == "processes that match later");
    assert!(told, "{:?}", result.missing);
}
