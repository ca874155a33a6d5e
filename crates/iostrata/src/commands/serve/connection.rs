//! One connection: a request, its answer, the end.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use super::Metrics;
use super::request::{Answer, Asked, LONGEST, parse};

/// From its begin to its end. Prometheus waits 10 s for all of it, unless configured otherwise.
const LIFE: Duration = Duration::from_secs(10);

/// Bytes after a request that are read and thrown away: bodies of what is no scrape.
const UNREAD: usize = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    ToRead,
    ToWrite,
}

#[derive(Debug)]
enum State {
    Reading(Vec<u8>),
    /// The answer, and how much of it is written.
    Writing(Answer, usize),
    /// Until the other side closes, or has sent so much more: with bytes unread, closing would take the
    /// answer back (RST).
    Closing(usize),
}

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    on_loopback: bool,
    until: Instant,
    state: State,
}

impl Connection {
    /// `None` where the connection is gone already.
    pub(super) fn new(stream: TcpStream, now: Instant) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        let address = stream.local_addr().ok()?.ip().to_canonical();
        Some(Self {
            stream,
            on_loopback: address.is_loopback(),
            until: now + LIFE,
            state: State::Reading(Vec::new()),
        })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(super) fn wants(&self) -> Wants {
        match self.state {
            State::Reading(_) | State::Closing(_) => Wants::ToRead,
            State::Writing(..) => Wants::ToWrite,
        }
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        now >= self.until
    }

    /// Does what can be done without waiting. Fails when there is nothing more to be done.
    pub(super) fn go_on(&mut self, metrics: &mut Metrics) -> io::Result<()> {
        match self.step(metrics) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            done => done,
        }
    }

    fn step(&mut self, metrics: &mut Metrics) -> io::Result<()> {
        let mut piece = [0; LONGEST];
        match &mut self.state {
            State::Reading(read) => {
                let count = self.stream.read(&mut piece)?;
                read.extend_from_slice(&piece[..count]);
                match parse(read, self.on_loopback) {
                    Asked::NotYet if count == 0 => return Err(ended()),
                    Asked::NotYet => return Ok(()),
                    asked => self.state = State::Writing(Answer::to(asked, metrics), 0),
                }
                self.step(metrics)
            }
            State::Writing(answer, written) => {
                *written += self.stream.write(answer.from(*written))?;
                if answer.from(*written).is_empty() {
                    self.stream.shutdown(Shutdown::Write)?;
                    self.state = State::Closing(UNREAD);
                }
                Ok(())
            }
            State::Closing(left) => match self.stream.read(&mut piece)? {
                count if count > 0 && count < *left => {
                    *left -= count;
                    Ok(())
                }
                _ => Err(ended()),
            },
        }
    }
}

fn ended() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}
