//! Sums over all intervals so far, in bounded memory: what a database of metrics is given.

mod slots;

use std::ops::AddAssign;

use self::slots::Done;
pub use self::slots::Slots;
use super::{Causes, Dirty, File, Interval, ProcessIo, Totals, Work};
use crate::bytes::text_of_path;
use crate::environment::Backend;
use crate::timing::seconds;

/// Disks with sums of their own: more than machines have, and a bound where disks come and go.
const MOST_DISKS: usize = 256;

/// What one call weighs, in bytes, beside the bytes that are moved.
const CALL_BYTES: u64 = 4096;

/// A process by its name and its cgroup: numbers of processes are new for each, and would be without
/// end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessKey {
    pub name: Option<String>,
    pub cgroup: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKey {
    Path(String),
    /// By device, `major:minor`, and inode number.
    Inode(String, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Did {
    /// As the kernel side counts it.
    pub work: Work,
    /// As `/proc/PID/io` does.
    pub io: Option<ProcessIo>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    /// Whether paths identify files; where they are not known, and otherwise, the inode does.
    by_path: bool,
    pub backend: Option<Backend>,
    pub intervals: u64,
    /// Time that they cover, seconds.
    pub covered_s: f64,
    /// End of the last one, seconds since 1970.
    pub until_s: f64,
    /// All calls, page cache and requests of the machine.
    pub totals: Totals,
    pub processes: Slots<ProcessKey, Did>,
    pub files: Slots<FileKey, Did>,
    /// By cgroup; `None` for processes of which it is unknown.
    pub cgroups: Slots<Option<String>, Did>,
    pub disks: Slots<String, Causes>,
    /// CPU time of iostrata, seconds.
    pub own_cpu_s: f64,
    /// Most memory of iostrata, bytes.
    pub own_peak_bytes: u64,
    pub lost_events: u64,
}

impl Sums {
    /// At most so many processes, files and cgroups have sums of their own.
    pub fn new(most: usize, by_path: bool) -> Self {
        Self {
            by_path,
            backend: None,
            intervals: 0,
            covered_s: 0.0,
            until_s: 0.0,
            totals: Totals::default(),
            processes: Slots::new(most),
            files: Slots::new(most),
            cgroups: Slots::new(most),
            disks: Slots::new(MOST_DISKS),
            own_cpu_s: 0.0,
            own_peak_bytes: 0,
            lost_events: 0,
        }
    }

    /// Adds an interval with all its rows.
    pub fn add(&mut self, interval: &Interval) {
        let interval_s = interval.interval_s;
        self.backend = Some(interval.backend);
        self.intervals += 1;
        self.covered_s += interval_s;
        self.until_s = seconds(interval.started_ns) + interval_s;
        self.own_cpu_s += interval.own.cpu_s;
        self.own_peak_bytes = interval.own.peak_resident_bytes;
        self.lost_events = self.lost_events.saturating_add(interval.lost_events);
        self.add_totals(&interval.totals);
        let processes = interval.processes.iter().map(|row| {
            let key = ProcessKey {
                name: row.name.clone(),
                cgroup: row.cgroup.clone(),
            };
            (key, Did::new(&row.work, row.io))
        });
        self.processes.add(interval_s, processes);
        let by_path = self.by_path;
        let files = interval.files.iter().filter_map(|row| {
            let key = FileKey::of(row, by_path)?;
            Some((key, Did::new(&row.work, None)))
        });
        self.files.add(interval_s, files);
        let cgroups = interval.cgroups.iter();
        let cgroups = cgroups.map(|row| (row.path.clone(), Did::new(&row.work, None)));
        self.cgroups.add(interval_s, cgroups);
        let disks = interval.devices.iter().map(|row| {
            let done = Done {
                what: row.requests,
                weight: row.requests.sum().count as f64,
            };
            (row.name.clone(), done)
        });
        self.disks.add(interval_s, disks);
    }

    fn add_totals(&mut self, more: &Totals) {
        fn add<T: AddAssign + Copy>(to: &mut Option<T>, more: Option<T>) {
            match (to.as_mut(), more) {
                (Some(to), Some(more)) => *to += more,
                (None, more) => *to = more,
                (Some(_), None) => {}
            }
        }
        add(&mut self.totals.calls, more.calls);
        add(&mut self.totals.cache, more.cache);
        add(&mut self.totals.requests, more.requests);
        self.totals.dirty = more.dirty;
    }

    /// Dirty at the end of the last interval.
    pub fn dirty(&self) -> Option<Dirty> {
        self.totals.dirty
    }
}

impl FileKey {
    /// `None` for the row of calls that name no open file.
    fn of(row: &File, by_path: bool) -> Option<Self> {
        match (&row.path, &row.device_number, row.inode) {
            (Some(path), ..) if by_path => {
                Some(Self::Path(text_of_path(path, row.path_hex.as_deref())))
            }
            (_, Some(device), Some(inode)) => Some(Self::Inode(device.clone(), inode)),
            _ => None,
        }
    }
}

impl Did {
    fn new(work: &Work, io: Option<ProcessIo>) -> Done<Self> {
        let what = Self { work: *work, io };
        Done {
            what,
            weight: what.bytes() as f64,
        }
    }

    /// Bytes that it moved, at its calls and at the disk, and something for each call.
    fn bytes(&self) -> u64 {
        let calls = self.work.calls.unwrap_or_default();
        let of_calls = [
            calls.reads.stats.bytes,
            calls.writes.stats.bytes,
            calls.count().saturating_mul(CALL_BYTES),
        ];
        let io = self.io.unwrap_or_default();
        let of_proc = [
            io.rchar_bytes,
            io.wchar_bytes,
            io.syscr.saturating_add(io.syscw).saturating_mul(CALL_BYTES),
        ];
        let all = of_calls.into_iter().chain(of_proc);
        all.fold(self.work.device_bytes(), u64::saturating_add)
    }
}

impl AddAssign for Did {
    fn add_assign(&mut self, more: Self) {
        self.work += more.work;
        match (&mut self.io, more.io) {
            (Some(io), Some(more)) => *io += more,
            (None, more) => self.io = more,
            (Some(_), None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::assemble;
    use super::super::tests::{counted, of_proc};
    use super::*;

    #[test]
    fn sums_are_those_of_all_intervals_and_their_rows() {
        let interval = assemble(&counted());
        let mut sums = Sums::new(20, true);
        sums.add(&interval);
        sums.add(&interval);
        assert_eq!(sums.intervals, 2);
        assert!((sums.covered_s - 4.0).abs() < 1e-12);
        assert!((sums.until_s - 1_700_000_002.0).abs() < 1e-3);
        let calls = sums.totals.calls.unwrap();
        assert_eq!((calls.count(), calls.writes.stats.bytes), (58, 2800));
        let names = sums.processes.own().map(|(key, _)| key.name.as_deref());
        let names: Vec<_> = names.collect();
        assert_eq!(names, [Some("append"), Some("write")]);
        let of_processes = sums.processes.own();
        let of_processes: u64 = of_processes
            .map(|(_, did)| did.work.calls.unwrap().count())
            .sum();
        assert_eq!(of_processes, 58);
        let files: Vec<_> = sums.files.own().map(|(key, _)| key.clone()).collect();
        let path = |text: &str| FileKey::Path(text.to_owned());
        assert_eq!(files, [path("/mnt/a.log"), path("/mnt/sub/b")]);
        let disks: Vec<_> = sums.disks.own().collect();
        assert_eq!((disks[0].0.as_str(), disks[0].1.flushes), ("loop0", 40));
        assert_eq!(disks[0].1.latency.commit.ended, 20);
    }

    #[test]
    fn without_paths_the_inode_identifies_a_file() {
        let mut sums = Sums::new(20, false);
        sums.add(&assemble(&counted()));
        let files: Vec<_> = sums.files.own().map(|(key, _)| key.clone()).collect();
        let inode = |number| FileKey::Inode("7:0".to_owned(), number);
        assert_eq!(files, [inode(11), inode(12)]);
    }

    #[test]
    fn rows_without_a_place_are_summed_and_counted() {
        let mut sums = Sums::new(1, true);
        sums.add(&assemble(&counted()));
        let own: Vec<_> = sums.processes.own().map(|(key, _)| &key.name).collect();
        assert_eq!(own, [&Some("append".to_owned())]);
        let others = sums.processes.others().unwrap().work.calls.unwrap();
        assert_eq!((others.count(), sums.processes.others_now()), (9, 1));
    }

    #[test]
    fn what_proc_says_is_summed_too_and_nothing_else_is_claimed() {
        let mut sums = Sums::new(20, true);
        sums.add(&of_proc());
        sums.add(&of_proc());
        let [(_, did)] = sums.processes.own().collect::<Vec<_>>()[..] else {
            panic!("processes with one name are one row")
        };
        assert_eq!(did.io.unwrap().rchar_bytes, 2 * (15 + 40));
        assert_eq!(did.work.calls, None);
        assert_eq!(
            (sums.totals.calls, sums.backend),
            (None, Some(Backend::None))
        );
    }
}
