//! Processes stopped until their payload is read; ensures that none stays stopped.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use aya::maps::{Array, HashMap as Table, MapData};
use rustix::process::{Pid, Signal, kill_process};
use zerocopy::FromBytes as _;

use super::guard::Guard;
use super::wire::StopEvent;

/// The number of stops of each process by the kernel side.
pub(super) type Stops = Table<MapData, u32, u64>;

/// When set to 1, the kernel side stops no process any more.
pub(super) type NoStops = Array<MapData, u32>;

/// Drains of the ring between two checks of the guard.
const UNGUARDED: u32 = 64;

pub(super) struct Stopping {
    stops: Stops,
    /// Another descriptor for the table, for the guard.
    table: OwnedFd,
    none: NoStops,
    /// `None` when the guard was killed and could not be restarted: then no process is stopped.
    guard: Option<Guard>,
    drains: u32,
}

impl Stopping {
    /// Fails without a guard: the program would stay stopped if iostrata were killed.
    pub(super) fn new(stops: Stops, table: OwnedFd, none: NoStops) -> io::Result<Self> {
        Ok(Self {
            guard: Some(Guard::start(table.as_fd())?),
            stops,
            table,
            none,
            drains: 0,
        })
    }

    /// Called after the ring was drained: checks the guard and the stopped processes.
    pub(super) fn look_after(&mut self) {
        self.drains = self.drains.wrapping_add(1);
        if !self.drains.is_multiple_of(UNGUARDED) {
            return;
        }
        if let Some(guard) = &mut self.guard
            && !guard.is_alive()
        {
            self.guard = Guard::start(self.table.as_fd()).ok();
            if self.guard.is_none() {
                self.end();
            }
        }
    }

    /// Whether processes are stopped where their payload cannot be read otherwise.
    pub(super) fn goes_on(&self) -> bool {
        self.guard.is_some()
    }

    /// From now on no process is stopped, and none stays stopped.
    pub(super) fn end(&mut self) {
        // Cannot fail for a table with one entry.
        self.none.set(0, 1, 0).ok();
        let stopped: Vec<u32> = self.stops.keys().filter_map(Result::ok).collect();
        for process in stopped {
            continue_process(process);
        }
    }

    /// Whether the kernel side has stopped the process more than `seen` times.
    pub(super) fn more_than(&self, process: u32, seen: u64) -> bool {
        self.stops
            .get(&process, 0)
            .is_ok_and(|stopped| stopped > seen)
    }
}

/// A process was stopped that no thread keeps account of any more.
pub(super) fn let_go(record: &[u8]) {
    if let Ok(event) = StopEvent::read_from_bytes(record) {
        continue_process(event.process);
    }
}

pub(super) fn continue_process(process: u32) {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let Some(process) = process {
        // It may have been killed in the meantime.
        kill_process(process, Signal::CONT).ok();
    }
}
