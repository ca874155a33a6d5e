//! What a call submits, fetches, or does beyond the meaning of its number.

use iostrata_core::op::Call;
use iostrata_core::trace::tally::Ended;
use syscalls::Sysno;

use super::calls::{self, call};
use super::recorder::Recorder;
use super::request::Tid;
use super::tasks::Entered;
use super::told;
use crate::clock::now_ns;
use crate::decode::outcome;

impl Recorder {
    /// Control blocks of libaio are being submitted.
    pub(super) fn submit(&mut self, tid: Tid, number: Sysno, arguments: &[u64; 6]) {
        let thread = self.tasks.threads.get(&tid);
        let Some(process) = thread.map(|thread| thread.process) else {
            return;
        };
        if number != Sysno::io_submit || !self.counts {
            return;
        }
        let mut queue = std::mem::take(&mut self.queue);
        let now_ns = now_ns();
        let before = queue.submit((process, tid), arguments, now_ns, |fd| {
            self.resolve(tid, fd)
        });
        self.queue = queue;
        for ended in before {
            self.tally.operation(ended);
        }
    }

    /// Operations that end with this call.
    pub(super) fn operations(
        &mut self,
        (process, tid): (u32, Tid),
        entered: &Entered,
        result: i64,
        now_ns: u64,
    ) -> Vec<Ended> {
        let arguments = &entered.arguments;
        match entered.number {
            Sysno::io_submit => {
                self.queue.submitted(process, tid, arguments, result);
                Vec::new()
            }
            Sysno::io_getevents | Sysno::io_pgetevents => {
                self.queue.fetched(process, tid, arguments, result, now_ns)
            }
            Sysno::ioctl if calls::name(entered.counted) == "ioctl(FIDEDUPERANGE)" => {
                self.deduped((process, tid), entered, now_ns)
            }
            _ => Vec::new(),
        }
    }

    /// Destinations of a deduplication request, after the first.
    fn deduped(
        &mut self,
        (process, tid): (u32, Tid),
        entered: &Entered,
        now_ns: u64,
    ) -> Vec<Ended> {
        let others = told::others(tid, &entered.arguments);
        let ended = others.into_iter().map(|(fd, moved)| Ended {
            call: Call {
                process,
                thread: tid,
                started_ns: now_ns,
                ended_ns: now_ns,
                name: calls::name(entered.counted),
                outcome: outcome(moved),
            },
            number: entered.counted,
            file: self.resolve(tid, fd).map(|open| open.file),
            source: None,
            transfer: None,
            did: None,
        });
        ended.collect()
    }

    /// A call that makes a shared mapping of a file writable is counted as that, for the file; one that syncs it, too.
    pub(super) fn made_writable(&mut self, tid: Tid, mut entered: Entered, result: i64) -> Entered {
        let Ok(address) = u64::try_from(result) else {
            return entered;
        };
        let [first, bytes, protection, flags, ..] = entered.arguments;
        let is_shared = flags & libc::MAP_SHARED as u64 != 0;
        if let (Sysno::mmap, true, Some((_, open))) = (entered.number, is_shared, entered.file) {
            if open.is_regular() {
                self.mappings.add(address, bytes, open);
            }
            return entered;
        }
        let (name, address, bytes) = match entered.number {
            Sysno::mprotect => ("mprotect(shared)", first, bytes),
            Sysno::pkey_mprotect => ("pkey_mprotect(shared)", first, bytes),
            Sysno::mremap => {
                self.mappings.moved(first, address, protection);
                ("mremap(shared)", address, protection)
            }
            Sysno::msync => {
                let found = self.mappings.stored_to(tid, first, bytes);
                entered.file = found.map(|open| (-1, open));
                return entered;
            }
            _ => return entered,
        };
        if entered.number != Sysno::mremap && protection & libc::PROT_WRITE as u64 == 0 {
            return entered;
        }
        let found = self.mappings.stored_to(tid, address, bytes);
        if let (Some(open), Some(counted)) = (found, calls::told::number(name)) {
            entered.counted = counted;
            entered.meaning = call::FD_FIFTH | call::STEP;
            entered.file = Some((-1, open));
            entered.arguments[1] = bytes;
            entered.arguments[2] = libc::PROT_WRITE as u64;
            entered.arguments[3] = libc::MAP_SHARED as u64;
        }
        entered
    }
}
