//! Beside a build that never ends: short processes, new files, all the time.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process_group};

use crate::watched::Watch;

/// An hour by `IOSTRATA_TOP_SECONDS=3600`, which docs/top.md has the figures of.
fn seconds() -> u64 {
    let asked = std::env::var("IOSTRATA_TOP_SECONDS");
    asked.map_or(12, |text| text.parse().unwrap())
}

/// Of the project that is built repeatedly.
const SOURCES: usize = 200;

/// Each object is five processes or so: shell, driver, compiler, assembler.
const MAKEFILE: &str = "\
objects := $(patsubst %.c,%.o,$(wildcard *.c))
all: $(objects)
%.o: %.c
\t@cc -c -o $@ $< && echo >>log
";

const SOURCE: &str = "#include <stdio.h>\nint main(void) { return puts(\"x\") < 0; }\n";

/// `make`, until it is dropped.
struct Build(Child);

impl Build {
    fn begin(dir: &Path) -> Self {
        use std::os::unix::process::CommandExt as _;
        fs::write(dir.join("Makefile"), MAKEFILE).unwrap();
        for number in 0..SOURCES {
            fs::write(dir.join(format!("{number}.c")), SOURCE).unwrap();
        }
        let mut shell = Command::new("bash");
        let again = "until [ -e stop ]; do make -sj2 && rm -f -- *.o; done";
        shell.args(["-c", again]).current_dir(dir);
        Self(shell.process_group(0).spawn().unwrap())
    }

    /// Ends when it has built everything once more.
    fn end(mut self, dir: &Path) {
        fs::write(dir.join("stop"), "").unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            drop(self.0.wait());
        }
    }
}

#[test]
fn memory_is_flat_and_no_process_is_missed_unsaid() {
    if !geteuid().is_root() {
        crate::skip::skip("observing programs in the kernel needs root");
        return;
    }
    if Command::new("make").arg("--version").output().is_err() {
        crate::skip::skip("make is not installed");
        return;
    }
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let log = dir.path().join("log");
    let mut watch = Watch::begin();
    let mut build = Some(Build::begin(dir.path()));
    let begun = Instant::now();
    let (mut counted, mut lost) = (0, 0);
    let (mut seconds_seen, mut cpu_s, mut intervals, mut processes) = (0.0, 0.0, 0, 0);
    let mut before = HashSet::new();
    let mut resident = Vec::new();
    let mut left = 2;
    while let Some(interval) = watch.take() {
        seconds_seen += interval.interval_s;
        cpu_s += interval.own.cpu_s;
        intervals += 1;
        let pids: HashSet<u32> = interval.processes.iter().map(|row| row.pid).collect();
        processes += pids.difference(&before).count();
        before = pids;
        let rows = interval.files.iter();
        let rows = rows.filter(|row| row.path.as_deref() == log.to_str());
        let writes = rows.map(|row| row.work.calls.unwrap().writes.stats.count);
        counted += writes.sum::<u64>();
        lost += interval.lost_events;
        if begun.elapsed() < Duration::from_secs(seconds()) {
            resident.push(watch.own_bytes());
            continue;
        }
        if let Some(build) = build.take() {
            build.end(dir.path());
        }
        // The interval in which the build ended, and one more.
        left -= 1;
        if left == 0 {
            watch.interrupt();
        }
    }
    assert!(watch.succeeded());

    let objects = fs::metadata(&log).unwrap().len();
    assert!(objects >= SOURCES as u64, "{objects} objects");
    assert!(
        counted <= objects && objects - counted <= lost,
        "{objects} objects, {counted} counted, {lost} lost"
    );
    // Half of all intervals have less: what others do on the machine for some minutes makes more rows for so long, a leak
    // stays.
    let (first, second) = resident.split_at(resident.len() / 2);
    let median = |half: &[u64]| {
        let mut sorted = half.to_vec();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    let most = resident.iter().copied().max().unwrap();
    let (begin, first, second) = (resident[0], median(first), median(second));
    println!(
        "{seconds_seen:.0} s, {intervals} intervals, {processes} processes, {objects} objects, {counted} counted, \
         {lost} lost; {:.2} % of a CPU; resident {begin} B, medians of its halves {first} B and {second} B, at most {most} B, \
         at the end {} B",
        cpu_s / seconds_seen * 100.0,
        resident[resident.len() - 1]
    );
    assert!(most <= 96 << 20, "{most} B");
    // An interval with more rows takes some MiB more; a leak would take more in an hour.
    assert!(
        second <= first + first / 8 + (16 << 20),
        "{first} B, then {second} B"
    );
}
