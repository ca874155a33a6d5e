//! The bytes that a call wrote, and their offset.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;

use blake3::Hash;
use iostrata_core::op::Call;
use iostrata_core::trace::FileKind;
use rustix::fs::OFlags;
use syscalls::Sysno;

use super::Log;
use super::landing::{Aim, Moment, landing};
use super::payload::{Buffers, CHUNK, in_file};
use crate::ptrace::calls::call_flags;
use crate::ptrace::identity::Open;
use crate::ptrace::recorder::Recorder;
use crate::ptrace::request::Tid;
use crate::ptrace::tasks::Entered;
use crate::record::batch::{Destination, Item, Part};
use crate::record::offsets::Landing;

#[derive(Debug)]
pub(super) struct Write {
    aim: Option<Aim>,
    pub(super) moment: Option<Moment>,
    buffers: Option<Buffers>,
    sums: Vec<Hash>,
    asks: Asks,
}

/// When the written bytes are read back from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// Always: other threads may change the buffer, and change it back.
    Always,
    /// When the buffer differs from its contents before the call.
    InDoubt,
    /// Never: the program itself may be the file system.
    Never,
}

impl Recorder {
    pub(super) fn asks(&self, tid: Tid, open: &Open) -> Asks {
        match self.identifier.kind_of(open.place) {
            kind if kind.starts_with("fuse") => Asks::Never,
            // Reading back what was written past the page cache would bring it into the cache.
            _ if self.tasks.is_last(tid) || open.flags.contains(OFlags::DIRECT) => Asks::InDoubt,
            _ => Asks::Always,
        }
    }

    pub(super) fn wrote(&mut self, call: Call, entered: &Entered, write: &Write, bytes: u64) {
        let Some((fd, file)) = entered.file else {
            return;
        };
        let tid = call.thread;
        let to = if file.is_regular() {
            let open = self.open_file(call, entered);
            let landing = match (write.aim, write.moment, Moment::of(tid, fd)) {
                (Some(Aim::At(offset)), ..) => Landing::At(offset),
                (Some(aim), Some(before), Some(after)) => landing(aim, before, after, bytes),
                // Its process is being killed.
                _ => {
                    self.lose_change();
                    return;
                }
            };
            Destination::File {
                file: file.file,
                open,
                landing,
                flags: call_flags(entered.meaning, &entered.arguments),
            }
        } else {
            Destination::Output {
                descriptor: u32::try_from(fd).unwrap_or(0),
            }
        };
        let part = Part {
            call,
            to,
            descriptor: u32::try_from(fd).unwrap_or(0),
            whole: bytes,
            at: 0,
            bytes: 0,
            held: None,
        };
        if let Some(log) = &mut self.log {
            log.payload(write, &part);
        }
    }
}

impl Log {
    /// The bytes of a call, chunk by chunk.
    fn payload(&mut self, write: &Write, whole: &Part) {
        let tid = whole.call.thread;
        if matches!(whole.to, Destination::Output { .. }) {
            self.feed.before_report(whole.call);
        }
        let offset = match whole.to {
            Destination::File {
                landing: Landing::At(offset),
                ..
            } => Some(offset),
            _ => None,
        };
        let path = format!("/proc/{tid}/fd/{}", whole.descriptor);
        let mut file = None;
        let (mut buffer, mut there) = (Vec::new(), Vec::new());
        let mut at = 0;
        for chunk in 0.. {
            let bytes = usize::try_from(whole.whole - at).map_or(CHUNK, |left| left.min(CHUNK));
            if bytes == 0 {
                return;
            }
            if let Some(buffers) = &write.buffers {
                buffers.read(tid, at, &mut buffer, bytes);
            }
            let is_whole = buffer.len() == bytes;
            let is_same = is_whole && write.sums.get(chunk) == Some(&blake3::hash(&buffer));
            let mut held = is_whole.then_some(&buffer);
            let asks = match write.asks {
                Asks::Always => true,
                Asks::InDoubt => !is_same,
                Asks::Never => !is_whole,
            };
            let file = offset.filter(|_| asks).and_then(|offset| {
                let file = file.get_or_insert_with(|| open_quietly(&path)).as_ref();
                in_file(file?, offset.checked_add(at)?, bytes, &mut there)
            });
            match file {
                Some(()) => held = Some(&there),
                None => self.changed += u64::from(is_whole && !is_same),
            }
            let held = held.map(|held| self.feed.hold(held));
            self.feed.add(Item::Part(Part {
                at,
                bytes: bytes as u64,
                held,
                ..whole.clone()
            }));
            at += bytes as u64;
        }
    }
}

/// Opens a file for reading, without updating its access time where permitted.
fn open_quietly(path: &str) -> Option<File> {
    let open = |flags| {
        File::options()
            .read(true)
            .custom_flags(flags | libc::O_NONBLOCK)
            .open(path)
    };
    // Only the owner may use O_NOATIME (open(2)).
    open(libc::O_NOATIME).or_else(|_| open(0)).ok()
}

/// Records position, length and buffers; `None` if the log needs none of the written bytes.
pub(super) fn before_write(
    tid: Tid,
    (number, meaning): (Sysno, u32),
    arguments: &[u64; 6],
    (fd, open): (i32, Open),
    asks: Asks,
) -> Option<Write> {
    let is_output = matches!(arguments[0], 1 | 2) && open.kind() != FileKind::Regular;
    if !open.is_regular() && (!is_output || open.kind() == FileKind::Anonymous) {
        return None;
    }
    let moment = open.is_regular().then(|| Moment::of(tid, fd)).flatten();
    let flags = moment.map_or(0, |moment| moment.flags);
    let aim = open
        .is_regular()
        .then(|| Aim::of(tid, number, meaning, arguments, flags));
    let buffers = Buffers::of(tid, meaning, arguments);
    Some(Write {
        aim,
        moment,
        sums: buffers
            .as_ref()
            .map_or_else(Vec::new, |buffers| buffers.hash(tid)),
        buffers,
        asks,
    })
}
