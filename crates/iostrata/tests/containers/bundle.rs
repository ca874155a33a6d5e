//! Containers as Docker and Podman make them: an OCI bundle under their own profile of system calls
//! and with their capabilities, run by `runc`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use iostrata_core::trace::TraceResult;
use serde_json::{Value, json};

/// Whose profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Docker 20.10, as Debian 12 has it.
    Docker,
    /// The same with the rules for `CAP_BPF`, `CAP_PERFMON` and `process_vm_readv(2)` of later
    /// versions (seccomp/default.json in github.com/moby/profiles).
    LaterDocker,
    Podman,
}

impl Engine {
    pub(crate) const ALL: [Self; 3] = [Self::Docker, Self::LaterDocker, Self::Podman];

    /// What `scripts/deps test` takes from Debian's packages.
    fn profile(self) -> Value {
        let name = match self {
            Self::Docker | Self::LaterDocker => "docker.json",
            Self::Podman => "podman.json",
        };
        let program = Path::new(env!("CARGO_BIN_EXE_iostrata"));
        let mut above = program.ancestors();
        let found = above.find_map(|dir| fs::read(dir.join("profiles").join(name)).ok());
        let text = found.expect("`scripts/deps test` puts the profiles into the target directory");
        let mut profile: Value = serde_json::from_slice(&text).unwrap();
        if self == Self::LaterDocker {
            let rules = profile["syscalls"].as_array_mut().unwrap();
            rules.push(allowed(&["bpf"], &["CAP_BPF"]));
            rules.push(allowed(&["perf_event_open"], &["CAP_PERFMON"]));
            rules.push(allowed(&["process_vm_readv", "process_vm_writev"], &[]));
        }
        profile
    }

    /// Capabilities that a container has unless it is given more (`daemon/pkg/oci/caps` of moby,
    /// containers.conf(5)).
    fn capabilities(self) -> Vec<String> {
        let both = "CHOWN DAC_OVERRIDE FSETID FOWNER SETGID SETUID SETFCAP SETPCAP \
                    NET_BIND_SERVICE SYS_CHROOT KILL";
        let more = match self {
            Self::Docker | Self::LaterDocker => " MKNOD NET_RAW AUDIT_WRITE",
            Self::Podman => "",
        };
        let all = format!("{both}{more}");
        all.split_whitespace().map(named).collect()
    }
}

fn named(capability: &str) -> String {
    format!("CAP_{capability}")
}

fn allowed(names: &[&str], capabilities: &[&str]) -> Value {
    json!({"names": names, "action": "SCMP_ACT_ALLOW", "includes": {"caps": capabilities}})
}

/// A container with a directory of its own, on a real disk.
pub(crate) struct Bundle {
    dir: tempfile::TempDir,
    name: String,
}

impl Bundle {
    /// `added` capabilities as in `--cap-add`; `shows_all` as with `--pid=host`.
    pub(crate) fn new(engine: Engine, added: &[&str], shows_all: bool) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut builder = tempfile::Builder::new();
        let dir = builder.prefix("iostrata-bundle-");
        let dir = dir.tempdir_in("/var/tmp").unwrap();
        for name in ["rootfs", "data"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(dir.path(), open).unwrap();
        let mut capabilities = engine.capabilities();
        capabilities.extend(added.iter().map(|name| named(name)));
        let bundle = Self {
            name: format!(
                "iostrata-{}-{}",
                std::process::id(),
                NEXT.fetch_add(1, Ordering::Relaxed)
            ),
            dir,
        };
        let config = bundle.config(
            &filter(&engine.profile(), &capabilities),
            &capabilities,
            shows_all,
        );
        fs::write(bundle.path("config.json"), config.to_string()).unwrap();
        bundle
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn config(&self, filter: &Value, capabilities: &[String], shows_all: bool) -> Value {
        let mut namespaces = vec!["ipc", "uts", "mount", "network"];
        let proc = if shows_all {
            bound("/proc", Path::new("/proc"), "rw")
        } else {
            namespaces.push("pid");
            json!({"destination": "/proc", "type": "proc", "source": "proc"})
        };
        let namespaces: Vec<Value> = namespaces
            .iter()
            .map(|kind| json!({"type": kind}))
            .collect();
        let target = Path::new(env!("CARGO_BIN_EXE_iostrata"));
        let mut mounts = vec![
            proc,
            json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]}),
            json!({"destination": "/sys", "type": "sysfs", "source": "sysfs",
                "options": ["nosuid", "noexec", "nodev", "ro"]}),
            json!({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"}),
            bound("/data", &self.path("data"), "rw"),
            bound("/iostrata", target, "ro"),
        ];
        let system = ["/usr", "/bin", "/lib", "/lib64", "/etc"].map(Path::new);
        let there = system.iter().filter(|dir| dir.exists());
        mounts.extend(
            there.map(|dir| bound(dir.to_str().unwrap(), &fs::canonicalize(dir).unwrap(), "ro")),
        );
        json!({
            "ociVersion": "1.0.2",
            "process": {
                "terminal": false, "user": {"uid": 0, "gid": 0}, "args": ["true"], "cwd": "/data",
                "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "NO_COLOR=1", "COLUMNS=100"],
                "capabilities": {
                    "bounding": capabilities, "effective": capabilities, "permitted": capabilities,
                },
            },
            "root": {"path": "rootfs", "readonly": true},
            "mounts": mounts,
            "linux": {
                "namespaces": namespaces,
                "seccomp": filter,
                "maskedPaths": ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list",
                    "/proc/scsi", "/sys/firmware"],
                "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                    "/proc/sysrq-trigger"],
            },
        })
    }

    /// Runs iostrata in it with these words.
    pub(crate) fn iostrata(&self, words: &[&str]) -> Output {
        let path = self.path("config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        config["process"]["args"] = json!([&["/iostrata"], words].concat());
        fs::write(&path, config.to_string()).unwrap();
        let mut runc = Command::new("runc");
        runc.args(["run", "--bundle"]).arg(self.dir.path());
        runc.arg(&self.name).output().unwrap()
    }

    /// Traces with these words behind the usual ones.
    pub(crate) fn trace(&self, words: &[&str]) -> Output {
        let usual = ["trace", "--no-measure", "--json", "result.json"];
        self.iostrata(&[&usual, words].concat())
    }

    pub(crate) fn result(&self) -> TraceResult {
        let text = fs::read(self.path("data/result.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

impl Drop for Bundle {
    /// It is gone with its program, unless the test has failed meanwhile.
    fn drop(&mut self) {
        let mut runc = Command::new("runc");
        drop(runc.args(["delete", "--force", &self.name]).output());
    }
}

fn bound(at: &str, from: &Path, how: &str) -> Value {
    json!({"destination": at, "type": "bind", "source": from, "options": ["rbind", how]})
}

/// What the engine makes of its profile for a container on this machine
/// (`profiles/seccomp/seccomp_linux.go` of moby, `pkg/seccomp` of `containers/common`).
fn filter(profile: &Value, capabilities: &[String]) -> Value {
    let lists = |value: &Value, of: &str| -> Vec<String> {
        let list = value[of].as_array().cloned().unwrap_or_default();
        list.iter()
            .map(|item| item.as_str().unwrap().to_owned())
            .collect()
    };
    let has = |name: &String| capabilities.contains(name);
    let applies = |rule: &&Value| {
        let (needs, not) = (&rule["includes"], &rule["excludes"]);
        let arches = lists(needs, "arches");
        // This kernel is newer than any that they ask for.
        (arches.is_empty() || arches.iter().any(|arch| arch == "amd64"))
            && !lists(not, "arches").iter().any(|arch| arch == "amd64")
            && lists(needs, "caps").iter().all(has)
            && !lists(not, "caps").iter().any(has)
    };
    let rules: Vec<Value> = profile["syscalls"]
        .as_array()
        .unwrap()
        .iter()
        .filter(applies)
        .map(|rule| {
            let mut kept = json!({"names": rule["names"], "action": rule["action"]});
            for optional in ["args", "errnoRet"] {
                if !rule[optional].is_null() {
                    kept[optional] = rule[optional].clone();
                }
            }
            kept
        })
        .collect();
    let mut filter = json!({
        "defaultAction": profile["defaultAction"],
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": rules,
    });
    if !profile["defaultErrnoRet"].is_null() {
        filter["defaultErrnoRet"] = profile["defaultErrnoRet"].clone();
    }
    filter
}
