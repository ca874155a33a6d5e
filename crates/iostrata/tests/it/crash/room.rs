//! The room of a checker: ways out of it, each of which leads out of a bare `unshare`, and what one can live on in it.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::Case;
use crate::install::install;
use crate::place::{entries, is_root, run};

/// What is outside, and must stay there.
struct Outside {
    case: Case,
    escapes: PathBuf,
    port: TcpListener,
    _sockets: [UnixListener; 2],
    socket: PathBuf,
    process: Child,
    bytes: String,
}

impl Outside {
    fn new() -> Self {
        let case = Case::new("f", "old");
        let escapes = case.place.path("escapes");
        fs::create_dir(&escapes).unwrap();
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/escapes");
        for file in entries(&own) {
            fs::copy(&file, escapes.join(file.file_name().unwrap())).unwrap();
        }
        let mut compile = Command::new("cc");
        compile.arg("-o").arg(escapes.join("int80"));
        let compiled = compile.arg(own.join("int80.c")).status().unwrap();
        assert!(compiled.success());
        let suid = escapes.join("id");
        install("/usr/bin/id", &suid);
        fs::set_permissions(&suid, fs::Permissions::from_mode(0o4755)).unwrap();
        let bytes = "as it was".to_owned();
        fs::write(case.place.path("outside"), &bytes).unwrap();
        // What the working directory has is the checker's to see. 7 is that of /dev/full (devices.txt), which is harmless.
        let node = case.place.dir().join("node");
        let made = Command::new("mknod")
            .arg(&node)
            .args(["c", "1", "7"])
            .status();
        assert!(made.unwrap().success());
        fs::set_permissions(node, fs::Permissions::from_mode(0o666)).unwrap();
        let closed = case.place.path("closed");
        fs::write(&closed, "for root").unwrap();
        fs::set_permissions(closed, fs::Permissions::from_mode(0o600)).unwrap();
        let name = case.place.path("").file_name().unwrap().to_owned();
        let socket = Path::new("/tmp").join(name);
        let abstract_one = SocketAddr::from_abstract_name(socket.as_os_str().as_encoded_bytes());
        let sockets = [
            UnixListener::bind(&socket).unwrap(),
            UnixListener::bind_addr(&abstract_one.unwrap()).unwrap(),
        ];
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
        Self {
            case,
            escapes,
            port: TcpListener::bind("127.0.0.1:0").unwrap(),
            _sockets: sockets,
            socket,
            process: Command::new("sleep").arg("1000").spawn().unwrap(),
            bytes,
        }
    }

    /// With what the scripts go by. What begins with `IOSTRATA_` a checker has too.
    fn about(&self, command: &mut Command) {
        let port = self.port.local_addr().unwrap().port();
        command
            .env("IOSTRATA_ESCAPES", &self.escapes)
            .env("IOSTRATA_NODE", self.case.place.dir().join("node"))
            .env("IOSTRATA_OUTSIDE", self.case.place.path("outside"))
            .env("IOSTRATA_CLOSED", self.case.place.path("closed"))
            .env("IOSTRATA_PORT", port.to_string())
            .env("IOSTRATA_PROCESS", self.process.id().to_string())
            .env("IOSTRATA_SOCKET", &self.socket)
            .env("IOSTRATA_SUID", self.escapes.join("id"))
            .env("SECRET", "of the environment")
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            );
    }

    fn scripts(&self) -> Vec<PathBuf> {
        let mut all = entries(&self.escapes);
        all.retain(|path| path.extension().is_some_and(|end| end == "sh"));
        all.sort();
        all
    }

    /// Whether it leads out of namespaces alone, which the script names.
    fn leads_out(&self, script: &Path) -> bool {
        let text = fs::read_to_string(script).unwrap();
        let flags = text
            .lines()
            .find_map(|line| line.strip_prefix("# unshare "));
        let directory = tempfile::tempdir_in(self.case.place.path("")).unwrap();
        let mut command = Command::new("unshare");
        command
            .args(flags.unwrap().split_whitespace())
            .arg("sh")
            .arg(script);
        command.env_clear();
        self.about(&mut command);
        command.env("TMPDIR", directory.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().unwrap().success()
    }

    /// What leads out of the room of a checker, which is started for each state or keeps running.
    fn out_of_room(&self, mut command: Command, option: &str, json: &Path) -> String {
        let all = "for one in \"$IOSTRATA_ESCAPES\"/*.sh; do \
                   sh \"$one\" </dev/null >/dev/null 2>&1 && echo \"${one##*/}\"; done | tr '\\n' ' '";
        let (check, nothing) = match option {
            "--check" => (
                format!("[ -s f ] || {{ {all}; exit 1; }}"),
                "the checker exited with 1",
            ),
            // By these the scripts find the stage.
            _ => (
                format!(
                    "export IOSTRATA_DIR=${{TMPDIR%/*}}/tree IOSTRATA_STDOUT=${{TMPDIR%/*}}/printed; \
                 while read -r copy printed; do cd $copy; [ -s f ] && echo ok || echo fail out: $({all}); done"
                ),
                "out:",
            ),
        };
        self.about(&mut command);
        command
            .arg(self.case.dir.as_os_str())
            .args(["--model", "xfs", option, &check]);
        command.args(["--check-timeout", "120", "--jobs", "1", "--json"]);
        command
            .arg(json)
            .args(["--", "/bin/sh", "-c", "echo new > f"]);
        run(command).expect(1);
        let result: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
        assert_ne!(result["check_kept_in"], "process-group");
        let said = result["findings"][0]["message"].as_str().unwrap();
        said.replace(nothing, "")
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        fs::remove_file(&self.socket).unwrap();
        let left = fs::read_to_string(self.case.place.path("outside")).unwrap();
        if !std::thread::panicking() {
            assert_eq!(left, self.bytes);
        }
    }
}

#[test]
fn nobody_gets_out() {
    if !is_root("namespaces without a user namespace") {
        return;
    }
    let outside = Outside::new();
    let scripts = outside.scripts();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let closed: BTreeSet<String> = scripts
        .iter()
        .filter(|script| !outside.leads_out(script))
        .map(name)
        .collect();
    assert!(
        scripts.len() - closed.len() >= 30,
        "{closed:?} lead out of nothing here"
    );
    let json = outside.case.place.path("dir/room.json");
    for option in ["--check", "--check-server"] {
        for owner in [0, 1000] {
            chown(&outside.case.dir, Some(owner), Some(owner)).unwrap();
            let command = outside.case.place.iostrata("crash --dir");
            let out = outside.out_of_room(command, option, &json);
            assert_eq!(out, "", "{option} as {owner}");
        }
        for user in [1000, 12_345] {
            chown(&outside.case.dir, Some(user), Some(user)).unwrap();
            let command = outside.case.place.iostrata_of(user, "crash --dir");
            let json = outside.case.place.path(format!("dir/{option}-{user}.json"));
            let out = outside.out_of_room(command, option, &json);
            assert_eq!(out, "", "{option} started by {user}");
        }
    }
}
