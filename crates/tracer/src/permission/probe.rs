//! Single queries to the kernel, each without side effects.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, MemfdFlags, access, memfd_create};

use crate::kernel;
use crate::stack::Roots;

/// A capability set of the calling thread. Bits: include/uapi/linux/capability.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capabilities(pub(super) u64);

impl Capabilities {
    pub(super) const SYS_PTRACE: u32 = 19;
    pub(super) const SYS_ADMIN: u32 = 21;
    pub(super) const SYSLOG: u32 = 34;
    pub(super) const PERFMON: u32 = 38;
    pub(super) const BPF: u32 = 39;

    /// None when `/proc` does not report them.
    pub(super) fn read(roots: &Roots) -> Self {
        Self::set(roots, "CapEff:")
    }

    /// The most that this process and its programs can have. None when `/proc` does not report it.
    pub(super) fn bounding(roots: &Roots) -> Self {
        Self::set(roots, "CapBnd:")
    }

    fn set(roots: &Roots, name: &str) -> Self {
        let status = Roots::read(&roots.proc.join("thread-self/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        Self(
            line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
                .unwrap_or_default(),
        )
    }

    pub(super) fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }

    /// `CAP_SYS_ADMIN` includes the other two (`capabilities(7)`).
    pub(super) fn may_trace(self) -> bool {
        self.has(Self::SYS_ADMIN) || (self.has(Self::BPF) && self.has(Self::PERFMON))
    }

    pub(super) fn in_words(self) -> String {
        let named = [
            (Self::SYS_ADMIN, "CAP_SYS_ADMIN"),
            (Self::BPF, "CAP_BPF"),
            (Self::PERFMON, "CAP_PERFMON"),
            (Self::SYSLOG, "CAP_SYSLOG"),
            (Self::SYS_PTRACE, "CAP_SYS_PTRACE"),
        ];
        let held: Vec<&str> = named
            .into_iter()
            .filter(|(bit, _)| self.has(*bit))
            .map(|(_, name)| name)
            .collect();
        if held.is_empty() {
            "none".to_owned()
        } else {
            held.join(", ")
        }
    }
}

pub(super) fn types_readable(roots: &Roots) -> bool {
    File::open(roots.sys.join("kernel/btf/vmlinux")).is_ok()
}

/// The file has 200,000 lines; the first is enough: hidden addresses are all zero
/// (kernel/kallsyms.c, `s_show`).
pub(super) fn symbols_shown(roots: &Roots) -> bool {
    let Ok(file) = File::open(roots.proc.join("kallsyms")) else {
        return false;
    };
    let first_lines = BufReader::new(file).lines().take(8).map_while(Result::ok);
    first_lines.into_iter().any(|line| {
        let address = line
            .split_whitespace()
            .next()
            .and_then(|hex| u64::from_str_radix(hex, 16).ok());
        address.is_some_and(|address| address != 0)
    })
}

/// `none`, `integrity` or `confidentiality`: the bracketed word.
pub(super) fn lockdown_mode(roots: &Roots) -> Option<String> {
    let modes = Roots::read(&roots.sys.join("kernel/security/lockdown"))?;
    let active = modes
        .split_whitespace()
        .find_map(|mode| mode.strip_prefix('[')?.strip_suffix(']'));
    active.map(str::to_owned)
}

/// Queries an empty memory file of our own.
pub(super) fn cachestat() -> io::Result<()> {
    use std::os::fd::AsFd as _;
    let file = memfd_create("iostrata", MemfdFlags::CLOEXEC)?;
    kernel::cachestat(file.as_fd(), 0..4096).map(drop)
}

/// The kernel checks permission before it reads the parameters (`io_uring/io_uring.c`,
/// `SYSCALL_DEFINE2(io_uring_setup)`), so a call without parameters shows whether a real one would
/// be permitted: `EFAULT` means yes.
#[expect(
    unsafe_code,
    reason = "no library makes the call without making a ring"
)]
pub(super) fn io_uring() -> io::Result<()> {
    let no_parameters = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the kernel refuses a null pointer with EFAULT before it creates anything.
    let result = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1_u32, no_parameters) };
    unless(libc::EFAULT, kernel::outcome(result))
}

/// Thread 0 does not exist, and the kernel reports that (`SYSCALL_DEFINE4(ptrace)`,
/// kernel/ptrace.c) once the call gets there: `ESRCH` means yes.
#[expect(
    unsafe_code,
    reason = "no library makes the call without tracing anything"
)]
pub(super) fn ptrace() -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the call ends at a thread that does not exist.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, 0, nothing, nothing) };
    unless(libc::ESRCH, kernel::outcome(result))
}

/// The outcome, where failing with this error means yes.
fn unless(yes: i32, outcome: io::Result<()>) -> io::Result<()> {
    outcome.or_else(|error| match error.raw_os_error() {
        Some(number) if number == yes => Ok(()),
        _ => Err(error),
    })
}

/// Whether this user may request a loop device; requests none.
pub(super) fn loop_control() -> io::Result<()> {
    Ok(access(
        "/dev/loop-control",
        Access::READ_OK | Access::WRITE_OK,
    )?)
}

/// An executable with this name in `PATH`, or where distributions keep tools that are not in an
/// ordinary user's `PATH`.
pub(super) fn find_tool(name: &str, search_path: Option<&OsStr>) -> Option<PathBuf> {
    let given = search_path.into_iter().flat_map(std::env::split_paths);
    let usual = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    given
        .chain(usual)
        .map(|directory| directory.join(name))
        .find(|file| executable(file))
}

fn executable(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}
