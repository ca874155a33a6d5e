//! The loop that answers stops, on the tracing thread.

use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use iostrata_core::gap::{Gap, Missing, Reason};
use syscalls::Sysno;

use super::Stops;
use super::calls;
use super::record::Record;
use super::recorder::Recorder;
use super::request::{self, CallInfo, Next, Resume, Stop, Tid};
use super::turns::Turns;
use super::watch::Watch;
use super::{start, usage};
use crate::clock::now_ns;
use crate::failure;
use crate::record::Presser;

/// Traces until no thread is left.
pub(super) struct Tracing {
    /// `None` once the record was returned, or could not be kept: the traced program keeps running.
    recorder: Option<Recorder>,
    /// A failed recorder, with its record until then.
    broken: Option<Recorder>,
    failed: Vec<Gap>,
    /// The stop being answered.
    current: Option<(Tid, Stop)>,
    stops: Stops,
    /// Traced threads. The first is the program, or the attached process.
    traced: HashSet<Tid>,
    /// Those whose creator has not reported them: some of them have ended.
    untold: HashSet<Tid>,
    root: Tid,
    /// The child whose end requests the end of the observation.
    bell: Tid,
    watch: Arc<Watch>,
    record: Sender<Record>,
    /// How long it polls for the next stop before it sleeps.
    impatience: Duration,
    turns: Turns,
    /// Threads in a call that changes something, after which the presser syncs its file.
    to_press: HashSet<Tid>,
    /// Whether something was changed that nobody has closed yet: closing may begin writeback.
    is_open: bool,
}

/// Longer than a program that only makes calls runs between two of them.
const IMPATIENCE: Duration = Duration::from_micros(30);

/// Interval of checks whether a call goes on for long, while another thread waits for its end.
const LIMIT: Duration = Duration::from_millis(5);

/// A tracer that fails more often than this fails at everything.
const FAILURES: u32 = 100;

/// `None` if the program could not run meanwhile.
fn impatience() -> Duration {
    match std::thread::available_parallelism() {
        Ok(cpus) if cpus.get() > 1 => IMPATIENCE,
        _ => Duration::ZERO,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nobody,
    /// The observation was ended; remaining threads are detached when this thread ends.
    Some,
}

impl Tracing {
    /// `traced` are the seized threads of the process `root`.
    pub(super) fn new(
        recorder: Recorder,
        stops: Stops,
        (root, traced): (Tid, HashSet<Tid>),
        bell: Tid,
        watch: Arc<Watch>,
        record: Sender<Record>,
    ) -> Self {
        Self {
            recorder: Some(recorder),
            broken: None,
            failed: Vec::new(),
            current: None,
            stops,
            traced,
            untold: HashSet::new(),
            root,
            bell,
            watch,
            record,
            impatience: impatience(),
            turns: Turns::default(),
            to_press: HashSet::new(),
            is_open: false,
        }
    }

    /// Answers stops until no thread is left, or until the bell rings where threads can be
    /// detached.
    ///
    /// Whatever fails in the recording, the traced program keeps running: behind a filter a program
    /// needs the tracer.
    pub(super) fn run(&mut self) -> std::io::Result<Left> {
        for _ in 0..FAILURES {
            let answered = catch_unwind(AssertUnwindSafe(|| self.answer_all()));
            match answered {
                Ok(left) => return left,
                Err(panic) => self.go_on_after(&*panic),
            }
        }
        Err(std::io::Error::other("the tracer failed repeatedly"))
    }

    fn answer_all(&mut self) -> std::io::Result<Left> {
        loop {
            self.let_in();
            let limit = self.turns.anybody_waits().then_some(LIMIT);
            let (tid, stop) = match request::next(self.impatience, limit)? {
                Next::Stop(tid, stop) => (tid, stop),
                Next::Nothing => continue,
                Next::Nobody => break,
            };
            if tid == self.bell {
                request::reap(tid);
                if self.traced.is_empty() {
                    continue;
                }
                if !self.watch.was_rung() {
                    self.hang_again()?;
                    continue;
                }
                self.hand_over();
                if self.stops == Stops::All {
                    return Ok(Left::Some);
                }
                continue;
            }
            self.current = Some((tid, stop));
            failure::stage("tracer.loop");
            self.watch.stops.fetch_add(1, Ordering::Relaxed);
            if self.may_go_in(tid, stop) {
                self.answer(tid, stop);
            }
            self.current = None;
        }
        self.hand_over();
        Ok(Left::Nobody)
    }

    fn answer(&mut self, tid: Tid, stop: Stop) {
        self.current = Some((tid, stop));
        let now_ns = now_ns();
        self.press(tid, stop);
        let resume = self.record(tid, stop, now_ns);
        if !self.recorder.as_ref().is_some_and(|it| it.is_inside(tid)) {
            self.turns.left(tid);
        }
        self.current = None;
        if self.may_be_killed(tid, stop) && request::is_being_killed(tid) {
            return;
        }
        self.let_on(tid, stop, resume);
    }

    /// Lets the presser sync its file, while the thread that changed something waits at the exit of its call: at once,
    /// since writeback that the call has begun ends soon.
    fn press(&mut self, tid: Tid, stop: Stop) {
        let recorder = self.recorder.as_ref();
        let leaves = matches!(stop, Stop::Filtered | Stop::Call)
            && recorder.is_some_and(|recorder| recorder.is_inside(tid));
        if !leaves || !self.to_press.remove(&tid) {
            return;
        }
        let presser = self.recorder.as_mut().and_then(Recorder::presser);
        if let Some(Err(error)) = presser.map(Presser::press) {
            let why = Reason::Error(error.to_string());
            self.failed.push(Gap::new(Missing::SyncAfterChange, why));
        }
    }

    /// Whether it matters that the thread stops once more when it is killed in this stop. An operation log needs the
    /// result of its call. The first thread of a process has no other end when another one executes a program: it is
    /// gone then, and what it used with it (ptrace(2), "execve(2) under ptrace").
    fn may_be_killed(&self, tid: Tid, stop: Stop) -> bool {
        let matters = |it: &Recorder| it.has_log() || !it.tasks.is_last(tid);
        !matches!(stop, Stop::Ending | Stop::Gone | Stop::GroupStopped)
            && self.recorder.as_ref().is_some_and(matters)
    }

    /// Whether a thread that is about to make a call has its turn.
    fn may_go_in(&mut self, tid: Tid, stop: Stop) -> bool {
        let Some(recorder) = self.recorder.as_mut().filter(|recorder| recorder.has_log()) else {
            return true;
        };
        match stop {
            Stop::Filtered | Stop::Call => {}
            Stop::Gone | Stop::Ending => {
                self.turns.left(tid);
                return true;
            }
            Stop::Executed => {
                self.turns.left(tid);
                self.turns.left(request::message(tid).unwrap_or(tid));
                return true;
            }
            _ => return true,
        }
        if let Ok(CallInfo::Entry { number, arguments }) = request::call_info(tid) {
            let claim = recorder.claim(tid, number, arguments);
            let completes = number == Sysno::close as u64 && self.is_open;
            let is_beside = |presser: &mut Presser| match claim.changed() {
                Some(file) => presser.is_beside(file),
                None => true,
            };
            if recorder.presser().is_some_and(is_beside) && (claim.is_change() || completes) {
                self.is_open = claim.is_change();
                self.to_press.insert(tid);
            }
            return self.turns.enter(tid, stop, claim);
        }
        self.turns.left(tid);
        true
    }

    /// Continues the threads whose turn it is.
    fn let_in(&mut self) {
        let Some(recorder) = &mut self.recorder else {
            for (tid, stop) in self.turns.release() {
                self.let_on(tid, stop, Resume::Freely);
            }
            return;
        };
        recorder.overlapped(self.turns.overlaps);
        while let Some((tid, stop)) = self.turns.next(usage::is_asleep) {
            self.answer(tid, stop);
        }
    }

    fn let_on(&mut self, tid: Tid, stop: Stop, resume: Resume) {
        let status = (stop == Stop::Gone).then(|| request::reap(tid)).flatten();
        self.count(tid, stop, status);
        answer(tid, stop, resume);
    }

    /// The record ends here; stopped processes continue without it.
    fn go_on_after(&mut self, panic: &(dyn Any + Send)) {
        let why = Reason::Defect(failure::message(panic));
        self.failed.push(Gap::new(Missing::AfterRecorder, why));
        self.broken = self.broken.take().or(self.recorder.take());
        if let Some((tid, stop)) = self.current.take() {
            self.let_on(tid, stop, self.onward(tid));
        }
    }

    /// Another process killed the child that is the bell.
    fn hang_again(&mut self) -> std::io::Result<()> {
        let (bell, quiet) = start::bell()?;
        self.bell = bell;
        self.watch.hang(quiet);
        Ok(())
    }

    /// Keeps the count of traced threads. When there is none, the bell is the last child to wait
    /// for.
    fn count(&mut self, tid: Tid, stop: Stop, status: Option<ExitStatus>) {
        if stop == Stop::Executed && tid == self.root {
            self.watch.executed.store(true, Ordering::Release);
        }
        let is_new = !self.traced.contains(&tid);
        if is_new {
            self.untold.insert(tid);
        }
        let mut changed = if stop == Stop::Gone {
            self.traced.remove(&tid)
        } else {
            self.traced.insert(tid)
        };
        // From then on, so that the end of its creator is not that of all.
        if stop == Stop::Made
            && let Ok(made) = request::message(tid)
            && !self.untold.remove(&made)
        {
            changed |= self.traced.insert(made);
        }
        if stop == Stop::Executed
            && let Ok(former) = request::message(tid)
            && former != tid
        {
            self.traced.remove(&former);
        }
        if let Some(status) = status.filter(|_| tid == self.root) {
            self.watch.root_ended(status);
        }
        if changed || stop == Stop::Executed {
            let alive = self.traced.len() as u64;
            self.watch.alive.store(alive, Ordering::Release);
        }
        if self.traced.is_empty() {
            self.watch.ring();
        }
    }

    fn hand_over(&mut self) {
        let executed = self.watch.executed.load(Ordering::Acquire);
        let recorder = self.recorder.take().or(self.broken.take());
        if let Some(recorder) = recorder.filter(|_| executed) {
            failure::stage("tracer.end");
            let failed = std::mem::take(&mut self.failed);
            // The owner may have abandoned the session.
            drop(self.record.send(recorder.hand_over(failed)));
        }
    }

    /// Records the stop. Returns how the thread continues.
    fn record(&mut self, tid: Tid, stop: Stop, now_ns: u64) -> Resume {
        let Some(recorder) = &mut self.recorder else {
            return self.onward(tid);
        };
        failure::stage("tracer.record");
        match stop {
            Stop::Filtered | Stop::Call => match request::call_info(tid) {
                Ok(CallInfo::Entry { number, arguments })
                    if !recorder.has_listener
                        || match stop {
                            // Second where each call stops, but alone in a thread that ran freely when the listener came.
                            Stop::Filtered => !recorder.is_inside(tid),
                            _ => calls::known(number).is_some_and(calls::is_stopped_at),
                        } =>
                {
                    recorder.entered(tid, number, arguments);
                }
                Ok(CallInfo::Foreign) => recorder.notes.foreign += u64::from(recorder.counts),
                Ok(CallInfo::Exit { result }) => recorder.left(tid, result, now_ns),
                Ok(CallInfo::Entry { .. } | CallInfo::None) | Err(_) => {}
            },
            Stop::Made => {
                if let Ok(made) = request::message(tid) {
                    recorder.begin(made, Some(tid), now_ns);
                }
            }
            Stop::Executed => {
                let former = request::message(tid).unwrap_or(0);
                recorder.executed(tid, former, now_ns);
            }
            Stop::Ending | Stop::Gone => {
                let status = (stop == Stop::Ending).then(|| request::message(tid).ok());
                recorder.ending(tid, status.flatten(), now_ns);
            }
            Stop::Trapped | Stop::GroupStopped | Stop::Signalled(_) => {
                recorder.begin(tid, None, now_ns);
            }
        }
        self.onward(tid)
    }

    /// To the end of the thread's call, or to its next call where all are stopped.
    fn onward(&self, tid: Tid) -> Resume {
        let is_recorded = match (self.stops, &self.recorder) {
            (Stops::All, recorder) => recorder.is_some(),
            (Stops::Io, recorder) => recorder
                .as_ref()
                .is_some_and(|it| it.has_listener || it.is_inside(tid)),
        };
        if is_recorded {
            Resume::ToCall
        } else {
            Resume::Freely
        }
    }
}

fn answer(tid: Tid, stop: Stop, resume: Resume) {
    let answered = match stop {
        Stop::Gone => Ok(()),
        Stop::GroupStopped => request::listen(tid),
        Stop::Signalled(signal) => request::resume(tid, resume, signal),
        _ => request::resume(tid, resume, 0),
    };
    // It fails for a thread that was killed meanwhile; its end comes as a stop.
    drop(answered);
}
