//! Programs that run already.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use iostrata_core::trace::TraceResult;

use crate::traced::{file, place};
use crate::wait::until;

/// Killed when the test ends.
pub(crate) struct Endless(pub(crate) Child);

impl Drop for Endless {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn adopt(arguments: &[&str]) -> std::process::Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    program
        .args(["trace", "--json", "-"])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_process_is_observed_for_a_time_and_goes_on() {
    let dir = place();
    // The shell waits for a child that writes: both were there before.
    let script = "sh -c 'while :; do echo x >> log; sleep 0.01; done'; true";
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script])
        .current_dir(dir.path())
        .stdin(Stdio::null());
    let mut endless = Endless(shell.spawn().unwrap());
    let log = dir.path().join("log");
    until(|| log.metadata());
    let pid = endless.0.id().to_string();
    let output = adopt(&["-p", &pid, "--for", "500ms"]);
    assert!(output.status.success(), "{output:?}");
    let result: TraceResult = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result.adopted, Some(endless.0.id()));
    assert_eq!((result.exit_code, result.signal), (None, None));
    assert_eq!(result.command[0], "sh");
    assert!(file(&result, "log").writes.count >= 2);
    assert!(endless.0.try_wait().unwrap().is_none(), "it goes on");
    // Its children are in its directory until they are ended.
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    for child in children.split_whitespace() {
        let child = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    }
}

/// Its length before the first write that is observed, whether no name leads to it, and whether others cut it, are known:
/// what is only appended is not called overwritten.
#[test]
fn a_daemon_that_appends_overwrites_nothing() {
    let appends = "exec 3>>log";
    let at_its_end = "exec 3<>log; cat <&3 >/dev/null";
    // Without a position, and without O_APPEND.
    let by_its_length = "exec python3 -c '
import os, time
log = os.open(\"log\", os.O_RDWR)
print(flush=True)
while True:
    os.pwrite(log, b\"line\", os.fstat(log).st_size)
    time.sleep(.01)'";
    let cases = [
        (appends, false, false),
        (at_its_end, false, false),
        (by_its_length, false, false),
        (by_its_length, false, true),
        (appends, true, false),
        (at_its_end, true, false),
        (appends, false, true),
    ];
    // The first needs root.
    let needs_root = usize::from(!rustix::process::geteuid().is_root());
    let backends = &["ebpf", "ptrace"][needs_root..];
    for (backend, (begin, is_removed, is_cut)) in
        (backends.iter()).flat_map(|backend| cases.map(|case| (*backend, case)))
    {
        let dir = place();
        let log = dir.path().join("log");
        std::fs::write(&log, vec![1; 100_000]).unwrap();
        let remove = if is_removed { "rm log" } else { ":" };
        let goes_on = "echo; while :; do echo line >&3; sleep 0.01; done";
        let script = format!("{begin}; {remove}; {goes_on}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(dir.path());
        shell.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut endless = Endless(shell.spawn().unwrap());
        let mut begun = [0];
        endless
            .0
            .stdout
            .take()
            .unwrap()
            .read_exact(&mut begun)
            .unwrap();
        let pid = endless.0.id().to_string();
        let observe = |time: &'static str| {
            let pid = pid.clone();
            let observing = std::thread::spawn(move || {
                adopt(&["--backend", backend, "-p", &pid, "--for", time])
            });
            while !observing.is_finished() {
                if is_cut {
                    std::fs::File::create(&log).unwrap();
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let output = observing.join().unwrap();
            assert!(output.status.success(), "{output:?}");
            serde_json::from_slice::<TraceResult>(&output.stdout).unwrap()
        };
        // On a slow machine the daemon may not get to a write in the first.
        let mut results = ["500ms", "10s"].into_iter().map(observe);
        let wrote = |result: &TraceResult| result.bytes.written_bytes > 0;
        let result = results.find(wrote).unwrap();
        let said = format!("{backend}: {script}, cut: {is_cut}");
        let row = file(&result, "log");
        let history = row.history.as_ref().unwrap();
        assert!(row.size_before_bytes >= 100_000 || is_cut, "{said}");
        assert_eq!(history.appends, history.writes, "{said}");
        assert_eq!(history.overwritten_bytes, 0, "{said}");
        assert_eq!(
            (row.deleted, history.unlinked),
            (is_removed, is_removed),
            "{said}"
        );
        let rules: Vec<&str> = result
            .findings
            .iter()
            .map(|finding| &*finding.rule)
            .collect();
        assert!(
            !rules.contains(&"overwritten-in-place"),
            "{said}: {rules:?}"
        );
    }
}

#[test]
fn processes_that_cannot_be_adopted() {
    let output = adopt(&["-p", "4194305"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("no process 4194305"), "{text}");
}
