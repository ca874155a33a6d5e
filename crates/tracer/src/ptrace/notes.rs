//! What a run did that this back end cannot see, to be said in the result.

use std::os::unix::fs::MetadataExt as _;

use iostrata_core::op::Gap;

use super::Stops;
use super::request::Tid;
use super::{place, usage};

/// Set-user-ID and set-group-ID bits of a mode.
const GAINS_PRIVILEGES: u32 = 0o6000;

/// Counts of what was met.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// `io_uring` instances that were made.
    pub(super) rings: u64,
    /// Threads that were gone before their figures could be read.
    pub(super) without_figures: u64,
    /// Operations of libaio whose results no call fetched.
    pub(super) without_result: u64,
    /// Threads that may not be traced.
    pub(super) refused: u64,
    /// Calls whose numbers mean others: of 32-bit programs, or made the 32-bit way.
    pub(super) foreign: u64,
    /// First set-user-ID or set-group-ID program that was executed without its privileges.
    unprivileged: Option<Vec<u8>>,
}

impl Notes {
    /// Looks at the program that a process has executed.
    pub(super) fn executed(&mut self, process: Tid) {
        let link = format!("/proc/{process}/exe");
        let mode = std::fs::metadata(&link).map_or(0, |meta| meta.mode());
        if mode & GAINS_PRIVILEGES != 0 && self.unprivileged.is_none() && is_held_back(process) {
            self.unprivileged = place::link(&link);
        }
    }

    /// All that is missing in a run.
    pub(super) fn gaps(self, stops: Stops, without_generation: u64) -> Vec<Gap> {
        let mut gaps = always(stops);
        let mut say = |is: bool, what: String, why: &str| {
            if is {
                gaps.push(Gap::new(what, why));
            }
        };
        say(
            self.rings > 0,
            "operations of io_uring".to_owned(),
            "the program hands them over in shared memory, where ptrace does not see them; \
             eBPF does",
        );
        say(
            self.without_figures > 0,
            format!("CPU time and faults of {} threads", self.without_figures),
            "they were gone before their figures could be read",
        );
        say(
            self.refused > 0,
            format!("{} threads of what the process had started", self.refused),
            "the kernel permits no tracing of them: they are another user's, or have a tracer",
        );
        say(
            without_generation > 0,
            "reuse of inode numbers".to_owned(),
            "some file systems do not tell the generation of a file (FS_IOC_GETVERSION); two \
             files that had the same number one after the other are taken for one",
        );
        if let Some(path) = self.unprivileged {
            let path = String::from_utf8_lossy(&path).into_owned();
            say(
                true,
                format!("the privileges of {path}"),
                "a program that is traced without privileges gains none by set-user-ID; what \
                 it did may differ from a run without iostrata",
            );
        }
        gaps.extend(crate::ebpf::without_result(self.without_result));
        gaps
    }
}

/// Whether the kernel gives a set-user-ID program no privileges now: because of the filter,
/// or because its tracer may not trace everything (`cap_bprm_creds_from_file`,
/// security/commoncap.c).
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
            "requests of the device",
            "ptrace sees system calls only; /proc/PID/io has the bytes of each process",
        ),
        Gap::new(
            "time blocked in calls",
            "ptrace does not see when a thread leaves the CPU",
        ),
        Gap::new(
            "times without the observer's own",
            "each observed call stops twice, some 10 µs in all, which its time includes; where \
             many threads make calls at once, also that they wait for the one observer",
        ),
        Gap::new(
            "where in the program calls came from",
            "this back end takes no stacks; eBPF does",
        ),
        Gap::new(
            "reads and stores through mappings",
            "they make no system calls",
        ),
    ];
    if stops == Stops::Io {
        gaps.push(Gap::new(
            "calls that do no I/O",
            "they run free of the observer and are not counted",
        ));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_met_is_said_and_nothing_else() {
        let usual = Notes::default().gaps(Stops::Io, 0).len();
        let all = Notes {
            rings: 1,
            without_figures: 2,
            without_result: 5,
            refused: 1,
            foreign: 3,
            unprivileged: Some(b"/bin/su".to_vec()),
        };
        let gaps = all.gaps(Stops::Io, 4);
        assert_eq!(gaps.len(), usual + 6);
        assert!(
            gaps.iter()
                .any(|gap| gap.what == "the privileges of /bin/su")
        );
        assert_eq!(Notes::default().gaps(Stops::All, 0).len(), usual - 1);
    }
}
