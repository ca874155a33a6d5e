//! A private mount namespace, so that mounts end with the process.

use std::io;
use std::marker::PhantomData;

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Proof that the calling thread has a mount namespace of its own.
///
/// Stays on the thread that made it, since other threads may live in another
/// namespace.
#[derive(Debug)]
pub struct PrivateMounts {
    not_send: PhantomData<*const ()>,
}

/// Moves the calling thread, and the threads and processes it starts from now on, into a
/// mount namespace of their own whose mounts no other process sees.
///
/// When the last of them is gone, even by `SIGKILL`, the kernel unmounts everything
/// (`mount_namespaces(7)`). Call it before any thread is started: `unshare(2)`
/// moves one thread only, and the others would not see the mounts.
///
/// Fails with `EPERM` without `CAP_SYS_ADMIN`.
pub fn private_mounts() -> io::Result<PrivateMounts> {
    // SAFETY: a new mount namespace changes neither memory nor descriptors. It
    // also stops sharing root, working directory and umask with other threads
    // (CLONE_FS), which no memory-safe code relies on.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    // The copy still propagates to the original where a mount was shared.
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    Ok(PrivateMounts {
        not_send: PhantomData,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mount::{MountFlags, mount};
    use std::fs;
    use std::thread;

    #[test]
    fn mounts_are_seen_inside_only_and_end_with_the_thread() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("a mount namespace needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        thread::spawn(move || {
            private_mounts().unwrap();
            mount("none", &path, "tmpfs", MountFlags::empty(), None).unwrap();
            let inside = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
            assert!(inside.contains(path.to_str().unwrap()));
            let outside = fs::read_to_string("/proc/self/mountinfo").unwrap();
            assert!(!outside.contains(path.to_str().unwrap()));
        })
        .join()
        .unwrap();
    }
}
