//! Starting to trace processes that are already running.

use std::collections::HashSet;
use std::io;

use super::recorder::Recorder;
use super::request::{self, Tid};
use super::usage;
use crate::clock::now_ns;

const QUIET_LOOKS: u32 = 3;

/// Seizes all threads of processes and of all they have started, and makes them stop once, so
/// that they stop at their calls from then on.
///
/// A process that may not be traced is an error; of one that it has started, as a
/// set-user-ID program, the recorder takes note. When the calling thread ends, all are let go.
pub(super) fn seize_trees(
    roots: &[u32],
    recorder: &mut Recorder,
) -> Result<HashSet<Tid>, (u32, io::Error)> {
    let (mut seized, mut refused) = (HashSet::new(), HashSet::new());
    let mut quiet_looks = 0;
    // Another scan finds threads created meanwhile, unless their creator was already seized: then
    // they are traced from the start. A list of children may lack one when another ends during the
    // read (proc_tid_children(5)), so that one scan without new threads is not enough.
    loop {
        let mut found_new = false;
        for process in trees(roots) {
            for thread in threads(process) {
                if seized.contains(&thread) || refused.contains(&thread) {
                    continue;
                }
                match request::seize(thread, request::options(0)) {
                    Ok(()) => {}
                    Err(_) if is_traced_by_me(thread) => continue,
                    Err(error) if has_ended(thread, &error) => {
                        refused.insert(thread);
                        continue;
                    }
                    Err(error) if roots.contains(&process) => return Err((process, error)),
                    Err(_) => {
                        recorder.notes.refused += 1;
                        refused.insert(thread);
                        continue;
                    }
                }
                found_new = true;
                seized.insert(thread);
                recorder.adopt(thread, now_ns());
                // Fails for a thread that has ended; its end comes as a stop.
                drop(request::interrupt(thread));
            }
        }
        if seized.is_empty() {
            let root = roots.first().copied().unwrap_or_default();
            return Err((root, io::Error::from_raw_os_error(libc::ESRCH)));
        }
        quiet_looks = if found_new { 0 } else { quiet_looks + 1 };
        if quiet_looks == QUIET_LOOKS {
            return Ok(seized);
        }
    }
}

/// A zombie, which cannot be traced and never runs again.
fn has_ended(thread: Tid, error: &io::Error) -> bool {
    let is_zombie = || {
        let stat = std::fs::read(format!("/proc/{thread}/stat")).unwrap_or_default();
        // The name in parentheses may hold any byte (proc_pid_stat(5)).
        let end = stat.iter().rposition(|byte| *byte == b')');
        let state = end.and_then(|end| stat.get(end + 2));
        state.is_none_or(|state| matches!(state, b'Z' | b'X'))
    };
    error.raw_os_error() == Some(libc::ESRCH) || is_zombie()
}

/// A thread created by a seized one is traced from its start.
fn is_traced_by_me(thread: Tid) -> bool {
    let status = std::fs::read(format!("/proc/{thread}/status")).unwrap_or_default();
    let me = rustix::thread::gettid().as_raw_nonzero().get();
    usage::number(&status, b"TracerPid:") == Some(me)
}

/// Processes and what they have started.
fn trees(roots: &[u32]) -> Vec<u32> {
    let mut all = roots.to_vec();
    let mut at = 0;
    while let Some(process) = all.get(at).copied() {
        at += 1;
        for thread in threads(process) {
            let children =
                std::fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
            let children = children.unwrap_or_default();
            all.extend(
                children
                    .split_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
    }
    all
}

fn threads(process: u32) -> Vec<Tid> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task"));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}
