//! From what was counted to the rows of an interval.

use std::collections::{BTreeMap, HashMap};

use super::disks::{devices, disk_name, number, syncs};
use super::{
    Causes, Cgroup, Container, Counted, Directory, File, Interval, Named, OwnCost, Process, SCHEMA,
    Totals, Work, container_of,
};
use crate::bytes;
use crate::environment::Backend;
use crate::gap::{Countable, Gap, Reason};
use crate::op::FileId;
use crate::timing::seconds;

pub fn assemble(counted: &Counted) -> Interval {
    let pairs = Pairs::of(counted);
    let devices = devices(counted);
    let by_file = by_file(&pairs);
    let files = files(counted, &pairs, &by_file);
    let processes = processes(counted, &pairs);
    let mut missing = counted.missing.clone();
    missing.extend(unnamed(&by_file, counted));
    Interval {
        schema: SCHEMA.to_owned(),
        backend: Backend::Ebpf,
        ways: counted.ways.clone(),
        started_ns: counted.started_ns,
        interval_s: seconds(counted.length_ns),
        own: OwnCost {
            pid: counted.own.process,
            cpu_s: seconds(counted.own.cpu_ns),
            peak_resident_bytes: counted.own.peak_resident_bytes,
        },
        totals: totals(counted, &files, pairs.empty),
        directories: directories(counted, &by_file, &pairs.empty),
        containers: containers(&processes, &pairs.empty),
        cgroups: cgroups(&processes, &pairs.empty),
        processes,
        files,
        syncs: syncs(counted, &pairs, &devices),
        devices: devices.into_values().collect(),
        lost_events: counted.lost_events,
        missing,
    }
}

/// Work by process and file: what a row is summed from.
pub(super) struct Pairs {
    by: HashMap<(Option<u32>, Option<FileId>), Work>,
    disk_of: HashMap<FileId, u32>,
    empty: Work,
}

impl Pairs {
    fn of(counted: &Counted) -> Self {
        let strata = counted.strata;
        let empty = Work {
            calls: strata.calls.then(Default::default),
            cache: strata.pages.then(Default::default),
            device: strata.device.then(Default::default),
        };
        let mut pairs = Self {
            by: HashMap::new(),
            disk_of: HashMap::new(),
            empty,
        };
        for share in &counted.shares {
            let work = pairs.at(Some(share.process), share.file);
            work.add_share(share);
        }
        // What names no file is the file system's: it is in the rows of disks alone.
        for row in &counted.requests {
            if let Some(file) = row.file {
                pairs.disk_of.insert(file, row.disk);
                let work = pairs.at(row.process, Some(file));
                work.add_requests(row.cause, row.sum);
            }
        }
        pairs
    }

    fn at(&mut self, process: Option<u32>, file: Option<FileId>) -> &mut Work {
        self.by.entry((process, file)).or_insert(self.empty)
    }

    pub(super) fn disk(&self, file: FileId, counted: &Counted) -> Option<u32> {
        let known = self.disk_of.get(&file);
        known.or(counted.disk_of.get(&file.device)).copied()
    }
}

/// Most bytes of requests first, then most time in calls, then most calls.
fn busiest<T>(mut rows: Vec<T>, work: impl Fn(&T) -> &Work) -> Vec<T> {
    let calls = |work: &Work| work.calls.map_or(0, |calls| calls.count());
    rows.sort_by(|one, other| {
        let (one, other) = (work(one), work(other));
        let by_bytes = other.device_bytes().cmp(&one.device_bytes());
        by_bytes
            .then(other.time_s().total_cmp(&one.time_s()))
            .then(calls(other).cmp(&calls(one)))
    });
    rows
}

pub(super) fn text(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

fn processes(counted: &Counted, pairs: &Pairs) -> Vec<Process> {
    let mut by: BTreeMap<u32, Vec<(Option<FileId>, Work)>> = BTreeMap::new();
    for ((process, file), work) in &pairs.by {
        if let Some(process) = process {
            by.entry(*process).or_default().push((*file, *work));
        }
    }
    let row = |(pid, mut files): (u32, Vec<(Option<FileId>, Work)>)| {
        files.sort_by_key(|(file, _)| *file);
        let files = busiest(files, |(_, work)| work);
        let named = files
            .iter()
            .find_map(|(file, _)| counted.names.get(&(*file)?));
        let mut work = pairs.empty;
        for (_, more) in &files {
            work += *more;
        }
        let actor = counted.actors.get(&pid).cloned().unwrap_or_default();
        Process {
            pid,
            name: actor.name,
            parent_pid: actor.parent,
            cgroup: actor.cgroup,
            is_iostrata: pid == counted.own.process,
            busiest_file: named.map(|named| text(&named.path)),
            work,
            io: None,
        }
    };
    busiest(by.into_iter().map(row).collect(), |row| &row.work)
}

/// Processes, each with its time in calls, seconds.
type Users = Vec<(u32, f64)>;

/// The work on each file, and who did it.
type ByFile = BTreeMap<Option<FileId>, (Work, Users)>;

fn by_file(pairs: &Pairs) -> ByFile {
    let mut by = BTreeMap::new();
    for ((process, file), work) in &pairs.by {
        let (sum, users) = by.entry(*file).or_insert((pairs.empty, Vec::new()));
        *sum += *work;
        users.extend(process.map(|process| (process, work.time_s())));
    }
    by
}

fn files(counted: &Counted, pairs: &Pairs, by_file: &ByFile) -> Vec<File> {
    let row = |(file, (work, users)): (&Option<FileId>, &(Work, Users))| {
        let (file, mut users) = (*file, users.clone());
        users.sort_by_key(|(process, _)| *process);
        users.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let named = file.and_then(|file| counted.names.get(&file));
        let disk = file.and_then(|file| pairs.disk(file, counted));
        File {
            path: named.map(|named| text(&named.path)),
            path_hex: named.and_then(|named| bytes::hex_unless_text(&named.path)),
            device_number: file.map(|file| number(file.device)),
            inode: file.map(|file| file.inode),
            filesystem: named.map(|named| named.filesystem.clone()),
            disk: disk.map(|disk| disk_name(counted, disk)),
            pids: users.into_iter().map(|(process, _)| process).collect(),
            work: *work,
        }
    };
    busiest(by_file.iter().map(row).collect(), |row| &row.work)
}

fn directories(counted: &Counted, by_file: &ByFile, empty: &Work) -> Vec<Directory> {
    let mut by: BTreeMap<Option<Vec<u8>>, (u64, Work)> = BTreeMap::new();
    for (file, (work, _)) in by_file {
        let Some(file) = file else { continue };
        let directory = counted.names.get(file).map(directory_of);
        let (files, sum) = by.entry(directory).or_insert((0, *empty));
        *files += 1;
        *sum += *work;
    }
    let row = |(path, (files, work)): (Option<Vec<u8>>, (u64, Work))| Directory {
        path: path.as_deref().map(text),
        files,
        work,
    };
    busiest(by.into_iter().map(row).collect(), |row| &row.work)
}

fn directory_of(named: &Named) -> Vec<u8> {
    let slash = named.path.iter().rposition(|byte| *byte == b'/');
    match slash {
        Some(0) => b"/".to_vec(),
        Some(slash) => named.path[..slash].to_vec(),
        None => named.path.clone(),
    }
}

fn cgroups(processes: &[Process], empty: &Work) -> Vec<Cgroup> {
    let mut by: BTreeMap<Option<&String>, (u64, Work)> = BTreeMap::new();
    for process in processes {
        let (count, sum) = by.entry(process.cgroup.as_ref()).or_insert((0, *empty));
        *count += 1;
        *sum += process.work;
    }
    let row = |(path, (processes, work)): (Option<&String>, (u64, Work))| Cgroup {
        path: path.cloned(),
        processes,
        work,
    };
    busiest(by.into_iter().map(row).collect(), |row| &row.work)
}

fn containers(processes: &[Process], empty: &Work) -> Vec<Container> {
    let mut by: BTreeMap<&str, Container> = BTreeMap::new();
    // The busiest process of a container comes first.
    for process in processes {
        let Some(cgroup) = &process.cgroup else {
            continue;
        };
        let Some(id) = container_of(cgroup) else {
            continue;
        };
        let container = by.entry(id).or_insert_with(|| Container {
            id: id.to_owned(),
            cgroup: cgroup.clone(),
            processes: 0,
            work: *empty,
        });
        container.processes += 1;
        container.work += process.work;
    }
    busiest(by.into_values().collect(), |row| &row.work)
}

fn totals(counted: &Counted, files: &[File], mut work: Work) -> Totals {
    for file in files {
        work += file.work;
    }
    let mut requests = Causes::default();
    for row in &counted.requests {
        requests.add(row.cause, row.sum);
    }
    Totals {
        calls: work.calls,
        cache: work.cache,
        requests: counted.strata.device.then_some(requests),
        dirty: counted.dirty,
    }
}

fn unnamed(by_file: &ByFile, counted: &Counted) -> Option<Gap> {
    let files = by_file.keys().flatten();
    let count = files
        .filter(|file| !counted.names.contains_key(file))
        .count();
    Gap::counted(count as u64, Countable::FilePaths, Reason::NoNameKept)
}
