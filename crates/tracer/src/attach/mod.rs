//! Which running processes are meant: by a name, a control group, a unit of systemd or a container.

mod containers;
mod groups;
mod units;

pub use containers::ContainerError;
pub use groups::{Group, GroupError, Hierarchy};
pub use units::UnitError;

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_core::trace::MatchedBy;

/// What a program of the engine or of systemd says, where it is there and knows an answer.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

/// A running process of a name.
///
/// A program may set what it is called: the name of a thread (`prctl(2)`, `PR_SET_NAME`) and its
/// arguments. So all three that may be meant are checked, and the result says which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub process: u32,
    pub by: Vec<MatchedBy>,
}

/// Processes of such a name that run now. The threads of the kernel have no executable and are left
/// out, as are processes that have ended.
pub fn named(names: &[Vec<u8>]) -> Vec<Named> {
    let is_wanted = |name: &[u8]| names.iter().any(|wanted| wanted == name);
    let matching = processes().into_iter().filter_map(|process| {
        let by = matching(Path::new("/proc"), process, &is_wanted)?;
        (!by.is_empty()).then_some(Named { process, by })
    });
    matching.collect()
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.collect()
}

/// The name of its first thread.
pub fn name_of(process: u32) -> String {
    let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    let name = name.strip_suffix(b"\n").unwrap_or(&name);
    String::from_utf8_lossy(name).into_owned()
}

/// Which names of a process match; `None` where it has no executable.
fn matching(
    proc: &Path,
    process: u32,
    is_wanted: &dyn Fn(&[u8]) -> bool,
) -> Option<Vec<MatchedBy>> {
    let of = proc.join(process.to_string());
    let comm = fs::read(of.join("comm")).ok()?;
    let comm = comm.strip_suffix(b"\n").unwrap_or(&comm);
    let line = fs::read(of.join("cmdline")).unwrap_or_default();
    let argument = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let executable = match fs::read_link(of.join("exe")) {
        Ok(path) => path.into_os_string(),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => OsString::new(),
        Err(_no_executable) => return None,
    };
    // d_path, fs/d_path.c.
    let executable = executable.as_bytes();
    let executable = executable.strip_suffix(b" (deleted)").unwrap_or(executable);
    let names = [
        (comm, MatchedBy::Comm),
        (base(executable), MatchedBy::Executable),
        (base(argument), MatchedBy::Argument),
    ];
    let names = names.into_iter().filter(|(name, _)| is_wanted(name));
    Some(names.map(|(_, by)| by).collect())
}

/// What stands behind the last slash.
fn base(path: &[u8]) -> &[u8] {
    let mut names = path.rsplit(|byte| *byte == b'/');
    names.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(comm: &str, exe: Option<&str>, line: &str, wanted: &str) -> Option<Vec<MatchedBy>> {
        let place = tempfile::tempdir().unwrap();
        let of = place.path().join("7");
        fs::create_dir(&of).unwrap();
        fs::write(of.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(of.join("cmdline"), line).unwrap();
        if let Some(exe) = exe {
            std::os::unix::fs::symlink(exe, of.join("exe")).unwrap();
        }
        matching(place.path(), 7, &|name| name == wanted.as_bytes())
    }

    #[test]
    fn each_of_three_names_may_match() {
        use MatchedBy::{Argument, Comm, Executable};
        let dd = |wanted| by("dd", Some("/usr/bin/dd"), "/bin/dd\0if=/dev/zero\0", wanted);
        assert_eq!(dd("dd"), Some(vec![Comm, Executable, Argument]));
        assert_eq!(dd("d"), Some(vec![]));
        assert_eq!(dd("/usr/bin/dd"), Some(vec![]));
        // A script, and a program that calls itself otherwise.
        let script = by("app", Some("/usr/bin/dash"), "/bin/sh\0/srv/app\0", "app");
        assert_eq!(script, Some(vec![Comm]));
        let renamed = by(
            "worker-1",
            Some("/srv/app (deleted)"),
            "app: worker\0",
            "app",
        );
        assert_eq!(renamed, Some(vec![Executable]));
        let login = by("bash", Some("/usr/bin/bash"), "-bash\0", "-bash");
        assert_eq!(login, Some(vec![Argument]));
    }

    #[test]
    fn names_longer_than_comm_are_those_of_files() {
        let long = "a-name-of-more-than-15-bytes";
        let exe = format!("/srv/{long}");
        let matching = by("a-name-of-more-", Some(&exe), &format!("{exe}\0"), long);
        let expected = vec![MatchedBy::Executable, MatchedBy::Argument];
        assert_eq!(matching, Some(expected));
    }

    #[test]
    fn a_thread_of_the_kernel_has_no_executable() {
        assert_eq!(by("kworker/0:1", None, "", "kworker/0:1"), None);
    }
}
