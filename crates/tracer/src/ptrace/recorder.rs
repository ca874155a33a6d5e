//! Turns stops into calls: which call, on which file, and its outcome.

use std::os::fd::AsFd as _;

use iostrata_core::gap::Gap;
use iostrata_core::op::{Call, FileId};
use iostrata_core::trace::tally::{Ended, Tally, Transfer, Used};
use iostrata_core::trace::{Did, Direction, ProcessIo, Writes};
use syscalls::Sysno;

use super::accounting::{self, Accounting, may_have_dumped};
use super::aio::Queue;
use super::calls::{self, call};
use super::clones::{self, CLONE_FILES, CLONE_THREAD};
use super::history::{appends, creates, did, is_durable};
use super::identity::{Identifier, Mappings, Open, named, path_of};
use super::log::Log;
use super::lower::{Residencies, accounts};
use super::memory;
use super::notes::Notes;
use super::place::{self, Given, descriptor};
use super::record::Record;
use super::request::{self, Tid};
use super::sockets::Sockets;
use super::tasks::{Entered, Tasks, family};
use super::told::{self, CallKind};
use super::usage;
use crate::clock::now_ns;
use crate::decode::outcome;

#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) tally: Tally,
    pub(super) tasks: Tasks,
    pub(super) identifier: Identifier,
    residencies: Residencies,
    io: Option<ProcessIo>,
    accounting: Accounting,
    pub(super) notes: Notes,
    pub(super) queue: Queue,
    pub(super) mappings: Mappings,
    sockets: Sockets,
    /// Whether threads stop at each call: a filter of the program lets a listener answer calls, and such an answer
    /// comes before that of our filter (seccomp(2), `SECCOMP_RET_USER_NOTIF`).
    pub(super) has_listener: bool,
    /// Whether calls count: not before the program is executed.
    pub(super) counts: bool,
    pub(super) log: Option<Log>,
    /// The last number given to an open file description.
    pub(super) descriptions: u64,
}

impl Recorder {
    /// `counts_at_once` for a program that is already running.
    pub(super) fn new(most_rows: usize, counts_at_once: bool) -> Self {
        Self {
            tally: Tally::new(most_rows),
            tasks: Tasks::default(),
            identifier: Identifier::default(),
            residencies: Residencies::default(),
            io: None,
            accounting: Accounting::new(counts_at_once),
            notes: Notes::default(),
            queue: Queue::default(),
            mappings: Mappings::default(),
            sockets: Sockets::default(),
            has_listener: false,
            counts: counts_at_once,
            log: None,
            descriptions: 0,
        }
    }

    /// Whether the thread is in a call whose end is recorded.
    pub(super) fn is_inside(&self, tid: Tid) -> bool {
        let thread = self.tasks.threads.get(&tid);
        thread.is_some_and(|thread| thread.entered.is_some())
    }

    /// A running thread is traced from now on.
    pub(super) fn adopt(&mut self, tid: Tid, now_ns: u64) {
        let (process, parent) = family(tid);
        let before = usage::of(process, tid).unwrap_or_default();
        self.tasks.begin(tid, process, before);
        self.tally.begin_task(tid, process, parent, now_ns);
    }

    /// A new thread has stopped, or its creator reports it, whichever is first.
    pub(super) fn begin(&mut self, tid: Tid, maker: Option<Tid>, now_ns: u64) {
        let maker = maker.and_then(|maker| {
            let thread = self.tasks.threads.get(&maker)?;
            let flags = thread
                .entered
                .as_ref()
                .map(|entered| clones::flags(entered.number, &entered.arguments, maker));
            Some((thread.process, flags))
        });
        let is_known = self.tasks.threads.contains_key(&tid);
        let was_known = maker.is_some() && self.tasks.told_of(tid);
        if !is_known && !was_known {
            let (process, parent) = match maker {
                Some((process, Some(flags))) if flags & CLONE_THREAD != 0 => (process, process),
                Some((process, Some(_))) => (tid, process),
                // Created by a call that is not decoded, or its own stop came first.
                Some((_, None)) | None => match family(tid) {
                    (process, parent) if process == tid => (process, parent),
                    (process, _) => (process, process),
                },
            };
            self.tasks.begin(tid, process, Used::default());
            self.tally.begin_task(tid, process, parent, now_ns);
            if maker.is_none() {
                self.tasks.await_maker(tid);
            }
        }
        if let Some((process, Some(flags))) = maker
            && flags & (CLONE_FILES | CLONE_THREAD) == CLONE_FILES
        {
            self.tasks.share(tid, process);
        } else if let Some((process, _)) = maker {
            self.tasks.inherit(tid, process);
        }
    }

    pub(super) fn entered(&mut self, tid: Tid, number: u64, mut arguments: [u64; 6]) {
        let Some(number) = calls::known(number) else {
            return;
        };
        let CallKind { counted, meaning } = told::at_entry(tid, number, &mut arguments);
        self.look_at_mappings(meaning);
        let style = calls::paths_of(number);
        let given = place::given(tid, style, &arguments);
        let [first, second] = given.clone();
        let creates = first
            .as_ref()
            .is_some_and(|first| creates(number, &arguments) && !place::exists(first, tid));
        let (first, second, linked) = self.names(tid, number, &arguments, (first, second));
        let fd = match meaning {
            _ if meaning & call::FD_FIRST != 0 => Some(descriptor(arguments[0])),
            _ if meaning & call::FD_THIRD != 0 => Some(descriptor(arguments[2])),
            _ if meaning & call::FD_FIFTH != 0 => Some(descriptor(arguments[4])),
            _ => None,
        };
        let file = fd.and_then(|fd| Some((fd, self.resolve(tid, fd)?)));
        let source = place::source(meaning, &arguments).and_then(|fd| self.resolve(tid, fd));
        self.submit(tid, number, &arguments);
        let before = self.before(tid, (number, meaning), &arguments, file, &given);
        let closes = file.filter(|(_, open)| number == Sysno::close && open.is_regular());
        let description = closes
            .filter(|_| self.has_log())
            .and_then(|(fd, open)| self.description(tid, fd, open.file));
        self.forget_closed(tid, number, &arguments);
        let untraced = clones::take_untraced(number, &arguments, tid);
        let entered = Entered {
            number,
            counted,
            meaning,
            has_paths: style != 0,
            arguments,
            file,
            source,
            first,
            second,
            linked,
            creates,
            untraced,
            before,
            description,
            size_bytes: None,
            accounted_bytes: accounting::before(tid, number, &arguments, self.has_listener),
            started_ns: now_ns(),
        };
        let size_bytes = self.size_before(tid, &entered);
        if let Some(thread) = self.tasks.threads.get_mut(&tid) {
            thread.entered = Some(Entered {
                size_bytes,
                ..entered
            });
        }
    }

    /// The paths of a call, and the file that it links.
    fn names(
        &mut self,
        tid: Tid,
        number: Sysno,
        arguments: &[u64; 6],
        (first, second): (Option<Given>, Option<Given>),
    ) -> (Option<Vec<u8>>, Option<Vec<u8>>, Option<Open>) {
        let absolute = |given: Option<Given>| place::absolute(&given?, tid);
        let linked = first.as_ref().filter(|_| links_file(number, arguments));
        let linked = linked.and_then(|first| {
            let file = place::file(first, tid)?;
            let open = self.identifier.identify(file.as_fd(), tid).ok()?;
            Some((path_of(file.as_fd(), &open), open))
        });
        match linked {
            Some((path, open)) => (Some(path), absolute(second), Some(open)),
            None => (absolute(first), absolute(second), None),
        }
    }

    /// A thread leaves the call that it entered; calls without a seen entry are ignored.
    pub(super) fn left(&mut self, tid: Tid, result: i64, now_ns: u64) {
        let Some(thread) = self.tasks.threads.get_mut(&tid) else {
            return;
        };
        let process = thread.process;
        let Some(entered) = thread.entered.take() else {
            return;
        };
        if entered.untraced {
            clones::put_untraced_back(entered.number, &entered.arguments, tid);
        }
        self.forget_closed(tid, entered.number, &entered.arguments);
        let before = entered.accounted_bytes;
        let is_made_up = accounting::is_made_up(tid, entered.number, before, result);
        self.accounting.leave(tid, entered.number, before);
        self.note(process, &entered, result);
        let unnamed = entered.linked.filter(|open| open.is_unlinked);
        if let (Some(open), Some(path), 0) = (unnamed, &entered.second, result) {
            self.tally.name_again(open.file, path);
        }
        let result = told::result(tid, entered.counted, &entered.arguments, result);
        let after = self.operations((process, tid), &entered, result, now_ns);
        let mut entered = self.made_writable(tid, entered, result);
        self.find_opened(tid, &mut entered, result);
        self.log_call((process, tid), &entered, result, now_ns);
        for ended in &after {
            self.log_operation(ended);
        }
        self.look_at_mappings(entered.meaning);
        if self.counts && !is_made_up {
            let ended = self.ended(tid, process, entered, result, now_ns);
            self.tally.call(ended);
            for ended in after {
                self.tally.operation(ended);
            }
        }
    }

    pub(super) fn find_opened(&mut self, tid: Tid, entered: &mut Entered, result: i64) {
        let Some(fd) = u64::try_from(result).ok().map(descriptor) else {
            return;
        };
        if entered.meaning & call::FD_RETURNED == 0 || !self.counts {
            return;
        }
        if let Some(table) = self.tasks.table(tid) {
            table.borrow_mut().forget(fd);
        }
        entered.file = self.resolve(tid, fd).map(|open| (fd, open));
    }

    fn ended(
        &mut self,
        tid: Tid,
        process: u32,
        entered: Entered,
        result: i64,
        now_ns: u64,
    ) -> Ended {
        let outcome = outcome(result);
        let transfer = (entered.meaning & call::MOVES != 0).then(|| {
            let moved = outcome.ok();
            let offset = moved.and_then(|moved| self.offset(tid, &entered, moved));
            let is_write = entered.meaning & call::WRITES != 0;
            let end = offset.zip(moved).filter(|_| is_write);
            if let Some(thread) = self.tasks.threads.get_mut(&tid) {
                let end = end.map(|(from, moved)| from.saturating_add(moved));
                let file = entered.file.map(|(_, open)| open.file);
                thread.wrote = file.zip(end).or(thread.wrote);
            }
            Transfer {
                direction: if is_write {
                    Direction::Write
                } else {
                    Direction::Read
                },
                offset,
                durable: is_durable(&entered),
                appends: appends(&entered),
                size_bytes: entered.size_bytes,
            }
        });
        let file_by_path = (entered.number == Sysno::truncate && outcome.is_ok())
            .then(|| self.file_by_path(tid, &entered))
            .flatten();
        let thread = self.tasks.threads.get_mut(&tid);
        let audience = thread.and_then(|thread| {
            let heard_ns = &mut thread.heard_ns;
            self.sockets
                .audience(tid, &entered, outcome, now_ns, heard_ns)
        });
        let unplaced = unplaced(&entered, outcome, transfer);
        let number = entered.counted;
        let call = Call {
            process,
            thread: tid,
            started_ns: entered.started_ns,
            ended_ns: now_ns,
            name: calls::name(number),
            outcome,
        };
        Ended {
            call,
            number,
            file: file_by_path.or(entered.file.map(|(_, open)| open.file)),
            source: entered.source.map(|open| open.file),
            transfer,
            did: unplaced
                .or(audience.map(Did::Reported))
                .or_else(|| did(call, entered, file_by_path)),
        }
    }

    /// The length of the file before a write that does not go on where the thread's last one ended: others may have
    /// cut it.
    fn size_before(&mut self, tid: Tid, entered: &Entered) -> Option<u64> {
        let thread = self.tasks.threads.get_mut(&tid)?;
        if entered.meaning & call::WRITES == 0 {
            if entered.number == Sysno::lseek {
                thread.wrote = None;
            }
            return None;
        }
        let (fd, open) = entered.file.filter(|(_, open)| open.is_regular())?;
        let argument = entered.arguments[3];
        let has_offset = entered.meaning & call::OFFSET != 0 && argument != u64::MAX;
        let goes_on = |(file, end)| file == open.file && (!has_offset || end == argument);
        if thread.wrote.is_some_and(goes_on) {
            return None;
        }
        Some(
            std::fs::metadata(format!("/proc/{tid}/fd/{fd}"))
                .ok()?
                .len(),
        )
    }

    /// The offset at which the transfer began; the position of the open file is past it now.
    fn offset(&self, tid: Tid, entered: &Entered, moved: u64) -> Option<u64> {
        let (fd, _) = entered.file.filter(|(_, open)| open.is_regular())?;
        let argument = entered.arguments[3];
        if matches!(entered.number, Sysno::copy_file_range | Sysno::splice) && argument != 0 {
            return memory::word(tid, argument)?.checked_sub(moved);
        }
        // preadv2 and pwritev2 take -1 for the current position.
        if entered.meaning & call::OFFSET != 0 && argument != u64::MAX {
            // pwrite(2), "BUGS": with O_APPEND the offset is ignored.
            if entered.meaning & call::WRITES != 0 && appends(entered) {
                let link = format!("/proc/{tid}/fd/{fd}");
                return std::fs::metadata(link).ok()?.len().checked_sub(moved);
            }
            return Some(argument);
        }
        if entered.meaning & (call::OFFSET | call::POSITION) == 0 {
            return None;
        }
        let table = self.tasks.table(tid)?;
        let position = table.borrow_mut().position(fd, tid)?;
        position.checked_sub(moved)
    }

    /// The file of a descriptor; a new file gets its name.
    pub(super) fn resolve(&mut self, tid: Tid, fd: i32) -> Option<Open> {
        let table = self.tasks.table(tid)?;
        let (tally, residencies) = (&mut self.tally, &mut self.residencies);
        table
            .borrow_mut()
            .resolve(fd, tid, &mut self.identifier, |fd, open, identifier| {
                if tally.is_new(open.file) {
                    let named = named(fd, open, identifier);
                    if open.is_regular() {
                        residencies.first_use(open.file, &named.path, fd);
                    }
                    tally.name(named);
                }
            })
    }

    fn file_by_path(&mut self, tid: Tid, entered: &Entered) -> Option<FileId> {
        let [given, _] = place::given(tid, calls::paths_of(entered.number), &entered.arguments);
        let file = place::file(&given?, tid)?;
        let open = self.identifier.identify(file.as_fd(), tid).ok()?;
        if self.tally.is_new(open.file) {
            self.tally
                .name(named(file.as_fd(), &open, &self.identifier));
        }
        Some(open.file)
    }

    /// The descriptor's file changes while such a call runs: it is forgotten before and after the
    /// call.
    fn forget_closed(&self, tid: Tid, number: Sysno, arguments: &[u64; 6]) {
        use Sysno as N;
        if !matches!(
            number,
            N::close | N::dup2 | N::dup3 | N::close_range | N::io_uring_enter
        ) {
            return;
        }
        let Some(table) = self.tasks.table(tid) else {
            return;
        };
        let mut table = table.borrow_mut();
        match number {
            N::close => table.forget(descriptor(arguments[0])),
            N::dup2 | N::dup3 => table.forget(descriptor(arguments[1])),
            N::close_range => table.forget_range(low(arguments[0]), low(arguments[1])),
            _ => table.forget_all(),
        }
    }

    /// Calls that change the state of a process.
    fn note(&mut self, process: u32, entered: &Entered, result: i64) {
        use Sysno as N;
        match entered.number {
            N::unshare if result >= 0 && entered.arguments[0] & CLONE_FILES != 0 => {
                self.tasks.unshare(process);
            }
            N::io_uring_setup if result >= 0 => self.notes.rings += 1,
            N::seccomp if result >= 0 && makes_listener(&entered.arguments) => {
                self.has_listener = true;
                self.tasks.interrupt(process);
            }
            _ => {}
        }
    }

    /// The thread formerly numbered `former` has executed a program.
    pub(super) fn executed(&mut self, tid: Tid, former: Tid, now_ns: u64) {
        if !self.counts {
            self.counts = true;
            self.accounting.begin(tid);
            if let Some(thread) = self.tasks.threads.get_mut(&tid)
                && let Some(entered) = &mut thread.entered
            {
                entered.accounted_bytes = None;
            }
        }
        if former != tid && former != 0 {
            self.accounting.renumber(tid, former);
            let first_was_there = self.tally.renumber(former, tid, now_ns);
            self.notes.without_figures += u64::from(first_was_there);
            if first_was_there {
                self.accounting.bytes = None;
            }
            self.tasks.execute(tid, former);
        } else {
            self.tasks.execute(tid, tid);
        }
        // Until its end tells the last one. Its first thread may go without an end.
        if let Ok(name) = std::fs::read(format!("/proc/{tid}/comm")) {
            let name = name.strip_suffix(b"\n").unwrap_or(&name);
            self.tally.name_task(tid, name);
        }
        self.notes.executed(tid);
        if let Some(log) = &mut self.log {
            log.executed(tid);
        }
    }

    /// A thread is about to end with this status, or has gone without that stop, as a thread killed in between may
    /// (ptrace(2)). Either way its usage can still be read.
    pub(super) fn ending(&mut self, tid: Tid, status: Option<u32>, now_ns: u64) {
        let Some(thread) = self.tasks.threads.get_mut(&tid) else {
            return;
        };
        if let (Some(entered), process) = (thread.entered.take(), thread.process) {
            self.cut_off(tid, process, entered, now_ns);
        }
        if status.is_some_and(may_have_dumped) {
            self.accounting.bytes = None;
        }
        self.accounting.end(tid);
        let Some(thread) = self.tasks.threads.get(&tid) else {
            return;
        };
        let used = usage::of(thread.process, tid).map(|used| usage::since(used, &thread.before));
        if self.tasks.is_last(tid)
            && let Some(accounts) = accounts(thread.process)
        {
            self.io.get_or_insert_default().add(&accounts);
        }
        self.notes.without_figures += u64::from(used.is_none());
        self.tally.end_task(tid, used, Some(now_ns));
        self.tasks.end(tid);
    }

    /// A thread ends in a call: that has an outcome, too, unless it was not begun.
    fn cut_off(&mut self, tid: Tid, process: u32, mut entered: Entered, now_ns: u64) {
        self.accounting
            .leave(tid, entered.number, entered.accounted_bytes);
        let result = request::last_result(tid);
        if let Some(result) = result {
            self.find_opened(tid, &mut entered, result);
        }
        self.log_cut_off(tid, process, &entered, result, now_ns);
        match result {
            Some(result) if result == -i64::from(libc::ENOSYS) || !self.counts => {}
            Some(result) => {
                let result = told::result(tid, entered.counted, &entered.arguments, result);
                let ended = self.ended(tid, process, entered, result, now_ns);
                self.tally.call(ended);
            }
            None if entered.meaning & call::MOVES != 0 => self.accounting.bytes = None,
            None => {}
        }
    }

    /// Returns the record. [`Record::finish`] reads the rest from the kernel, when no thread is
    /// stopped any more. `failed` names what could not be recorded.
    pub(super) fn hand_over(mut self, failed: Vec<Gap>) -> Record {
        for ended in self.queue.left() {
            self.tally.operation(ended);
        }
        self.notes.without_result = self.queue.without_result;
        Record {
            failed,
            left: self.tasks.left(),
            tally: self.tally,
            identifier: self.identifier,
            residencies: self.residencies,
            io: self.io,
            accounted_bytes: self.accounting.bytes,
            notes: self.notes,
            log: self.log,
        }
    }
}

/// `SECCOMP_SET_MODE_FILTER` with `SECCOMP_FILTER_FLAG_NEW_LISTENER`.
fn makes_listener(arguments: &[u64; 6]) -> bool {
    arguments[0] == u64::from(libc::SECCOMP_SET_MODE_FILTER)
        && arguments[1] & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0
}

/// A write at the position of an open file that another thread has moved before it could be read.
fn unplaced(
    entered: &Entered,
    outcome: Result<u64, i32>,
    transfer: Option<Transfer>,
) -> Option<Did> {
    let transfer = transfer.filter(|of| of.direction == Direction::Write && of.offset.is_none())?;
    let (_, open) = entered.file.filter(|(_, open)| open.is_regular())?;
    let bytes = outcome.ok().filter(|bytes| *bytes > 0)?;
    Some(Did::Wrote(Writes {
        file: open.file,
        count: 1,
        bytes,
        from: 0,
        to: 0,
        durable: transfer.durable,
        appends: transfer.appends,
        size_bytes: None,
    }))
}

/// Whether the call links the target of its first path and not the name: the target may be a file
/// without a name (`O_TMPFILE`).
fn links_file(number: Sysno, arguments: &[u64; 6]) -> bool {
    let flags = (libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH).unsigned_abs();
    number == Sysno::linkat && low(arguments[4]) & flags != 0
}

pub(super) fn low(argument: u64) -> u32 {
    u32::try_from(argument & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}
