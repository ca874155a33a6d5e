//! Programs with known counts, at the same time: each count at its file, its process and its cgroup,
//! and every request under its cause.

use std::path::PathBuf;
use std::process::{Child, Command};

use iostrata_core::evidence::Cause;
use iostrata_core::top::{Calls, Device, FileRequests, Interval, Pages, Process, Work};
use rustix::process::geteuid;

use crate::image::{Image, done, text};
use crate::watched::{Watch, sum, workload};

const PAGE: u64 = 4096;
const APPENDS: u64 = 200;
const COLD: u64 = 2048;
const WARM: u64 = 5000;
const MAPPED: u64 = 64;
const DIRECT: u64 = 300;
const NAMES: u64 = 150;

/// A cgroup of a test; `None` where version 2 is not mounted.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(name: &str) -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mounted = mounts.lines().map(|line| line.split(' '));
        let mut mounted = mounted.filter_map(|mut fields| {
            let point = fields.nth(1)?;
            (fields.next() == Some("cgroup2")).then_some(point)
        });
        let path = PathBuf::from(mounted.next()?);
        let path = path.join(format!("iostrata-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        Some(Self(path))
    }

    fn name(&self) -> String {
        format!("/{}", self.0.file_name().unwrap().to_str().unwrap())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        drop(std::fs::remove_dir(&self.0));
    }
}

fn start(cgroup: Option<&Cgroup>, program: &str, arguments: &[&str]) -> Child {
    let Some(cgroup) = cgroup else {
        return Command::new(program).args(arguments).spawn().unwrap();
    };
    let join = "echo $$ > \"$0\" && exec \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", join]).arg(cgroup.0.join("cgroup.procs"));
    shell.arg(program).args(arguments).spawn().unwrap()
}

/// What `top` said while the programs ran.
struct Seen {
    intervals: Vec<Interval>,
    disk: String,
}

impl Seen {
    /// `mounted_on` is the file system that the programs use.
    fn new(intervals: Vec<Interval>, mounted_on: &str) -> Self {
        let on_it = |row: &&Device| {
            let mut filesystems = row.filesystems.iter();
            filesystems.any(|one| one.mounted_on == mounted_on)
        };
        let mut disks = intervals.iter().flat_map(|interval| &interval.devices);
        let disk = disks.find(on_it).unwrap().name.clone();
        Self { intervals, disk }
    }

    fn file(&self, path: &str) -> (Calls, Pages, FileRequests) {
        let rows = self.intervals.iter().flat_map(|interval| &interval.files);
        let rows = rows.filter(|row| row.path.as_deref() == Some(path));
        whole(&sum(rows.map(|row| &row.work)))
    }

    /// All files of the disk.
    fn files(&self) -> FileRequests {
        let rows = self.intervals.iter().flat_map(|interval| &interval.files);
        let rows = rows.filter(|row| row.disk.as_ref() == Some(&self.disk));
        whole(&sum(rows.map(|row| &row.work))).2
    }

    fn processes(&self) -> impl DoubleEndedIterator<Item = &Process> {
        self.intervals
            .iter()
            .flat_map(|interval| &interval.processes)
    }

    fn process(&self, pid: u32) -> (Calls, Pages, FileRequests) {
        let rows = self.processes().filter(|row| row.pid == pid);
        whole(&sum(rows.map(|row| &row.work)))
    }

    /// Requests of the disk, and their bytes.
    fn requests(&self, cause: Cause) -> (u64, u64) {
        let rows = self.intervals.iter().flat_map(|interval| &interval.devices);
        let rows = rows.filter(|row| row.name == self.disk);
        rows.map(|row| row.requests.of(cause))
            .fold((0, 0), |sum, of| (sum.0 + of.count, sum.1 + of.bytes))
    }

    fn files_are_right(&self, files: &Files) {
        let (calls, _, device) = self.file(&files.log);
        let written = (calls.writes.count, calls.writes.bytes);
        assert_eq!(written, (APPENDS, APPENDS * 100));
        assert_eq!((calls.syncs.count, calls.syncs.errors), (APPENDS, 0));
        assert!(device.data.count >= APPENDS, "at least one for each sync");

        let (calls, pages, device) = self.file(&files.cold);
        let read = (calls.reads.count, calls.reads.bytes);
        assert_eq!(read, (COLD, COLD * PAGE));
        assert_eq!(pages.lookups_pages, COLD);
        assert_eq!(device.reads.bytes, COLD * PAGE, "each page once");
        assert!(pages.missed_pages > 0);

        let (calls, pages, device) = self.file(&files.warm);
        let read = (calls.reads.count, calls.reads.bytes);
        assert_eq!(read, (WARM, WARM * PAGE));
        assert_eq!((pages.missed_pages, device.reads.count), (0, 0));

        let (_, pages, device) = self.file(&files.mapped);
        let dirtied = (pages.dirtied_bytes, device.data.bytes);
        assert_eq!(dirtied, (MAPPED * PAGE, MAPPED * PAGE));

        let (calls, pages, device) = self.file(&files.direct);
        let read = (calls.reads.count, calls.reads.bytes);
        assert_eq!(read, (DIRECT, DIRECT * PAGE));
        let requested = (device.reads.count, device.reads.bytes);
        assert_eq!(requested, (DIRECT, DIRECT * PAGE));
        assert_eq!(pages.lookups_pages, 0);
    }

    /// What names no file is the file system's: the disk has more requests than all its files together.
    fn the_disk_is_right(&self) {
        for cause in [Cause::Commit, Cause::Journal, Cause::Flush] {
            assert!(self.requests(cause).0 > 0, "{cause:?}");
        }
        assert_eq!(self.requests(Cause::Unknown).0, 0);
        let files = self.files();
        let data = (files.data.count, files.data.bytes);
        assert_eq!(self.requests(Cause::Data), data);
        let read_bytes = self.requests(Cause::Read).1;
        assert!(
            read_bytes >= files.reads.bytes,
            "directories and inodes too"
        );
    }

    /// What they called, and the requests that they submitted themselves.
    fn processes_are_right(&self, appender: u32, reader: u32, own: u32) {
        assert_eq!(self.process(appender).0.syncs.count, APPENDS);
        let (calls, _, device) = self.process(reader);
        let libraries = calls.reads.bytes - COLD * PAGE;
        assert!(libraries < 1 << 20, "{libraries}");
        assert!(device.reads.bytes >= COLD * PAGE);
        assert!(
            self.processes()
                .all(|row| row.is_iostrata == (row.pid == own))
        );
        let mut rows = self.processes().filter(|row| row.pid == appender);
        assert_eq!(rows.next().unwrap().name.as_deref(), Some("append"));
    }

    fn waits_are_right(&self, appender: u32) {
        let waits = self.intervals.iter().flat_map(|interval| &interval.syncs);
        let waits: Vec<_> = waits.filter(|wait| wait.pid == appender).collect();
        let synced: u64 = waits.iter().map(|wait| wait.syncs.count).sum();
        assert_eq!(synced, APPENDS);
        let disk = Some(&self.disk);
        assert!(waits.iter().all(|wait| wait.disk.as_ref() == disk));
        assert!(waits.iter().any(|wait| wait.commits.unwrap().count > 0));
    }

    fn cgroup_is_right(&self, group: Option<&Cgroup>, pid: u32) {
        let Some(group) = group else {
            crate::skip::skip("no cgroups of version 2 can be made");
            return;
        };
        let mut rows = self.processes().filter(|row| row.pid == pid);
        assert_eq!(rows.next_back().unwrap().cgroup, Some(group.name()));
        let mut rows = self.intervals.iter().flat_map(|interval| &interval.cgroups);
        assert!(rows.any(|row| row.path == Some(group.name())));
    }
}

fn whole(work: &Work) -> (Calls, Pages, FileRequests) {
    let Work {
        calls,
        cache,
        device,
    } = *work;
    (calls.unwrap(), cache.unwrap(), device.unwrap())
}

/// One for each program.
struct Files {
    log: String,
    cold: String,
    warm: String,
    mapped: String,
    direct: String,
    name: String,
}

impl Files {
    /// Those that are read have their contents.
    fn on(image: &Image) -> Self {
        let path = |name: &str| text(&image.path(name));
        let files = Self {
            log: path("log"),
            cold: path("cold"),
            warm: path("warm"),
            mapped: path("mapped"),
            direct: path("direct"),
            name: path("name"),
        };
        let contents = vec![7; usize::try_from(COLD * PAGE).unwrap()];
        for file in [&files.cold, &files.warm, &files.direct] {
            std::fs::write(file, &contents).unwrap();
        }
        done("sync", &[]);
        files
    }
}

#[test]
fn every_count_is_that_of_its_program() {
    if !geteuid().is_root() {
        crate::skip::skip("observing programs in the kernel needs root");
        return;
    }
    let image = Image::new();
    let [append, sides] = ["append", "sides"].map(workload);
    let files = Files::on(&image);
    let groups = ["one", "two"].map(Cgroup::new);
    let [one, two] = groups.each_ref().map(Option::as_ref);
    let watch = Watch::begin();
    let own = watch.pid();
    let times = |count: u64| count.to_string();
    let side = |kind, file: &str, count| start(two, &sides, &[kind, file, &times(count)]);
    let appender = start(one, &append, &[&files.log, &times(APPENDS), "100", "fsync"]);
    let reader = side("cold", &files.cold, COLD);
    let others = [
        side("warm", &files.warm, WARM),
        side("mapped", &files.mapped, MAPPED),
        side("direct", &files.direct, DIRECT),
        side("names", &files.name, NAMES),
    ];
    let (appends, reads) = (appender.id(), reader.id());
    for mut child in [appender, reader].into_iter().chain(others) {
        assert!(child.wait().unwrap().success());
    }
    let seen = Seen::new(watch.end(), &text(&image.path("")));
    seen.files_are_right(&files);
    seen.the_disk_is_right();
    seen.processes_are_right(appends, reads, own);
    seen.waits_are_right(appends);
    seen.cgroup_is_right(one, appends);
    seen.cgroup_is_right(two, reads);
}
