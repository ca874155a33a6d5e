//! Parents that stop themselves when they see a child stopped, as `script(1)` does: nobody else would continue them.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::stopping::send;

/// How long after the stop of a child its parent may stop itself; later it has another reason.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a child may have ended before its parent has noticed.
const DEAF: Duration = Duration::from_secs(2);

/// How long a parent may take to stop itself, in looks, and the time between two.
const READS: u32 = 50;
const BETWEEN_READS: Duration = Duration::from_millis(1);

/// Drains of the ring between two looks.
const BETWEEN_LOOKS: u32 = 8;

/// The parents of processes that were stopped.
#[derive(Debug, Default)]
pub(super) struct Parents {
    /// With the child that was stopped last, and when.
    of: HashMap<u32, (u32, Instant)>,
    /// Those that did not stop themselves: nobody waits for them again.
    indifferent: HashSet<u32>,
    /// Those that had missed the end of their child.
    ended: HashSet<u32>,
    looks: u32,
}

impl Parents {
    /// Notes the parent of a process that was stopped. If it reads its signals (signalfd(2)), waits until it has read of
    /// the stop, and gives it if it has stopped itself then: it has to run again before its child does. Of several
    /// `SIGCHLD` that nobody has read the kernel keeps the first (`legacy_queue`, kernel/signal.c), so a child that ended
    /// soon after would have ended unheard.
    pub(super) fn note(&mut self, child: u32) -> Option<u32> {
        let (_, parent) = state_and_parent(child)?;
        if parent == std::process::id() {
            return None;
        }
        self.of.insert(parent, (child, Instant::now()));
        let is_known = self.indifferent.contains(&parent);
        for _ in 0..if is_known { 1 } else { READS } {
            match heard(parent) {
                Heard::Stopped => return Some(parent),
                Heard::NeverReads => return None,
                Heard::Not => thread::sleep(BETWEEN_READS),
            }
        }
        self.indifferent.insert(parent);
        None
    }

    /// Those that are stopped now, each with its child; called after the ring was drained.
    pub(super) fn stopped(&mut self) -> Vec<(u32, u32)> {
        self.looks = self.looks.wrapping_add(1);
        if self.of.is_empty() || !self.looks.is_multiple_of(BETWEEN_LOOKS) {
            return Vec::new();
        }
        self.end_deaf();
        self.of.retain(|_, (_, since)| since.elapsed() < PATIENCE);
        let all = self.of.iter().map(|(parent, (child, _))| (*parent, *child));
        all.filter(|(parent, _)| matches!(heard(*parent), Heard::Stopped))
            .collect()
    }

    /// Ends those that have missed the end of their child, and would wait for it forever: the stop, or what continued the
    /// child, was not read before.
    fn end_deaf(&mut self) {
        for (parent, (child, since)) in &self.of {
            let is_deaf = since.elapsed() > DEAF
                && matches!(state_and_parent(*child), Some((b'Z', _)))
                && matches!(heard(*parent), Heard::Not);
            if is_deaf && self.ended.insert(*parent) {
                send(*parent, Signal::TERM);
            }
        }
    }

    /// How many were ended.
    pub(super) fn ended(&self) -> u64 {
        self.ended.len() as u64
    }
}

/// Whether a process is not stopped any more, after a while in which its parent may continue it.
pub(super) fn has_gone_on(child: u32) -> bool {
    for _ in 0..READS {
        if !matches!(state_and_parent(child), Some((b'T', _))) {
            return true;
        }
        thread::sleep(BETWEEN_READS);
    }
    false
}

/// The state follows the name in parentheses, which may hold any byte, and the parent follows the state
/// (`proc_pid_stat(5)`).
fn state_and_parent(process: u32) -> Option<(u8, u32)> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 2..)?).ok()?;
    let mut fields = rest.split(' ');
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.next()?.parse().ok()?))
}

/// What a parent has made of the stop of its child.
enum Heard {
    /// Nothing so far.
    Not,
    /// It has stopped itself.
    Stopped,
    /// It has not blocked `SIGCHLD`, so it reads none.
    NeverReads,
}

fn heard(parent: u32) -> Heard {
    let child = 1_u64 << (libc::SIGCHLD - 1);
    // proc_pid_status(5)
    let status = std::fs::read_to_string(format!("/proc/{parent}/status")).unwrap_or_default();
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
    let blocked = field("SigBlk:").and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    let is_stopped = field("State:").is_some_and(|state| state.trim_start().starts_with('T'));
    match blocked {
        Some(blocked) if blocked & child != 0 && is_stopped => Heard::Stopped,
        Some(blocked) if blocked & child != 0 => Heard::Not,
        _ => Heard::NeverReads,
    }
}
