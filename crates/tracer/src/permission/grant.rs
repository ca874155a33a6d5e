//! How this process can get the capabilities that eBPF programs need. A remedy without effect here
//! is not advised.

use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};

use super::probe::Capabilities;
use crate::stack::Roots;

const GAIN: &str = "run as root, or give iostrata CAP_BPF and CAP_PERFMON, restricted to a group: \
     every user who may execute it gets them (SECURITY.md)";
/// `bpf_capable` (include/linux/bpf.h) requires capabilities of the initial user namespace.
const OF_NAMESPACE: &str =
    "run as root outside this user namespace: its capabilities do not apply to eBPF";
/// capabilities(7), Capability bounding set.
const BOUND: &str = "start the container with CAP_BPF, CAP_PERFMON and CAP_SYSLOG (--cap-add): no \
     process in it can gain more, not even through root or setcap";
const FILTERED: &str = "allow bpf(2) in the active seccomp filter";
const REFUSED_TO_ALL: &str =
    "a security module or the kernel's configuration denies it even to root";
/// execve(2): no file grants privileges then.
const NO_NEW_PRIVILEGES: &str = "run as root, or start it without no_new_privs, which disables \
     file capabilities (setcap)";
const NO_SET_USER_ID: &str = "run as root, or put the program on a file system not mounted \
     nosuid, which disables file capabilities (setcap)";
/// Older kernels require `CAP_SYS_ADMIN`, which is too much to grant to a file.
const BEFORE_CAP_BPF: &str = "run as root: this kernel has no CAP_BPF (Linux 5.8)";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) remedy: &'static str,
    /// A line for root's shell.
    pub(crate) command: Option<String>,
}

/// What would make the kernel accept eBPF programs from this process, which it refuses now.
/// `program` is the executable of this process.
fn grant(roots: &Roots, program: Option<&Path>) -> Grant {
    let remedy = obstacle(roots, program);
    let command = remedy.is_none().then_some(program).flatten();
    Grant {
        remedy: remedy.unwrap_or(GAIN),
        command: command.and_then(setcap),
    }
}

/// The same for the running program.
pub(crate) fn here(roots: &Roots) -> Grant {
    grant(roots, std::env::current_exe().ok().as_deref())
}

/// What keeps capabilities from this process, or eBPF from a process that has them.
fn obstacle(roots: &Roots, program: Option<&Path>) -> Option<&'static str> {
    let status = Roots::read(&roots.proc.join("thread-self/status")).unwrap_or_default();
    let has = |line: &str| {
        status
            .lines()
            .any(|found| found.split_whitespace().eq(line.split(' ')))
    };
    let last = Roots::read_number(&roots.proc.join("sys/kernel/cap_last_cap"));
    if in_user_namespace(roots) {
        Some(OF_NAMESPACE)
    } else if last.is_some_and(|last| last < u64::from(Capabilities::BPF)) {
        Some(BEFORE_CAP_BPF)
    } else if !Capabilities::bounding(roots).may_trace() {
        Some(BOUND)
    } else if Capabilities::read(roots).may_trace() {
        Some(if has("Seccomp: 2") {
            FILTERED
        } else {
            REFUSED_TO_ALL
        })
    } else if has("NoNewPrivs: 1") {
        Some(NO_NEW_PRIVILEGES)
    } else {
        program.is_some_and(is_nosuid).then_some(NO_SET_USER_ID)
    }
}

/// The inode number of the initial namespace (`PROC_USER_INIT_INO`, `include/linux/proc_ns.h`).
fn in_user_namespace(roots: &Roots) -> bool {
    let own = std::fs::read_link(roots.proc.join("self/ns/user"));
    own.is_ok_and(|own| own != Path::new("user:[4026531837]"))
}

fn is_nosuid(program: &Path) -> bool {
    statvfs(program).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOSUID))
}

/// `CAP_SYSLOG` makes the addresses of kernel functions readable (`kernel.kptr_restrict` 1). A path
/// that is not valid text cannot be printed for copying.
fn setcap(program: &Path) -> Option<String> {
    let path = program.to_str()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,@%:=".contains(&byte);
    let path = if path.bytes().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    };
    Some(format!("setcap cap_bpf,cap_perfmon,cap_syslog+ep {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "CapBnd:\t000001ffffffffff\n";

    /// The initial user namespace, unless the status has a line that contradicts it.
    fn told(status: &str, last_capability: &str) -> Grant {
        let files = [
            ("proc/thread-self/status", status),
            ("proc/sys/kernel/cap_last_cap", last_capability),
        ];
        let (kept, roots) = Roots::with(&files);
        let number = if status.contains("Inside") {
            "5"
        } else {
            "4026531837"
        };
        let own = kept.path().join("proc/self/ns/user");
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(format!("user:[{number}]"), own).unwrap();
        grant(&roots, Some(Path::new("/usr/bin/iostrata")))
    }

    #[test]
    fn a_user_is_told_the_line_for_the_program() {
        let status = format!("CapEff:\t0\n{ALL}NoNewPrivs:\t0\nSeccomp:\t0\n");
        let grant = told(&status, "40\n");
        assert_eq!(grant.remedy, GAIN);
        let line = "setcap cap_bpf,cap_perfmon,cap_syslog+ep /usr/bin/iostrata";
        assert_eq!(grant.command.as_deref(), Some(line));
    }

    #[test]
    fn what_would_come_to_nothing_is_not_advised() {
        let root = format!("CapEff:\t000001ffffffffff\n{ALL}");
        for (status, last, remedy) in [
            (format!("{root}Inside\n"), "40\n", OF_NAMESPACE),
            (
                "CapEff:\t0\nCapBnd:\t00000000a80425fb\n".to_owned(),
                "40\n",
                BOUND,
            ),
            (format!("{root}Seccomp:\t2\n"), "40\n", FILTERED),
            (format!("{root}Seccomp:\t0\n"), "40\n", REFUSED_TO_ALL),
            (format!("{ALL}NoNewPrivs:\t1\n"), "40\n", NO_NEW_PRIVILEGES),
            (
                "CapBnd:\t0000003fffffffff\n".to_owned(),
                "37\n",
                BEFORE_CAP_BPF,
            ),
        ] {
            let grant = told(&status, last);
            assert_eq!((grant.remedy, grant.command), (remedy, None), "{status}");
        }
    }

    #[test]
    fn a_path_is_one_word_for_the_shell() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        let line = setcap(Path::new("/opt/it's here/iostrata")).unwrap();
        assert!(line.ends_with(r" '/opt/it'\''s here/iostrata'"), "{line}");
        assert_eq!(setcap(Path::new(OsStr::from_bytes(b"/\xff"))), None);
    }
}
