//! Reads, and readable mappings, where the user wants them recorded.

use iostrata_core::op::Call;
use iostrata_core::record::Change;
use iostrata_core::trace::OpenFile;

use super::{Payloads, call_of, landing_of};
use crate::ebpf::calls;
use crate::ebpf::stream::file_id;
use crate::ebpf::wire::{PayloadEvent, form};
use crate::record::batch::{Item, Read};
use crate::record::offsets::Landing;

impl Payloads {
    pub(super) fn opened(&mut self, event: &PayloadEvent) {
        let (Some(file), Some(open)) = (file_id(&event.file), open_of(event)) else {
            return;
        };
        let call = call_of(event, calls::name(event.nr));
        self.feed.add(Item::OpenedToRead { call, file, open });
    }

    pub(super) fn read(&mut self, event: &PayloadEvent) {
        let Some(file) = file_id(&event.file) else {
            return;
        };
        let open = open_of(event);
        let errno = i32::try_from(event.address).unwrap_or(i32::MAX);
        self.feed.add(Item::Read(Read {
            call: Call {
                outcome: if errno == 0 {
                    Ok(event.bytes)
                } else {
                    Err(errno)
                },
                ..call_of(event, calls::name(event.nr))
            },
            file,
            open,
            landing: match errno {
                0 => landing_of(event),
                // A call that moved nothing.
                _ => Landing::At(event.offset),
            },
            bytes: event.bytes,
            flags: event.call_flags,
        }));
    }

    /// A mapping, or pages of one that the program touched. Files that only the kernel mapped, for
    /// execve(2), have no name here.
    pub(super) fn in_memory(&mut self, event: &PayloadEvent) {
        let Some(node) = file_id(&event.file) else {
            return;
        };
        let (offset, bytes) = (event.offset, event.bytes);
        let (name, change) = if event.form == form::MAPPED {
            self.mapped.insert(node);
            let change = Change::MappedToRead {
                node,
                offset,
                bytes,
                protection: event.call_flags,
                flags: event.flags,
            };
            (calls::name(event.nr), change)
        } else if self.mapped.contains(&node) {
            let change = Change::Touched {
                node,
                offset,
                bytes,
            };
            ("page fault", change)
        } else {
            return;
        };
        // The result of mmap(2); a fault has none.
        let call = Call {
            outcome: Ok(event.address),
            ..call_of(event, name)
        };
        self.feed.changed(call, change);
    }
}

fn open_of(event: &PayloadEvent) -> Option<OpenFile> {
    (event.open_file != 0).then_some(OpenFile {
        address: event.open_file,
        flags: event.flags,
    })
}
