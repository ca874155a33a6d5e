//! What this process itself has used.

use iostrata_core::top::Own;
use rustix::time::{ClockId, clock_gettime};

/// CPU time that was used before the interval.
#[derive(Debug, Default)]
pub(super) struct Before {
    cpu_ns: u64,
}

impl Before {
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
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|text| text.trim().strip_suffix("kB"));
    let kibibytes = kibibytes.and_then(|text| text.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0).saturating_mul(1024)
}
