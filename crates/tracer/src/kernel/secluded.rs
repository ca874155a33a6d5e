//! A room for a program that nobody trusts: it sees the machine, and can change nothing but one directory.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::private_mounts;

/// include/uapi/linux/mount.h
const MOUNT_ATTR_RDONLY: u64 = 1;
/// include/uapi/linux/fcntl.h
const AT_RECURSIVE: libc::c_uint = 0x8000;

/// `struct mount_attr`, include/uapi/linux/mount.h
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// The only directory that the calling thread, and what it starts, can write to.
#[derive(Debug)]
pub struct Secluded {
    path: PathBuf,
    /// Of a tmpfs its size; `None` for the directory itself.
    bytes: Option<u64>,
}

impl Secluded {
    /// Moves the calling thread into mount, network, IPC and host name namespaces of its own, and makes every
    /// mount in it read-only, except `path`, where it mounts a tmpfs if `bytes` says how large. All of this
    /// ends with the thread and what it has started. Processes are not hidden from it.
    ///
    /// Fails without `CAP_SYS_ADMIN`, and before Linux 5.12, which has no `mount_setattr(2)`.
    pub fn enter(path: &Path, bytes: Option<u64>) -> io::Result<Self> {
        private_mounts()?;
        let own = UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
        // SAFETY: these namespaces have no part in memory or descriptors.
        unsafe { unshare_unsafe(own) }?;
        if bytes.is_none() {
            mount_bind(path, path)?;
        }
        set_attributes(c"/", MOUNT_ATTR_RDONLY, 0, AT_RECURSIVE)?;
        let room = Self {
            path: path.to_owned(),
            bytes,
        };
        if let Some(bytes) = bytes {
            room.mount(bytes)?;
        } else {
            let path = CString::new(path.as_os_str().as_bytes())?;
            set_attributes(&path, 0, MOUNT_ATTR_RDONLY, 0)?;
        }
        Ok(room)
    }

    /// Empties a tmpfs, whatever was done to what is in it; gives whether it is one.
    pub fn renew(&self) -> io::Result<bool> {
        let Some(bytes) = self.bytes else {
            return Ok(false);
        };
        unmount(&self.path, UnmountFlags::DETACH)?;
        self.mount(bytes)?;
        Ok(true)
    }

    fn mount(&self, bytes: u64) -> io::Result<()> {
        let data = CString::new(format!("size={bytes},mode=700"))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("none", &self.path, "tmpfs", flags, data.as_c_str())?;
        Ok(())
    }
}

fn set_attributes(at: &CStr, set: u64, clear: u64, flags: libc::c_uint) -> io::Result<()> {
    let attributes = MountAttributes {
        set,
        clear,
        propagation: 0,
        user_namespace: 0,
    };
    // SAFETY: the path ends with a zero byte, and the structure lives through the call, which gets its size.
    super::outcome(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            at.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpStream;
    use std::{fs, thread};

    use super::*;

    /// In a thread of its own, tries to change what is outside; then `inside` does what it likes.
    fn try_out(bytes: Option<u64>, inside: impl FnOnce(&Secluded, &Path) + Send + 'static) {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("namespaces need root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("room");
        fs::create_dir(&path).unwrap();
        let outside = directory.path().join("file");
        fs::write(&outside, "old").unwrap();
        let (room, file) = (path.clone(), outside.clone());
        thread::spawn(move || {
            let secluded = Secluded::enter(&room, bytes).unwrap();
            let refused = fs::write(&file, "new").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ReadOnlyFilesystem);
            assert!(fs::remove_file(&file).is_err());
            assert!(TcpStream::connect("127.0.0.1:9").is_err());
            fs::write(room.join("new"), "new").unwrap();
            inside(&secluded, &room);
        })
        .join()
        .unwrap();
        assert_eq!(fs::read_to_string(outside).unwrap(), "old");
        let left = fs::read_dir(&path).unwrap().count();
        assert_eq!(left, usize::from(bytes.is_none()));
    }

    #[test]
    fn only_the_tmpfs_can_be_changed_and_it_ends_with_the_thread() {
        try_out(Some(1 << 20), |secluded, room| {
            let full = fs::write(room.join("large"), vec![1; 2 << 20]).unwrap_err();
            assert_eq!(full.kind(), ErrorKind::StorageFull);
            assert!(secluded.renew().unwrap());
            assert_eq!(fs::read_dir(room).unwrap().count(), 0);
        });
    }

    #[test]
    fn only_the_directory_can_be_changed() {
        try_out(None, |secluded, room| {
            fs::write(room.join("large"), vec![1; 2 << 20]).unwrap();
            fs::remove_file(room.join("large")).unwrap();
            assert!(!secluded.renew().unwrap());
        });
    }
}
