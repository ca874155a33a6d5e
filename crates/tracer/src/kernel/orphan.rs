//! Children that do not outlive a killed parent.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Makes the kernel kill the child when the thread that spawns it dies, also by `SIGKILL`.
///
/// The thread, not the process (`PR_SET_PDEATHSIG(2const)`): spawn from a thread
/// that waits for the child. A set-user-ID program or one with file
/// capabilities loses the setting.
pub fn die_with_parent(command: &mut Command) -> &mut Command {
    let parent = getpid();
    // SAFETY: between fork and exec the closure makes two system calls, which is
    // async-signal-safe; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(move || tie_to(parent)) }
}

fn tie_to(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above; then no signal would come.
    if getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn kills_the_child_of_a_thread_that_ends() {
        let (hand_over, child) = mpsc::channel();
        thread::spawn(move || {
            let mut command = Command::new("sleep");
            hand_over.send(die_with_parent(command.arg("600")).spawn().unwrap())
        })
        .join()
        .unwrap()
        .unwrap();
        let status = child.recv().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
    }
}
