//! Parts of a run that this back end cannot see, to be reported in the result.

use std::os::unix::fs::MetadataExt as _;

use iostrata_core::op::Gap;

use super::Stops;
use super::request::Tid;
use super::{place, usage};

/// Set-user-ID and set-group-ID bits of a mode.
const GAINS_PRIVILEGES: u32 = 0o6000;

/// Counts of such parts.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// `io_uring` instances created.
    pub(super) rings: u64,
    /// Threads that were gone before their usage could be read.
    pub(super) without_figures: u64,
    /// Operations of libaio whose results no call fetched.
    pub(super) without_result: u64,
    /// Threads that could not be traced.
    pub(super) refused: u64,
    /// Pairs of descriptors that could not be compared.
    pub(super) not_compared: u64,
    /// Calls whose numbers mean other calls: those of 32-bit programs, or made with the 32-bit
    /// convention.
    pub(super) foreign: u64,
    /// First program that was executed without the privileges of its file: set-user-ID,
    /// set-group-ID or capabilities.
    unprivileged: Option<Vec<u8>>,
}

impl Notes {
    /// Inspects the program that a process has executed.
    pub(super) fn executed(&mut self, process: Tid) {
        let link = format!("/proc/{process}/exe");
        if self.unprivileged.is_none() && is_held_back(process) && gives_privileges(&link) {
            self.unprivileged = place::link(&link);
        }
    }

    /// The gaps in an operation log.
    pub(super) fn log_gaps(&self, hidden: u64) -> Vec<Gap> {
        let gaps = [
            self.of_rings(),
            self.of_foreign(),
            self.of_refused(),
            self.of_apart(),
            Self::of_hidden(hidden),
        ];
        gaps.into_iter().flatten().collect()
    }

    fn of_rings(&self) -> Option<Gap> {
        let why = "the program submits them through shared memory, where ptrace cannot see them; \
                   eBPF can";
        (self.rings > 0).then(|| Gap::new("io_uring operations", why))
    }

    fn of_foreign(&self) -> Option<Gap> {
        let why = "their numbers mean other calls; they are not decoded";
        let what = || format!("{} system calls of 32-bit programs", self.foreign);
        (self.foreign > 0).then(|| Gap::new(what(), why))
    }

    fn of_refused(&self) -> Option<Gap> {
        let why = "the kernel does not permit tracing them: they belong to another user, or have a \
             tracer";
        let what = || format!("{} threads of the process's descendants", self.refused);
        (self.refused > 0).then(|| Gap::new(what(), why))
    }

    /// Calls on descriptors that the kernel did not identify.
    fn of_hidden(hidden: u64) -> Option<Gap> {
        let why = "the kernel did not resolve their descriptors (pidfd_getfd, /proc/PID/fd)";
        (hidden > 0).then(|| Gap::counted(hidden, "call on a file", "calls on files", why))
    }

    /// Open files whose sharing is unknown.
    fn of_apart(&self) -> Option<Gap> {
        let why = "a seccomp filter denies kcmp(2), which shows whether two descriptors share an \
                   open file; give the container CAP_SYS_PTRACE";
        (self.not_compared > 0).then(|| Gap::new("open files shared between processes", why))
    }

    /// All gaps of a run, without what is counted as lost.
    pub(super) fn gaps(self, stops: Stops, without_generation: u64, hidden: u64) -> Vec<Gap> {
        let mut gaps = always(stops);
        let met = [self.of_rings(), self.of_refused(), Self::of_hidden(hidden)];
        gaps.extend(met.into_iter().flatten());
        let mut say = |is: bool, what: String, why: &str| {
            if is {
                gaps.push(Gap::new(what, why));
            }
        };
        say(
            self.without_figures > 0,
            format!("CPU time and faults of {} threads", self.without_figures),
            "they ended before their figures could be read",
        );
        say(
            without_generation > 0,
            "reuse of inode numbers".to_owned(),
            "some file systems do not report the generation of a file (FS_IOC_GETVERSION); two \
             successive files with the same inode number are treated as one",
        );
        if let Some(path) = self.unprivileged {
            let path = String::from_utf8_lossy(&path).into_owned();
            say(
                true,
                format!("the privileges of {path}"),
                "a program traced without privileges gains none through set-user-ID or file \
                 capabilities; it may behave differently than without iostrata",
            );
        }
        gaps.extend(crate::ebpf::without_result(self.without_result));
        gaps
    }
}

/// Whether a file grants privileges when executed.
fn gives_privileges(file: &str) -> bool {
    let mode = std::fs::metadata(file).map_or(0, |meta| meta.mode());
    let mut capabilities = [0_u8; 64];
    // capabilities(7), File capabilities.
    let mut has_capabilities = || {
        rustix::fs::getxattr(file, "security.capability", &mut capabilities[..])
            .is_ok_and(|bytes| bytes > 0)
    };
    mode & GAINS_PRIVILEGES != 0 || has_capabilities()
}

/// Whether the kernel grants a set-user-ID program no privileges now: because of the filter, or
/// because its tracer may not trace everything (`cap_bprm_creds_from_file`, security/commoncap.c).
fn is_held_back(process: u32) -> bool {
    usage::has_no_new_privileges(process) || !rustix::process::geteuid().is_root()
}

/// What this back end never sees.
fn always(stops: Stops) -> Vec<Gap> {
    let mut gaps = vec![
        Gap::new(
            "pages looked up, missed, prefetched and dirtied",
            "ptrace sees system calls only; the residency of files before and after comes \
             from cachestat",
        ),
        Gap::new(
            "device requests",
            "ptrace sees system calls only; /proc/PID/io has the bytes of each process",
        ),
        Gap::new(
            "time blocked in calls",
            "ptrace does not see when a thread leaves the CPU",
        ),
        Gap::new(
            "times without the observer's overhead",
            "each observed call stops twice, some 10 µs in total, which its time includes; if \
             many threads make calls at once, their times also include waiting for the observer",
        ),
        Gap::new(
            "call sites in the program",
            "this back end records no stacks; eBPF does",
        ),
        Gap::new(
            "reads and stores through mappings",
            "they make no system calls",
        ),
    ];
    if stops == Stops::Io {
        gaps.push(Gap::new(
            "calls that do no I/O",
            "the observer does not stop at them and does not count them",
        ));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_met_is_said_and_nothing_else() {
        let usual = Notes::default().gaps(Stops::Io, 0, 0).len();
        let all = Notes {
            rings: 1,
            without_figures: 2,
            without_result: 5,
            refused: 1,
            foreign: 3,
            not_compared: 1,
            unprivileged: Some(b"/bin/su".to_vec()),
        };
        let gaps = all.gaps(Stops::Io, 4, 1);
        assert_eq!(gaps.len(), usual + 7);
        assert!(
            gaps.iter()
                .any(|gap| gap.what == "the privileges of /bin/su")
        );
        assert_eq!(Notes::default().gaps(Stops::All, 0, 0).len(), usual - 1);
    }
}
