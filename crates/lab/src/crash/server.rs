//! A checker that keeps running: it reads a line for each state, and answers with a line.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::retry_on_intr;

use super::checker::{CheckError, Checker, MOST_SAID, Reply, SAID, Site, Unreliable};
use super::room::Ids;
use super::starter::{INTERRUPT_CHECK, Starter};
use crate::interrupt::Interrupt;

/// A running checker. Dropping it ends the checker.
#[derive(Debug)]
pub(super) struct Server {
    starter: Starter,
    questions: PipeWriter,
    answers: PipeReader,
    /// Its standard error, which begins anew with each question.
    said: File,
}

impl Server {
    /// In a stage that is empty.
    pub(super) fn start(checker: &Checker, stage: &Path, ids: Ids) -> io::Result<Self> {
        if stage
            .as_os_str()
            .as_bytes()
            .iter()
            .any(|byte| b"\t\n".contains(byte))
        {
            let why = "the path of TMPDIR has a tab or a line break, which end what a server reads";
            return Err(io::Error::other(why));
        }
        let (its_questions, questions) = io::pipe()?;
        let (answers, its_answers) = io::pipe()?;
        // A checker that reads nothing must not block this thread.
        fcntl_setfl(&questions, fcntl_getfl(&questions)? | OFlags::NONBLOCK)?;
        let ends = [its_questions.into(), its_answers.into()];
        let starter = Starter::start(checker, stage, ids, Some(ends))?;
        starter.go()?;
        Ok(Self {
            starter,
            questions,
            answers,
            said: File::options().write(true).open(stage.join(SAID))?,
        })
    }

    /// Asks it about a state.
    pub(super) fn ask(
        &self,
        site: &Site,
        patience: Duration,
        interrupt: &Interrupt,
    ) -> Result<Reply, CheckError> {
        self.said.set_len(0)?;
        // Nothing was asked yet: the line belongs to no state.
        if self.polled(Duration::ZERO)?[0].contains(PollFlags::IN) {
            return Err(Unreliable::SeveralLines.into());
        }
        let paths = [&site.tree, &site.printed].map(|path| path.as_os_str().as_bytes());
        match (&self.questions).write_all(&[paths.join(&b'\t'), b"\n".to_vec()].concat()) {
            // It has ended or closed its input; what follows says which.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(Unreliable::Unread.into());
            }
            written => written?,
        }
        self.answer(patience, interrupt)
    }

    fn answer(&self, patience: Duration, interrupt: &Interrupt) -> Result<Reply, CheckError> {
        let begun = Instant::now();
        let (mut line, mut part) = (Vec::new(), [0; 4096]);
        let mut is_closed = false;
        loop {
            interrupt.check()?;
            let left = patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(Reply::Over(if is_closed {
                    "the checker closed its standard output without an answer".to_owned()
                } else {
                    late(patience)
                }));
            }
            let [answers, ended] = self.polled(left.min(INTERRUPT_CHECK))?;
            if !is_closed && !answers.is_empty() {
                let count = (&self.answers).read(&mut part)?;
                line.extend_from_slice(&part[..count]);
                is_closed = count == 0;
                match line.iter().position(|byte| *byte == b'\n') {
                    Some(end) if end + 1 < line.len() => {
                        return Err(Unreliable::SeveralLines.into());
                    }
                    Some(end) => return Ok(reply(&String::from_utf8_lossy(&line[..end]))),
                    None if line.len() as u64 > MOST_SAID => return Ok(reply("a long line")),
                    None => {}
                }
            } else if !ended.is_empty() {
                return Ok(Reply::Ended(self.starter.status()?));
            } else if is_closed {
                // poll(2) returns at once for a closed pipe.
                std::thread::sleep(INTERRUPT_CHECK);
            }
        }
    }

    /// What there is of answers and of its end, after no longer than this.
    fn polled(&self, longest: Duration) -> io::Result<[PollFlags; 2]> {
        let mut polled = [
            PollFd::new(&self.answers, PollFlags::IN),
            PollFd::new(self.starter.link(), PollFlags::IN),
        ];
        let longest = Timespec::try_from(longest).ok();
        retry_on_intr(|| poll(&mut polled, longest.as_ref()))?;
        Ok(polled.map(|one| one.revents()))
    }
}

/// What is said of a checker that takes too long.
pub(super) fn late(patience: Duration) -> String {
    format!("the checker took more than {} s", patience.as_secs_f64())
}

/// What a line means.
fn reply(line: &str) -> Reply {
    let line = line.trim();
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    match (word, rest.trim()) {
        ("ok", _) => Reply::Fine,
        ("fail", "") => Reply::Fails("the checker answered fail".to_owned()),
        ("fail", message) => Reply::Fails(message.to_owned()),
        _ => {
            let shown: String = line.chars().take(MOST_SHOWN).collect();
            Reply::Over(format!("the checker answered neither ok nor fail: {shown}"))
        }
    }
}

/// Letters of what is no answer.
const MOST_SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_answer_or_none() {
        let fails = |message: &str| Reply::Fails(message.to_owned());
        for (line, means) in [
            ("ok", Reply::Fine),
            (" ok 12 rows\r", Reply::Fine),
            ("fail", fails("the checker answered fail")),
            ("fail\t torn  page ", fails("torn  page")),
        ] {
            assert_eq!(reply(line), means, "{line}");
        }
        for none in ["", "okay", "OK", "failed", "0"] {
            let message = format!("the checker answered neither ok nor fail: {none}");
            assert_eq!(reply(none), Reply::Over(message), "{none}");
        }
    }
}
