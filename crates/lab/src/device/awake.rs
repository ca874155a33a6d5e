//! Keeps idle CPUs from being halted.
//!
//! Each request passes through several threads, and each of them wakes the next. A CPU that polls for work is there at
//! once; one that is halted has to be woken by an interrupt, which in a virtual machine takes longer than the request.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

/// `Documentation/power/pm_qos_interface.rst`
const LATENCY: &str = "/dev/cpu_dma_latency";

/// CPUs poll as long as it exists, also those of other programs. The kernel ends that with the last descriptor, however
/// the process ends.
#[derive(Debug)]
pub(crate) struct Awake {
    _latency: Option<File>,
}

impl Awake {
    /// Asks for a latency of 0 µs, which all governors of cpuidle take for polling (`haltpoll_select`,
    /// drivers/cpuidle/governors/haltpoll.c). Where the kernel has no cpuidle, or refuses, CPUs are halted as ever: that
    /// is slower, and no different.
    pub(crate) fn hold() -> Self {
        let file = OpenOptions::new().write(true).open(LATENCY);
        let held = file.and_then(|mut file| file.write_all(&0_i32.to_ne_bytes()).map(|()| file));
        Self {
            _latency: held.ok(),
        }
    }
}
