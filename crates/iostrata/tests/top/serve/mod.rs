//! `iostrata serve`, asked as Prometheus asks.

mod dashboard;
mod hostile;
mod metrics;
mod prometheus;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::wait::until;
use crate::watched::Room;

/// For what is expected, on a slow machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn skips() -> bool {
    let skips = !geteuid().is_root();
    if skips {
        crate::skip::skip("observing programs in the kernel needs root");
    }
    skips
}

/// A server on a port of its own. Killed when a test fails.
struct Server {
    child: Child,
    said: BufReader<ChildStderr>,
    address: SocketAddr,
    _room: Room,
}

impl Server {
    /// Returns when it listens and counts.
    fn start(options: &[&str]) -> Self {
        Self::of(Command::new(env!("CARGO_BIN_EXE_iostrata")), options)
    }

    fn of(mut program: Command, options: &[&str]) -> Self {
        let room = Room::shared();
        program.args(["serve", "--listen", "127.0.0.1:0", "--every", "200ms"]);
        program.args(options).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("serving http") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it has ended");
        }
        let address = line.trim().strip_prefix("serving http://");
        let address = address.and_then(|rest| rest.strip_suffix("/metrics"));
        Self {
            child,
            said,
            address: address.unwrap().parse().unwrap(),
            _room: room,
        }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it answers to these bytes, until it closes.
    fn ask(&self, request: &[u8]) -> String {
        ask(self.address, request)
    }

    /// The metrics in the format of Prometheus, without headers.
    fn scrape(&self) -> String {
        let answer = self.ask(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        body.to_owned()
    }

    /// Waits until this is so of the metrics.
    fn until(&self, what: impl Fn(&str) -> bool) -> String {
        until(|| {
            let metrics = self.scrape();
            if what(&metrics) {
                Ok(metrics)
            } else {
                Err(metrics)
            }
        })
    }

    /// All that has happened so far is in what is returned: two more intervals are over.
    fn settled(&self) -> String {
        let now = value(&self.scrape(), "iostrata_intervals_total");
        self.until(|metrics| value(metrics, "iostrata_intervals_total") >= now + 2.0)
    }

    /// Its exit code, and what it said after it began.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let code = self.child.wait().unwrap().code();
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        (code, said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

/// The samples of a metric: labels as they are written, and the value.
fn samples<'a>(metrics: &'a str, name: &str) -> Vec<(&'a str, f64)> {
    let samples = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => rest.rsplit_once("} ")?,
            None => ("", rest.strip_prefix(' ')?),
        };
        Some((labels, value.parse().unwrap()))
    });
    samples.collect()
}

/// The sum of the samples that have all these labels: `name{one="a",other="b"}`.
fn value(metrics: &str, wanted: &str) -> f64 {
    let (name, labels) = wanted.split_once('{').unwrap_or((wanted, ""));
    let labels: Vec<&str> = labels
        .trim_end_matches('}')
        .split(',')
        .filter(|label| !label.is_empty())
        .collect();
    let samples = samples(metrics, name).into_iter();
    let samples = samples.filter(|(all, _)| labels.iter().all(|label| all.contains(label)));
    samples.map(|(_, value)| value).sum()
}
