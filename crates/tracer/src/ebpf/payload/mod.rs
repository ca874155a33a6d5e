//! From the kernel side's events to what the operation log is written from.
//!
//! Payload that the kernel side could not hand over is fetched here, while the process is
//! stopped; then the process is continued.

mod reads;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use iostrata_core::op::{FileId, Gap};
use iostrata_core::record::{Change, Durability};
use iostrata_core::trace::{NamedFile, is_sync};
use zerocopy::FromBytes as _;

use crate::clock::now_ns;
use crate::ebpf::calls;
use crate::ebpf::change;
use crate::ebpf::history::{Resolved, outcome};
use crate::ebpf::mapping::Mappings;
use crate::ebpf::stopping::{Stopping, continue_process};
use crate::ebpf::stream::file_id;
use crate::ebpf::wire::{PayloadEvent, RunEvent, StepEvent, StopEvent, form, landing};
use crate::failure::{self, survive};
use crate::foreign;
use crate::record::batch::{Batch, Call, Destination, Item, Open, Part};
use crate::record::offsets::Landing;
use crate::record::{RecordError, Recorded, Recording};

/// Read at once from the memory of a process, or from a file.
const FETCHED: usize = 1 << 20;

/// include/uapi/linux/stat.h
const S_IFMT: u32 = 0o170_000;
const S_IFREG: u32 = 0o100_000;

/// include/uapi/asm-generic/fcntl.h
const O_APPEND: u32 = 0o2000;

/// Feeds one recording.
pub(in crate::ebpf) struct Payloads {
    recording: Recording,
    batch: Batch,
    stopping: Stopping,
    /// Stops that were seen, by process.
    seen: HashMap<u32, u64>,
    /// The thread for which each process was continued last, and when that was done.
    continued: HashMap<u32, (u32, u64)>,
    stopped: u64,
    mappings: Mappings,
    last_ns: u64,
    /// Payload that was fetched after its process might have gone on.
    unsure: u64,
    unstoppable: u64,
    /// Changes of attributes that could not be told.
    attributes: u64,
    /// Files that calls have mapped.
    mapped: HashSet<FileId>,
}

impl Payloads {
    pub(in crate::ebpf) fn new(recording: Recording, stopping: Stopping) -> Self {
        Self {
            recording,
            batch: Batch::default(),
            stopping,
            seen: HashMap::new(),
            continued: HashMap::new(),
            stopped: 0,
            mappings: Mappings::default(),
            last_ns: 0,
            unsure: 0,
            unstoppable: 0,
            attributes: 0,
            mapped: HashSet::new(),
        }
    }

    /// Who is stopped for it.
    pub(in crate::ebpf) fn stopping(&mut self) -> &mut Stopping {
        &mut self.stopping
    }

    pub(in crate::ebpf) fn named(&mut self, named: &NamedFile) {
        self.add(Item::Named(named.clone()));
    }

    pub(in crate::ebpf) fn step(&mut self, resolved: &Resolved) {
        let call = call_of_step(&resolved.event);
        match change::item(call, resolved) {
            Some(Item::Step {
                change: Change::Mapped { node, .. },
                ..
            }) => self.mapped(call, node, &resolved.event),
            Some(Item::Step {
                change: Change::Synced {
                    node: None, scope, ..
                },
                ..
            }) if call.name == "msync" => self.msync(call, scope, &resolved.event),
            Some(item) => {
                if let Some(reached) = change::reached(&item, resolved) {
                    self.add(reached);
                }
                self.add(item);
            }
            None => self.attributes += u64::from(change::is_untold(call, resolved)),
        }
    }

    /// Syncs among what does not come as a step. Writes come with their payload; those of which it is
    /// not seen, as of libaio, are counted at the end of the log.
    pub(in crate::ebpf) fn run(&mut self, record: &[u8]) {
        let Ok(event) = RunEvent::read_from_bytes(record) else {
            return;
        };
        let name = calls::name(event.nr);
        if !is_sync(name) {
            return;
        }
        let call = Call {
            process: event.process,
            thread: event.thread,
            started_ns: event.started_ns,
            ended_ns: event.ended_ns,
            name,
            outcome: if event.error == 0 {
                Ok(0)
            } else {
                Err(event.error)
            },
        };
        let change = Change::Synced {
            node: file_id(&event.file),
            description: None,
            scope: if event.is_data_only() {
                Durability::Data
            } else {
                Durability::File
            },
        };
        let open = None;
        self.add(Item::Step { call, open, change });
    }

    /// A part of what a call wrote.
    pub(in crate::ebpf) fn payload(&mut self, record: &[u8]) {
        let Ok((event, behind)) = PayloadEvent::read_from_prefix(record) else {
            return;
        };
        match event.form {
            form::HERE => {
                let bytes = usize::try_from(event.part).ok();
                let held = bytes.and_then(|bytes| behind.get(..bytes));
                let held = held.map(|bytes| self.batch.hold(bytes));
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
                // Somebody who shares the descriptors may have exchanged it.
                let is_it =
                    |file: &File| file.metadata().is_ok_and(|is| is.ino() == event.file.inode);
                self.fetch(&event, file.filter(is_it).as_ref());
            }
            _ => self.part(&event, event.at, event.part, None),
        }
    }

    /// Reads a part from where it is.
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
            let held = self.batch.hold(&buffer[..had]);
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
        let to = match file_id(&event.file) {
            Some(file) if event.mode & S_IFMT == S_IFREG => Destination::File {
                file,
                open: Some(Open {
                    address: event.open_file,
                    flags: event.flags,
                }),
                landing: landing_of(event),
                flags: event.call_flags,
            },
            _ => Destination::Output {
                descriptor: event.descriptor,
            },
        };
        self.add(Item::Part(Part {
            call: call_of(event, calls::name(event.nr)),
            to,
            descriptor: event.descriptor,
            whole: event.bytes,
            at,
            bytes,
            held,
        }));
    }

    /// A process was stopped; everything before that is read by now.
    pub(in crate::ebpf) fn stop(&mut self, record: &[u8]) {
        let Ok(event) = StopEvent::read_from_bytes(record) else {
            return;
        };
        failure::stage("reader.stop");
        self.stopped += 1;
        self.unstoppable += u64::from(event.error != 0);
        *self.seen.entry(event.process).or_default() += 1;
        // Another thread of it has written too, and waits for its payload to be read.
        if self.is_waiting(event.process) {
            return;
        }
        continue_process(event.process);
        let now = (event.thread, now_ns());
        self.continued.insert(event.process, now);
    }

    /// Whether the kernel side has stopped the process more often than was seen here.
    fn is_waiting(&self, process: u32) -> bool {
        let seen = self.seen.get(&process).copied().unwrap_or(0);
        self.stopping.more_than(process, seen)
    }

    /// Whether the process was continued, for another of its threads, after this call had
    /// ended: between the look at the count of stops and the signal there is a moment.
    fn has_gone_on(&self, event: &PayloadEvent) -> bool {
        self.continued
            .get(&event.process)
            .is_some_and(|(thread, at_ns)| *thread != event.thread && event.left_ns < *at_ns)
    }

    fn mapped(&mut self, call: Call, file: FileId, event: &StepEvent) {
        let mapped = self.mappings.add(call, file, event);
        let (offset, bytes) = mapped.unwrap_or((0, event.argument[1]));
        let change = Change::Mapped {
            node: file,
            offset,
            bytes,
        };
        let open = None;
        self.add(Item::Step { call, open, change });
    }

    fn msync(&mut self, call: Call, scope: Durability, event: &StepEvent) {
        let ranges = self
            .mappings
            .overlapping(event.process, event.argument[0], event.argument[1]);
        for range in &ranges {
            if call.outcome.is_ok() {
                self.stored(call, range.number, range.offset, range.bytes);
            }
            let scope = match scope {
                Durability::Range { .. } => Durability::Range {
                    offset: range.offset,
                    bytes: range.bytes,
                },
                other => other,
            };
            let change = Change::Synced {
                node: Some(range.file),
                description: None,
                scope,
            };
            let open = None;
            self.add(Item::Step { call, open, change });
        }
    }

    /// Reads what a mapped file holds, without its holes.
    fn stored(&mut self, call: Call, number: usize, offset: u64, bytes: u64) {
        let mut at = offset;
        let mut buffer = vec![0; FETCHED];
        let end = offset.saturating_add(bytes);
        while let Some((from, had)) = self.mappings.read(number, at, end, &mut buffer) {
            let (Some(file), true) = (self.mappings.file(number), had > 0) else {
                return;
            };
            let held = self.batch.hold(&buffer[..had]);
            self.add(Item::Part(Part {
                call,
                to: Destination::Mapping { file, offset: from },
                descriptor: 0,
                whole: had as u64,
                at: 0,
                bytes: had as u64,
                held: Some(held),
            }));
            at = from.saturating_add(had as u64);
        }
    }

    fn add(&mut self, item: Item) {
        self.last_ns = self.last_ns.max(item.ended_ns());
        self.batch.items.push(item);
        if self.batch.is_full() {
            self.hand_over();
        }
    }

    /// Hands over what was gathered; waits while the log's writer does not keep up.
    pub(in crate::ebpf) fn hand_over(&mut self) {
        if !self.batch.is_empty() {
            self.recording.send(std::mem::take(&mut self.batch));
        }
    }

    /// [`Self::finish`], and whatever goes wrong in it is an error.
    pub(in crate::ebpf) fn end(
        self,
        gaps: Vec<Gap>,
        still_running: bool,
    ) -> Result<Recorded, RecordError> {
        let path = self.recording.path().to_owned();
        let mut failed = Vec::new();
        let ended = survive("the end of the log", &mut failed, || {
            self.finish(gaps, still_running)
        });
        ended.unwrap_or_else(|| {
            let why = failed.pop().map_or_else(String::new, |gap| gap.why);
            Err(RecordError::Defect { path, why })
        })
    }

    /// Looks at all mappings a last time and ends the log. `gaps` are those of the kernel
    /// side.
    fn finish(mut self, mut gaps: Vec<Gap>, still_running: bool) -> Result<Recorded, RecordError> {
        for (number, process, thread, offset, bytes) in self.mappings.all() {
            let call = Call {
                process,
                thread,
                started_ns: self.last_ns,
                ended_ns: self.last_ns,
                name: "exit",
                outcome: Ok(0),
            };
            self.stored(call, number, offset, bytes);
        }
        self.hand_over();
        let counted = [
            (
                self.attributes,
                "changes of attributes",
                "the kernel did not tell of which node, or the value was too long",
            ),
            (
                self.unsure,
                "buffers",
                "several threads of a process wrote at once, or by io_uring more than can be taken at once, and it may have changed them before they were read",
            ),
            (
                u64::from(!self.stopping.goes_on()),
                "guard of stopped processes",
                "it was ended and could not be started again, and nobody was stopped any more",
            ),
            (
                self.unstoppable,
                "stops",
                "the process could not be stopped, and may have changed its buffers before they were read",
            ),
        ];
        gaps.extend(
            counted
                .into_iter()
                .filter(|(count, ..)| *count > 0)
                .map(|(count, what, why)| Gap::new(format!("{count} {what}"), why)),
        );
        self.recording.finish(self.stopped, gaps, still_running)
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

fn call_of_step(event: &StepEvent) -> Call {
    Call {
        process: event.process,
        thread: event.thread,
        started_ns: event.entered_ns,
        ended_ns: event.left_ns,
        name: calls::name(event.nr),
        outcome: outcome(event.result),
    }
}

/// Where the kernel side saw a write go.
fn landing_of(event: &PayloadEvent) -> Landing {
    let within = |appends| Landing::Within {
        lowest: event.lowest,
        // Below 0 where somebody moved the position to before the write's end.
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
