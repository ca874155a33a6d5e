//! Turns the kernel side's events into input for the operation log.
//!
//! Payload that the kernel side could not send is fetched here while the process is stopped; then
//! the process is continued.

mod reads;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use iostrata_core::gap::{Countable, Gap, Reason};
use iostrata_core::op::{Call, FileId, FileKind};
use iostrata_core::trace::{NamedFile, OpenFile, is_sync};
use zerocopy::FromBytes as _;

use crate::clock::now_ns;
use crate::decode::{O_APPEND, synced};
use crate::ebpf::calls;
use crate::ebpf::history::Resolved;
use crate::ebpf::stopping::{Stopping, continue_process};
use crate::ebpf::stream::file_id;
use crate::ebpf::wire::{PayloadEvent, RunEvent, StopEvent, form, landing};
use crate::failure;
use crate::foreign;
use crate::record::batch::{Destination, Item, Part};
use crate::record::feed::Feed;
use crate::record::offsets::Landing;
use crate::record::{Recording, Unfinished};

/// Bytes per read from process memory or a file.
const FETCHED: usize = 1 << 20;

pub(in crate::ebpf) struct Payloads {
    feed: Feed,
    stopping: Stopping,
    /// Stops seen so far, by process.
    seen: HashMap<u32, u64>,
    /// The thread for which each process was last continued, and when.
    continued: HashMap<u32, (u32, u64)>,
    stopped: u64,
    /// Payload that was fetched after its process might have continued.
    unsure: u64,
    unstoppable: u64,
    /// Files that calls mapped.
    mapped: HashSet<FileId>,
}

impl Payloads {
    pub(in crate::ebpf) fn new(recording: Recording, stopping: Stopping) -> Self {
        Self {
            feed: Feed::new(recording),
            stopping,
            seen: HashMap::new(),
            continued: HashMap::new(),
            stopped: 0,
            unsure: 0,
            unstoppable: 0,
            mapped: HashSet::new(),
        }
    }

    /// The process that is stopped for it.
    pub(in crate::ebpf) fn stopping(&mut self) -> &mut Stopping {
        &mut self.stopping
    }

    pub(in crate::ebpf) fn has_stacks(&self) -> bool {
        self.feed.recording().stacks
    }

    pub(in crate::ebpf) fn named(&mut self, named: &NamedFile) {
        self.feed.add(Item::Named(named.clone()));
    }

    pub(in crate::ebpf) fn step(&mut self, resolved: &Resolved) {
        self.feed.ended(resolved.clone().into());
    }

    pub(in crate::ebpf) fn hand_over(&mut self) {
        self.feed.hand_over();
    }

    /// Syncs among events that are not steps. Writes come with their payload; writes whose payload
    /// is not seen, such as libaio's, are counted at the end of the log.
    pub(in crate::ebpf) fn run(&mut self, record: &[u8]) {
        let Ok(event) = RunEvent::read_from_bytes(record) else {
            return;
        };
        let call = event.call();
        if is_sync(call.name) {
            let change = synced(file_id(&event.file), event.is_data_only());
            self.feed.changed(call, change);
        }
    }

    /// A part of the bytes that a call wrote.
    pub(in crate::ebpf) fn payload(&mut self, record: &[u8]) {
        let Ok((event, behind)) = PayloadEvent::read_from_prefix(record) else {
            return;
        };
        let is_written = matches!(event.form, form::HERE | form::IN_MEMORY);
        if is_written && event.at == 0 && matches!(destination(&event), Destination::Output { .. })
        {
            self.feed
                .before_report(call_of(&event, calls::name(event.nr)));
        }
        match event.form {
            form::HERE => {
                let bytes = usize::try_from(event.part).ok();
                let held = bytes.and_then(|bytes| behind.get(..bytes));
                let held = held.map(|bytes| self.feed.hold(bytes));
                self.part(&event, event.at, event.part, held);
            }
            form::IN_MEMORY => {
                // The completion may be seen before all threads have stopped.
                let is_operation = calls::name(event.nr).starts_with("io_uring.");
                self.unsure += u64::from(is_operation || self.has_gone_on(&event));
                let memory = File::open(format!("/proc/{}/mem", event.thread));
                self.fetch(&event, memory.ok().as_ref());
            }
            form::READ => self.read(&event),
            form::OPENED => self.opened(&event),
            form::MAPPED | form::TOUCHED => self.in_memory(&event),
            form::IN_FILE => {
                let path = format!("/proc/{}/fd/{}", event.thread, event.descriptor);
                let file = foreign::open(Path::new(&path)).ok();
                // Another thread that shares the descriptors may have replaced it.
                let is_it =
                    |file: &File| file.metadata().is_ok_and(|is| is.ino() == event.file.inode);
                self.fetch(&event, file.filter(is_it).as_ref());
            }
            _ => self.part(&event, event.at, event.part, None),
        }
    }

    fn fetch(&mut self, event: &PayloadEvent, from: Option<&File>) {
        let mut buffer = vec![0; FETCHED.min(usize::try_from(event.part).unwrap_or(FETCHED))];
        let mut done = 0;
        while done < event.part {
            let left = usize::try_from(event.part - done).unwrap_or(FETCHED);
            let wanted = left.min(buffer.len());
            let had = from
                .and_then(|file| {
                    let at = event.address.checked_add(done)?;
                    file.read_at(&mut buffer[..wanted], at).ok()
                })
                .unwrap_or(0);
            let at = event.at.saturating_add(done);
            if had == 0 {
                self.part(event, at, event.part - done, None);
                return;
            }
            let held = self.feed.hold(&buffer[..had]);
            self.part(event, at, had as u64, Some(held));
            done += had as u64;
        }
    }

    fn part(
        &mut self,
        event: &PayloadEvent,
        at: u64,
        bytes: u64,
        held: Option<std::ops::Range<usize>>,
    ) {
        let call = call_of(event, calls::name(event.nr));
        self.feed.add(Item::Part(Part {
            call,
            to: destination(event),
            descriptor: event.descriptor,
            whole: event.bytes,
            at,
            bytes,
            held,
        }));
    }

    /// A process was stopped; everything before that has been read by now.
    pub(in crate::ebpf) fn stop(&mut self, record: &[u8]) {
        let Ok(event) = StopEvent::read_from_bytes(record) else {
            return;
        };
        failure::stage("reader.stop");
        self.stopped += 1;
        self.unstoppable += u64::from(event.error != 0);
        *self.seen.entry(event.process).or_default() += 1;
        // Another thread of the process has written too, and waits for its payload to be read.
        if self.is_waiting(event.process) {
            return;
        }
        continue_process(event.process);
        let now = (event.thread, now_ns());
        self.continued.insert(event.process, now);
    }

    /// Whether the kernel side has stopped the process more often than seen here.
    fn is_waiting(&self, process: u32) -> bool {
        let seen = self.seen.get(&process).copied().unwrap_or(0);
        self.stopping.more_than(process, seen)
    }

    /// Whether the process was continued, for another of its threads, after this call had ended:
    /// there is a moment between reading the stop count and sending the signal.
    fn has_gone_on(&self, event: &PayloadEvent) -> bool {
        self.continued
            .get(&event.process)
            .is_some_and(|(thread, at_ns)| *thread != event.thread && event.left_ns < *at_ns)
    }

    /// Checks all mappings one last time and ends the log. `gaps` are those of the kernel side.
    pub(in crate::ebpf) fn end(self, mut gaps: Vec<Gap>, still_running: bool) -> Unfinished {
        let missing = [
            (self.unsure, Countable::Buffers, Reason::ConcurrentStores),
            (
                u64::from(!self.stopping.goes_on()),
                Countable::Watchdogs,
                Reason::WatchdogKilled,
            ),
            (self.unstoppable, Countable::Stops, Reason::Unstoppable),
        ];
        let missing = missing.map(|(count, of, why)| Gap::counted(count, of, why));
        gaps.extend(missing.into_iter().flatten());
        Unfinished {
            feed: self.feed,
            stops: self.stopped,
            gaps,
            still_running,
        }
    }
}

/// Where a call's bytes went.
fn destination(event: &PayloadEvent) -> Destination {
    match file_id(&event.file) {
        Some(file) if FileKind::from_mode(event.mode) == FileKind::Regular => Destination::File {
            file,
            open: Some(OpenFile {
                address: event.open_file,
                flags: event.flags,
            }),
            landing: landing_of(event),
            flags: event.call_flags,
        },
        _ => Destination::Output {
            descriptor: event.descriptor,
        },
    }
}

fn call_of(event: &PayloadEvent, name: &'static str) -> Call {
    Call {
        process: event.process,
        thread: event.thread,
        started_ns: event.entered_ns,
        ended_ns: event.left_ns,
        name,
        outcome: Ok(event.bytes),
    }
}

/// The offset at which the kernel side saw a write.
fn landing_of(event: &PayloadEvent) -> Landing {
    let within = |appends| Landing::Within {
        lowest: event.lowest,
        // Negative when another thread moved the position to before the write's end.
        end: event.offset.wrapping_add(event.bytes),
        appends,
        between_ns: (event.looked_ns, event.seen_ns),
    };
    match event.landing {
        landing::POSITION => within(event.flags & O_APPEND != 0),
        landing::END => within(true),
        _ => Landing::At(event.offset),
    }
}
