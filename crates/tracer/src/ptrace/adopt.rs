//! Beginning to trace processes that run already.

use std::collections::HashSet;
use std::io;

use super::recorder::Recorder;
use super::request::{self, Tid};
use super::usage;
use crate::clock::now_ns;

/// Seizes all threads of a process and of all it has started, and makes them stop once, so
/// that they stop at their calls from then on.
///
/// A process that may not be traced is an error; of one that it has started, as a
/// set-user-ID program, the recorder takes note. When the calling thread ends, all are let go.
pub(super) fn seize_tree(root: u32, recorder: &mut Recorder) -> io::Result<HashSet<Tid>> {
    let (mut seized, mut refused) = (HashSet::new(), HashSet::new());
    // Threads that are made meanwhile are found by another look, unless their maker was
    // seized already: then they are traced from the start.
    loop {
        let mut found_new = false;
        for process in tree(root) {
            for thread in threads(process) {
                if seized.contains(&thread) || refused.contains(&thread) {
                    continue;
                }
                match request::seize(thread, request::options(0)) {
                    Ok(()) => {}
                    Err(_) if is_traced_by_me(thread) => continue,
                    Err(error) if process == root && (thread == root || !is_gone(&error)) => {
                        return Err(error);
                    }
                    Err(error) => {
                        recorder.refused(u64::from(!is_gone(&error)));
                        refused.insert(thread);
                        continue;
                    }
                }
                found_new = true;
                seized.insert(thread);
                recorder.adopt(thread, now_ns());
                // Fails for a thread that ended; its end comes as a stop.
                drop(request::interrupt(thread));
            }
        }
        if seized.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if !found_new {
            return Ok(seized);
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

/// Made by one that was seized, it is traced from its start.
fn is_traced_by_me(thread: Tid) -> bool {
    let status = std::fs::read(format!("/proc/{thread}/status")).unwrap_or_default();
    let me = rustix::thread::gettid().as_raw_nonzero().get();
    usage::number(&status, b"TracerPid:") == Some(me)
}

/// A process and what it has started.
fn tree(root: u32) -> Vec<u32> {
    let mut all = vec![root];
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
