//! Who may attach to whom, by name.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::place::{Place, is_root, run, until};
use crate::undisturbed::undisturbed;

const NOBODY: u32 = 65534;

/// Killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Running {
    /// `dd` under this name, which waits for its blocks.
    fn dd(program: &Path, output: &Path, user: Option<u32>) -> Self {
        let mut command = Command::new(program);
        command.arg(format!("of={}", output.display()));
        command.args(["bs=4096", "iflag=fullblock", "status=none"]);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        Self(command.stdin(Stdio::piped()).spawn().unwrap())
    }

    fn go(mut self, blocks: usize) {
        let mut stdin = self.0.stdin.take().unwrap();
        stdin.write_all(&vec![0; blocks * 4096]).unwrap();
        drop(stdin);
        assert!(self.0.wait().unwrap().success());
    }
}

fn writes(result: &Value, name: &str) -> Option<u64> {
    let mut files = result["files"].as_array().unwrap().iter();
    let found = files.find(|file| file["path"].as_str().unwrap().ends_with(name));
    found.map(|file| file["writes"]["count"].as_u64().unwrap())
}

/// With a program that has its own privileges from its file, too.
#[test]
fn a_user_observes_its_own_processes_of_a_name() {
    if !is_root("to become another user") {
        return;
    }
    undisturbed(|| {
        for (grant, backend) in [(None, "ptrace"), (Some("cap_bpf,cap_perfmon+ep"), "ebpf")] {
            let place = Place::new();
            let name = format!("iou{}", std::process::id());
            let program = place.path(&name);
            let mut install = Command::new("install");
            install.args(["-m", "755", "/bin/dd"]).arg(&program);
            assert!(install.status().unwrap().success());
            let trace = format!(
                "trace --no-measure --no-save --backend {backend} --json ../home/result.json --name {name}"
            );
            let mut trace = place.iostrata_of_nobody(&trace);
            if let Some(capabilities) = grant {
                let mut setcap = Command::new("setcap");
                setcap.arg(capabilities).arg(place.path("iostrata"));
                assert!(setcap.status().unwrap().success());
            }
            let dd = |output: &str, user| Running::dd(&program, &place.dir().join(output), user);
            let own = dd("own", Some(NOBODY));
            let others = dd("others", None);
            let said = place.path("said");
            trace.stdout(Stdio::null());
            let mut trace = Running(trace.stderr(File::create(&said).unwrap()).spawn().unwrap());
            let text = || fs::read_to_string(&said).unwrap();
            until("it does not begin", || {
                text().contains("observing name").then_some(())
            });
            let later = dd("later", Some(NOBODY));
            others.go(14);
            later.go(15);
            own.go(13);
            assert!(trace.0.wait().unwrap().success(), "{}", text());
            let saved = fs::read_to_string(place.path("home/result.json")).unwrap();
            let result: Value = serde_json::from_str(&saved).unwrap();
            assert_eq!(result["backend"], backend);
            assert_eq!(writes(&result, "own"), Some(13), "{backend}");
            for not_seen in ["others", "later"] {
                assert_eq!(writes(&result, not_seen), None, "{backend}: {not_seen}");
            }
            assert_eq!(result["attached"]["matched"].as_array().unwrap().len(), 1);
            let missing = result["missing"].as_array().unwrap();
            for what in ["1 process that matches", "processes that match later"] {
                assert!(missing.iter().any(|gap| gap["what"] == what), "{missing:?}");
            }
        }
    });
}

#[test]
fn a_user_may_not_observe_others_by_name() {
    if !is_root("to become another user") {
        return;
    }
    let place = Place::new();
    let name = format!("iov{}", std::process::id());
    let program = place.path(&name);
    let mut install = Command::new("install");
    install.args(["-m", "755", "/bin/dd"]).arg(&program);
    assert!(install.status().unwrap().success());
    let others = Running::dd(&program, &place.path("others"), None);
    let exe = format!("/proc/{}/exe", others.0.id());
    until("it is not the program", || {
        (fs::read_link(&exe).unwrap() == program).then_some(())
    });
    let trace = format!("trace --backend ptrace --name {name}");
    let outcome = run(place.iostrata_of_nobody(&trace)).expect(125);
    let words = format!(
        "this user may not observe name {name}: the kernel does not permit tracing any of 1 process"
    );
    assert!(outcome.stderr.contains(&words), "{}", outcome.stderr);
    others.go(1);
}
