//! Units of systemd with the usual sandboxing options, under a systemd of its own in a container:
//! iostrata in such a unit, and outside of it.

use iostrata_report::words;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iostrata_core::environment::Backend;
use iostrata_core::trace::TraceResult;

use crate::contained::{BACKENDS, file};
use crate::wait::until;

/// What a unit of these options does with iostrata.
enum Outcome {
    /// It traces by this back end; by ptrace for this reason.
    Traces(Backend, &'static str),
    /// It fails with 125 and says this.
    Refuses(&'static str),
}

use Outcome::{Refuses, Traces};

const KERNEL: Outcome = Traces(Backend::Ebpf, "");
const NOT_PERMITTED: Outcome = Traces(Backend::Ptrace, "eBPF is not permitted to this user");

const UNITS: [(&str, &[&str], Outcome); 14] = [
    ("plain", &[], KERNEL),
    (
        "strict",
        &["ProtectSystem=strict", "ReadWritePaths=/data"],
        KERNEL,
    ),
    ("private", &["PrivateTmp=yes", "PrivateDevices=yes"], KERNEL),
    ("no-new", &["NoNewPrivileges=yes"], KERNEL),
    ("namespaces", &["RestrictNamespaces=yes"], KERNEL),
    (
        "tunables",
        &["ProtectKernelTunables=yes", "ProtectKernelLogs=yes"],
        KERNEL,
    ),
    ("proc", &["ProtectProc=invisible", "ProcSubset=pid"], KERNEL),
    ("no-exec", &["MemoryDenyWriteExecute=yes"], KERNEL),
    (
        "dynamic",
        &["DynamicUser=yes", "ReadWritePaths=/data"],
        NOT_PERMITTED,
    ),
    ("no-caps", &["CapabilityBoundingSet="], NOT_PERMITTED),
    (
        "filtered",
        &["SystemCallFilter=@system-service"],
        Refuses("seccomp filter kills every process"),
    ),
    (
        "refusing",
        &[
            "SystemCallFilter=@system-service",
            "SystemCallErrorNumber=EPERM",
        ],
        Refuses("where ptrace and seccomp are permitted"),
    ),
    ("bpf", &["SystemCallFilter=@system-service bpf"], KERNEL),
    (
        "debug",
        &["SystemCallFilter=@system-service @debug kcmp seccomp"],
        Traces(Backend::Ptrace, "seccomp filter denies bpf(2)"),
    ),
];

/// Of a unit whose process is observed from outside.
const ALL: &str = "ProtectSystem=strict\nReadWritePaths=/data\nPrivateTmp=yes\nPrivateDevices=yes\n\
    NoNewPrivileges=yes\nSystemCallFilter=@system-service\nRestrictNamespaces=yes\n\
    ProtectKernelTunables=yes\nProtectProc=invisible\nMemoryDenyWriteExecute=yes\nDynamicUser=yes\n\
    CapabilityBoundingSet=\n";

/// Runs units one after another, then ends the machine.
const DRIVER: &str = "[Unit]\nDefaultDependencies=no\nSuccessAction=poweroff-force\n\
    FailureAction=poweroff-force\n[Service]\nType=oneshot\nExecStart=/bin/sh -c 'for n in NAMES; do \
    systemctl start $n; systemctl show -P ExecMainStatus $n > /data/$n.status; done'\n";

/// Makes the root of the machine, this one's under a layer that is gone with the namespace of mounts,
/// copies the units into it, and starts systemd there. A network and a journal are not needed, and /run
/// is another, since systemd-nspawn leaves directories there. It also leaves control groups, in the one that
/// it is started in.
const BOOT: &str = "
set -e
mount -t tmpfs tmpfs /run
for at in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
    if [ -e $at/cgroup.procs ]; then mkdir $at/\"$1\"; echo 0 > $at/\"$1\"/cgroup.procs; fi
done
mount -t tmpfs tmpfs layer
mkdir layer/upper layer/work layer/root
mount -t overlay overlay -o lowerdir=/,upperdir=layer/upper,workdir=layer/work layer/root
mkdir -p layer/root/data
cp units/* layer/root/etc/systemd/system/
exec systemd-nspawn --quiet --directory=layer/root --machine=\"$1\" --register=no --keep-unit \
    --private-network --link-journal=no --capability=all \
    --system-call-filter='@debug bpf perf_event_open kcmp cachestat' \
    --bind=\"$PWD/data:/data\" --bind-ro=\"$2:/iostrata\" \
    --boot systemd.unit=driver.service systemd.log_target=null";

/// The directory of a machine.
struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn new(units: &[(&str, String)]) -> Self {
        let mut builder = tempfile::Builder::new();
        let dir = builder
            .prefix("iostrata-units-")
            .tempdir_in("/var/tmp")
            .unwrap();
        for name in ["units", "data", "layer"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(dir.path().join("data"), open).unwrap();
        let machine = Self { dir };
        for (name, text) in units {
            let file = machine.path("units").join(format!("{name}.service"));
            fs::write(file, text).unwrap();
        }
        let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        let driver = DRIVER.replace("NAMES", &names.join(" "));
        fs::write(machine.path("units/driver.service"), driver).unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn data(&self, name: &str) -> PathBuf {
        self.path("data").join(name)
    }

    fn said(&self) -> String {
        fs::read_to_string(self.path("said")).unwrap_or_default()
    }

    fn boot(&self) -> Booted {
        let mut command = Command::new("unshare");
        let name = self.dir.path().file_name().unwrap();
        // Its processes end with the first.
        let ends = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
        command.args(ends).args(["sh", "-c", BOOT, "sh"]);
        command.arg(name).arg(env!("CARGO_BIN_EXE_iostrata"));
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        let said = fs::File::create(self.path("said")).unwrap();
        command.stdout(said.try_clone().unwrap()).stderr(said);
        Booted(command.spawn().unwrap())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let name = self.dir.path().file_name().unwrap();
        for at in ["", "unified", "systemd"] {
            remove_groups(&Path::new("/sys/fs/cgroup").join(at).join(name));
        }
    }
}

/// A control group goes when its processes have, and those below it.
fn remove_groups(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_groups(&entry.path());
        }
    }
    until(|| match fs::remove_dir(group) {
        Err(error) if group.exists() => Err(error),
        _ => Ok(()),
    });
}

/// Ended when the test ends.
struct Booted(Child);

impl Drop for Booted {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn unit(name: &str, options: &str, command: &str) -> String {
    format!(
        "[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nWorkingDirectory=/data\n\
         Environment=NO_COLOR=1\nStandardError=append:/data/{name}.said\nExecStart={command}\n{options}\n"
    )
}

#[test]
fn a_sandboxed_unit_traces_or_says_why_not() {
    let units: Vec<(&str, String)> = UNITS
        .iter()
        .map(|(name, options, _)| {
            let command = format!(
                "/iostrata trace --no-measure --json /data/{name}.json -- \
                 dd if=/dev/zero of=/data/{name}.x bs=4k count=20"
            );
            (*name, unit(name, &options.join("\n"), &command))
        })
        .collect();
    let machine = Machine::new(&units);
    let mut booted = machine.boot();
    until(|| booted.0.try_wait().unwrap().ok_or_else(|| machine.said()));
    for (name, _, outcome) in &UNITS {
        let read = |kind: &str| fs::read_to_string(machine.data(&format!("{name}.{kind}")));
        let said = read("said").unwrap_or_default();
        let status = read("status").unwrap_or_default();
        match outcome {
            Traces(backend, why) => {
                assert_eq!(status.trim(), "0", "{name}: {said}");
                let result: TraceResult = serde_json::from_str(&read("json").unwrap()).unwrap();
                let writes = &file(&result, &format!("{name}.x")).writes;
                assert_eq!((writes.count, writes.bytes), (20, 20 * 4096), "{name}");
                assert_eq!((result.processes, result.lost_events), (1, 0), "{name}");
                assert_eq!(result.environment.backend, *backend, "{name}");
                let told = result
                    .missing
                    .iter()
                    .any(|gap| words::reason(&gap.why).to_string().contains(why));
                assert!(told || why.is_empty(), "{name}: {:?}", result.missing);
            }
            Refuses(why) => {
                assert_eq!(status.trim(), "125", "{name}: {said}");
                assert!(said.contains(why), "{name}: {said}");
                let begun = machine.data(&format!("{name}.x"));
                assert!(!begun.exists(), "{name}: it is not started");
            }
        }
    }
}

/// The process that runs `sh -c` with this mark in its words.
fn marked(mark: &str) -> Option<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let words = fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"));
        let words = words.unwrap_or_default();
        words.starts_with(b"/bin/sh\0") && String::from_utf8_lossy(&words).contains(mark)
    })
}

#[test]
fn a_process_of_a_sandboxed_unit_is_observed_from_outside() {
    let mark = format!("mark-{}", std::process::id());
    let command = format!(
        "/bin/sh -c ': {mark}; while [ ! -e /data/enough ]; do echo x >> /data/log; sleep 0.01; done'"
    );
    let machine = Machine::new(&[("steady", unit("steady", ALL, &command))]);
    let mut booted = machine.boot();
    let pid = until(|| {
        let written = marked(&mark).filter(|_| machine.data("log").exists());
        written.ok_or_else(|| machine.said())
    });
    for backend in BACKENDS {
        let saved = machine.path(backend);
        let mut trace = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        trace.args([
            "trace",
            "--no-measure",
            "--backend",
            backend,
            "--for",
            "500ms",
        ]);
        trace
            .arg("--json")
            .arg(&saved)
            .args(["-p", &pid.to_string()]);
        let output = trace.output().unwrap();
        assert!(output.status.success(), "{backend}: {output:?}");
        let result: TraceResult = serde_json::from_slice(&fs::read(&saved).unwrap()).unwrap();
        assert!(file(&result, "log").writes.count > 0, "{backend}");
        assert_eq!(result.lost_events, 0, "{backend}");
    }
    fs::write(machine.data("enough"), "").unwrap();
    until(|| booted.0.try_wait().unwrap().ok_or_else(|| machine.said()));
}

const SERVE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scripts/iostrata-serve.service"
);

/// Of its restrictions none makes a metric disappear.
#[test]
fn the_unit_of_serve_serves_all() {
    const SCRAPE: &str = "/bin/sh -c 'until curl -sf http://127.0.0.1:9977/metrics | grep \
        iostrata_intervals_total.[1-9] > /dev/null; do sleep 0.1; done; \
        curl -sf http://127.0.0.1:9977/metrics > /data/metrics; \
        cat /proc/$$(systemctl show -P MainPID serve)/status > /data/privileges'";
    let packed = fs::read_to_string(SERVE).unwrap();
    let here = packed.replace("=/usr/bin/iostrata serve", "=/iostrata serve");
    assert_ne!(packed, here);
    let said = "StandardError=append:/data/said";
    let here = format!("{here}\n[Unit]\nDefaultDependencies=no\n[Service]\n{said}\n");
    let machine = Machine::new(&[("serve", here), ("scrape", unit("scrape", "", SCRAPE))]);
    let mut booted = machine.boot();
    until(|| booted.0.try_wait().unwrap().ok_or_else(|| machine.said()));
    let read = |name: &str| fs::read_to_string(machine.data(name)).unwrap_or_default();
    let (metrics, said) = (read("metrics"), read("said"));
    assert_eq!(said.lines().count(), 1, "{said}");
    for what in [
        "iostrata_observed{what=\"calls\"} 1",
        "iostrata_observed{what=\"page_cache\"} 1",
        "iostrata_observed{what=\"requests\"} 1",
        "iostrata_page_cache_dirty_bytes{",
        "iostrata_lost_events_total ",
        "cgroup=\"/",
    ] {
        assert!(metrics.contains(what), "{what}: {metrics}");
    }
    let privileges = read("privileges");
    let has = |line: &str| privileges.lines().any(|found| found == line);
    assert!(
        has("CapPrm:\t0000000000000000") && has("Seccomp:\t2"),
        "{privileges}"
    );
}

/// What `systemd-analyze` counts against it has its reason in the unit.
#[test]
fn the_unit_of_serve_is_closed() {
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--threshold=20", SERVE]);
    let output = analyze.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
