//! libaio: one operation for each control block of `io_submit`, as described in `bpf/aio.h`.

use std::collections::HashMap;

use iostrata_core::op::Call;
use iostrata_core::trace::tally::{Ended, Transfer};
use iostrata_core::trace::{Did, Direction, Writes, direction, is_sync};

use super::calls::{self, TOLD_BASE};
use super::identity::Open;
use super::memory;
use super::place::descriptor;
use super::request::Tid;
use crate::decode::{self, RWF_DURABLE, outcome, synced};

/// Vectored operations, by opcode (`include/uapi/linux/aio_abi.h`).
const PREADV: u64 = 7;
const PWRITEV: u64 = 8;
/// Operations that move as many bytes as their length states.
const PREAD: u64 = 0;
const PWRITE: u64 = 1;
/// `UIO_MAXIOV`
const MOST_VECTORS: u64 = 1024;

/// An operation whose result has not been fetched.
#[derive(Debug, Clone, Copy)]
struct Submission {
    process: u32,
    thread: Tid,
    started_ns: u64,
    opcode: u64,
    open: Option<Open>,
    offset: u64,
    bytes: u64,
    durable: bool,
    appends: bool,
}

/// Operations under way, by process and address of the control block.
#[derive(Debug, Default)]
pub(super) struct Queue {
    submissions: HashMap<(u32, u64), Submission>,
    /// Operations whose results no call fetched.
    pub(super) without_result: u64,
}

impl Queue {
    /// Control blocks are being submitted. Returns earlier operations with the same control blocks:
    /// these have ended.
    pub(super) fn submit(
        &mut self,
        (process, tid): (u32, Tid),
        arguments: &[u64; 6],
        now_ns: u64,
        mut resolve: impl FnMut(i32) -> Option<Open>,
    ) -> Vec<Ended> {
        let mut before = Vec::new();
        for index in 0..arguments[1] {
            let Some((block, words)) = block(tid, arguments[2], index) else {
                break;
            };
            let [_, key, kind, buffer, bytes, offset] = words;
            let opcode = kind & 0xffff;
            let open = resolve(descriptor(kind >> 32));
            let appends = decode::appends(open.map_or(0, |open| open.flags.bits()), key >> 32);
            let submission = Submission {
                process,
                thread: tid,
                started_ns: now_ns,
                opcode,
                open,
                offset: if appends {
                    size(tid, descriptor(kind >> 32)).unwrap_or(offset)
                } else {
                    offset
                },
                bytes: asked(tid, opcode, buffer, bytes),
                durable: (key >> 32) & RWF_DURABLE != 0,
                appends,
            };
            if let Some(old) = self.submissions.insert((process, block), submission) {
                self.without_result += 1;
                before.push(old.ended(Ok(old.bytes), now_ns));
            }
        }
        before
    }

    /// The kernel accepted only the first of them.
    pub(super) fn submitted(&mut self, process: u32, tid: Tid, arguments: &[u64; 6], result: i64) {
        let accepted = u64::try_from(result).unwrap_or(0);
        for index in accepted..arguments[1] {
            let Some((block, _)) = block(tid, arguments[2], index) else {
                // The one at which the kernel stopped may have an invalid address.
                continue;
            };
            self.submissions.remove(&(process, block));
        }
    }

    /// Results have been fetched.
    pub(super) fn fetched(
        &mut self,
        process: u32,
        tid: Tid,
        arguments: &[u64; 6],
        result: i64,
        now_ns: u64,
    ) -> Vec<Ended> {
        let mut ended = Vec::new();
        for index in 0..u64::try_from(result).unwrap_or(0) {
            let event = memory::words(tid, arguments[3].saturating_add(32 * index));
            let Some([_, block, moved, _]) = event else {
                break;
            };
            if let Some(submission) = self.submissions.remove(&(process, block)) {
                let moved = i64::from_ne_bytes(moved.to_ne_bytes());
                ended.push(submission.ended(outcome(moved), now_ns));
            }
        }
        ended
    }

    /// Operations left at the end, treated as ended at their submission.
    pub(super) fn left(&mut self) -> Vec<Ended> {
        let left = std::mem::take(&mut self.submissions);
        self.without_result += left.len() as u64;
        let mut left: Vec<Submission> = left.into_values().collect();
        left.sort_by_key(|one| (one.started_ns, one.offset));
        left.into_iter()
            .map(|one| one.ended(Ok(one.bytes), one.started_ns))
            .collect()
    }
}

/// Address and first words of a control block.
fn block(tid: Tid, blocks: u64, index: u64) -> Option<(u64, [u64; 6])> {
    let block = memory::word(tid, blocks.checked_add(index.checked_mul(8)?)?)?;
    Some((block, memory::words(tid, block)?))
}

/// The length of a file.
fn size(tid: Tid, fd: i32) -> Option<u64> {
    let file = std::fs::metadata(format!("/proc/{tid}/fd/{fd}")).ok()?;
    Some(file.len())
}

/// The number of bytes that an operation requests.
fn asked(tid: Tid, opcode: u64, buffer: u64, bytes: u64) -> u64 {
    match opcode {
        PREAD | PWRITE => bytes,
        PREADV | PWRITEV => (0..bytes.min(MOST_VECTORS))
            .map_while(|index| memory::words(tid, buffer.checked_add(16 * index)?))
            .map(|[_, length]| length)
            .fold(0, u64::saturating_add),
        _ => 0,
    }
}

impl Submission {
    fn ended(self, outcome: Result<u64, i32>, now_ns: u64) -> Ended {
        let number = u32::try_from(TOLD_BASE as u64 + (self.opcode & 15)).unwrap_or(0);
        let name = calls::name(number);
        Ended {
            call: Call {
                process: self.process,
                thread: self.thread,
                started_ns: self.started_ns,
                ended_ns: now_ns,
                name,
                outcome,
            },
            number,
            file: self.open.map(|open| open.file),
            source: None,
            transfer: direction(name).map(|direction| Transfer {
                direction,
                offset: None,
                durable: self.durable,
                appends: self.appends,
                size_bytes: None,
            }),
            did: self.open.and_then(|open| self.did(name, open, outcome)),
        }
    }

    fn did(self, name: &str, open: Open, outcome: Result<u64, i32>) -> Option<Did> {
        let file = open.file;
        if is_sync(name) {
            return Some(Did::Changed(synced(Some(file), name == "aio.fdsync")));
        }
        let is_write = direction(name) == Some(Direction::Write) && open.is_regular();
        (is_write && outcome != Ok(0)).then_some(())?;
        let bytes = outcome.unwrap_or(0);
        Some(Did::Wrote(Writes {
            file,
            count: u64::from(outcome.is_ok()),
            bytes,
            from: self.offset,
            to: self.offset.saturating_add(bytes),
            durable: self.durable,
            appends: self.appends,
            size_bytes: None,
        }))
    }
}
