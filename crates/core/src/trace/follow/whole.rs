//! `sync` and `syncfs`: everything, or one file system.

use std::collections::HashMap;

use super::Span;

/// The latest successful syncs of whole file systems.
#[derive(Debug, Default)]
pub(super) struct Whole {
    everything: Option<Span>,
    devices: HashMap<u32, Span>,
}

impl Whole {
    /// `device` for one file system; `None` for all.
    pub(super) fn synced(&mut self, device: Option<u32>, span: Span) {
        match device {
            None => self.everything = later(self.everything, Some(span)),
            Some(device) => {
                let latest = self.devices.get(&device).copied();
                if let Some(latest) = later(latest, Some(span)) {
                    self.devices.insert(device, latest);
                }
            }
        }
    }

    /// The latest that covers a file system; without `device`, one that covers all.
    pub(super) fn of(&self, device: Option<u32>) -> Option<Span> {
        let one = device.and_then(|device| self.devices.get(&device).copied());
        later(self.everything, one)
    }
}

fn later(one: Option<Span>, other: Option<Span>) -> Option<Span> {
    one.into_iter()
        .chain(other)
        .max_by_key(|span| span.started_ns)
}
