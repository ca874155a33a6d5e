//! The permissions of the user who runs this program, without those from the program file.
//!
//! With file capabilities (`setcap`) iostrata can do for every user what only root may: see what
//! any process does. So these functions check what the user could do alone.
#![expect(
    unsafe_code,
    reason = "the auxiliary vector and the user for file systems have no safe interface"
)]

use std::fs;
use std::io;
use std::thread;

use rustix::process::{getgid, getuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

/// Whether the program file gave it privileges (`AT_SECURE`, getauxval(3)). Root has all of them
/// anyway.
pub fn is_raised() -> bool {
    // SAFETY: the call reads a value that the kernel stored before the program started.
    let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) };
    is_secure != 0 && !getuid().is_root()
}

/// Those that the user has without the program file, a bit each (include/uapi/linux/capability.h).
pub(crate) fn own_capabilities() -> u64 {
    capabilities(None).map_or(0, |sets| own(sets).bits())
}

/// Whether the programs that it starts must not gain privileges either: their observer may not have
/// those privileges.
pub fn must_hold_back() -> bool {
    is_raised()
        && !capabilities(None).is_ok_and(|sets| own(sets).contains(CapabilitySet::SYS_PTRACE))
}

/// Whether this user may trace any process, also one that is not there yet.
pub fn may_trace_all() -> bool {
    capabilities(None).is_ok_and(|sets| {
        let given = if is_raised() {
            own(sets)
        } else {
            sets.effective
        };
        given.contains(CapabilitySet::SYS_PTRACE)
    })
}

/// Fails unless this user may trace the process: by the same credentials, or by a `CAP_SYS_PTRACE`
/// of its own. The kernel is asked, so that its security modules are too.
pub fn may_trace(pid: u32) -> io::Result<()> {
    // Credentials belong to a thread, and this thread ends with its query.
    let asking = thread::Builder::new().spawn(move || {
        if is_raised() {
            lower()?;
        }
        // The kernel checks this read with PTRACE_MODE_ATTACH_FSCREDS (proc_pid_personality,
        // fs/proc/base.c).
        fs::read(format!("/proc/{pid}/personality")).map(drop)
    })?;
    let answer = asking.join();
    answer.unwrap_or_else(|_panic| Err(io::Error::other("the thread that asks has failed")))
}

/// Inheritable capabilities come from the administrator (`pam_cap(8)`): a file grants none of these
/// (capabilities(7), Transformation of capabilities during `execve`).
fn own(sets: CapabilitySets) -> CapabilitySet {
    sets.effective & sets.inheritable
}

/// Leaves the thread only the user's own privileges.
fn lower() -> io::Result<()> {
    // SAFETY: the call changes the file-system group of this thread only.
    unsafe { libc::setfsgid(getgid().as_raw()) };
    // SAFETY: the call changes the file-system user of this thread only.
    unsafe { libc::setfsuid(getuid().as_raw()) };
    let sets = capabilities(None)?;
    let effective = own(sets);
    set_capabilities(None, CapabilitySets { effective, ..sets })?;
    Ok(())
}

/// Leaves this thread only these of its capabilities, and no program that it executes gains any (capset(2),
/// `PR_SET_NO_NEW_PRIVS(2const)`). Other threads have credentials of their own.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    keep(kept)
}

/// Leaves this thread only these of its capabilities; a program that it executes may gain others.
pub fn keep(kept: CapabilitySet) -> io::Result<()> {
    let kept = kept & capabilities(None)?.permitted;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_may_trace_its_own_processes() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let may = may_trace(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        may.unwrap();
        assert!(!is_raised());
    }
}
