//! Waiting until all that is under way in the kernel has seen what was changed before.

use std::io;
use std::thread::sleep;
use std::time::Duration;

/// include/uapi/linux/membarrier.h
const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;

/// Programs at tracepoints are not preempted, so none is under way as long.
const LONGER_THAN_ANY: Duration = Duration::from_millis(100);

/// Returns when all sections of the kernel that read under RCU have ended that were under way, and
/// with them all eBPF programs at tracepoints (`synchronize_rcu` in `membarrier`,
/// kernel/sched/membarrier.c; with one CPU nothing else runs meanwhile). A kernel with CPUs for one
/// task alone (`nohz_full`) refuses: there it waits longer than any program takes.
pub(crate) fn wait() -> io::Result<()> {
    // SAFETY: the call takes three integers, and changes no memory.
    let done = unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
    let error = io::Error::last_os_error();
    match (done, error.raw_os_error()) {
        (0.., _) => Ok(()),
        (_, Some(libc::EINVAL | libc::ENOSYS | libc::EPERM)) => {
            sleep(LONGER_THAN_ANY);
            Ok(())
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernel_has_it() {
        super::wait().unwrap();
    }
}
