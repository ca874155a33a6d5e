//! What all processes of the machine do with files, interval by interval, with what lies around it:
//! names of disks and cgroups, and what iostrata itself costs.

mod cgroups;
mod disks;
mod journal;
mod processes;

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::observe::ObserveError;
use iostrata_core::top::{Actor, Counted, Dirty};

use rustix::thread::CapabilitySet;

use crate::clock;
use crate::ebpf::top::{Process, Watch};
use crate::ebpf::{Limits, OpenError};
use cgroups::Cgroups;
use disks::Disks;
use journal::Journals;
use processes::OwnBefore;

pub use processes::{NEEDED, samples};

pub struct Machine {
    watch: Watch,
    cgroups: Cgroups,
    disks: Disks,
    journals: Journals,
    own: OwnBefore,
    /// Begin of the interval: since 1970, and of the clock that does not jump.
    begun: (u64, u64),
}

impl Machine {
    pub fn open(limits: &Limits) -> Result<Self, OpenError> {
        Ok(Self {
            watch: Watch::open(limits)?,
            cgroups: Cgroups::default(),
            disks: Disks::default(),
            journals: Journals::default(),
            own: OwnBefore::default(),
            begun: (0, 0),
        })
    }

    pub fn begin(&mut self) -> Result<(), ObserveError> {
        self.watch.begin()?;
        self.own = OwnBefore::now();
        self.begun = (since_1970_ns(), clock::now_ns());
        Ok(())
    }

    /// The capabilities without which it counts on: programs are attached, tables have descriptors, and all may read
    /// what it needs of /sys, the cgroups and its own /proc. Where `kernel.unprivileged_bpf_disabled` is set, Linux
    /// before 5.19 asks for `CAP_BPF` at each bpf(2) (`__sys_bpf`, kernel/bpf/syscall.c).
    pub fn needs(&self) -> CapabilitySet {
        if self.watch.is_readable_by_all() {
            CapabilitySet::empty()
        } else {
            CapabilitySet::BPF
        }
    }

    /// To be called several times a second.
    pub fn take_names(&mut self) {
        self.watch.take_names();
    }

    pub fn turn(&mut self) -> Result<Counted, ObserveError> {
        let (now, now_ns) = (since_1970_ns(), clock::now_ns());
        let taken = self.watch.turn()?;
        let (started_ns, begun_ns) = std::mem::replace(&mut self.begun, (now, now_ns));
        let mut missing: Vec<Gap> = self.watch.missing().to_vec();
        // Operations that no system call makes have no row; what comes of them has.
        missing.push(Gap::new(Missing::QueueOperations, Reason::TopCountsCalls));
        missing.extend(taken.missing);
        self.journals
            .add(taken.handles, &taken.processes, &taken.names);
        let sees_commits = self.watch.sees_commits();
        let commits = self.journals.commits(sees_commits, taken.commit_waits);
        let processes = taken.processes.into_iter();
        let actors = processes.map(|(number, process)| (number, self.actor(process)));
        let actors: HashMap<u32, Actor> = actors.collect();
        let disks = self.disks.of(taken.requests.iter().map(|row| row.disk));
        let files = taken.shares.iter().filter_map(|share| share.file);
        let disk_of = self.disks.below(files.map(|file| file.device));
        Ok(Counted {
            started_ns,
            length_ns: now_ns.saturating_sub(begun_ns),
            strata: self.watch.strata(),
            ways: self.watch.ways(),
            shares: taken.shares,
            requests: taken.requests,
            commits,
            actors,
            names: taken.names,
            disks,
            disk_of,
            dirty: dirty(),
            own: self.own.until_now(),
            lost_events: taken.lost_events,
            missing,
        })
    }

    fn actor(&mut self, process: Process) -> Actor {
        Actor {
            name: Some(process.name).filter(|name| !name.is_empty()),
            parent: Some(process.parent).filter(|parent| *parent > 0),
            cgroup: self.cgroups.path_of(process.cgroup),
        }
    }
}

/// Nanoseconds.
fn since_1970_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// At this moment (`/proc/meminfo`, `proc_meminfo(5)`); `None` where the kernel does not say.
pub(super) fn dirty() -> Option<Dirty> {
    parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse(text: &str) -> Option<Dirty> {
    let bytes = |name: &str| {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kibibytes: u64 = value.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    Some(Dirty {
        waiting_bytes: bytes("Dirty")?,
        writeback_bytes: bytes("Writeback")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_name_is_read_and_no_other() {
        let text =
            "Dirty:              20 kB\nWriteback:           8 kB\nWritebackTmp:        4 kB\n";
        let dirty = Dirty {
            waiting_bytes: 20_480,
            writeback_bytes: 8192,
        };
        assert_eq!(parse(text), Some(dirty));
        assert_eq!(parse("Dirty: 20 kB\n"), None);
        assert_eq!(parse("Dirty: many kB\nWriteback: 8 kB\n"), None);
    }
}
