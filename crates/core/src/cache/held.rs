//! Why a file's pages are not in the requested state.

use crate::noun::{counted, noun_of};
use serde::{Deserialize, Serialize};

use super::Cached;
use crate::bytes;

/// What keeps pages in the page cache, keeps them out, or hides their state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// Processes have locked pages of the file (`mlock(2)`).
    Locked,
    /// Processes have pages of the file in their memory (`mmap(2)`).
    Mapped,
    /// Pages in the same large folio as mapped ones.
    LargeFolio,
    /// Pages are newer than the storage.
    Dirty,
    /// Pages are under write-back.
    Writeback,
    /// A file system whose pages are its storage.
    InMemory,
    /// A loop device uses the file.
    LoopDevice,
    /// Processes whose memory the user may not inspect.
    HiddenProcesses,
    /// The file changed during the operation.
    Changed,
    /// There is not enough memory.
    Memory,
    /// The file could not be read.
    Unreadable,
    /// No permitted interface reports what is resident.
    NotTold,
    /// The kernel itself, since no other reason was found.
    Kernel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Hold {
    pub kind: HoldKind,
    /// The fact and, if there is one, the remedy.
    pub why: String,
    /// Bytes affected; `null` when unknown, or when the reason affects no bytes in particular.
    pub bytes: Option<u64>,
    /// Processes involved.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub processes: Vec<Process>,
}

/// A process that has pages of a file in its memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Process {
    pub pid: u32,
    /// Its name, lossily decoded; a program can set it to any text.
    pub command: String,
    /// Bytes of the file that it maps; `null` when the user may not know.
    pub mapped_bytes: Option<u64>,
    /// Bytes of these that it has locked; `null` as above.
    pub locked_bytes: Option<u64>,
}

/// File systems whose pages are the storage.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];

/// Whether the pages of this file-system type are its storage, so that they cannot be evicted and
/// stay dirty forever.
pub fn is_in_memory(filesystem: &str) -> bool {
    IN_MEMORY.contains(&filesystem)
}

/// Number of processes named in a text; the rest is counted.
const NAMED: usize = 3;

/// `process 4211 (python3)`, `processes 7 (cat), 8 (dd)`, `... and 2 more`.
pub fn named(processes: &[Process]) -> String {
    let names: Vec<String> = processes
        .iter()
        .take(NAMED)
        .map(|process| format!("{} ({})", process.pid, process.command))
        .collect();
    let noun = noun_of(processes.len() as u64, "process");
    let more = match processes.len() - names.len() {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!("{noun} {}{more}", names.join(", "))
}

/// Facts about a file whose pages stayed after an eviction.
#[derive(Debug, Clone, Copy)]
pub struct Stayed<'a> {
    pub now: Cached,
    pub filesystem: &'a str,
    /// Before the eviction.
    pub synced: bool,
    pub processes: &'a [Process],
    /// Processes whose mappings the user may not see.
    pub hidden_processes: u64,
    pub loop_devices: &'a [String],
}

pub fn why_resident(stayed: &Stayed<'_>) -> Vec<Hold> {
    if is_in_memory(stayed.filesystem) {
        let why = format!(
            "{} keeps its files in these pages: there is nowhere to evict them to",
            stayed.filesystem
        );
        return vec![Hold::new(HoldKind::InMemory, why)];
    }
    let mut holds = Vec::new();
    unwritten(stayed, &mut holds);
    mapped(stayed, &mut holds);
    if !stayed.loop_devices.is_empty() {
        let why = format!("{} works on it", stayed.loop_devices.join(", "));
        holds.push(Hold::new(HoldKind::LoopDevice, why));
    }
    if stayed.hidden_processes > 0 && stayed.processes.is_empty() {
        let processes = counted(stayed.hidden_processes, "process");
        let why = format!("{processes} may map it but cannot be inspected; run as root");
        holds.push(Hold::new(HoldKind::HiddenProcesses, why));
    }
    if holds.is_empty() {
        let why = "no process maps it and none of it is dirty: the kernel uses its pages, or it \
                   was read again meanwhile";
        holds.push(Hold::new(HoldKind::Kernel, why));
    }
    holds
}

fn unwritten(stayed: &Stayed<'_>, holds: &mut Vec<Hold>) {
    let dirty = stayed.now.dirty_bytes.unwrap_or(0);
    if dirty > 0 {
        let why = if stayed.synced {
            "dirty again after write-back: something keeps writing to it"
        } else {
            "dirty; --sync writes it back first"
        };
        holds.push(Hold::of(HoldKind::Dirty, dirty, why));
    }
    let writeback = stayed.now.writeback_bytes.unwrap_or(0);
    if writeback > 0 {
        let why = "under write-back; --sync waits for it";
        holds.push(Hold::of(HoldKind::Writeback, writeback, why));
    }
}

fn mapped(stayed: &Stayed<'_>, holds: &mut Vec<Hold>) {
    let is_locked = |process: &&Process| process.locked_bytes.is_some_and(|bytes| bytes > 0);
    let (locked, mapped): (Vec<&Process>, Vec<&Process>) =
        stayed.processes.iter().partition(is_locked);
    let mut sum = Some(0_u64);
    for (kind, how, processes) in [
        (HoldKind::Locked, "locked in memory", locked),
        (HoldKind::Mapped, "mapped", mapped),
    ] {
        if processes.is_empty() {
            continue;
        }
        let processes: Vec<Process> = processes.into_iter().cloned().collect();
        // Two processes may map the same pages: the number of pages is exact only for one process.
        let bytes = match processes.as_slice() {
            [one] => one.mapped_bytes,
            _ => None,
        };
        for process in &processes {
            sum = sum
                .zip(process.mapped_bytes)
                .map(|(sum, bytes)| sum.saturating_add(bytes));
        }
        holds.push(Hold {
            kind,
            why: format!("{how} by {}", named(&processes)),
            bytes,
            processes,
        });
    }
    let unwritten = stayed.now.dirty_bytes.unwrap_or(0) + stayed.now.writeback_bytes.unwrap_or(0);
    let accounted = sum.map(|sum| sum.saturating_add(unwritten));
    let rest = accounted.and_then(|known| stayed.now.resident_bytes.checked_sub(known));
    if let Some(rest) = rest.filter(|rest| *rest > 0 && !stayed.processes.is_empty()) {
        let why = "in the same large folios as mapped pages: the kernel evicts whole folios only";
        holds.push(Hold::of(HoldKind::LargeFolio, rest, why));
    }
}

/// Facts about a file whose pages are missing after warming.
#[derive(Debug, Clone, Copy)]
pub struct Absent<'a> {
    pub missing_bytes: u64,
    pub filesystem: &'a str,
    /// The error of reading it.
    pub failure: Option<&'a str>,
    /// Memory that programs can still get, bytes, if known.
    pub available_bytes: Option<u64>,
}

pub fn why_absent(absent: &Absent<'_>) -> Vec<Hold> {
    if let Some(failure) = absent.failure {
        let why = format!("it cannot be read: {failure}");
        return vec![Hold::new(HoldKind::Unreadable, why)];
    }
    if is_in_memory(absent.filesystem) {
        let why = format!(
            "reading a hole brings in no page: {} keeps all file contents in memory already",
            absent.filesystem
        );
        return vec![Hold::of(HoldKind::InMemory, absent.missing_bytes, why)];
    }
    let missing = absent.missing_bytes;
    if let Some(left) = absent.available_bytes.filter(|left| *left < missing) {
        let left = bytes::short(left);
        let why = format!("pages were evicted while it was read: {left} of memory are available");
        return vec![Hold::of(HoldKind::Memory, missing, why)];
    }
    let why = "pages were evicted while it was read: memory is short, overall or in this control \
               group, or something evicts them";
    vec![Hold::of(HoldKind::Kernel, missing, why)]
}

impl Hold {
    /// A reason that affects no bytes in particular.
    pub fn new(kind: HoldKind, why: impl Into<String>) -> Self {
        Self {
            kind,
            why: why.into(),
            bytes: None,
            processes: Vec::new(),
        }
    }

    fn of(kind: HoldKind, bytes: u64, why: impl Into<String>) -> Self {
        Self {
            bytes: Some(bytes),
            ..Self::new(kind, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, mapped_bytes: Option<u64>, locked_bytes: Option<u64>) -> Process {
        Process {
            pid,
            command: "cat".to_owned(),
            mapped_bytes,
            locked_bytes,
        }
    }

    fn now(resident: u64, dirty: u64, writeback: u64) -> Cached {
        Cached {
            resident_bytes: resident,
            dirty_bytes: Some(dirty),
            writeback_bytes: Some(writeback),
            ..Cached::default()
        }
    }

    fn stayed(now: Cached, processes: &[Process]) -> Stayed<'_> {
        Stayed {
            now,
            filesystem: "ext4",
            synced: false,
            processes,
            hidden_processes: 0,
            loop_devices: &[],
        }
    }

    fn told(stayed: &Stayed<'_>) -> Vec<(HoldKind, Option<u64>)> {
        let holds = why_resident(stayed);
        holds.iter().map(|hold| (hold.kind, hold.bytes)).collect()
    }

    #[test]
    fn what_is_not_written_is_told_with_its_bytes() {
        let seen = stayed(now(40_960, 4096, 8192), &[]);
        assert_eq!(
            told(&seen),
            [
                (HoldKind::Dirty, Some(4096)),
                (HoldKind::Writeback, Some(8192))
            ]
        );
        assert!(why_resident(&seen)[0].why.contains("--sync"));
        let synced = Stayed {
            synced: true,
            ..seen
        };
        assert!(!why_resident(&synced)[0].why.contains("--sync"));
    }

    #[test]
    fn mapped_and_locked_are_told_apart_and_the_rest_is_in_large_folios() {
        let processes = [
            process(7, Some(4096), Some(0)),
            process(8, Some(8192), Some(8192)),
        ];
        let seen = stayed(now(65_536, 0, 0), &processes);
        assert_eq!(
            told(&seen),
            [
                (HoldKind::Locked, Some(8192)),
                (HoldKind::Mapped, Some(4096)),
                (HoldKind::LargeFolio, Some(53_248)),
            ]
        );
        let holds = why_resident(&seen);
        assert_eq!(holds[0].why, "locked in memory by process 8 (cat)");
        assert_eq!(holds[1].why, "mapped by process 7 (cat)");
        assert_eq!(holds[1].processes, [process(7, Some(4096), Some(0))]);
    }

    #[test]
    fn how_much_is_mapped_may_be_unknown() {
        let processes = [process(7, None, None)];
        let seen = stayed(now(65_536, 0, 0), &processes);
        assert_eq!(told(&seen), [(HoldKind::Mapped, None)]);
    }

    #[test]
    fn hidden_processes_loop_devices_and_the_kernel() {
        let hidden = Stayed {
            hidden_processes: 9,
            ..stayed(now(4096, 0, 0), &[])
        };
        assert_eq!(told(&hidden), [(HoldKind::HiddenProcesses, None)]);
        let devices = ["loop3".to_owned()];
        let image = Stayed {
            loop_devices: &devices,
            ..stayed(now(4096, 0, 0), &[])
        };
        assert_eq!(told(&image), [(HoldKind::LoopDevice, None)]);
        assert_eq!(
            told(&stayed(now(4096, 0, 0), &[])),
            [(HoldKind::Kernel, None)]
        );
        let memory = Stayed {
            filesystem: "tmpfs",
            ..stayed(now(4096, 4096, 0), &[])
        };
        assert_eq!(told(&memory), [(HoldKind::InMemory, None)]);
    }

    #[test]
    fn many_processes_are_counted() {
        let processes: Vec<Process> = (1..=5).map(|pid| process(pid, None, None)).collect();
        assert_eq!(
            named(&processes),
            "processes 1 (cat), 2 (cat), 3 (cat) and 2 more"
        );
        assert_eq!(named(&processes[..2]), "processes 1 (cat), 2 (cat)");
    }

    #[test]
    fn what_did_not_come_in_has_its_cause() {
        let absent = Absent {
            missing_bytes: 8192,
            filesystem: "ext4",
            failure: None,
            available_bytes: Some(4096),
        };
        let kind = |absent: Absent<'_>| why_absent(&absent)[0].kind;
        assert_eq!(kind(absent), HoldKind::Memory);
        let roomy = Absent {
            available_bytes: Some(1 << 30),
            ..absent
        };
        assert_eq!(kind(roomy), HoldKind::Kernel);
        let broken = Absent {
            failure: Some("Input/output error"),
            ..absent
        };
        assert_eq!(
            why_absent(&broken)[0].why,
            "it cannot be read: Input/output error"
        );
        let holes = Absent {
            filesystem: "tmpfs",
            ..absent
        };
        assert_eq!(kind(holes), HoldKind::InMemory);
    }
}
