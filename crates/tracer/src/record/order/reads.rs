//! Reads, where the user wants them recorded.

use std::io::Write;

use iostrata_core::op::{Call, FileId};
use iostrata_core::record::Change;
use iostrata_core::trace::OpenFile;

use super::Order;
use crate::record::batch::Read;

impl<W: Write> Order<W> {
    pub(super) fn opened_to_read(&mut self, call: &Call, file: FileId, open: OpenFile) {
        if !self.nodes.has_contents(file) {
            return;
        }
        let node = self.nodes.file(file);
        let change = Change::Described {
            node,
            description: self.descriptions.opened(node, open),
            flags: open.flags,
        };
        self.push(call, change, None);
    }

    pub(super) fn read(&mut self, read: &Read) {
        if !self.nodes.has_contents(read.file) {
            return;
        }
        let node = self.nodes.file(read.file);
        let description = read
            .open
            .map(|open| self.description(&read.call, node, open));
        let (offset, is_known) = read.landing.of_read(read.bytes);
        self.unsettled_reads += u64::from(!is_known);
        let change = Change::Read {
            node,
            description,
            offset,
            bytes: read.bytes,
            flags: read.flags,
        };
        self.push(&read.call, change, None);
    }
}
