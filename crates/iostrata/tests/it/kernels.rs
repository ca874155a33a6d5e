//! Kernels that do not let themselves be observed: less is seen, and said.

use std::process::Command;

use rustix::mount::{MountFlags, mount};
use serde_json::Value;

use crate::place::{Outcome, Place, is_root, run, with_own_mounts};
use crate::refusing::{
    CACHESTAT, CLOSE_RANGE, EBPF, ENOSYS, EPERM, LOADING_PROGRAMS, PTRACE, refusing,
};

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
        (EBPF, EPERM, "a seccomp filter denies bpf(2)"),
        (EBPF, ENOSYS, "a seccomp filter denies bpf(2)"),
        (
            LOADING_PROGRAMS,
            EPERM,
            "rejected even a minimal eBPF program",
        ),
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

/// What doctor says of the given kind, in one line of words.
fn doctor(command: Command) -> (String, String) {
    let text = run(command).expect(0).stdout;
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    let (can, cannot) = words.split_once("cannot see").unwrap();
    (can.to_owned(), cannot.to_owned())
}

#[test]
fn who_traces_iostrata_already_is_said() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_iostrata");
    for backend in ["--backend ptrace", "--backend ptrace --every-call"] {
        let inner = format!("trace --no-save {backend} -- /usr/bin/touch made");
        let outer = format!("trace --no-save --backend ptrace -- {program} {inner}");
        let mut command = place.iostrata(&outer);
        let outcome = run({
            command.current_dir(place.dir());
            command
        });
        let outcome = outcome.expect(125);
        outcome.says(&[
            "traces iostrata and what it starts",
            "or use --backend ebpf",
        ]);
        assert!(
            !outcome.stderr.contains("SystemCallFilter"),
            "{}",
            outcome.stderr
        );
        assert!(!place.dir().join("made").exists(), "it is not started");
    }
}

#[test]
fn where_everything_is_refused_it_is_said_and_nothing_is_claimed() {
    for error in [EPERM, ENOSYS] {
        let place = Place::new();
        let command = |options: &str| {
            let mut command = place.iostrata(options);
            for call in [EBPF, PTRACE, CACHESTAT] {
                command = refusing(call, error, &command);
            }
            command.current_dir(place.dir());
            command
        };
        let outcome = run(command("trace -- /bin/sh -c 'echo > made'")).expect(125);
        outcome.says(&[
            "cannot trace a program",
            "where ptrace and seccomp are permitted",
        ]);
        assert!(!place.dir().join("made").exists(), "it is not started");
        let (can, cannot) = doctor(command("doctor"));
        assert!(!can.contains("can see"), "{can}");
        for what in ["system calls", "page cache", "cachestat", "ptrace"] {
            assert!(cannot.contains(what), "{what}: {cannot}");
        }
        assert!(cannot.contains("eBPF tracing programs"), "{cannot}");
        assert!(cannot.contains("allows ptrace"), "{cannot}");
        // Times need nobody's leave.
        let lab = "lab --quick --fs host --mode flush --size 1 --count 20";
        run(command(lab)).expect(0).says(&["no kernel evidence"]);
        place.assert_nothing_left();
    }
}

#[test]
fn a_locked_down_kernel_is_named() {
    if !is_root("mounts need it") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        let securityfs = c"/sys/kernel/security";
        mount(c"none", securityfs, c"tmpfs", MountFlags::empty(), c"").unwrap();
        let modes = "none integrity [confidentiality]\n";
        std::fs::write("/sys/kernel/security/lockdown", modes).unwrap();
        let command = |options: &str| {
            let mut command = refusing(LOADING_PROGRAMS, EPERM, &place.iostrata(options));
            command.current_dir(place.dir());
            command
        };
        let (_, cannot) = doctor(command("doctor"));
        let said = "lockdown is confidentiality → boot with lockdown=integrity";
        assert!(cannot.contains(said), "{cannot}");
        let why = "rejected even a minimal eBPF program";
        fell_back(&place, &run(command(TRACE)).expect(0), why);
    });
    place.assert_nothing_left();
}

/// A child that kept the other end of its own pipe would wait for ever.
#[test]
fn a_kernel_without_close_range_ends_as_any_other() {
    for backend in ["ptrace", "ebpf"] {
        if backend == "ebpf" && !is_root("eBPF") {
            continue;
        }
        let place = Place::new();
        let trace = format!("trace --backend {backend} -- /bin/sh -c :");
        let mut command = refusing(CLOSE_RANGE, ENOSYS, &place.iostrata(&trace));
        command.current_dir(place.dir());
        run(command).expect(0).says(&["0 events lost"]);
        place.assert_nothing_left();
    }
}

/// What runs the program so that its capabilities do not reach eBPF, and what would help there.
const CONTAINERS: [(&str, &str); 2] = [
    (
        "setpriv --bounding-set=-bpf,-perfmon,-sys_admin",
        "start the container with CAP_BPF, CAP_PERFMON and CAP_SYSLOG (--cap-add)",
    ),
    (
        "unshare --user --map-root-user",
        "run as root outside this user namespace",
    ),
];

#[test]
fn a_container_without_the_capabilities_is_told_what_helps() {
    if !is_root("to give up capabilities") {
        return;
    }
    for (container, help) in CONTAINERS {
        let place = Place::new();
        let within = |options: &str| {
            let program = place.iostrata(options);
            let mut words = container.split(' ');
            let mut command = Command::new(words.next().unwrap());
            command.args(words).arg(program.get_program());
            command.args(program.get_args()).current_dir(place.dir());
            command
        };
        let (_, cannot) = doctor(within("doctor"));
        assert!(cannot.contains("eBPF tracing programs"), "{cannot}");
        assert!(cannot.contains(&format!("→ {help}")), "{cannot}");
        // What has no effect here is not advised.
        for vain in ["→ run as root, or give", "setcap cap_bpf"] {
            assert!(!cannot.contains(vain), "{cannot}");
        }
        fell_back(&place, &run(within(TRACE)).expect(0), help);
        place.assert_nothing_left();
    }
}
