//! The operation log: turns the entry and exit of calls into its input.

mod claims;
pub(super) mod landing;
mod paths;
mod payload;
mod reads;
mod told;
mod written;

use std::collections::{HashMap, HashSet};
use std::fs;

use iostrata_core::gap::{Countable, Gap, Reason};
use iostrata_core::op::{Call, FileId};
use iostrata_core::trace::tally::Ended as EndedCall;
use iostrata_core::trace::{FileKind, Located, NamedFile, OpenFile, SiteRow, is_sync};
use syscalls::Sysno;

use super::calls::{self, call, path};
use super::identity::Open;
use super::place::{self, Given, descriptor};
use super::recorder::Recorder;
use super::request::Tid;
use super::resolve::Last;
use super::tasks::Entered;
use super::usage::number;
use super::{memory, request};
use crate::decode::{Ended, outcome, synced};
use crate::ebpf::wire::STACK;
use crate::record::attributes;
use crate::record::batch::Item;
use crate::record::feed::Feed;
use crate::record::{Presser, Recording, Unfinished};
use crate::sites::{Registers, Sample, Sites};

use paths::{Led, Lives, last, shown};
use reads::Reading;
use told::{extra, is_step, makes_node, may_be_told, may_change, names_node};
use written::{Write, before_write};

/// Maximum length of an extended attribute's name and value (include/uapi/linux/limits.h).
const LONGEST_VALUE: u64 = 65_536;

#[derive(Debug, Default)]
pub(super) struct Before {
    first: Led,
    second: Led,
    second_text: Vec<u8>,
    write: Option<Write>,
    read: Option<Reading>,
}

#[derive(Debug)]
pub(super) struct Log {
    feed: Feed,
    reads: bool,
    /// Whether the program mapped files that it may read in memory.
    maps: bool,
    lives: Lives,
    named: HashSet<FileId>,
    /// Calls whose thread was killed in them.
    cut_off: u64,
    /// Buffers whose written contents are uncertain.
    changed: u64,
    /// Calls admitted before another one had ended.
    overlaps: u64,
    presser: Option<Presser>,
    stacks: Option<Stacks>,
}

impl Log {
    pub(super) fn new(mut recording: Recording) -> Self {
        let stacks = recording.stacks.then(Stacks::default);
        Self {
            presser: recording.presser.take(),
            reads: recording.reads,
            maps: false,
            feed: Feed::new(recording),
            lives: Lives::default(),
            named: HashSet::new(),
            cut_off: 0,
            changed: 0,
            overlaps: 0,
            stacks,
        }
    }

    pub(super) fn sites(&mut self) -> Vec<SiteRow> {
        self.stacks.take().map(Stacks::finish).unwrap_or_default()
    }

    pub(super) fn executed(&mut self, process: u32) {
        if let Some(stacks) = &mut self.stacks {
            stacks.executed(process);
        }
    }

    /// `stops`: how often threads were stopped. `gaps`: what else is missing.
    pub(super) fn end(self, stops: u64, mut gaps: Vec<Gap>, still_running: bool) -> Unfinished {
        let own = [
            (self.cut_off, Countable::Calls, Reason::KilledInCall),
            (
                self.changed,
                Countable::Buffers,
                Reason::ChangedWhileWritten,
            ),
            (self.overlaps, Countable::PlacesInOrder, Reason::LongCall),
        ];
        let own = own.map(|(count, of, why)| Gap::counted(count, of, why));
        gaps.extend(own.into_iter().flatten());
        gaps.extend(self.maps.then(reads::faults));
        Unfinished {
            feed: self.feed,
            stops,
            gaps,
            still_running,
        }
    }

    /// Names the file of a descriptor before the log first uses it.
    fn introduce(&mut self, tid: Tid, fd: i32, open: &Open, filesystem: &str) {
        if !self.named.insert(open.file) {
            return;
        }
        self.lives.saw(open.file);
        let size = fs::metadata(format!("/proc/{tid}/fd/{fd}")).map(|file| file.len());
        self.feed.add(Item::Named(NamedFile {
            file: open.file,
            path: shown(tid, fd).unwrap_or_default(),
            kind: open.kind(),
            filesystem: filesystem.to_owned(),
            size_bytes: size.unwrap_or(open.size_bytes),
            is_removed: open.is_unlinked,
            shown: (open.file.device, open.file.inode),
        }));
    }
}

impl Recorder {
    pub(super) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Who syncs a file of its own after each change.
    pub(super) fn presser(&mut self) -> Option<&mut Presser> {
        self.log.as_mut()?.presser.as_mut()
    }

    /// Before and after calls that may order stores to mappings.
    pub(super) fn look_at_mappings(&mut self, meaning: u32) {
        let reads_only = meaning & (call::READS | call::WRITES) == call::READS;
        if let Some(log) = self.log.as_mut().filter(|_| !reads_only) {
            log.feed.look();
        }
    }

    pub(super) fn overlapped(&mut self, overlaps: u64) {
        if let Some(log) = &mut self.log {
            log.overlaps = overlaps;
        }
    }

    /// Inspects the target of a call before the call changes it.
    pub(super) fn before(
        &mut self,
        tid: Tid,
        (number, meaning): (Sysno, u32),
        arguments: &[u64; 6],
        file: Option<(i32, Open)>,
        given: &[Option<Given>; 2],
    ) -> Option<Box<Before>> {
        if !self.counts || !self.has_log() {
            return None;
        }
        let mut before = Before {
            read: self.before_read(tid, (number, meaning), arguments),
            ..Before::default()
        };
        if meaning & call::WRITES != 0 {
            before.write = file.and_then(|(fd, open)| {
                let asks = self.asks(tid, &open);
                before_write(tid, (number, meaning), arguments, (fd, open), asks)
            });
            if before.write.is_none() && before.read.is_none() {
                return None;
            }
        }
        if let Some((fd, open)) = file
            && (before.write.is_some() || may_be_told(meaning, number, &open))
        {
            self.introduce(tid, fd, &open);
        }
        if names_node(number, arguments) {
            let log = self.log.as_mut()?;
            let [first, second] = given;
            // utimensat(2): without a path it changes the descriptor's file.
            let of_descriptor = (calls::paths_of(number) == path::AT && arguments[1] == 0)
                .then(|| Given::of_descriptor(descriptor(arguments[0])));
            if let Some(first) = first.as_ref().or(of_descriptor.as_ref()) {
                before.first = log.lives.led(first, tid, last(number, arguments));
            }
            if let Some(second) = second {
                before.second = log.lives.led(second, tid, Last::Kept);
            }
            before.second_text = match calls::paths_of(number) {
                path::SECOND | path::THIRD_AT => memory::string(tid, arguments[0]),
                _ if number.name().ends_with("xattr") => memory::string(tid, arguments[1]),
                _ => second.as_ref().map(|second| second.text.clone()),
            }
            .unwrap_or_default();
        } else if number == Sysno::fsetxattr || number == Sysno::fremovexattr {
            before.second_text = memory::string(tid, arguments[1]).unwrap_or_default();
        }
        Some(Box::new(before))
    }

    fn introduce(&mut self, tid: Tid, fd: i32, open: &Open) {
        let filesystem = self.identifier.kind_of(open.place);
        if let Some(log) = &mut self.log {
            log.introduce(tid, fd, open, filesystem);
        }
    }

    pub(super) fn log_call(
        &mut self,
        (process, tid): (u32, Tid),
        entered: &Entered,
        result: i64,
        now_ns: u64,
    ) {
        if !self.counts || !self.has_log() {
            return;
        }
        let outcome = outcome(result);
        let call = Call {
            process,
            thread: tid,
            started_ns: entered.started_ns,
            ended_ns: now_ns,
            name: calls::name(entered.counted),
            outcome,
        };
        self.follow_duplicate(tid, entered, outcome);
        self.log_read(call, entered);
        self.take_stack(call, entered);
        match (outcome, entered.before.as_deref()) {
            (
                Ok(bytes @ 1..),
                Some(Before {
                    write: Some(write), ..
                }),
            ) => {
                self.wrote(call, entered, write, bytes);
            }
            _ if is_step(entered, outcome.is_err()) => self.log_step(call, entered),
            _ => {}
        }
    }

    /// Of calls that are in the log.
    fn take_stack(&mut self, call: Call, entered: &Entered) {
        let Some(stacks) = self.log.as_mut().and_then(|log| log.stacks.as_mut()) else {
            return;
        };
        let before = entered.before.as_deref();
        let writes = before.is_some_and(|before| before.write.is_some());
        if call.outcome.is_ok() && (writes || is_step(entered, false)) {
            stacks.take(call, entered.file.map(|(_, open)| open.file));
        }
    }

    fn follow_duplicate(&mut self, tid: Tid, entered: &Entered, outcome: Result<u64, i32>) {
        let (Ok(made), Some((from, open))) = (outcome, entered.file) else {
            return;
        };
        let duplicates = match entered.number {
            Sysno::dup | Sysno::dup2 | Sysno::dup3 => true,
            Sysno::fcntl => matches!(
                i32::try_from(entered.arguments[1]),
                Ok(libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
            ),
            _ => false,
        };
        let made = descriptor(made);
        if duplicates && open.is_regular() && made != from {
            self.duplicated(tid, from, made, open.file);
        }
    }

    fn open_file(&mut self, call: Call, entered: &Entered) -> Option<OpenFile> {
        let (fd, open) = entered.file?;
        if !matches!(open.kind(), FileKind::Regular | FileKind::Directory) || fd < 0 {
            return None;
        }
        let tid = call.thread;
        let has_opened = entered.meaning & call::FD_RETURNED != 0 && call.outcome.is_ok();
        let address = if has_opened {
            self.opened(tid, fd, open.file)
        } else if entered.number == Sysno::close {
            // Queried before the call, which closes it.
            entered.description
        } else {
            self.description(tid, fd, open.file)
        };
        let moment = entered
            .before
            .as_ref()
            .and_then(|before| before.write.as_ref()?.moment);
        Some(OpenFile {
            address: address?,
            flags: moment.map_or(open.flags.bits(), |moment| moment.flags),
        })
    }

    fn log_step(&mut self, call: Call, entered: &Entered) {
        let open = self.open_file(call, entered);
        let tid = call.thread;
        if let Some((fd, file)) = entered.file.filter(|(fd, _)| *fd >= 0) {
            self.introduce(tid, fd, &file);
        }
        let Some(log) = &mut self.log else { return };
        let before = entered.before.as_deref();
        let mut led = before.map_or_else(Led::default, |before| before.first.clone());
        if makes_node(entered.number) && call.outcome.is_ok() {
            let [given, _] = place::given(tid, calls::paths_of(entered.number), &entered.arguments);
            led.node = given.and_then(|given| log.lives.led(&given, tid, Last::Kept).node);
        }
        let node = led.node;
        let is_gone = matches!(
            entered.number,
            Sysno::unlink | Sysno::unlinkat | Sysno::rmdir
        );
        let removed = node.filter(|_| is_gone);
        let replaced = before.and_then(|before| before.second.node);
        if call.outcome.is_ok() {
            for node in removed.into_iter().chain(replaced) {
                log.lives.ended(node.id);
            }
        }
        let [argument @ .., _] = entered.arguments;
        let file = entered.file.map(|(_, open)| open);
        log.feed.ended(Ended {
            call,
            argument,
            file: file.map(|open| open.file),
            open,
            created: entered.creates,
            mode: file.map_or(0, |open| open.mode),
            first: led
                .at
                .filter(|_| led.node.is_none_or(|node| node.is_named))
                .or_else(|| named_by(entered)),
            second: before.and_then(|before| before.second.at.clone()),
            second_text: before.map_or_else(Vec::new, |before| before.second_text.clone()),
            node: node.map(|node| node.id).or(file.map(|open| open.file)),
            inode: node.map(|node| node.inode),
            extra: extra(tid, entered),
        });
        if let (Ok(_), "fcntl", Some((fd, _))) = (call.outcome, call.name, entered.file) {
            self.forget_flags(tid, fd);
        }
    }

    /// The flags of the open file have changed, for all who share it.
    fn forget_flags(&mut self, tid: Tid, fd: i32) {
        if let Some(table) = self.tasks.table(tid) {
            table.borrow_mut().look_again(fd);
        }
    }

    fn lose_change(&mut self) {
        if let Some(log) = &mut self.log {
            log.cut_off += 1;
        }
    }

    /// A libaio operation has ended. The end of the log counts those that write.
    pub(super) fn log_operation(&mut self, ended: &EndedCall) {
        let call = ended.call;
        if let Some(log) = self.log.as_mut().filter(|_| is_sync(call.name)) {
            let change = synced(ended.file, call.name == "aio.fdsync");
            log.feed.changed(call, change);
        }
    }

    /// A thread is about to end, or has ended, during a call.
    pub(super) fn log_cut_off(
        &mut self,
        tid: Tid,
        process: u32,
        entered: &Entered,
        result: Option<i64>,
        now_ns: u64,
    ) {
        if !self.counts || !self.has_log() {
            return;
        }
        let has_opened = entered.meaning & call::FD_RETURNED != 0 && entered.file.is_none();
        match result {
            Some(0..) if has_opened && may_change(entered) => self.lose_change(),
            Some(result) => self.log_call((process, tid), entered, result, now_ns),
            None if may_change(entered) => self.lose_change(),
            None => {}
        }
    }
}

/// What the program called the file whose attributes it changed, where that leads nowhere from here.
fn named_by(entered: &Entered) -> Option<Located> {
    let is_one = attributes::is_one(entered.number.name());
    let path = entered.first.clone().filter(|_| is_one)?;
    let directory = None;
    Some(Located { path, directory })
}

/// Executable memory of libraries (`proc_pid_status(5)`).
fn libraries_kib(process: u32) -> u64 {
    let status = fs::read(format!("/proc/{process}/status")).unwrap_or_default();
    number(&status, b"VmLib:").unwrap_or(0)
}

/// The stacks of all calls of the log.
#[derive(Debug, Default)]
struct Stacks {
    sites: Sites,
    /// How many programs each process has executed: the last one's memory map is of no use.
    executed: HashMap<u32, u64>,
}

impl Stacks {
    fn executed(&mut self, process: u32) {
        *self.executed.entry(process).or_default() += 1;
    }

    /// Takes the stack of a thread that has stopped at the end of a call.
    fn take(&mut self, call: Call, file: Option<FileId>) {
        let Some([ip, sp, bp]) = request::registers(call.thread) else {
            return;
        };
        let mut stack = Vec::new();
        memory::append(call.thread, sp, &mut stack, STACK);
        self.sites.add(&Sample {
            call: call.name,
            file: file.unwrap_or(FileId::NONE),
            ended: Some((call.thread, call.ended_ns)),
            process: call.process,
            parent: call.process,
            execs: self.program_of(call.process),
            spent_ns: call.ended_ns.saturating_sub(call.started_ns),
            registers: Registers {
                ip,
                sp,
                bp,
                stack: &stack,
            },
        });
        self.sites.settle();
    }

    /// Other executable mappings are another one: their memory map has to be read again.
    fn program_of(&self, process: u32) -> u64 {
        let executed = self.executed.get(&process).copied().unwrap_or(0);
        executed << 32 | libraries_kib(process)
    }

    fn finish(self) -> Vec<SiteRow> {
        self.sites.finish()
    }
}
