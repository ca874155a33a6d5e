//! Programs that gain privileges, where iostrata has some of its own from its file: the user sees what the kernel lets
//! the user trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_core::gap::{Countable, Missing, Reason};

use super::{Group, Observing, Running, Waiting, trace};
use crate::skip::skip;
use crate::traced::{place, workload};
use crate::wait::until;

const OTHER: &str = "54321";

/// Programs of `raises.c`: owner, group, mode, and capabilities; `-` is the user who traces.
const PROGRAMS: [(char, &str, &str, &str, &str); 9] = [
    ('P', "0", "0", "755", ""),
    ('S', "0", "0", "4755", ""),
    ('O', OTHER, "0", "4755", ""),
    ('G', "0", OTHER, "2755", ""),
    ('C', "0", "0", "755", "cap_net_raw+ep"),
    ('I', "0", "0", "755", "cap_net_raw+p"),
    ('U', "0", "0", "711", ""),
    ('M', "-", "-", "4755", ""),
    ('N', "-", "-", "2755", ""),
];

fn install(bin: &Path, user: &str) {
    for (name, owner, group, mode, capabilities) in PROGRAMS {
        let own = |id| if id == "-" { user } else { id };
        let to = bin.join(name.to_string());
        let mut install = Command::new("install");
        install.args(["-o", own(owner), "-g", own(group), "-m", mode]);
        install.arg(workload("raises")).arg(&to);
        assert!(install.status().unwrap().success());
        if !capabilities.is_empty() {
            set_capabilities(&to, capabilities);
        }
    }
}

fn set_capabilities(program: &Path, capabilities: &str) {
    let mut command = Command::new("setcap");
    assert!(
        command
            .arg(capabilities)
            .arg(program)
            .status()
            .unwrap()
            .success()
    );
}

/// Numbers that look random, the same each time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    /// Steps of `raises.c`.
    fn plan(&mut self, deep: u32) -> String {
        let mut plan = String::new();
        for _ in 0..=self.below(5) {
            match self.below(12) {
                0 | 1 if deep < 3 => {
                    plan += "f";
                    plan += &self.plan(deep + 1);
                    plan += ";";
                }
                2 => plan += "nS",
                3 => plan += "uP",
                4 => plan += "dP",
                5 => plan += "SrP",
                6 => plan += "tS",
                _ => {
                    let at = usize::try_from(self.below(PROGRAMS.len() as u64)).unwrap();
                    plan.push(PROGRAMS[at].0);
                }
            }
        }
        plan
    }
}

/// What the kernel said where a tree wrote something down, by place.
struct Tree<'a> {
    name: &'a str,
    plan: &'a [u8],
    said: &'a BTreeMap<String, String>,
    seen: BTreeSet<String>,
    /// How often a process became one that the user may not trace.
    raised: u64,
}

impl Tree<'_> {
    /// Takes the steps from a place on; returns where they end.
    fn walk(&mut self, mut at: usize, mut is_observed: bool) -> usize {
        while let Some(step) = self.plan.get(at).filter(|step| **step != b';') {
            at += 1;
            match step {
                b'f' => at = self.walk(at, is_observed) + 1,
                b'A'..=b'Z' => is_observed = self.note(at, is_observed),
                _ => {}
            }
        }
        at
    }

    fn note(&mut self, at: usize, was_observed: bool) -> bool {
        let name = format!("{}.{at}", self.name);
        let may = match self.said.get(&name).map(String::as_str) {
            Some("y") => true,
            Some("n") => false,
            other => panic!(
                "{name} of {:?}: {other:?}",
                String::from_utf8_lossy(self.plan)
            ),
        };
        let is_observed = was_observed && may;
        self.raised += u64::from(was_observed && !may);
        if is_observed {
            self.seen.insert(name);
        }
        is_observed
    }
}

/// A copy of iostrata with capabilities in its file, as `doctor` recommends it.
fn capable(dir: &Path, user: u32) -> Command {
    let iostrata = dir.join("iostrata");
    let mut copy = Command::new("install");
    copy.args(["-m", "755", env!("CARGO_BIN_EXE_iostrata")]);
    assert!(copy.arg(&iostrata).status().unwrap().success());
    set_capabilities(&iostrata, "cap_bpf,cap_perfmon,cap_syslog+ep");
    let mut command = Command::new(iostrata);
    command.uid(user).gid(user);
    command
}

/// So many trees of this user at once, observed by what the options name.
fn trees(user: u32, seed: u64, count: usize, options: impl Fn(&[u32]) -> Vec<String>) {
    let (dir, home) = (place(), place());
    let (bin, written) = (dir.path().join("bin"), dir.path().join("written"));
    for made in [&bin, &written] {
        fs::create_dir(made).unwrap();
    }
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&written, Permissions::from_mode(0o1777)).unwrap();
    chown(home.path(), Some(user), Some(user)).unwrap();
    install(&bin, &user.to_string());
    let mut random = Random(seed);
    let plans: Vec<String> = (0..count).map(|_| random.plan(0)).collect();
    let mut roots: Vec<Running> = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let mut root = Command::new(bin.join("P"));
        root.arg(&written).args([&number.to_string(), plan]);
        root.uid(user)
            .gid(user)
            .stdin(Stdio::piped())
            .current_dir("/");
        roots.push(Running(root.spawn().unwrap()));
    }
    let processes: Vec<u32> = roots.iter().map(|root| root.0.id()).collect();
    let options = options(&processes);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let command = capable(dir.path(), user);
    let observing = Observing::of(trace(command, home.path(), &options), home);
    for root in &mut roots {
        drop(root.0.stdin.take());
    }
    let result = observing.ended();
    for mut root in roots {
        let status = until(|| root.0.try_wait().unwrap().ok_or("it goes on"));
        assert!(status.success());
    }
    let names = fs::read_dir(&written).unwrap();
    let said: BTreeMap<String, String> = names
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    let (mut expected, mut raised) = (BTreeSet::new(), 0);
    for (number, plan) in plans.iter().enumerate() {
        let mut tree = Tree {
            name: &number.to_string(),
            plan: plan.as_bytes(),
            said: &said,
            seen: BTreeSet::from([format!("{number}.0")]),
            raised: 0,
        };
        tree.walk(0, true);
        expected.append(&mut tree.seen);
        raised += tree.raised;
    }
    let inside = |path: &str| {
        Some(
            Path::new(path)
                .strip_prefix(&written)
                .ok()?
                .to_str()?
                .to_owned(),
        )
    };
    let seen: BTreeSet<String> = result
        .files
        .iter()
        .filter_map(|file| inside(&file.path))
        .collect();
    let differ: Vec<&String> = expected.symmetric_difference(&seen).collect();
    let plan_of =
        |name: &&String| plans[name.split_once('.').unwrap().0.parse::<usize>().unwrap()].clone();
    let plans: Vec<(&String, String)> = differ.iter().map(|name| (*name, plan_of(name))).collect();
    assert!(plans.is_empty(), "seed {seed}: {plans:?}");
    assert!(
        expected.len() > count && raised > count as u64 / 2,
        "{} {raised}",
        expected.len()
    );
    let gap = result
        .missing
        .iter()
        .find_map(|gap| match (&gap.what, &gap.why) {
            (
                Missing::Count {
                    count,
                    of: Countable::RaisedProcesses,
                },
                Reason::OtherPrivileges(raised),
            ) => Some((*count, raised)),
            _ => None,
        });
    let (count, named) = gap.expect("who was not observed is said");
    assert_eq!((count, named.len() as u64), (raised, raised), "seed {seed}");
    let programs: BTreeSet<&str> = named.iter().map(|one| one.program.as_str()).collect();
    assert!(
        programs.iter().all(|name| name.len() == 1 && *name != "P"),
        "{programs:?}"
    );
}

fn cannot() -> bool {
    let cannot = !rustix::process::geteuid().is_root();
    if cannot {
        skip("file capabilities need root");
    }
    cannot
}

#[test]
fn those_that_were_named_are_observed_until_they_gain_privileges() {
    if cannot() {
        return;
    }
    trees(1000, 11, 70, |processes| {
        let named = processes
            .iter()
            .flat_map(|process| ["-p".to_owned(), process.to_string()]);
        named.collect()
    });
}

#[test]
fn those_that_match_a_name_are_observed_until_they_gain_privileges() {
    if cannot() {
        return;
    }
    // Those of the other tests are other users'.
    trees(12345, 12, 70, |_| vec!["--name".to_owned(), "P".to_owned()]);
}

#[test]
fn those_in_a_cgroup_are_observed_until_they_gain_privileges() {
    let group = (!cannot())
        .then(|| Group::new("iostrata-test-NUMBER"))
        .flatten();
    let Some(group) = group else { return };
    trees(65534, 13, 60, |processes| {
        for process in processes {
            group.take(*process);
        }
        vec!["--cgroup".to_owned(), group.path().to_owned()]
    });
}

#[test]
fn where_an_observation_ends_is_said() {
    if cannot() {
        return;
    }
    let (dir, home) = (place(), place());
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    chown(home.path(), Some(1000), Some(1000)).unwrap();
    let mut install = Command::new("install");
    install.args(["-m", "4755", "/bin/true", "raised"]);
    install.current_dir(&dir);
    assert!(install.status().unwrap().success());
    let mut shell = Command::new("sh");
    shell.args(["-c", "read go; exec ./raised"]);
    shell.uid(1000).gid(1000);
    let waiting = Waiting::of(shell, dir.path());
    let pid = waiting.pid().to_string();
    let command = trace(capable(dir.path(), 1000), home.path(), &["-p", &pid]);
    let mut observing = Observing::of(command, home);
    waiting.go(b"\n");
    until(|| observing.program.0.try_wait().unwrap().ok_or("it goes on"));
    let ended = format!("the observation of process {pid} has ended: it executed raised");
    assert!(observing.said().contains(&ended), "{}", observing.said());
}
