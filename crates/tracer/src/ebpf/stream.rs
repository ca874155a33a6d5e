//! The ring buffer's reader: a thread that drains while the program runs.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use aya::maps::{MapData, RingBuf};
use iostrata_core::evidence::{Cause, Phase};
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::observe::RequestEvent;
use iostrata_core::op::{Call, FileId, Op};
use rustix::process::setpriority_process;
use zerocopy::FromBytes as _;

use super::calls;
use super::history::History;
use super::payload::Payloads;
use super::stopping::let_go;
use super::sums::Sums;
use super::wire::{self, FileKey, cause, event};
use crate::decode::outcome;
use crate::failure;
use crate::sites::{Registers, Sample, Sites};

/// Interval between drains. The kernel side never wakes the reader: a wake-up per event multiplies
/// the program's run time by 3.4, a poll of an empty ring costs some microseconds.
const PAUSE: Duration = Duration::from_millis(1);

/// The reader competes with the program's threads: events that it does not read in time are lost.
const NICE: i32 = -15;

/// Events in order of arrival.
#[derive(Default)]
pub(super) struct Events {
    pub(super) ops: Vec<Op>,
    pub(super) requests: Vec<RequestEvent>,
    pub(super) history: History,
    /// The log in progress, if there is one.
    pub(super) payloads: Option<Payloads>,
    pub(super) sites: Sites,
    /// Whether a stopped process goes on only when its stacks are unwound.
    pub(super) settles: bool,
    pub(super) sums: Sums,
    /// Gaps left by a failed reader.
    pub(super) failed: Vec<Gap>,
    /// Events that were not read because of it.
    pub(super) unread: u64,
}

/// The thread that reads the ring during a session.
#[derive(Default)]
pub(super) struct Stream {
    reader: Option<Reader>,
}

struct Reader {
    thread: JoinHandle<Events>,
    done: Arc<AtomicBool>,
}

impl Stream {
    /// Discards what an earlier session left and starts reading.
    pub(super) fn start(
        &mut self,
        mut ring: RingBuf<MapData>,
        payloads: Option<Payloads>,
        sums: Sums,
    ) -> io::Result<()> {
        while ring.next().is_some() {}
        let done = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&done);
        let events = Events {
            settles: payloads.as_ref().is_some_and(Payloads::has_stacks),
            payloads,
            sums,
            ..Events::default()
        };
        let thread = thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || read(ring, events, &stop))?;
        self.reader = Some(Reader { thread, done });
        Ok(())
    }

    /// Drains to the end and returns the events in order of their start.
    pub(super) fn stop(&mut self) -> Events {
        let Some(Reader { thread, done }) = self.reader.take() else {
            return Events::default();
        };
        done.store(true, Ordering::Release);
        let mut events = match thread.join() {
            Ok(read) => read,
            Err(panic) => {
                let mut events = Events::default();
                events.fail(&*panic);
                return events;
            }
        };
        events.ops.sort_by_key(|op| op.call.started_ns);
        events.requests.sort_by_key(|request| request.issued_ns);
        events
    }
}

impl Events {
    fn fail(&mut self, panic: &(dyn Any + Send)) {
        let why = Reason::Defect(failure::message(panic));
        self.failed.push(Gap::new(Missing::AfterReader, why));
        // The record at which it failed.
        self.unread = self.unread.saturating_add(1);
    }
}

/// Runs on the reader's thread.
fn read(mut ring: RingBuf<MapData>, mut events: Events, stop: &AtomicBool) -> Events {
    // Without this privilege the reader is scheduled like every other thread.
    let _refused = setpriority_process(None, NICE);
    loop {
        // Read the flag first: events written before it was set are drained afterwards.
        let last = stop.load(Ordering::Acquire);
        let drained = catch_unwind(AssertUnwindSafe(|| drain(&mut ring, &mut events)));
        if let Err(panic) = drained {
            events.fail(&*panic);
            let_run(&mut ring, &mut events, stop);
            return events;
        }
        if last {
            return events;
        }
        thread::sleep(PAUSE);
    }
}

/// Replaces a reader that has failed: no process stays stopped.
fn let_run(ring: &mut RingBuf<MapData>, events: &mut Events, stop: &AtomicBool) {
    if let Some(payloads) = &mut events.payloads {
        payloads.stopping().end();
    }
    loop {
        let last = stop.load(Ordering::Acquire);
        while let Some(record) = ring.next() {
            events.unread = events.unread.saturating_add(1);
            // Stopped before the kernel side was switched off.
            if matches!(u32::read_from_prefix(&record), Ok((event::STOP, _))) {
                let_go(&record);
            }
        }
        if last {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn drain(ring: &mut RingBuf<MapData>, events: &mut Events) {
    failure::stage("reader.drain");
    while let Some(record) = ring.next() {
        failure::stage("reader.event");
        take(&record, events);
    }
    if let Some(payloads) = &mut events.payloads {
        payloads.hand_over();
        payloads.stopping().look_after();
    }
}

pub(super) fn take(record: &[u8], events: &mut Events) {
    let Some((kind, _)) = u32::read_from_prefix(record).ok() else {
        return;
    };
    match kind {
        event::CALL => {
            if let Ok(event) = wire::CallEvent::read_from_bytes(record) {
                events.ops.push(op(&event));
            }
        }
        event::REQUEST => {
            if let Ok(event) = wire::RequestEvent::read_from_bytes(record) {
                events.requests.push(request(&event));
            }
        }
        event::FEW => events.sums.calls(record),
        event::CACHE => events.sums.cache(record),
        event::TASK => events.history.task(record),
        event::TOUCHED => events.history.touched(record),
        event::ASKED => events.history.asked(record),
        event::REPORT => events.history.report(record),
        event::SITE => site(record, events),
        _ => history(kind, record, events),
    }
}

/// Changes to files: for the history, and for the log.
fn history(kind: u32, record: &[u8], events: &mut Events) {
    let Events {
        history,
        payloads,
        sites,
        settles,
        ..
    } = events;
    match (kind, payloads) {
        (event::NAME, payloads) => {
            let named = history.name(record);
            if let Some(payloads) = payloads {
                for named in named {
                    payloads.named(named);
                }
            }
        }
        (event::STEP, payloads) => {
            let Some(step) = history.resolve(record) else {
                return;
            };
            if let Some(payloads) = payloads {
                payloads.step(&step);
            }
            history.step(step);
        }
        (event::RUN, payloads) => {
            history.run(record);
            if let Some(payloads) = payloads {
                payloads.run(record);
            }
        }
        (event::PAYLOAD, Some(payloads)) => payloads.payload(record),
        (event::STOP, Some(payloads)) => {
            if *settles {
                sites.settle();
            }
            payloads.stop(record);
        }
        _ => {}
    }
}

fn site(record: &[u8], events: &mut Events) {
    let Ok((event, stack)) = wire::SiteEvent::read_from_prefix(record) else {
        return;
    };
    let stack = stack.get(..event.bytes as usize).unwrap_or(stack);
    events.sites.add(&Sample {
        call: calls::name(event.nr),
        file: file_id(&event.file).unwrap_or(FileId::NONE),
        ended: events.settles.then_some((event.thread, event.ended_ns)),
        process: event.process,
        parent: event.parent,
        execs: event.execs,
        spent_ns: event.spent_ns,
        registers: Registers {
            ip: event.ip,
            sp: event.sp,
            bp: event.bp,
            stack,
        },
    });
}

/// `None` for the all-zero key.
pub(super) fn file_id(key: &FileKey) -> Option<FileId> {
    (key.inode != 0 || key.device != 0).then_some(FileId {
        device: key.device,
        inode: key.inode,
        generation: key.generation,
    })
}

pub(super) fn cause(code: u8) -> Cause {
    match code {
        cause::READ => Cause::Read,
        cause::DATA => Cause::Data,
        cause::JOURNAL => Cause::Journal,
        cause::COMMIT => Cause::Commit,
        cause::METADATA => Cause::Metadata,
        cause::FLUSH => Cause::Flush,
        cause::DISCARD => Cause::Discard,
        _ => Cause::Unknown,
    }
}

pub(super) fn phase(code: u8) -> Phase {
    if code == 0 {
        Phase::Running
    } else {
        Phase::AfterExit
    }
}

fn request(event: &wire::RequestEvent) -> RequestEvent {
    RequestEvent {
        disk: event.disk,
        phase: phase(event.phase),
        cause: cause(event.cause),
        file: file_id(&event.file),
        file_offset_bytes: event.file_offset,
        sector: event.sector,
        bytes: event.bytes,
        forced_unit_access: event.forced_unit_access != 0,
        issued_ns: event.issued_ns,
        completed_ns: event.completed_ns,
    }
}

fn op(event: &wire::CallEvent) -> Op {
    let name = calls::name(event.nr);
    let file = file_id(&event.file);
    let is_write =
        file.is_some() && !matches!(name, "fsync" | "fdatasync" | "sync_file_range" | "syncfs");
    let read = (event.pieces_read as usize).min(wire::PIECES);
    Op {
        call: Call {
            process: event.process,
            thread: event.thread,
            started_ns: event.entered_ns,
            ended_ns: event.entered_ns.saturating_add(event.took_ns),
            name,
            outcome: outcome(event.result),
        },
        file,
        pieces_bytes: if is_write {
            event.piece_bytes[..read].to_vec()
        } else {
            Vec::new()
        },
    }
}
