//! `/proc/PID/io` of all processes that this user may look at, and what this process itself has used.

use std::path::Path;
use std::{fs, io};

use iostrata_core::bytes::text_of;
use iostrata_core::top::{Own, ProcessIo, Sample, Samples};
use rustix::thread::CapabilitySet;
use rustix::time::{ClockId, clock_gettime};

use super::{dirty, since_1970_ns};
use crate::kernel::clock_ticks_per_second;

/// `/proc/PID/io` of others is for those who may trace them (`proc_pid_io(5)`), and its mode lets only its owner open it.
pub const NEEDED: CapabilitySet = CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH);

pub fn samples() -> io::Result<Samples> {
    let mut samples = Samples {
        at_ns: since_1970_ns(),
        at_ticks: ticks(),
        dirty: dirty(),
        own: own(),
        ..Samples::default()
    };
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(number) = number else { continue };
        match sample(&entry.path()) {
            Ok(sample) => drop(samples.processes.insert(number, sample)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => samples.refused += 1,
            // It has ended.
            Err(_) => {}
        }
    }
    Ok(samples)
}

fn sample(process: &Path) -> io::Result<Sample> {
    let unreadable = || io::Error::from(io::ErrorKind::InvalidData);
    let io = fs::read_to_string(process.join("io"))?;
    let stat = fs::read(process.join("stat"))?;
    let (name, started_ticks) = name_and_start(&stat).ok_or_else(unreadable)?;
    Ok(Sample {
        started_ticks,
        name,
        io: ProcessIo::parse(&io).ok_or_else(unreadable)?,
    })
}

/// The name stands in brackets, which it may have in it; the start is the 20th field after it
/// (`proc_pid_stat(5)`).
fn name_and_start(stat: &[u8]) -> Option<(String, u64)> {
    let text = text_of(stat);
    let (_, rest) = text.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let start = rest.split_whitespace().nth(19)?;
    Some((name.to_owned(), start.parse().ok()?))
}

/// Since boot.
fn ticks() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    let per_second = clock_ticks_per_second();
    part(now.tv_sec) * per_second + part(now.tv_nsec) * per_second / 1_000_000_000
}

/// CPU time that was used before the interval.
#[derive(Debug, Default)]
pub(super) struct OwnBefore {
    cpu_ns: u64,
}

impl OwnBefore {
    pub(super) fn now() -> Self {
        Self { cpu_ns: cpu_ns() }
    }

    /// Of the interval, and begins the next.
    pub(super) fn until_now(&mut self) -> Own {
        let now = own();
        let before = std::mem::replace(&mut self.cpu_ns, now.cpu_ns);
        Own {
            cpu_ns: now.cpu_ns.saturating_sub(before),
            ..now
        }
    }
}

/// Since the start of this process.
pub(super) fn own() -> Own {
    Own {
        process: std::process::id(),
        cpu_ns: cpu_ns(),
        peak_resident_bytes: peak_resident_bytes(),
    }
}

/// Of all threads.
fn cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(used.tv_sec) * 1_000_000_000 + part(used.tv_nsec)
}

/// `VmHWM` of `/proc/self/status`, `proc_pid_status(5)`.
fn peak_resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|text| text.trim().strip_suffix("kB"));
    let kibibytes = kibibytes.and_then(|text| text.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_brackets() {
        let stat = b"7 (a) b (c) S 1 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9";
        let found = name_and_start(stat);
        assert_eq!(found, Some(("a) b (c".to_owned(), 4711)));
        assert_eq!(name_and_start(b"7 (a S 1"), None);
    }

    #[test]
    fn this_process_is_among_them() {
        let samples = samples().unwrap();
        let own = &samples.processes[&samples.own.process];
        assert!(own.io.syscr > 0 && own.started_ticks <= samples.at_ticks);
    }
}
