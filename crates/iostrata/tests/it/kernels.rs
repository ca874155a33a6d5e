//! Kernels that do not let themselves be observed: less is seen, and said.

use std::process::Command;

use rustix::mount::{MountFlags, mount};
use serde_json::Value;

use crate::place::{Outcome, Place, is_root, run, with_own_mounts};
use crate::refusing::{EBPF, ENOSYS, EPERM, LOADING_PROGRAMS, refusing};

const TRACE: &str = "trace --json ../home/result.json -- /bin/sh -c :";

/// What a trace says that had to do without eBPF.
fn fell_back(place: &Place, outcome: &Outcome, why: &str) {
    outcome.says(&["observed by ptrace", "0 events lost"]);
    let result = std::fs::read_to_string(place.path("home/result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["backend"], "ptrace");
    assert!(result["syscalls"].as_array().unwrap().len() > 3, "{result}");
    let gaps = result["missing"].as_array().unwrap();
    let because = |gap: &&Value| gap["why"].as_str().unwrap().contains(why);
    assert!(gaps.iter().any(|gap| because(&gap)), "{why}: {gaps:?}");
}

/// What the commands say that cannot do without it.
fn are_refused(command: impl Fn(&str) -> Command, why: &str) {
    let outcome = run(command("trace --backend ebpf -- /bin/true")).expect(125);
    outcome.says(&["error: ", why]);
}

#[test]
fn without_type_information_ptrace_observes() {
    if !is_root("mounts need it") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        mount(
            c"none",
            c"/sys/kernel/btf",
            c"tmpfs",
            MountFlags::empty(),
            c"",
        )
        .unwrap();
        let why = "/sys/kernel/btf/vmlinux: No such file or directory";
        fell_back(&place, &run(place.iostrata(TRACE)).expect(0), why);
        are_refused(|options| place.iostrata(options), "CONFIG_DEBUG_INFO_BTF");
        let doctor = run(place.iostrata("doctor")).expect(0);
        let text = doctor
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            text.contains("→ use a kernel with CONFIG_DEBUG_INFO_BTF"),
            "{text}"
        );
    });
    place.assert_nothing_left();
}

#[test]
fn where_ebpf_is_refused_ptrace_observes() {
    if !is_root("otherwise nothing would be loaded at all") {
        return;
    }
    for (call, error, why) in [
        (EBPF, EPERM, "eBPF is not permitted to this user"),
        (EBPF, ENOSYS, "Function not implemented"),
        (LOADING_PROGRAMS, EPERM, "refused the least eBPF program"),
    ] {
        let place = Place::new();
        let command = |options: &str| {
            let mut command = refusing(call, error, &place.iostrata(options));
            command.current_dir(place.dir());
            command
        };
        fell_back(&place, &run(command(TRACE)).expect(0), why);
        are_refused(command, why);
        let doctor = run(command("doctor")).expect(0);
        let (_, cannot) = doctor.stdout.split_once("cannot see").unwrap();
        assert!(cannot.contains("system calls"), "{cannot}");
        place.assert_nothing_left();
    }
}
