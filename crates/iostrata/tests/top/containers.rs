//! Containers as engines make them: a cgroup that is named after the ID, and namespaces.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Removed with the test.
pub(crate) struct Container {
    pub(crate) id: String,
    cgroup: PathBuf,
}

impl Container {
    /// `None` where no cgroup of version 2 can be made.
    pub(crate) fn new(number: u32) -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mounted = mounts.lines().map(|line| line.split(' '));
        let mut mounted = mounted.filter_map(|mut fields| {
            let point = fields.nth(1)?;
            (fields.next() == Some("cgroup2")).then_some(point)
        });
        let id = format!("{:032x}{number:032x}", std::process::id());
        let cgroup = PathBuf::from(mounted.next()?).join(format!("docker-{id}.scope"));
        std::fs::create_dir(&cgroup).ok()?;
        Some(Self { id, cgroup })
    }

    pub(crate) fn path(&self) -> String {
        format!("/{}", self.cgroup.file_name().unwrap().to_str().unwrap())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        drop(std::fs::remove_dir(&self.cgroup));
    }
}

/// In a container, with its own processes and mounts, or without one where none can be made.
pub(crate) fn start(container: Option<&Container>, program: &str, arguments: &[&str]) -> Child {
    let mut command = match container {
        Some(container) => {
            let join = "echo $$ > \"$0\" && exec unshare --pid --fork --mount --kill-child \"$@\"";
            let mut shell = Command::new("sh");
            let members = container.cgroup.join("cgroup.procs");
            shell.args(["-c", join]).arg(members).arg(program);
            shell
        }
        None => Command::new(program),
    };
    command.args(arguments).stdout(Stdio::piped());
    command.spawn().unwrap()
}
