//! Events, and how they are written.

use std::io::{self, Write};

use serde_json::{Map, Value};

use crate::json::visible;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A slice of a thread.
    Complete,
    /// Begin of a slice that may overlap others of its thread.
    Begin,
    End,
    Instant,
    /// Values that hold until the next ones.
    Counter,
    /// The name of a process or thread.
    Name,
}

impl Phase {
    fn letter(self) -> char {
        match self {
            Self::Complete => 'X',
            Self::Begin => 'b',
            Self::End => 'e',
            Self::Instant => 'i',
            Self::Counter => 'C',
            Self::Name => 'M',
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Event<'a> {
    pub(super) phase: Phase,
    pub(super) category: &'a str,
    pub(super) name: &'a str,
    pub(super) process: u32,
    pub(super) thread: u32,
    /// Its time, nanoseconds of `CLOCK_MONOTONIC`; names have none.
    pub(super) at_ns: Option<u64>,
    /// The duration of [`Phase::Complete`], nanoseconds.
    pub(super) took_ns: Option<u64>,
    /// Joins a [`Phase::Begin`] with its [`Phase::End`].
    pub(super) id: Option<u64>,
    pub(super) args: Args,
}

impl<'a> Event<'a> {
    /// Without a time, an id and arguments.
    pub(super) fn new(phase: Phase, name: &'a str, process: u32, thread: u32) -> Self {
        Self {
            phase,
            category: "",
            name,
            process,
            thread,
            at_ns: None,
            took_ns: None,
            id: None,
            args: Args::default(),
        }
    }
}

pub(super) struct Events<'a> {
    output: &'a mut dyn Write,
    is_first: bool,
}

impl<'a> Events<'a> {
    pub(super) fn begin(output: &'a mut dyn Write) -> io::Result<Self> {
        output.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Self {
            output,
            is_first: true,
        })
    }

    /// Adds an event. Times are written digit by digit: a float has too few digits for the
    /// nanoseconds of a machine that has been up for months.
    pub(super) fn add(&mut self, event: &Event<'_>) -> io::Result<()> {
        let separator = if self.is_first { "\n" } else { ",\n" };
        self.is_first = false;
        let (output, name) = (&mut *self.output, visible(event.name)?);
        write!(output, "{separator}{{\"ph\":\"{}\",", event.phase.letter())?;
        if !event.category.is_empty() {
            write!(output, "\"cat\":{},", visible(event.category)?)?;
        }
        write!(
            output,
            "\"name\":{name},\"pid\":{},\"tid\":{}",
            event.process, event.thread
        )?;
        for (key, time_ns) in [("ts", event.at_ns), ("dur", event.took_ns)] {
            if let Some(ns) = time_ns {
                write!(output, ",\"{key}\":{}.{:03}", ns / 1000, ns % 1000)?;
            }
        }
        if let Some(id) = event.id {
            write!(output, ",\"id\":\"{id:#x}\"")?;
        }
        if event.phase == Phase::Instant {
            // Of its thread.
            output.write_all(b",\"s\":\"t\"")?;
        }
        if !event.args.0.is_empty() {
            write!(output, ",\"args\":{}", visible(&event.args.0)?)?;
        }
        output.write_all(b"}")
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.output.write_all(b"\n]}\n")
    }
}

/// Arguments of an event: unknown values are left out.
#[derive(Debug, Clone, Default)]
pub(super) struct Args(Map<String, Value>);

impl Args {
    pub(super) fn with(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
        self
    }
}
