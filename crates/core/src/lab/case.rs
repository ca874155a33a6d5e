//! A case of any experiment: whose it is, and its words.

use serde::Serialize;

use crate::atime::{LoopCase, TouchCase};
use crate::bytes::{grouped, short};
use crate::{buffering, copy, page_cache, sync};

/// What one row of an experiment is about.
pub trait Case: Serialize {
    /// Name of the experiment, as in the JSON.
    const EXPERIMENT: &'static str;

    /// The case in words, without its target.
    fn label(&self) -> String;
}

impl Case for buffering::Case {
    const EXPERIMENT: &'static str = "buffering";

    fn label(&self) -> String {
        let (mode, size) = (self.mode.as_str(), short(self.size_bytes));
        format!("{mode}, {} × {size}", grouped(self.count))
    }
}

impl Case for page_cache::Case {
    const EXPERIMENT: &'static str = "page-cache";

    fn label(&self) -> String {
        let (state, reader) = (self.state.as_str(), self.reader.as_str());
        let size = short(self.size_bytes);
        match self.parse {
            page_cache::Parse::None => format!("{state} {reader}, {size}"),
            parse => format!("{state} {reader}, {size}, parsed as {}", parse.as_str()),
        }
    }
}

impl Case for sync::Case {
    const EXPERIMENT: &'static str = "sync";

    fn label(&self) -> String {
        let (call, write) = (self.call.as_str(), self.write.as_str());
        let writers = match self.writers {
            1 => "1 writer".to_owned(),
            several => format!("{} writers", grouped(several)),
        };
        format!("{call} {write} {}, {writers}", short(self.size_bytes))
    }
}

impl Case for TouchCase {
    const EXPERIMENT: &'static str = "atime";

    fn label(&self) -> String {
        let (operation, mount) = (self.operation.as_str(), self.mount.as_str());
        format!("{operation} under {mount}")
    }
}

impl Case for LoopCase {
    const EXPERIMENT: &'static str = "atime";

    fn label(&self) -> String {
        let (files, reading) = (self.files.as_str(), self.reading.as_str());
        let (mount, reads) = (self.mount.as_str(), grouped(self.reads));
        format!("{files}, {reading} reading, {mount}, {reads} reads")
    }
}

impl Case for copy::Case {
    const EXPERIMENT: &'static str = "copy";

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
