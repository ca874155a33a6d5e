//! Saved results, and everything that can be wrong with a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use iostrata_core::cache::{self, CacheResult};
use iostrata_core::compare;
use iostrata_core::crash::{self, CalibrateResult, CrashResult};
use iostrata_core::doctor::{self, DoctorResult};
use iostrata_core::lab::{self, LabResult};
use iostrata_core::record::MAGIC;
use iostrata_core::top::{self, Interval};
use iostrata_core::trace::{self, TraceResult};
use iostrata_report::Json;
use serde::Deserialize;
use serde_json::Deserializer;
use serde_json::error::Category;

use super::log::Log;
use crate::error::Failure;

/// Larger files are refused, since a result is read as a whole: a trace of 10,000 files takes
/// some 75 MB.
const LARGEST: u64 = 1 << 30;

/// Bytes read before checking whether the file can be a result at all.
const BEGINNING: u64 = 4096;

#[derive(Debug)]
pub(in crate::commands) enum Saved {
    Lab(Box<LabResult>),
    Trace(Box<TraceResult>),
    Doctor(Box<DoctorResult>),
    /// Of `trace --record`.
    Log(Log),
    Cache(Box<CacheResult>),
    Crash(Box<CrashResult>),
    /// Of `crash --calibrate`.
    Calibrate(Box<CalibrateResult>),
    /// Of `top`, one a line.
    Top(Vec<Interval>),
}

impl Saved {
    /// The command that saved it.
    pub(in crate::commands) fn kind(&self) -> &'static str {
        match self {
            Self::Lab(_) => "lab",
            Self::Trace(_) => "trace",
            Self::Doctor(_) => "doctor",
            Self::Cache(_) => "cache",
            Self::Crash(_) => "crash",
            Self::Calibrate(_) => "crash --calibrate",
            Self::Top(_) => "top",
            Self::Log(_) => "trace --record",
        }
    }
}

/// The beginning of every result.
#[derive(Deserialize)]
struct Kind {
    schema: Option<serde_json::Value>,
}

/// Reads a file; `-` is standard input.
pub(in crate::commands) fn saved(path: &Path) -> Result<Saved, Failure> {
    saved_within(path, &mut LARGEST.clone())
}

/// Reads one of several files, which together have at most so many bytes; its own are subtracted.
pub(in crate::commands) fn saved_within(path: &Path, left: &mut u64) -> Result<Saved, Failure> {
    if let Some(log) = log(path) {
        return Ok(Saved::Log(log));
    }
    let most = *left;
    let (name, bytes) = if path.as_os_str() == "-" {
        let bytes = contents(io::stdin().lock(), most);
        ("standard input".to_owned(), bytes)
    } else {
        let bytes = File::open(path).and_then(|file| {
            check_size(file.metadata()?.len(), most)?;
            contents(file, most)
        });
        (path.display().to_string(), bytes)
    };
    let bytes = bytes.map_err(|error| {
        Failure::Input(format!(
            "cannot read {name}: {error}; name a file saved by lab, trace, doctor, cache, crash or top"
        ))
    })?;
    *left -= bytes.len() as u64;
    parse(&bytes).map_err(|problem| Failure::Input(format!("{name} {problem}")))
}

/// A file that begins like an operation log.
fn log(path: &Path) -> Option<Log> {
    let mut file = File::open(path).ok()?;
    // Anything else is read only once: a pipe cannot be rewound.
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).ok()?;
    let path = path.to_owned();
    (magic == *MAGIC).then_some(Log { path, file })
}

/// All bytes, unless the beginning shows that it is not a result, or there are more than this.
fn contents(mut from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(BEGINNING).read_to_end(&mut bytes)?;
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'{') {
        let rest = (most + 1).saturating_sub(BEGINNING);
        from.take(rest).read_to_end(&mut bytes)?;
    }
    check_size(bytes.len() as u64, most)?;
    Ok(bytes)
}

fn check_size(size_bytes: u64, most: u64) -> io::Result<()> {
    if size_bytes <= most {
        return Ok(());
    }
    Err(io::Error::other(if most == LARGEST {
        format!("it is larger than {LARGEST} bytes, the limit for a result")
    } else {
        format!("it is larger than {most} bytes, which the limit for all results together leaves")
    }))
}

/// The result, or what is wrong with the file, as the end of a sentence about it.
fn parse(bytes: &[u8]) -> Result<Saved, String> {
    if bytes.starts_with(MAGIC) {
        return Err("holds an operation log, which is read from a file only; name it".to_owned());
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("is empty: nothing was saved to it; run the command again".to_owned());
    }
    if let Some(intervals) = intervals(bytes) {
        return intervals.map(Saved::Top);
    }
    let kind: Kind = serde_json::from_slice(bytes).map_err(|error| broken(&error))?;
    let Some(serde_json::Value::String(schema)) = kind.schema else {
        return Err(
            "is not a result of iostrata: it has no \"schema\"; name a file saved with --json"
                .to_owned(),
        );
    };
    match schema.as_str() {
        lab::SCHEMA => read(bytes).map(Saved::Lab),
        trace::SCHEMA => read(bytes).map(Saved::Trace),
        doctor::SCHEMA => read(bytes).map(Saved::Doctor),
        cache::SCHEMA => read(bytes).map(Saved::Cache),
        crash::SCHEMA => read(bytes).map(Saved::Crash),
        crash::CALIBRATE_SCHEMA => read(bytes).map(Saved::Calibrate),
        compare::SCHEMA => Err(
            "holds a comparison, which is not read again: name the two results that it compares \
             to iostrata compare"
                .to_owned(),
        ),
        other => Err(unknown(other)),
    }
}

/// The intervals of `top --json`, one a line; `None` if the file is another's. The last line is cut off
/// where `top` was killed.
fn intervals(bytes: &[u8]) -> Option<Result<Vec<Interval>, String>> {
    let first = Deserializer::from_slice(bytes)
        .into_iter::<Kind>()
        .next()?
        .ok()?;
    if first.schema? != top::SCHEMA {
        return None;
    }
    let lines = Deserializer::from_slice(bytes).into_iter::<Interval>();
    Some(
        lines
            .map(|line| line.map_err(|error| broken(&error)))
            .collect(),
    )
}

fn read<T: Json>(bytes: &[u8]) -> Result<Box<T>, String> {
    T::from_json(bytes)
        .map(Box::new)
        .map_err(|error| broken(&error))
}

fn broken(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => format!(
            "ends too early, at line {}: it was not saved completely; run the command again",
            error.line()
        ),
        Category::Syntax | Category::Io => {
            format!("is not JSON: {error}; name a file saved with --json")
        }
        Category::Data => format!(
            "does not match its schema: {error}; it was changed or damaged, or saved by a version \
             other than {}",
            env!("CARGO_PKG_VERSION")
        ),
    }
}

/// Another kind, or another version of a kind.
fn unknown(schema: &str) -> String {
    let known = [
        lab::SCHEMA,
        trace::SCHEMA,
        doctor::SCHEMA,
        cache::SCHEMA,
        crash::SCHEMA,
        crash::CALIBRATE_SCHEMA,
        top::SCHEMA,
    ]
    .join(", ");
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "holds {schema}, which iostrata {version} cannot show: it reads {known}; use the version \
         that saved it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn problem(text: &str) -> String {
        parse(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn what_is_wrong_is_told_apart() {
        for (text, says) in [
            ("", "is empty"),
            (" \n\t", "is empty"),
            ("{", "ends too early, at line 1"),
            (
                "{\"schema\": \"iostrata.trace/1\",\n",
                "ends too early, at line 2",
            ),
            ("hello", "is not JSON: expected value at line 1 column 1"),
            ("{}{}", "is not JSON: trailing characters"),
            ("\0\0", "is not JSON"),
            (
                "{\"a\": 1}",
                "is not a result of iostrata: it has no \"schema\"",
            ),
            ("{\"schema\": 7}", "is not a result of iostrata"),
            ("[]", "does not match its schema: invalid length 0"),
            (
                "{\"schema\": \"iostrata.trace/2\"}",
                "holds iostrata.trace/2, which iostrata",
            ),
            (
                "{\"schema\": \"iostrata.compare/1\"}",
                "holds a comparison, which is not read again",
            ),
            (
                "{\"schema\": \"iostrata.crash/2\"}",
                "holds iostrata.crash/2, which iostrata",
            ),
            ("{\"schema\": \"\"}", "holds , which iostrata"),
            (
                "{\"schema\": \"iostrata.trace/1\"}",
                "does not match its schema: missing field `environment`",
            ),
            (
                "{\"schema\": \"iostrata.lab/1\", \"environment\": 7}",
                "does not match its schema: invalid type",
            ),
        ] {
            let problem = problem(text);
            assert!(problem.starts_with(says), "{text:?}: {problem}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = format!("{{\"schema\": {}", "[".repeat(100_000));
        assert!(problem(&deep).starts_with("is not JSON: recursion limit"));
    }

    #[test]
    fn what_cannot_be_a_result_is_not_read_to_its_end() {
        let bytes = contents(io::repeat(0), LARGEST).unwrap();
        assert_eq!(bytes.len() as u64, BEGINNING);
        assert!(contents(io::repeat(b' '), LARGEST).unwrap().len() as u64 <= LARGEST);
    }
}
