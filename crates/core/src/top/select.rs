//! Which rows are shown, and in which order.

use super::{Interval, Work};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    #[default]
    Process,
    File,
    Directory,
    Cgroup,
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
        let name = self.name.as_deref().unwrap_or_default();
        let sort = self.sort;
        self.rows(
            &mut interval.processes,
            |row| has(row.name.as_ref(), name),
            |row| match &row.io {
                Some(io) => io.weight(sort),
                None => row.work.weight(sort),
            },
        );
        self.rows(
            &mut interval.files,
            |row| has(row.path.as_ref(), name),
            |row| row.work.weight(sort),
        );
        self.rows(
            &mut interval.directories,
            |row| has(row.path.as_ref(), name),
            |row| row.work.weight(sort),
        );
        self.rows(
            &mut interval.cgroups,
            |row| has(row.path.as_ref(), name),
            |row| row.work.weight(sort),
        );
        self.rows(
            &mut interval.containers,
            |row| row.id.contains(name) || row.cgroup.contains(name),
            |row| row.work.weight(sort),
        );
        if self.by == By::Device {
            // A disk has only its requests.
            self.rows(
                &mut interval.devices,
                |row| row.name.contains(name),
                |row| row.requests.sum().bytes as f64,
            );
        }
        if let Some(top) = self.top {
            interval.syncs.truncate(top);
        }
    }

    fn rows<T>(
        &self,
        rows: &mut Vec<T>,
        is_called: impl Fn(&T) -> bool,
        weight: impl Fn(&T) -> f64,
    ) {
        if self.name.is_some() {
            rows.retain(is_called);
        }
        // A stable sort: rows of which the figure says nothing stay in the order of their work.
        if self.sort != Sort::Device {
            rows.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
        }
        if let Some(top) = self.top {
            rows.truncate(top);
        }
    }
}

impl Work {
    fn weight(&self, sort: Sort) -> f64 {
        let calls = self.calls.unwrap_or_default();
        let cache = self.cache.unwrap_or_default();
        let count = match sort {
            Sort::Time => return calls.time_s(),
            Sort::Device => self.device_bytes(),
            Sort::Calls => calls.count(),
            Sort::Read => calls.reads.stats.bytes,
            Sort::Written => calls.writes.stats.bytes,
            Sort::Syncs => calls.syncs.stats.count,
            Sort::Missed => cache.missed_pages,
            Sort::Dirtied => cache.dirtied_bytes,
        };
        count as f64
    }
}

fn has(text: Option<&String>, name: &str) -> bool {
    text.is_some_and(|text| text.contains(name))
}
