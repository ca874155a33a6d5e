//! The files to read: created once for each size and file system.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use iostrata_core::bytes;
use iostrata_core::page_cache::Parse;

use super::parser::{Friend, Person};
use crate::engine::{XorShift, write_random};
use crate::error::LabError;
use crate::session::RunFile;

/// Bytes generated between two checks for an interruption.
const PIECE_BYTES: u64 = 1 << 20;

/// Smallest file that holds a list.
pub(super) const SMALLEST_JSON_BYTES: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Random bytes: no lower layer can compress them.
    Random,
    /// A list of people, one per line, padded with spaces.
    Json,
}

impl Content {
    /// The contents that a parser needs. All parsers get the same file.
    pub(super) fn of(parse: Parse) -> Self {
        match parse {
            Parse::None => Self::Random,
            _ => Self::Json,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Random => "data",
            Self::Json => "json",
        }
    }

    /// Creates the file in `dir` and waits until it is on the device. `None` when `stop` returned
    /// true.
    pub(super) fn make(
        self,
        dir: &Path,
        size_bytes: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<RunFile>, LabError> {
        let file = RunFile::new(dir, &format!("{}-{size_bytes}", self.name()));
        let path = file.path();
        let error = |source: io::Error| {
            let size = bytes::exact(size_bytes);
            LabError::io(format!("make {} of {size}", path.display()), source)
        };
        let mut writer = BufWriter::with_capacity(1 << 20, File::create_new(path).map_err(error)?);
        let made = match self {
            Self::Random => write_random(&mut writer, size_bytes, size_bytes, stop),
            Self::Json => json(&mut writer, size_bytes, stop),
        };
        if !made.map_err(error)? {
            return Ok(None);
        }
        let inner = writer
            .into_inner()
            .map_err(|failed| error(failed.into_error()))?;
        inner.sync_all().map_err(error)?;
        Ok(Some(file))
    }
}

/// Returns `false` when `stop` returned true.
fn json(to: &mut impl io::Write, size_bytes: u64, stop: &dyn Fn() -> bool) -> io::Result<bool> {
    let mut numbers = XorShift::new(size_bytes);
    let (mut written, mut pieces) = (1, 0);
    to.write_all(b"[")?;
    for id in 0.. {
        let person = serde_json::to_vec(&person(id, &mut numbers))?;
        let before: &[u8] = if id == 0 { b"\n" } else { b",\n" };
        let line = [before, &person].concat();
        // One byte is left for the end of the list.
        if written + line.len() as u64 + 1 > size_bytes {
            break;
        }
        to.write_all(&line)?;
        written += line.len() as u64;
        if written / PIECE_BYTES > pieces {
            pieces = written / PIECE_BYTES;
            if stop() {
                return Ok(false);
            }
        }
    }
    io::copy(
        &mut io::Read::take(io::repeat(b' '), size_bytes - written - 1),
        to,
    )?;
    to.write_all(b"]")?;
    Ok(true)
}

fn person(id: u64, numbers: &mut XorShift) -> Person {
    let mut word = |letters: u64| -> String {
        let bits = numbers.next();
        (0..letters)
            .map(|index| char::from(b'a' + u8::try_from((bits >> (5 * index)) % 26).unwrap_or(0)))
            .collect()
    };
    let name = format!("{} {}", word(6), word(9));
    let email = format!("{}@{}.example", word(8), word(5));
    let about: Vec<String> = (0..24).map(|length| word(3 + length % 7)).collect();
    let tags = (0..5).map(|_| word(7)).collect();
    let friends = (0..3)
        .map(|id| Friend {
            id,
            name: format!("{} {}", word(5), word(8)),
        })
        .collect();
    let mut fraction = || (numbers.next() >> 40) as f64 / 65536.0;
    Person {
        id,
        is_active: id.is_multiple_of(3),
        balance: fraction(),
        latitude: fraction() - 90.0,
        longitude: fraction() - 128.0,
        name,
        email,
        about: about.join(" "),
        tags,
        friends,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::parser::parse;
    use super::*;

    fn made(content: Content, size_bytes: u64) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let file = content.make(dir.path(), size_bytes, &|| false).unwrap();
        let bytes = fs::read(file.as_ref().unwrap().path()).unwrap();
        drop(file);
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            0,
            "it is removed"
        );
        bytes
    }

    #[test]
    fn every_size_is_valid_json_of_exactly_that_size() {
        for size_bytes in (2..1400).chain([4096, 148_480, 1 << 20]) {
            let bytes = made(Content::Json, size_bytes);
            assert_eq!(bytes.len() as u64, size_bytes);
            let people = parse(Parse::JsonTyped, &bytes).unwrap();
            assert_eq!(parse(Parse::Json, &bytes).unwrap(), people);
            assert_eq!(
                parse(Parse::Lines, &bytes).unwrap(),
                people,
                "one to a line"
            );
            if size_bytes > 4000 {
                let least = size_bytes / 1000;
                assert!(people >= least, "{people} people in {size_bytes} bytes");
            }
        }
    }

    #[test]
    fn random_bytes_do_not_repeat() {
        let bytes = made(Content::Random, (2 << 20) + 3);
        assert_eq!(bytes.len(), (2 << 20) + 3);
        assert_ne!(bytes[..1 << 20], bytes[1 << 20..2 << 20]);
    }

    #[test]
    fn an_interruption_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        for content in [Content::Random, Content::Json] {
            let file = content.make(dir.path(), 3 << 20, &|| true).unwrap();
            assert!(file.is_none());
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}
