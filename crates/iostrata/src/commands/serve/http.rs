//! Connections, all in one thread: what one of them does holds up neither the others nor the counting.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Metrics;
use super::connection::{Connection, Wants};

/// Connections at one time. When more come, the oldest is closed: it has had its time, or does not use it.
const MOST: usize = 256;

/// Time until signals and the kernel's names are looked after again.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct Server {
    listener: TcpListener,
    /// The oldest first.
    connections: Vec<Connection>,
}

impl Server {
    pub(super) fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            connections: Vec::new(),
        })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Waits a while, not beyond `until`, and serves connections that are ready.
    pub(super) fn turn(&mut self, until: Instant, metrics: &mut Metrics) {
        let wait = until.saturating_duration_since(Instant::now()).min(PAUSE);
        let mut polled = vec![PollFd::new(&self.listener, PollFlags::IN)];
        polled.extend(self.connections.iter().map(|connection| {
            let flags = match connection.wants() {
                Wants::ToRead => PollFlags::IN,
                Wants::ToWrite => PollFlags::OUT,
            };
            PollFd::from_borrowed_fd(connection.descriptor(), flags)
        }));
        let wait = Timespec::try_from(wait).unwrap_or_default();
        // An error is that of a signal, which the caller looks for.
        let ready = poll(&mut polled, Some(&wait)).unwrap_or(0);
        let is_ready = |polled: &PollFd<'_>| ready > 0 && !polled.revents().is_empty();
        let has_new = is_ready(&polled[0]);
        let are_ready: Vec<bool> = polled[1..].iter().map(is_ready).collect();
        let now = Instant::now();
        let mut are_ready = are_ready.into_iter();
        self.connections.retain_mut(|connection| {
            let is_ready = are_ready.next() == Some(true);
            !connection.is_over(now) && (!is_ready || connection.go_on(metrics).is_ok())
        });
        if has_new {
            self.accept(now);
        }
    }

    fn accept(&mut self, now: Instant) {
        // Not more than are kept, or those that come would keep it from its other work.
        for _ in 0..MOST {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if self.connections.len() == MOST {
                        self.connections.remove(0);
                    }
                    self.connections.extend(Connection::new(stream, now));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // No descriptor is left: a connection less leaves one.
                Err(_) if !self.connections.is_empty() => drop(self.connections.remove(0)),
                Err(_) => {
                    std::thread::sleep(PAUSE);
                    return;
                }
            }
        }
    }
}
