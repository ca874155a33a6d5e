//! Ten programs with known counts in two containers at the same time: each count at its file, its process and
//! its container, and every request under its cause. What the kernel counts elsewhere is the same.

use std::process::Child;

use iostrata_core::evidence::Cause;
use iostrata_core::top::{Calls, Device, FileRequests, Interval, Pages, Process, Work};
use rustix::process::geteuid;

use crate::containers::{Container, start};
use crate::image::{Image, done, text};
use crate::watched::{Watch, sum, until_nothing_is_lost, workload};

const PAGE: u64 = 4096;
const APPENDS: u64 = 200;
const COLD: u64 = 2048;
const WARM: u64 = 5000;
const MAPPED: u64 = 64;
const DIRECT: u64 = 300;
const NAMES: u64 = 150;

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

    /// Requests of the disk, and their bytes.
    fn requests(&self, cause: Cause) -> (u64, u64) {
        let rows = self.intervals.iter().flat_map(|interval| &interval.devices);
        let rows = rows.filter(|row| row.name == self.disk);
        rows.map(|row| row.requests.of(cause))
            .fold((0, 0), |sum, of| (sum.0 + of.count, sum.1 + of.bytes))
    }

    /// What the program did with its file, by calls, pages and requests, beside what `/proc/self/io` says.
    fn program_is_right(&self, program: &Program, io: Option<[u64; 4]>) {
        let (calls, pages, device) = self.file(&program.file);
        let read = (calls.reads.stats.count, calls.reads.stats.bytes);
        let requested = (device.reads.count, device.reads.bytes);
        match program.kind {
            "fsync" | "fdatasync" => {
                let written = (calls.writes.stats.count, calls.writes.stats.bytes);
                assert_eq!(written, (APPENDS, APPENDS * 100));
                assert_eq!(
                    (calls.syncs.stats.count, calls.syncs.stats.errors),
                    (APPENDS, 0)
                );
                assert!(device.data.count >= APPENDS, "at least one for each sync");
            }
            "cold" => {
                assert_eq!(read, (COLD, COLD * PAGE));
                assert_eq!(pages.lookups_pages, COLD);
                assert_eq!(device.reads.bytes, COLD * PAGE, "each page once");
                assert!(pages.missed_pages > 0);
            }
            "warm" => {
                assert_eq!(read, (WARM, WARM * PAGE));
                assert_eq!((pages.missed_pages, device.reads.count), (0, 0));
            }
            "mapped" => {
                // Another program's sync can write a page back between `page_mkwrite` and the store
                // (`fault_dirty_shared_page`, mm/memory.c), which then dirties it again.
                assert!(pages.dirtied_bytes >= MAPPED * PAGE, "{pages:?}");
                assert_eq!(device.data.bytes, pages.dirtied_bytes);
            }
            "direct" => {
                assert_eq!(read, (DIRECT, DIRECT * PAGE));
                assert_eq!(requested, (DIRECT, DIRECT * PAGE));
                assert_eq!(pages.lookups_pages, 0);
            }
            _ => assert_eq!(read, (0, 0)),
        }
        if let Some([rchar, wchar, read_bytes, write_bytes]) = io {
            let called = (calls.reads.stats.bytes, calls.writes.stats.bytes);
            assert_eq!(called, (rchar, wchar), "{}", program.kind);
            assert_eq!(device.reads.bytes, read_bytes, "{}", program.kind);
            if program.kind == "mapped" {
                assert_eq!(pages.dirtied_bytes, write_bytes);
            }
        }
    }

    /// What names no file is the file system's: the disk has more requests than all its files together.
    fn the_disk_is_right(&self, stat: [u64; 4]) {
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
        let written = [Cause::Data, Cause::Journal, Cause::Commit, Cause::Metadata];
        let written_bytes = written.map(|cause| self.requests(cause).1).iter().sum();
        let (reads, flushes) = (self.requests(Cause::Read).0, self.requests(Cause::Flush).0);
        assert_eq!([written_bytes, flushes], [stat[2], stat[3]]);
        // ext4's own thread reads bitmaps after a mount, also before the disk's counters were read first.
        let is_near = |seen: u64, counted: u64| seen.abs_diff(counted) * 50 <= counted;
        assert!(is_near(reads, stat[0]), "{reads} {stat:?}");
        assert!(is_near(read_bytes, stat[1]), "{read_bytes} {stat:?}");
    }

    /// What waits is named, with the disk and the commits that it waits for.
    fn waits_are_right(&self, log: &str) {
        let waits = self.intervals.iter().flat_map(|interval| &interval.syncs);
        let waits: Vec<_> = waits
            .filter(|wait| wait.path.as_deref() == Some(log))
            .collect();
        let synced: u64 = waits.iter().map(|wait| wait.syncs.stats.count).sum();
        assert_eq!(synced, APPENDS);
        let disk = Some(&self.disk);
        assert!(waits.iter().all(|wait| wait.disk.as_ref() == disk));
        assert!(
            waits
                .iter()
                .all(|wait| wait.name.as_deref() == Some("append"))
        );
        let commits = waits.iter().map(|wait| wait.commit.as_ref().unwrap());
        let waited: u64 = commits.map(|commit| commit.syncs).sum();
        assert!(waited > 0 && waited <= APPENDS, "{waited}");
    }

    fn container_is_right(&self, container: &Container) -> Calls {
        let path = container.path();
        let rows = self
            .intervals
            .iter()
            .flat_map(|interval| &interval.containers);
        let rows = rows.filter(|row| row.id == container.id && row.cgroup == path);
        let of_container = sum(rows.map(|row| &row.work));
        let counts = |work: &Work| {
            let calls = work.calls.unwrap();
            let each = [calls.reads, calls.writes, calls.syncs, calls.metadata];
            each.map(|of| (of.stats.count, of.stats.errors, of.stats.bytes))
        };
        let members = self
            .processes()
            .filter(|row| row.cgroup.as_ref() == Some(&path));
        let of_members = sum(members.map(|row| &row.work));
        assert_eq!(counts(&of_container), counts(&of_members));
        let groups = self.intervals.iter().flat_map(|interval| &interval.cgroups);
        let groups = groups.filter(|row| row.path.as_ref() == Some(&path));
        let of_groups = sum(groups.map(|row| &row.work));
        assert_eq!(counts(&of_container), counts(&of_groups));
        of_container.calls.unwrap()
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

/// One of the ten.
struct Program {
    kind: &'static str,
    file: String,
}

impl Program {
    /// What is read has its contents.
    fn on(image: &Image, number: usize, kind: &'static str) -> Self {
        let file = text(&image.path(&format!("{kind}{number}")));
        if ["cold", "warm", "direct"].contains(&kind) {
            let contents = vec![7; usize::try_from(COLD * PAGE).unwrap()];
            std::fs::write(&file, &contents).unwrap();
        }
        Self { kind, file }
    }

    fn start(&self, container: Option<&Container>) -> Child {
        let count = match self.kind {
            "fsync" | "fdatasync" => {
                let arguments = [&self.file, &APPENDS.to_string(), "100", self.kind];
                return start(container, &workload("append"), &arguments);
            }
            "cold" => COLD,
            "warm" => WARM,
            "mapped" => MAPPED,
            "direct" => DIRECT,
            _ => NAMES,
        };
        let arguments = [self.kind, &self.file, &count.to_string()];
        start(container, &workload("sides"), &arguments)
    }
}

/// Requests that read, their bytes, bytes written, and flushes, of a disk since it is there
/// (Documentation/block/stat.rst). Writes are not compared: a flush alone is counted as one.
fn stat(disk: &str) -> [u64; 4] {
    let text = std::fs::read_to_string(format!("/sys/block/{disk}/stat")).unwrap();
    let fields: Vec<u64> = text
        .split_whitespace()
        .map(|field| field.parse().unwrap())
        .collect();
    [fields[0], fields[2] * 512, fields[6] * 512, fields[15]]
}

#[test]
fn every_count_is_that_of_its_program() {
    if !geteuid().is_root() {
        crate::skip::skip("observing programs in the kernel needs root");
        return;
    }
    until_nothing_is_lost(every_count);
}

fn every_count() -> Option<()> {
    let image = Image::new();
    let containers = [1, 2].map(Container::new);
    let [one, two] = containers.each_ref().map(Option::as_ref);
    let kinds = [
        ["fsync", "fdatasync", "cold", "warm", "mapped"],
        ["direct", "names", "cold", "warm", "mapped"],
    ];
    let of = |number: usize| kinds[number].map(|kind| Program::on(&image, number, kind));
    let programs = [of(0), of(1)];
    done("sync", &[]);
    let disk = image.disk();
    let watch = Watch::begin();
    let own = watch.pid();
    let before = stat(&disk);
    let running = [(0, one), (1, two)].map(|(number, container)| {
        let start = |program: &Program| program.start(container);
        programs[number].each_ref().map(start)
    });
    let said = running.map(|children| {
        children.map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        })
    });
    done("sync", &["-f", &text(&image.path(""))]);
    let after = stat(&disk);
    let seen = Seen::new(watch.end_whole()?, &text(&image.path("")));
    assert_eq!(seen.disk, disk);
    for (program, said) in programs.iter().flatten().zip(said.iter().flatten()) {
        let fields = said.split_whitespace().map(|field| field.parse().unwrap());
        let fields: Vec<u64> = fields.collect();
        seen.program_is_right(program, fields.try_into().ok());
    }
    let mut grown = after;
    for (now, before) in grown.iter_mut().zip(before) {
        *now -= before;
    }
    seen.the_disk_is_right(grown);
    seen.waits_are_right(&programs[0][0].file);
    seen.waits_are_right(&programs[0][1].file);
    assert!(
        seen.processes()
            .all(|row| row.is_iostrata == (row.pid == own))
    );
    let (Some(one), Some(two)) = (one, two) else {
        crate::skip::skip("no cgroups of version 2 can be made");
        return Some(());
    };
    let (one, two) = (seen.container_is_right(one), seen.container_is_right(two));
    assert_eq!(
        one.writes.stats.bytes,
        2 * APPENDS * 100,
        "what goes into a pipe is not written to a file"
    );
    let read = (COLD + WARM + DIRECT) * PAGE;
    let libraries = two.reads.stats.bytes - read;
    assert!(libraries < 1 << 20, "{libraries}");
    assert!(two.metadata.stats.count >= 3 * NAMES);
    Some(())
}
