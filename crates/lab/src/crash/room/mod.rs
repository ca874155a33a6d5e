//! The room of a checker: a command that looks at what a program left.
//!
//! Two rooms have the same walls. Root's has a range of users of its own, so that the owner of the tree and root are
//! others than outside; that of a user without privileges has this user alone.

mod ids;
mod mounts;

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use iostrata_tracer::kernel::{deny_calls, inherit_standard_only, turn_on_loopback};
use iostrata_tracer::permission::caller::keep;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit, umask,
};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, clear_ambient_capability_set, move_into_link_name_space,
    remove_capability_from_bounding_set, set_no_new_privs, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

pub(super) use ids::Ids;
pub(super) use mounts::memory;

/// Processes and threads of a checker, all together.
const MOST_PROCESSES: u64 = 1024;

/// Bytes that a checker may write to one file: one that grows without end stops it (`setrlimit(2)`).
const MOST_BYTES: u64 = 1 << 30;

/// What root may do in its room, to the files and processes there.
const PRIVILEGES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// The users of root's room, and their namespace.
#[derive(Debug)]
pub(super) struct Users {
    pub(super) ids: Ids,
    pub(super) namespace: OwnedFd,
    /// Whether set-user-ID programs give them their privileges.
    pub(super) gain: bool,
}

/// Shuts this process into a room, in namespaces that are its own already; it is the first process there. Of what others
/// may not reach outside it sees these paths. Gives the file for what it says.
pub(super) fn enter(stage: &Path, seen: &[PathBuf], users: Option<&Users>) -> io::Result<File> {
    // Where memory is short, it is the checker that ends (proc_pid_oom_score_adj(5)).
    fs::write("/proc/self/oom_score_adj", "1000").ok();
    umask(rustix::fs::Mode::from_raw_mode(0o022));
    let output = mounts::furnish(stage, seen, users)?;
    turn_on_loopback()?;
    if let Some(Users { ids, namespace, .. }) = users {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::User))?;
        set_thread_groups(&[])?;
        set_thread_res_gid(ids.group(), ids.group(), ids.group())?;
        set_thread_res_uid(ids.user(), ids.user(), ids.user())?;
    }
    limit(Resource::Nproc, MOST_PROCESSES)?;
    if !users.is_some_and(|users| users.gain) {
        set_no_new_privs(true)?;
    }
    deny_calls()?;
    give_up_privileges()?;
    // What the checker starts may neither trace this process nor take its descriptors (ptrace(2)).
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(output)
}

/// Bounds that hold in a process group too.
pub(super) fn bound() -> io::Result<()> {
    limit(Resource::Fsize, MOST_BYTES)?;
    // With 0 a program that collects cores would still get one; 1 is that program's own mark (fs/coredump.c).
    limit(Resource::Core, 1)?;
    inherit_standard_only()
}

fn give_up_privileges() -> io::Result<()> {
    clear_ambient_capability_set()?;
    for (_, one) in CapabilitySet::all().difference(PRIVILEGES).iter_names() {
        match remove_capability_from_bounding_set(one) {
            // One of a later kernel.
            Err(Errno::INVAL) => {}
            removed => removed?,
        }
    }
    let kept = if rustix::process::geteuid().is_root() {
        PRIVILEGES
    } else {
        CapabilitySet::empty()
    };
    keep(kept)
}

/// Never above what is allowed already.
fn limit(what: Resource, most: u64) -> io::Result<()> {
    let allowed = getrlimit(what).maximum;
    let most = Some(allowed.map_or(most, |allowed| allowed.min(most)));
    setrlimit(
        what,
        Rlimit {
            current: most,
            maximum: most,
        },
    )?;
    Ok(())
}
