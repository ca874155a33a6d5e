//! From a row to the rows below it: the files of a disk, the processes of a file, the calls of a
//! process.

use super::{By, Interval, container_of};

/// A row, as the place to look into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// A disk, by its name: its files.
    Disk(String),
    /// A directory: its files. `None` for files whose path is unknown.
    Directory(Option<String>),
    /// A cgroup: its processes. `None` for processes whose cgroup is unknown.
    Cgroup(Option<String>),
    /// A container, by its ID: its processes.
    Container(String),
    /// A file: the processes that used it.
    File {
        /// Its path, if known.
        path: Option<String>,
        /// `major:minor` and inode number, if it has one.
        identity: Option<(String, u64)>,
    },
    /// A process: its calls.
    Process(u32),
}

impl Scope {
    /// One for each row of this kind, in the order of the rows.
    pub fn of_rows(interval: &Interval, by: By) -> Vec<Self> {
        match by {
            By::Process => each(&interval.processes, |row| Self::Process(row.pid)),
            By::File => each(&interval.files, of_file),
            By::Directory => each(&interval.directories, |row| {
                Self::Directory(row.path.clone())
            }),
            By::Cgroup => each(&interval.cgroups, |row| Self::Cgroup(row.path.clone())),
            By::Container => each(&interval.containers, |row| Self::Container(row.id.clone())),
            By::Device => each(&interval.devices, |row| Self::Disk(row.name.clone())),
        }
    }

    /// The rows below it; `None` for a process, which has calls.
    pub fn below(&self) -> Option<By> {
        match self {
            Self::Disk(_) | Self::Directory(_) => Some(By::File),
            Self::Cgroup(_) | Self::Container(_) | Self::File { .. } => Some(By::Process),
            Self::Process(_) => None,
        }
    }

    /// Leaves only the rows below it. Totals and disks stay those of the machine; waits for syncs
    /// become those of the files or processes that are left.
    pub fn narrow(&self, interval: &mut Interval) {
        match self {
            Self::Disk(name) => interval.files.retain(|row| row.disk.as_ref() == Some(name)),
            Self::Directory(path) => interval
                .files
                .retain(|row| row.path.as_deref().map(directory) == path.as_deref()),
            Self::Cgroup(path) => interval.processes.retain(|row| row.cgroup == *path),
            Self::Container(id) => interval.processes.retain(|row| {
                let cgroup = row.cgroup.as_deref();
                cgroup.and_then(container_of) == Some(id.as_str())
            }),
            Self::File { .. } => {
                interval.files.retain(|row| of_file(row) == *self);
                let users: Vec<u32> = interval
                    .files
                    .iter()
                    .flat_map(|row| &row.pids)
                    .copied()
                    .collect();
                interval.processes.retain(|row| users.contains(&row.pid));
            }
            Self::Process(pid) => interval.processes.retain(|row| row.pid == *pid),
        }
        match self {
            Self::Disk(_) | Self::Directory(_) | Self::File { .. } => {
                let files = &interval.files;
                let is_left = |path: &Option<String>| files.iter().any(|row| row.path == *path);
                interval.syncs.retain(|wait| is_left(&wait.path));
            }
            Self::Cgroup(_) | Self::Container(_) | Self::Process(_) => {
                let processes = &interval.processes;
                let is_left = |pid| processes.iter().any(|row| row.pid == pid);
                interval.syncs.retain(|wait| is_left(wait.pid));
            }
        }
    }
}

fn each<T>(rows: &[T], scope: fn(&T) -> Scope) -> Vec<Scope> {
    rows.iter().map(scope).collect()
}

fn of_file(row: &super::File) -> Scope {
    Scope::File {
        path: row.path.clone(),
        identity: row.device_number.clone().zip(row.inode),
    }
}

/// `/a` of `/a/b`.
fn directory(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(slash) => &path[..slash],
        None => path,
    }
}
