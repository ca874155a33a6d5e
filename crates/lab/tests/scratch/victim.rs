//! A run in a separate process, which the tests interrupt and kill.

use std::env;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use iostrata_lab::interrupt::{Interrupt, Interrupted};
use iostrata_lab::scratch::{self, ImageKind, Images, Plan, Prepared};
use iostrata_tracer::kernel::die_with_parent;
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, kill_process};

use crate::install::install;

const ROLE: &str = "IOSTRATA_VICTIM";
const DIR: &str = "IOSTRATA_VICTIM_DIR";
const KINDS: &str = "IOSTRATA_VICTIM_KINDS";
const SAYS: &str = "victim: ";

/// The victim's work once its file systems are mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing, until a signal.
    Wait,
    /// Writes to every file system endlessly.
    Write,
    /// Waits for a child that sleeps.
    RunChild,
    /// Panics.
    Panic,
    /// Hides the system's mkfs programs before it starts.
    WithoutMkfs,
}

const ROLES: [Role; 5] = [
    Role::Wait,
    Role::Write,
    Role::RunChild,
    Role::Panic,
    Role::WithoutMkfs,
];

/// The victim, killed when the test ends.
pub(crate) struct Victim {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Victim {
    /// Starts one; `path` replaces PATH.
    pub(crate) fn start(role: Role, dir: &Path, kinds: &[ImageKind], path: Option<&Path>) -> Self {
        let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "victim::victim", "--nocapture"])
            .env(ROLE, format!("{role:?}"))
            .env(DIR, dir)
            .env(KINDS, names.join(","))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(path) = path {
            let system = env::var("PATH").unwrap();
            command.env("PATH", format!("{}:{system}", path.display()));
        }
        let mut child = die_with_parent(&mut command).spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Self { child, says }
    }

    /// The rest of the next line that begins with `topic`.
    #[track_caller]
    pub(crate) fn hear(&mut self, topic: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let ended = self.says.read_line(&mut line).unwrap() == 0;
            assert!(
                !ended,
                "the victim ended without saying {topic:?}; it said\n{all}"
            );
            // The test harness prints on the same line.
            if let Some((_, said)) = line.split_once(SAYS)
                && let Some(rest) = said.strip_prefix(topic)
            {
                return rest.trim().to_owned();
            }
            all += &line;
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills it like a power failure, and reaps it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its own end.
    pub(crate) fn wait(mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn say(text: impl std::fmt::Display) {
    println!("{SAYS}{text}");
    std::io::stdout().flush().unwrap();
}

/// The program that the other tests start as their victim; without arguments it is the victim's
/// test.
#[test]
fn victim() {
    let Ok(role) = env::var(ROLE) else {
        let dir = tempfile::tempdir().unwrap();
        let mut victim = Victim::start(Role::Wait, dir.path(), &[ImageKind::Ext4], None);
        let scratch = PathBuf::from(victim.hear("prepared"));
        assert!(scratch.starts_with(dir.path()), "{}", scratch.display());
        return victim.kill();
    };
    let role = ROLES.into_iter().find(|r| format!("{r:?}") == role);
    play(role.unwrap());
}

fn play(role: Role) {
    let mounts = scratch::isolate().unwrap();
    let interrupt = Interrupt::install(|_| ()).unwrap();
    if role == Role::WithoutMkfs {
        mount("none", "/usr/sbin", "tmpfs", MountFlags::empty(), None).unwrap();
        mount("none", "/sbin", "tmpfs", MountFlags::empty(), None).unwrap();
    }
    let kinds: Vec<_> = env::var(KINDS)
        .unwrap()
        .split(',')
        .map(|name| ImageKind::from_name(name).unwrap())
        .collect();
    let dir = PathBuf::from(env::var_os(DIR).unwrap());
    let plan = Plan {
        dir: &dir,
        enter: false,
        host_bytes: 0,
        images: Some(Images {
            kinds: &kinds,
            bytes: 0,
            mounts: &mounts,
        }),
    };
    match scratch::prepare(&plan, None, &interrupt) {
        Ok(prepared) => act(role, &prepared, &interrupt),
        Err(error) => say(format_args!("error {error}")),
    }
}

fn act(role: Role, prepared: &Prepared, interrupt: &Interrupt) {
    let scratch = prepared.host().parent().unwrap();
    say(format_args!("prepared {}", scratch.display()));
    let outcome = match role {
        Role::Wait => wait(interrupt),
        Role::Write => write(prepared, interrupt),
        Role::RunChild => run_child(interrupt),
        Role::Panic => panic!("as asked"),
        Role::WithoutMkfs => unreachable!("prepare fails"),
    };
    say(format_args!("error {}", outcome.unwrap_err()));
}

fn wait(interrupt: &Interrupt) -> Result<(), Interrupted> {
    loop {
        interrupt.check()?;
        thread::sleep(Duration::from_millis(5));
    }
}

fn write(prepared: &Prepared, interrupt: &Interrupt) -> Result<(), Interrupted> {
    let paths = prepared.images().iter().map(|image| image.path().join("f"));
    let mut files: Vec<_> = paths.map(|path| File::create(path).unwrap()).collect();
    let block = vec![7; 1 << 16];
    for file in &mut files {
        file.write_all(&block).unwrap();
    }
    say("writing");
    loop {
        for file in &mut files {
            interrupt.check()?;
            // A full file system is expected: only the writes matter.
            if file.write_all(&block).is_err() {
                file.set_len(0).unwrap();
            }
        }
    }
}

fn run_child(interrupt: &Interrupt) -> Result<(), Interrupted> {
    let mut command = Command::new("sleep");
    command.arg("600").process_group(0);
    let mut child = die_with_parent(&mut command).spawn().unwrap();
    say(format_args!("child {}", child.id()));
    child.wait().unwrap();
    interrupt.check()
}

/// Puts a program called `name` with this shell script, which is run only for real work, not for
/// `-V`, into `directory`.
pub(crate) fn fake_program(directory: &Path, name: &str, script: &str) {
    let written = tempfile::NamedTempFile::new().unwrap();
    fs::write(
        written.path(),
        format!("#!/bin/sh\n[ \"$1\" = -V ] && exit\n{script}\n"),
    )
    .unwrap();
    install(written.path(), directory.join(name));
}
