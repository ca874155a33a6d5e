//! The recipes of docs/crash-many-machines.md, each on two machines: Slurm nodes, and network namespaces with sshd.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Case;
use super::named::have;
use crate::place::{is_root, run, until};

const PARTS: usize = 2;

/// Debian keeps servers in sbin.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// A database that is changed without syncs, its recording, and what one machine says of it.
struct Recorded {
    case: Case,
    whole: Value,
    running: Vec<Child>,
}

impl Recorded {
    fn new() -> Self {
        let case = Case::new("unused", "");
        let made = Command::new("sqlite3")
            .arg(case.dir.join("app.db"))
            .arg("create table t(a); insert into t values (1)")
            .status();
        assert!(made.unwrap().success());
        let record = case.place.path("run");
        let options = [
            "--check",
            "sqlite:app.db",
            "--record",
            record.to_str().unwrap(),
        ];
        let program =
            "sqlite3 app.db 'pragma synchronous=off; update t set a = 2; select a from t'";
        let whole = case.crash(&options, program, 1);
        Self {
            case,
            whole,
            running: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.case.place.path(name)
    }

    /// Writes a file that the page has.
    fn recipe(&self, name: &str, change: impl FnOnce(String) -> String) {
        let page = include_str!("../../../../../docs/crash-many-machines.md");
        let (_, rest) = page
            .split_once(&format!("<!-- file: {name} -->\n```sh\n"))
            .unwrap();
        let (text, _) = rest.split_once("```").unwrap();
        fs::write(self.path(name), change(text.to_owned())).unwrap();
    }

    fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let iostrata = Path::new(env!("CARGO_BIN_EXE_iostrata")).parent().unwrap();
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", format!("{}:{PATH}", iostrata.display()))
            .current_dir(self.path(""))
            .stdin(Stdio::null());
        command
    }

    /// Starts a server, which ends with the test.
    fn start(&mut self, mut command: Command) -> u32 {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let pid = child.id();
        self.running.push(child);
        pid
    }

    /// What the parts come to is what one machine came to.
    fn assert_whole(&self) {
        let merged = self.path("whole.json");
        let mut command = self.program("iostrata");
        command
            .args(["merge", "--from", "run", "--json"])
            .arg(&merged);
        command.args((1..=PARTS).map(|part| self.path(&format!("part-{part}.json"))));
        run(command).expect(1);
        let merged: Value = serde_json::from_slice(&fs::read(merged).unwrap()).unwrap();
        for name in ["findings", "fix", "verdict", "command", "settings"] {
            assert_eq!(self.whole[name], merged[name], "{name}");
        }
        let states = |result: &Value| -> Vec<Value> {
            let modes = result["modes"].as_array().unwrap();
            modes.iter().map(|mode| mode["states"].clone()).collect()
        };
        assert_eq!(states(&self.whole), states(&merged));
        assert_eq!(merged["parts"].as_array().unwrap().len(), PARTS);
    }
}

/// What a program prints that has to succeed.
fn done(mut command: Command, arguments: &str) -> String {
    command.args(arguments.split_whitespace());
    let outcome = run(command);
    assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
    outcome.stdout
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // The last one first: jobs end before what runs them, and servers before their namespaces.
        for mut child in std::mem::take(&mut self.running).into_iter().rev() {
            let pid = Pid::from_child(&child);
            _ = kill_process(pid, Signal::TERM);
            drop(child.wait());
        }
    }
}

/// Two nodes on this machine.
fn slurm_conf(recorded: &Recorded) -> String {
    let ports: Vec<TcpListener> = (0..3)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let port = |place: usize| ports[place].local_addr().unwrap().port();
    let root = recorded.path("");
    let root = root.to_str().unwrap().trim_end_matches('/');
    let uname = rustix::system::uname();
    let host = uname
        .nodename()
        .to_str()
        .unwrap()
        .split('.')
        .next()
        .unwrap();
    let node = |name: &str, place: usize| {
        format!(
            "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1\n",
            port(place)
        )
    };
    format!(
        "ClusterName=it\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={root}/munge.socket\nCredType=cred/munge\n\
         SlurmctldPidFile={root}/slurmctld.pid\nSlurmdPidFile={root}/%n.pid\nSlurmctldLogFile={root}/slurmctld.log\n\
         SlurmdLogFile={root}/%n.log\nStateSaveLocation={root}/state\nSlurmdSpoolDir={root}/spool-%n\n\
         ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nMpiDefault=none\nSwitchType=switch/none\n\
         JobAcctGatherType=jobacct_gather/none\nSchedulerType=sched/builtin\nSelectType=select/linear\n\
         ReturnToService=2\nMailProg=/bin/true\n{}{}\
         PartitionName=main Nodes=n1,n2 Default=YES State=UP\n",
        port(0),
        node("n1", 1),
        node("n2", 2)
    )
}

#[test]
fn a_slurm_array_finds_what_one_machine_finds() {
    let needed = ["slurmctld", "slurmd", "sbatch", "munged", "sqlite3"];
    if !is_root("running Slurm's servers") || !have(&needed) {
        return;
    }
    let mut recorded = Recorded::new();
    recorded.recipe("part.sh", |text| text);
    fs::write(recorded.path("slurm.conf"), slurm_conf(&recorded)).unwrap();
    fs::create_dir(recorded.path("state")).unwrap();
    done(recorded.program("mungekey"), "--create --keyfile munge.key");
    let mut munged = recorded.program("munged");
    let own = ["socket", "key-file", "pid-file", "log-file", "seed-file"];
    munged.arg("--foreground").args(own.map(|name| {
        let file = recorded.path(&format!("munge.{}", name.trim_end_matches("-file")));
        format!("--{name}={}", file.display())
    }));
    recorded.start(munged);
    let socket = recorded.path("munge.socket");
    until("munged does not answer", || socket.exists().then_some(()));
    let conf = recorded.path("slurm.conf");
    let slurm = |recorded: &Recorded, program: &str| {
        let mut command = recorded.program(program);
        command.env("SLURM_CONF", &conf);
        command
    };
    for (program, arguments) in [
        ("slurmctld", &["-D"][..]),
        ("slurmd", &["-D", "-N", "n1"]),
        ("slurmd", &["-D", "-N", "n2"]),
    ] {
        let mut command = slurm(&recorded, program);
        command.args(arguments);
        recorded.start(command);
    }
    until("the nodes are not idle", || {
        let mut command = slurm(&recorded, "sinfo");
        command.args(["--noheader", "--format", "%T %D"]);
        run(command).stdout.contains("idle 2").then_some(())
    });
    let submit = format!("--parsable --array=1-{PARTS} --output=out-%a part.sh");
    let job = done(slurm(&recorded, "sbatch"), &submit);
    // `sbatch --wait` asks at intervals of up to ten seconds.
    until("the array has not ended", || {
        let listed = done(
            slurm(&recorded, "squeue"),
            "--noheader --states all --format %T",
        );
        let states: Vec<&str> = listed.lines().collect();
        let is_over =
            |state: &&str| !["PENDING", "RUNNING", "COMPLETING", "CONFIGURING"].contains(state);
        (states.len() == PARTS && states.iter().all(is_over)).then_some(())
    });
    let states = done(
        slurm(&recorded, "squeue"),
        "--noheader --states all --format %T",
    );
    let said: Vec<_> = (1..=PARTS)
        .map(|part| fs::read_to_string(recorded.path(&format!("out-{part}"))))
        .collect();
    let is_completed = |state: &str| state == "COMPLETED";
    assert!(
        states.lines().all(is_completed),
        "job {job}: {states}{said:?}"
    );
    recorded.assert_whole();
    let place = &recorded.path("");
    drop(recorded);
    assert!(!place.exists(), "{}", place.display());
}

/// A machine: a network, and a file system below `far`.
fn machine(recorded: &mut Recorded, name: &str) -> u32 {
    let up = recorded.path(name);
    let far = recorded.path("far");
    let script = format!(
        "mount -t tmpfs none /run && mkdir -m 755 /run/sshd && mount -t tmpfs none '{}' && \
         ip link set lo up && : > '{}' && exec sleep 600",
        far.display(),
        up.display()
    );
    let mut command = recorded.program("unshare");
    command.args(["--net", "--mount", "sh", "-c", &script]);
    let pid = recorded.start(command);
    until("a network namespace is not there", || {
        up.exists().then_some(())
    });
    pid
}

/// A program in a machine.
fn inside(recorded: &Recorded, machine: u32, program: &[&str]) -> Command {
    let mut command = recorded.program("nsenter");
    command.args(["--target", &machine.to_string(), "--net", "--mount"]);
    command.arg("env").arg("--chdir").arg(recorded.path(""));
    command.args(program);
    command
}

const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

/// Two machines that are joined, with sshd in each.
fn joined(recorded: &mut Recorded) -> [u32; 2] {
    fs::create_dir(recorded.path("far")).unwrap();
    let machines = ["one", "two"].map(|name| machine(recorded, name));
    let [one, two] = machines;
    let veth = format!("link add one netns {one} type veth peer name two netns {two}");
    done(recorded.program("ip"), &veth);
    let interfaces = ["one", "two"].into_iter().zip(ADDRESSES).zip(machines);
    for ((interface, address), machine) in interfaces {
        let ip = |arguments: String| done(inside(recorded, machine, &["ip"]), &arguments);
        ip(format!("address add {address}/24 dev {interface}"));
        ip(format!("link set {interface} up"));
    }
    let root = recorded.path("").display().to_string();
    let root = root.trim_end_matches('/');
    for key in ["user", "host"] {
        let mut command = recorded.program("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-f", key]);
        done(command, "");
    }
    let iostrata = Path::new(env!("CARGO_BIN_EXE_iostrata")).parent().unwrap();
    let sshd = format!(
        "Port 22\nHostKey {root}/host\nAuthorizedKeysFile {root}/user.pub\nStrictModes no\nUsePAM no\nPidFile none\n\
         PermitRootLogin prohibit-password\nMaxStartups 100\nSetEnv PATH={}:{PATH}\n",
        iostrata.display()
    );
    fs::write(recorded.path("sshd.conf"), sshd).unwrap();
    let ssh = format!(
        "User root\nIdentityFile {root}/user\nUserKnownHostsFile {root}/known\nStrictHostKeyChecking yes\n"
    );
    fs::write(recorded.path("ssh.conf"), ssh).unwrap();
    let host = fs::read_to_string(recorded.path("host.pub")).unwrap();
    fs::write(recorded.path("known"), format!("* {host}")).unwrap();
    let conf = format!("{root}/sshd.conf");
    for machine in machines {
        let command = inside(recorded, machine, &["/usr/sbin/sshd", "-D", "-f", &conf]);
        recorded.start(command);
    }
    machines
}

#[test]
fn parallel_over_ssh_finds_what_one_machine_finds() {
    let needed = [
        "parallel", "sshd", "ssh", "rsync", "unshare", "ip", "sqlite3",
    ];
    if !is_root("making network namespaces") || !have(&needed) {
        return;
    }
    let mut recorded = Recorded::new();
    let far = recorded.path("far").display().to_string();
    recorded.recipe("parts.sh", |text| text.replace("/var/tmp/parts", &far));
    let [one, _] = joined(&mut recorded);
    fs::write(recorded.path("machines"), ADDRESSES.join("\n")).unwrap();
    let citing = recorded.path("home/.parallel");
    fs::create_dir(&citing).unwrap();
    fs::write(citing.join("will-cite"), "").unwrap();
    let conf = recorded.path("ssh.conf").display().to_string();
    for address in ADDRESSES {
        until("sshd does not answer", || {
            let command = inside(&recorded, one, &["ssh", "-F", &conf, address, "true"]);
            (run(command).code == Some(0)).then_some(())
        });
    }
    let mut command = inside(&recorded, one, &["sh", "parts.sh"]);
    command.env("PARALLEL_SSH", format!("ssh -F {conf}"));
    done(command, &PARTS.to_string());
    recorded.assert_whole();
    let place = &recorded.path("");
    drop(recorded);
    assert!(!place.exists(), "{}", place.display());
}
