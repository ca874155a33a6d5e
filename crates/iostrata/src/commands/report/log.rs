//! Operation logs, read as they are exported: memory does not grow with their operations.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::record::{
    self, Completeness, Entry, Exceeded, Limits, Paths, ReadError, Reader,
};
use iostrata_lab::engine::{Progress as _, Step};
use iostrata_report::export::{Logged, Recorded};

use crate::error::Failure;
use crate::progress::Bar;
use iostrata_report::words;

/// Operations between two updates of the progress.
const STEP: u64 = 4096;

/// A file that begins like an operation log.
#[derive(Debug)]
pub(in crate::commands) struct Log {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

impl Log {
    /// The error when it should be drawn.
    pub(super) fn not_drawn(&self) -> Failure {
        Failure::Usage(format!(
            "{} is an operation log, which can only be exported; add --parquet DIR, --csv DIR \
             or --perfetto OUT",
            self.path.display()
        ))
    }

    /// Begins to read it; `result` is the number of the file in its rows.
    pub(in crate::commands) fn read(
        &self,
        result: u64,
        limits: Limits,
    ) -> Result<Reading, Failure> {
        let opened = self.file.try_clone().map_err(ReadError::Io);
        let reader = opened.and_then(|file| {
            let bytes = file.metadata()?.len();
            Ok((Reader::within(BufReader::new(file), limits)?, bytes))
        });
        let (reader, bytes) = reader.map_err(|error| self.failed(&with_remedy(&error)))?;
        Ok(Reading {
            result,
            reader,
            bytes,
            paths: Paths::default(),
            recordings: Vec::new(),
            failure: None,
            ended: false,
            ahead: None,
            bar: Bar::new("export"),
            label: format!("reading {}", self.path.display()),
        })
    }

    /// The error when it cannot be read, or not to its end.
    pub(super) fn failed(&self, error: &dyn Display) -> Failure {
        Failure::Input(format!("{}: {error}", self.path.display()))
    }
}

impl Display for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path.display())
    }
}

fn with_remedy(error: &ReadError) -> String {
    format!("{error}{}", remedy(error))
}

/// The remedy for a log that exceeds a limit.
pub(in crate::commands) fn remedy(error: &ReadError) -> &'static str {
    match error {
        ReadError::TooMuch(Exceeded::Expanded { .. }) => {
            "; if you trust the log, raise it with --log-expands SIZE"
        }
        ReadError::TooMuch(Exceeded::Memory { .. }) => {
            "; if you trust the log, raise it with --log-memory SIZE"
        }
        _ => "",
    }
}

pub(in crate::commands) struct Reading {
    result: u64,
    reader: Reader<BufReader<File>>,
    bytes: u64,
    paths: Paths,
    recordings: Vec<Recorded>,
    failure: Option<String>,
    ended: bool,
    /// An operation already read but not yet returned.
    ahead: Option<Logged>,
    bar: Bar,
    label: String,
}

impl Reading {
    /// The outcome: the recordings, and why the log could not be read further.
    pub(super) fn finish(self) -> (Vec<Recorded>, Option<String>) {
        (self.recordings, self.failure)
    }

    /// The first recording, as far as it has been read.
    pub(super) fn first(&mut self) -> Option<&Recorded> {
        if self.recordings.is_empty() {
            self.ahead = self.next();
        }
        self.recordings.first()
    }

    /// The next operation; begins and ends of recordings are kept.
    fn operation(&mut self) -> Result<Option<Logged>, ReadError> {
        loop {
            match self.reader.next_entry()? {
                None => return Ok(None),
                Some(Entry::Begin(begin)) => self.recordings.push(Recorded {
                    begin,
                    end: None,
                    missing: vec![record::cut_off()],
                }),
                Some(Entry::End(end)) => {
                    if let Some(recording) = self.recordings.last_mut() {
                        recording.missing = match &end.completeness {
                            Completeness::Complete => Vec::new(),
                            Completeness::Incomplete { because } => because.clone(),
                        };
                        recording.end = Some(end);
                    }
                }
                Some(Entry::Operation(operation)) => {
                    let payload = operation.change.payload();
                    let hash = payload.map(|payload| self.reader.payload_blake3(payload));
                    let hash = hash.transpose()?.flatten();
                    if operation.id.is_multiple_of(STEP) {
                        self.show();
                    }
                    let path = self.paths.of(&operation);
                    let other_path = self.paths.other(&operation);
                    let length = |path: &Option<Vec<u8>>| path.as_ref().map_or(0, Vec::len);
                    let lengths = length(&path) + length(&other_path);
                    self.reader.expand(lengths as u64)?;
                    let kept = self.paths.memory_bytes();
                    self.reader.limits().check_memory(kept)?;
                    return Ok(Some(Logged {
                        result: self.result,
                        recording: self.recordings.len() as u64,
                        path,
                        other_path,
                        payload_blake3: hash.map(|hash| hash.to_hex().to_string()),
                        operation,
                    }));
                }
            }
        }
    }

    /// Progress, in MiB.
    fn show(&mut self) {
        let mebibytes = |bytes: u64| usize::try_from(bytes >> 20).unwrap_or(usize::MAX);
        self.bar.step(&Step {
            label: &self.label,
            done: mebibytes(self.reader.position().offset),
            total: mebibytes(self.bytes),
        });
    }

    fn end(&mut self, failure: Option<ReadError>) {
        self.ended = true;
        self.bar.finished();
        let open = self.recordings.last_mut();
        if let (Some(error), Some(recording)) = (&failure, open) {
            let gap = Gap::new(Missing::RestOfLog, Reason::Error(error.to_string()));
            recording.missing.push(gap);
        }
        self.failure = failure.map(|error| with_remedy(&error));
        let is_open = |recording: &Recorded| recording.end.is_none();
        if self.failure.is_none()
            && (self.recordings.is_empty() || self.recordings.iter().any(is_open))
        {
            let why = words::reason(&record::cut_off().why);
            self.failure = Some(format!(
                "the operation log is truncated: {why}; everything before that was exported"
            ));
        }
    }
}

impl Iterator for Reading {
    type Item = Logged;

    fn next(&mut self) -> Option<Logged> {
        if let Some(ahead) = self.ahead.take() {
            return Some(ahead);
        }
        if self.ended {
            return None;
        }
        match self.operation() {
            Ok(Some(operation)) => Some(operation),
            Ok(None) => {
                self.end(None);
                None
            }
            Err(error) => {
                self.end(Some(error));
                None
            }
        }
    }
}
