//! A thread for which the system's files do not exist.

use std::io;

use rustix::process::chroot;
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Gives the calling thread another root directory, `/proc`, so that it finds nothing below `/sys`. Other
/// threads keep theirs.
///
/// Fails without `CAP_SYS_CHROOT`; the thread then sees all files as before.
pub(crate) fn without_files() -> io::Result<()> {
    // SAFETY: root and working directory have no part in memory or descriptors.
    unsafe { unshare_unsafe(UnshareFlags::FS) }?;
    Ok(chroot("/proc")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::thread;

    #[test]
    fn only_the_calling_thread_sees_no_files() {
        let types = Path::new("/sys/kernel/btf/vmlinux");
        let seen = thread::spawn(move || (without_files().is_ok(), types.exists())).join();
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(seen.unwrap(), (is_root, !is_root));
        assert!(types.exists());
    }
}
