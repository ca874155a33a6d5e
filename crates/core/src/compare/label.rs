//! A case of any experiment in words.

use crate::atime::{LoopCase, TouchCase};
use crate::bytes::{grouped, short};
use crate::{buffering, copy, page_cache, sync};

/// A case that can be named.
pub(super) trait Labelled {
    /// The case in words, without its target.
    fn label(&self) -> String;
}

impl Labelled for buffering::Case {
    fn label(&self) -> String {
        let (mode, size) = (self.mode.as_str(), short(self.size_bytes));
        format!("{mode}, {} × {size}", grouped(self.count))
    }
}

impl Labelled for page_cache::Case {
    fn label(&self) -> String {
        let (state, reader) = (self.state.as_str(), self.reader.as_str());
        let size = short(self.size_bytes);
        match self.parse {
            page_cache::Parse::None => format!("{state} {reader}, {size}"),
            parse => format!("{state} {reader}, {size}, parsed as {}", parse.as_str()),
        }
    }
}

impl Labelled for sync::Case {
    fn label(&self) -> String {
        let (call, write) = (self.call.as_str(), self.write.as_str());
        let writers = match self.writers {
            1 => "1 writer".to_owned(),
            several => format!("{} writers", grouped(several)),
        };
        format!("{call} {write} {}, {writers}", short(self.size_bytes))
    }
}

impl Labelled for TouchCase {
    fn label(&self) -> String {
        let (operation, mount) = (self.operation.as_str(), self.mount.as_str());
        format!("{operation} under {mount}")
    }
}

impl Labelled for LoopCase {
    fn label(&self) -> String {
        let (files, reading) = (self.files.as_str(), self.reading.as_str());
        let (mount, reads) = (self.mount.as_str(), grouped(self.reads));
        format!("{files}, {reading} reading, {mount}, {reads} reads")
    }
}

impl Labelled for copy::Case {
    fn label(&self) -> String {
        let mut words = vec![self.method.as_str().to_owned()];
        if self.has_whole_buffer() {
            words.push("whole buffer".to_owned());
        } else if let Some(size) = self.buffer_bytes {
            words.push(format!("{} buffer", short(size)));
        }
        words.push(format!(
            "{} {}",
            short(self.size_bytes),
            self.source.as_str()
        ));
        if self.durable {
            words.push("durable".to_owned());
        }
        if self.destination == copy::Destination::Existing {
            words.push("existing target".to_owned());
        }
        words.join(", ")
    }
}
