//! Results as JSON, saved and read back.
//!
//! This code is compiled once, here: otherwise it would be most of the command line's compilation.

use std::io::{self, BufWriter, Write};

use crate::words;
use iostrata_core::cache::CacheResult;
use iostrata_core::compare::Comparison;
use iostrata_core::crash::{CalibrateResult, CrashResult};
use iostrata_core::doctor::DoctorResult;
use iostrata_core::lab::LabResult;
use iostrata_core::top::Interval;
use iostrata_core::trace::TraceResult;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use serde_json::{Result, Serializer};

pub trait Json: Sized {
    /// The text of a file, including the final newline.
    fn to_json(&self) -> Result<String> {
        let mut text = Vec::new();
        self.write_json(&mut text).map_err(serde_json::Error::io)?;
        // serde_json writes only UTF-8.
        String::from_utf8(text).map_err(serde::ser::Error::custom)
    }

    /// The same, piece by piece: the text of a result with many files exceeds everything else in
    /// memory.
    fn write_json(&self, to: &mut dyn Write) -> io::Result<()>;

    fn from_json(bytes: &[u8]) -> Result<Self>;
}

macro_rules! json {
    ($($result:ty: $write:path;)*) => {
        $(impl Json for $result {
            fn write_json(&self, to: &mut dyn Write) -> io::Result<()> {
                words::install();
                let mut buffered = BufWriter::with_capacity(PIECE_BYTES, to);
                $write(self, &mut buffered)?;
                buffered.write_all(b"\n")?;
                buffered.flush()
            }

            fn from_json(bytes: &[u8]) -> Result<Self> {
                serde_json::from_slice(bytes)
            }
        })*
    };
}

json! {
    LabResult: pretty;
    DoctorResult: pretty;
    Comparison: pretty;
    CrashResult: pretty;
    CalibrateResult: pretty;
    // On one line: they have as many rows as a program has files.
    TraceResult: compact;
    CacheResult: compact;
    // A line for each.
    Interval: compact;
}

const PIECE_BYTES: usize = 1 << 18;

type Buffered<'a> = BufWriter<&'a mut dyn Write>;

fn pretty<T: Serialize>(value: &T, to: &mut Buffered<'_>) -> Result<()> {
    let layout = Unsigned(PrettyFormatter::new());
    value.serialize(&mut Serializer::with_formatter(to, layout))
}

fn compact<T: Serialize>(value: &T, to: &mut Buffered<'_>) -> Result<()> {
    let layout = Unsigned(CompactFormatter);
    value.serialize(&mut Serializer::with_formatter(to, layout))
}

/// A formatter that writes 0 without a sign: an empty sum of fractions is -0.0, which no figure of
/// a result means.
struct Unsigned<F>(F);

macro_rules! as_it_is {
    ($($method:ident($($name:ident: $kind:ty)?);)*) => {
        $(fn $method<W: ?Sized + Write>(&mut self, writer: &mut W $(, $name: $kind)?) -> io::Result<()> {
            self.0.$method(writer $(, $name)?)
        })*
    };
}

impl<F: Formatter> Formatter for Unsigned<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        self.0.write_f64(writer, value + 0.0)
    }

    as_it_is! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::trace::fixture;

    fn text(
        write: fn(&serde_json::Value, &mut Buffered<'_>) -> Result<()>,
        value: &serde_json::Value,
    ) -> String {
        let mut text = Vec::new();
        let mut buffered = BufWriter::new(&mut text as &mut dyn Write);
        write(value, &mut buffered).unwrap();
        buffered.flush().unwrap();
        drop(buffered);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_is_drawn_is_what_is_saved() {
        for result in [
            fixture::empty(),
            fixture::full(),
            fixture::hostile(),
            fixture::many(),
        ] {
            let saved = result.to_json().unwrap();
            assert_eq!(TraceResult::from_json(saved.as_bytes()).unwrap(), result);
        }
    }

    #[test]
    fn nothing_has_no_sign() {
        let value =
            serde_json::json!({"blocked_s": -0.0, "parts": [-0.0, -1.5, 0.25, {}], "text": "-0.0"});
        let expected = r#"{"blocked_s":0.0,"parts":[0.0,-1.5,0.25,{}],"text":"-0.0"}"#;
        assert_eq!(text(compact, &value), expected);
    }

    #[test]
    fn pretty_is_as_serde_json_makes_it() {
        let value = serde_json::json!({"a": [1, 2.5, null, []], "b": {"c": "d", "e": {}}});
        assert_eq!(
            text(pretty, &value),
            serde_json::to_string_pretty(&value).unwrap()
        );
    }
}
