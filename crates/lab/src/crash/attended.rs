//! Runs a command so that it and all that it starts end with the process that asked for it.
//!
//! The process that asks may be killed at any time, so that cannot be left to them: a process between the two becomes the
//! parent of everything that the command starts and leaves behind (`PR_SET_CHILD_SUBREAPER`), and ends all of
//! it when its own parent is gone.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_tracer::kernel::die_with_parent;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_child_subreaper, wait,
};
use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::interrupt::Interrupt;

const PAUSE: Duration = Duration::from_millis(20);

/// How long a command may take to end after a signal.
const GRACE: Duration = Duration::from_secs(2);

/// How long processes are asked to end that are not this user's to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The work of the process between: runs the command, and gives its exit code. The first of the arguments is the
/// number of the process that asks.
pub fn attended_main(arguments: &[OsString]) -> io::Result<i32> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (parent, command) = arguments.split_first().ok_or_else(invalid)?;
    let parent = parent.to_str().and_then(|parent| parent.parse().ok());
    let parent = Pid::from_raw(parent.ok_or_else(invalid)?);
    let interrupt = Interrupt::install(|_| ())?;
    set_child_subreaper(Some(getpid()))?;
    let (name, arguments) = command.split_first().ok_or_else(invalid)?;
    let mut child = die_with_parent(Command::new(name).args(arguments)).spawn()?;
    let mut passed_on: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            // What the program has left running must not keep its files busy, or change them.
            end_all(&mut child);
            return Ok(status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
        }
        if getppid() != parent {
            end_all(&mut child);
            return Ok(1);
        }
        if let Err(by) = interrupt.check() {
            let since = *passed_on.get_or_insert_with(|| {
                interrupt.pass_on(Pid::from_child(&child));
                Instant::now()
            });
            // What the program had started may not have heard of it.
            if !is_of_keyboard(by.signal) && since.elapsed() > GRACE {
                end_all(&mut child);
                return Ok(1);
            }
        }
        thread::sleep(PAUSE);
    }
}

fn is_of_keyboard(signal: i32) -> bool {
    signal == SIGINT || signal == SIGQUIT
}

/// Ends every process below this one, repeatedly: they may still start others.
fn end_all(child: &mut Child) {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        for pid in below(getpid()) {
            _ = kill_process(pid, Signal::KILL);
        }
        // The child is reaped here too; nobody asks it for more.
        child.try_wait().ok();
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if below(getpid()).is_empty() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// All processes that this one started, and that they started.
fn below(top: Pid) -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = std::fs::read(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = parent_of(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut all = Vec::new();
    let mut waiting = vec![top.as_raw_pid()];
    while let Some(parent) = waiting.pop() {
        let of_parent = children.remove(&parent).unwrap_or_default();
        all.extend(of_parent.iter().copied().filter_map(Pid::from_raw));
        waiting.extend(of_parent);
    }
    all
}

/// The fourth field; the name in parentheses before it may hold any byte (`proc_pid_stat(5)`).
fn parent_of(stat: &[u8]) -> Option<i32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_read_behind_any_name() {
        assert_eq!(parent_of(b"12 (sleep) S 7 12 12 0"), Some(7));
        assert_eq!(parent_of(b"12 (a) S 3 (b\xff) R 8 12"), Some(8));
        assert_eq!(parent_of(b"12 (a"), None);
    }

    #[test]
    fn children_are_below() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(below(getpid()).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!below(getpid()).contains(&pid));
    }
}
