//! Containers of Docker and Podman: all that the kernel permits there is used, and what is not
//! permitted is said.

use iostrata_report::words;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use iostrata_core::environment::Backend;
use iostrata_core::trace::TraceResult;

use crate::bundle::{Bundle, Engine};
use crate::contained::file;

const DD: [&str; 6] = ["--", "dd", "if=/dev/zero", "of=x", "bs=4k", "count=20"];

/// Whether eBPF is possible, and what is said where it is not.
fn expected(engine: Engine, added: &[&str]) -> Result<(), &'static str> {
    let has = |name| added.contains(&name);
    match engine {
        _ if has("SYS_ADMIN") => Ok(()),
        Engine::LaterDocker if has("BPF") && has("PERFMON") => Ok(()),
        Engine::LaterDocker if has("BPF") => Err("Operation not permitted"),
        _ if has("BPF") => Err("a seccomp filter denies bpf(2)"),
        _ => Err("eBPF is not permitted to this user"),
    }
}

const GIVEN: [&[&str]; 5] = [
    &[],
    &["BPF"],
    &["BPF", "PERFMON", "SYSLOG"],
    &["SYS_PTRACE"],
    &["SYS_ADMIN"],
];

#[track_caller]
fn assert_whole(result: &TraceResult, what: &str) {
    let x = file(result, "x");
    assert_eq!((x.writes.count, x.writes.bytes), (20, 20 * 4096), "{what}");
    assert_eq!((result.processes, result.lost_events), (1, 0), "{what}");
}

#[test]
fn the_files_are_seen_whatever_the_container_may() {
    for engine in Engine::ALL {
        for added in GIVEN {
            let what = format!("{engine:?} {added:?}");
            let bundle = Bundle::new(engine, added, false);
            let output = bundle.trace(&DD);
            assert!(output.status.success(), "{what}: {output:?}");
            let result = bundle.result();
            assert_whole(&result, &what);
            match expected(engine, added) {
                Ok(()) => assert_eq!(result.environment.backend, Backend::Ebpf, "{what}"),
                Err(why) => {
                    assert_eq!(result.environment.backend, Backend::Ptrace, "{what}");
                    let mut gaps = result.missing.iter();
                    let told = gaps.any(|gap| words::reason(&gap.why).to_string().contains(why));
                    assert!(told, "{what}: {:?}", result.missing);
                }
            }
        }
    }
}

#[test]
fn what_was_asked_for_is_refused_with_the_reason() {
    for engine in Engine::ALL {
        for added in [&[][..], &["BPF"]] {
            let bundle = Bundle::new(engine, added, false);
            let output = bundle.trace(&[&["--backend", "ebpf"], &DD[..]].concat());
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(125), "{text}");
            let why = expected(engine, added).unwrap_err();
            assert!(text.contains(why), "{engine:?} {added:?}: {text}");
            assert!(!bundle.path("data/x").exists(), "it is not started");
        }
    }
}

/// `kcmp(2)` tells whether two descriptors share a position. Where it may not be asked, a log with
/// such a question is not called complete.
#[test]
fn a_log_says_what_the_container_hides() {
    let script = "exec 3> f; (echo a >&3); exec 4> f; echo b >&4; echo c >&3";
    for (added, is_complete) in [(&[][..], false), (&["SYS_PTRACE"], true)] {
        let bundle = Bundle::new(Engine::LaterDocker, added, false);
        let output = bundle.trace(&["--record", "log", "--", "sh", "-c", script]);
        assert!(output.status.success(), "{output:?}");
        let because = bundle.result().recording.unwrap().incomplete_because;
        assert_eq!(because.is_empty(), is_complete, "{added:?}: {because:?}");
    }
}

/// Killed when the test ends.
struct Endless(Child);

impl Drop for Endless {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn endless(dir: &Path) -> Endless {
    let script = "while :; do echo x >> log; done";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(dir);
    Endless(shell.stdin(Stdio::null()).spawn().unwrap())
}

/// A container that sees all processes (`--pid=host`) observes one outside, if it may trace it.
#[test]
fn a_process_outside_is_observed_with_the_right_to_trace_it() {
    for (added, backend) in [
        (&["SYS_PTRACE"][..], Some(Backend::Ptrace)),
        (&["BPF", "PERFMON", "SYS_PTRACE"], Some(Backend::Ebpf)),
        (&["BPF", "PERFMON"], None),
    ] {
        let bundle = Bundle::new(Engine::LaterDocker, added, true);
        let outside = endless(&bundle.path("data"));
        let pid = outside.0.id().to_string();
        let output = bundle.trace(&["--for", "500ms", "-p", &pid]);
        let text = String::from_utf8_lossy(&output.stderr);
        let Some(backend) = backend else {
            assert_eq!(output.status.code(), Some(125), "{added:?}: {text}");
            assert!(text.contains("CAP_SYS_PTRACE"), "{text}");
            continue;
        };
        assert!(output.status.success(), "{added:?}: {text}");
        let result = bundle.result();
        assert_eq!(result.environment.backend, backend);
        assert!(file(&result, "log").writes.count > 0, "{added:?}");
    }
}
