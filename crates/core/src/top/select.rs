//! Which rows are shown, and in which order.

use super::{Cgroup, Container, Device, Directory, File, Interval, Process, Work};

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    #[default]
    Process,
    File,
    /// A directory, with the files in it.
    Directory,
    /// A cgroup, with its processes.
    Cgroup,
    /// A container, with its processes.
    Container,
    /// A disk, with its requests by cause.
    Device,
}

/// What rows are sorted by, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Bytes of device requests.
    #[default]
    Device,
    /// Time in calls.
    Time,
    Calls,
    /// Bytes read by calls.
    Read,
    /// Bytes written by calls.
    Written,
    Syncs,
    /// Pages that were waited for.
    Missed,
    /// Bytes turned dirty.
    Dirtied,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// What a row is: disks are chosen where they are the rows, and stay those of the machine elsewhere.
    pub by: By,
    pub sort: Sort,
    /// Rows whose name has this in it.
    pub name: Option<String>,
    /// So many of each kind.
    pub top: Option<usize>,
}

impl Selection {
    /// Leaves out of an interval what is not asked for. Totals stay those of all.
    pub fn apply(&self, interval: &mut Interval) {
        self.rows(&mut interval.processes);
        self.rows(&mut interval.files);
        self.rows(&mut interval.directories);
        self.rows(&mut interval.cgroups);
        self.rows(&mut interval.containers);
        if self.by == By::Device {
            self.rows(&mut interval.devices);
        }
        if let Some(top) = self.top {
            interval.syncs.truncate(top);
        }
    }

    fn rows<T: Row>(&self, rows: &mut Vec<T>) {
        if let Some(name) = &self.name {
            rows.retain(|row| row.is_called(name));
        }
        // A stable sort: rows of which the figure says nothing stay in the order of their work.
        if self.sort != Sort::Device {
            rows.sort_by(|one, other| other.weight(self.sort).total_cmp(&one.weight(self.sort)));
        }
        if let Some(top) = self.top {
            rows.truncate(top);
        }
    }
}

trait Row {
    fn is_called(&self, name: &str) -> bool;
    fn weight(&self, sort: Sort) -> f64;
}

impl Work {
    fn weight(&self, sort: Sort) -> f64 {
        let calls = self.calls.unwrap_or_default();
        let cache = self.cache.unwrap_or_default();
        let count = match sort {
            Sort::Time => return calls.time_s(),
            Sort::Device => self.device_bytes(),
            Sort::Calls => calls.count(),
            Sort::Read => calls.reads.bytes,
            Sort::Written => calls.writes.bytes,
            Sort::Syncs => calls.syncs.count,
            Sort::Missed => cache.missed_pages,
            Sort::Dirtied => cache.dirtied_bytes,
        };
        count as f64
    }
}

fn has(text: Option<&String>, name: &str) -> bool {
    text.is_some_and(|text| text.contains(name))
}

impl Row for Process {
    fn is_called(&self, name: &str) -> bool {
        has(self.name.as_ref(), name)
    }

    fn weight(&self, sort: Sort) -> f64 {
        match &self.io {
            Some(io) => io.weight(sort),
            None => self.work.weight(sort),
        }
    }
}

impl Row for File {
    fn is_called(&self, name: &str) -> bool {
        has(self.path.as_ref(), name)
    }

    fn weight(&self, sort: Sort) -> f64 {
        self.work.weight(sort)
    }
}

impl Row for Directory {
    fn is_called(&self, name: &str) -> bool {
        has(self.path.as_ref(), name)
    }

    fn weight(&self, sort: Sort) -> f64 {
        self.work.weight(sort)
    }
}

impl Row for Cgroup {
    fn is_called(&self, name: &str) -> bool {
        has(self.path.as_ref(), name)
    }

    fn weight(&self, sort: Sort) -> f64 {
        self.work.weight(sort)
    }
}

impl Row for Container {
    fn is_called(&self, name: &str) -> bool {
        self.id.contains(name) || self.cgroup.contains(name)
    }

    fn weight(&self, sort: Sort) -> f64 {
        self.work.weight(sort)
    }
}

impl Row for Device {
    fn is_called(&self, name: &str) -> bool {
        self.name.contains(name)
    }

    /// A disk has only its requests.
    fn weight(&self, _sort: Sort) -> f64 {
        self.requests.sum().bytes as f64
    }
}
