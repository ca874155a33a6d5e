//! What a room for a program that nobody trusts is made of, where no library has it: attributes of mounts, a user
//! namespace, the loopback, descriptors that it does not inherit.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::outcome;

/// include/uapi/linux/mount.h
const MOUNT_ATTR_RDONLY: u64 = 1;
const MOUNT_ATTR_NODEV: u64 = 4;
const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;
/// include/uapi/linux/fcntl.h
const AT_RECURSIVE: libc::c_int = 0x8000;

/// `struct mount_attr`, include/uapi/linux/mount.h
#[repr(C)]
#[derive(Default)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Makes a mount read-only, and its devices none: those can be written to all the same. Before Linux 5.12 there is no
/// `mount_setattr(2)`.
pub fn make_read_only(mount: BorrowedFd<'_>) -> io::Result<()> {
    set_attributes(mount, 0, &READ_ONLY)
}

/// The same for a mount and all below it.
pub fn make_all_read_only(mount: BorrowedFd<'_>) -> io::Result<()> {
    set_attributes(mount, AT_RECURSIVE, &READ_ONLY)
}

const READ_ONLY: MountAttributes = MountAttributes {
    set: MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV,
    clear: 0,
    propagation: 0,
    user_namespace: 0,
};

/// Makes this mount writable, without devices, and none below it.
pub fn make_writable(mount: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = MountAttributes {
        set: MOUNT_ATTR_NODEV,
        clear: MOUNT_ATTR_RDONLY,
        ..MountAttributes::default()
    };
    set_attributes(mount, 0, &attributes)
}

/// Shows the owners in a new mount and all below it as a user namespace maps them. Not every file system can
/// (`mount_setattr(2)`).
pub fn map_owners(mount: BorrowedFd<'_>, namespace: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = MountAttributes {
        set: MOUNT_ATTR_IDMAP,
        user_namespace: u64::from(namespace.as_raw_fd().cast_unsigned()),
        ..MountAttributes::default()
    };
    // One below may be of a file system that cannot.
    set_attributes(mount, AT_RECURSIVE, &attributes)
        .or_else(|_| set_attributes(mount, 0, &attributes))
}

fn set_attributes(
    mount: BorrowedFd<'_>,
    flags: libc::c_int,
    attributes: &MountAttributes,
) -> io::Result<()> {
    // SAFETY: the path ends with a zero byte, and the structure lives through the call, which gets its size.
    outcome(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags | libc::AT_EMPTY_PATH,
            std::ptr::from_ref(attributes),
            size_of::<MountAttributes>(),
        )
    })
}

/// Moves this thread into a user namespace of its own, in which nobody is mapped yet.
pub fn own_user_namespace() -> io::Result<()> {
    // SAFETY: a user namespace has no part in memory or descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }?;
    Ok(())
}

/// include/uapi/linux/if.h
const IFF_UP: libc::c_short = 1;

/// Turns on the loopback of a new network namespace, where it is off.
pub fn turn_on_loopback() -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: IFF_UP },
    };
    for (at, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *at = byte.cast_signed();
    }
    // SAFETY: the kernel reads the structure, which lives through the call (netdevice(7)).
    outcome(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) })
}

/// Lets what this process executes inherit standard input, output and error only.
pub fn inherit_standard_only() -> io::Result<()> {
    // include/uapi/linux/close_range.h
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
    // SAFETY: it sets a flag of descriptors, and closes none.
    outcome(unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_RANGE_CLOEXEC) })
}
