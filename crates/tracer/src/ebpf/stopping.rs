//! Who is stopped until payload was read, and that nobody stays so.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use aya::maps::{Array, HashMap as Table, MapData};
use rustix::process::{Pid, Signal, kill_process};
use zerocopy::FromBytes as _;

use super::guard::Guard;
use super::wire::StopEvent;

/// How often the kernel side has stopped each process.
pub(super) type Stops = Table<MapData, u32, u64>;

/// Set to 1, the kernel side stops nobody any more.
pub(super) type NoStops = Array<MapData, u32>;

/// Drains of the ring between two looks whether the guard is there.
const UNGUARDED: u32 = 64;

/// The kernel side's tables, and the guard.
pub(super) struct Stopping {
    stops: Stops,
    /// Another descriptor of it, for the guard.
    table: OwnedFd,
    none: NoStops,
    /// `None` when it was ended and could not be started again: then nobody is stopped.
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

    /// The ring was drained: looks whether all is as it should be.
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

    /// Whether processes are stopped where their payload cannot be had otherwise.
    pub(super) fn goes_on(&self) -> bool {
        self.guard.is_some()
    }

    /// From now on nobody is stopped, and nobody stays so.
    pub(super) fn end(&mut self) {
        // Fails for no table of one entry.
        self.none.set(0, 1, 0).ok();
        let stopped: Vec<u32> = self.stops.keys().filter_map(Result::ok).collect();
        for process in stopped {
            continue_process(process);
        }
    }

    /// Whether the kernel side has stopped the process more often than that.
    pub(super) fn more_than(&self, process: u32, seen: u64) -> bool {
        self.stops
            .get(&process, 0)
            .is_ok_and(|stopped| stopped > seen)
    }
}

/// A process was stopped of which nobody keeps account any more.
pub(super) fn let_go(record: &[u8]) {
    if let Ok(event) = StopEvent::read_from_bytes(record) {
        continue_process(event.process);
    }
}

pub(super) fn continue_process(process: u32) {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let Some(process) = process {
        // It may have been killed meanwhile.
        kill_process(process, Signal::CONT).ok();
    }
}
