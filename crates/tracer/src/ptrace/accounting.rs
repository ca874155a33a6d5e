//! The bytes that calls of ended threads have moved, by the kernel's own accounting; the audit holds the record against
//! them. `bpf/accounting.h` does the same in the kernel.

use std::collections::HashMap;

use iostrata_core::trace::accounted_times;
use syscalls::Sysno;

use super::request::Tid;
use super::usage::number;

#[derive(Debug)]
pub(super) struct Accounting {
    /// What was accounted to a thread that its calls did not move.
    aside: HashMap<Tid, u64>,
    /// Of threads that have ended; `None` once it is unknown of one.
    pub(super) bytes: Option<u64>,
}

impl Accounting {
    /// `None` where a thread was there before the observation.
    pub(super) fn new(counts_at_once: bool) -> Self {
        Self {
            aside: HashMap::new(),
            bytes: (!counts_at_once).then_some(0),
        }
    }

    /// A call is over before which [`before`] was asked.
    pub(super) fn leave(&mut self, tid: Tid, called: Sysno, before: Option<u64>) {
        if let Some(before) = before.filter(|_| !is_accounted(called)) {
            self.set_aside(tid, before);
        }
    }

    /// What was accounted since is not of the thread's calls.
    fn set_aside(&mut self, tid: Tid, before: u64) {
        match of(tid) {
            Some(now) => *self.aside.entry(tid).or_default() += now.saturating_sub(before),
            None => self.bytes = None,
        }
    }

    /// All that a thread has done does not count: it has executed the program.
    pub(super) fn begin(&mut self, tid: Tid) {
        self.aside.remove(&tid);
        self.set_aside(tid, 0);
    }

    /// The thread formerly numbered `former` has another number.
    pub(super) fn renumber(&mut self, tid: Tid, former: Tid) {
        if let Some(aside) = self.aside.remove(&former) {
            self.aside.insert(tid, aside);
        }
    }

    pub(super) fn end(&mut self, tid: Tid) {
        let aside = self.aside.remove(&tid).unwrap_or(0);
        let bytes = of(tid).map(|bytes| bytes.saturating_sub(aside));
        self.bytes = self
            .bytes
            .zip(bytes)
            .map(|(sum, bytes)| sum.saturating_add(bytes));
    }
}

/// What was accounted to the thread so far, before a call in which the kernel itself reads and writes files, or which a
/// listener may answer.
pub(super) fn before(
    tid: Tid,
    called: Sysno,
    arguments: &[u64; 6],
    has_listener: bool,
) -> Option<u64> {
    let is_asked_for = match called {
        Sysno::execve | Sysno::execveat => true,
        Sysno::ioctl => arguments[1] >> 8 & 0xff != TERMINALS,
        called => has_listener && is_accounted(called),
    };
    is_asked_for.then(|| of(tid)).flatten()
}

/// Whether a listener has made up the result of a call that did not take place.
pub(super) fn is_made_up(tid: Tid, called: Sysno, before: Option<u64>, result: i64) -> bool {
    let was_idle = |before| of(tid).is_some_and(|now| now <= before);
    is_accounted(called) && result > 0 && before.is_some_and(was_idle)
}

/// Whether the kernel accounts the bytes that it moves to the thread.
fn is_accounted(called: Sysno) -> bool {
    accounted_times(called.name()) > 0
}

/// The type of the requests that programs make often (include/uapi/asm-generic/ioctls.h): they read no file.
const TERMINALS: u64 = b'T' as u64;

/// Signals that end a process with a core dump, which the thread writes (signal(7)).
const DUMP_CORE: [i32; 10] = [
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGSYS,
];

/// Whether a thread with this status, that of `PTRACE_EVENT_EXIT`, may have written a core dump.
pub(super) fn may_have_dumped(status: u32) -> bool {
    DUMP_CORE.contains(&(status & 0x7f).cast_signed())
}

/// `rchar` and `wchar` of the thread alone.
fn of(tid: Tid) -> Option<u64> {
    let text = std::fs::read(format!("/proc/{tid}/task/{tid}/io")).ok()?;
    let [read, written]: [Option<u64>; 2] = [b"rchar:", b"wchar:"].map(|name| number(&text, name));
    Some(read?.saturating_add(written?))
}
