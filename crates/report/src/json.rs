//! Results as JSON, saved and read back.
//!
//! This code is compiled once, here: otherwise it would be most of the command line's compilation.

use std::io::{self, BufWriter, Write};

use crate::format::is_printable;
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
    let layout = Plain(PrettyFormatter::new());
    value.serialize(&mut Serializer::with_formatter(to, layout))
}

fn compact<T: Serialize>(value: &T, to: &mut Buffered<'_>) -> Result<()> {
    let layout = Plain(CompactFormatter);
    value.serialize(&mut Serializer::with_formatter(to, layout))
}

/// A value on one line, safe on a terminal.
pub(crate) fn visible(value: &(impl Serialize + ?Sized)) -> Result<String> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(
        &mut text,
        Plain(CompactFormatter),
    ))?;
    // serde_json writes only UTF-8.
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

/// A formatter that writes 0 without a sign: an empty sum of fractions is -0.0, which no figure of
/// a result means. And every character that a terminal would act on as an escape, not those below U+0020 alone.
struct Plain<F>(F);

macro_rules! as_it_is {
    ($($method:ident($($name:ident: $kind:ty)?);)*) => {
        $(fn $method<W: ?Sized + Write>(&mut self, writer: &mut W $(, $name: $kind)?) -> io::Result<()> {
            self.0.$method(writer $(, $name)?)
        })*
    };
}

impl<F: Formatter> Formatter for Plain<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        self.0.write_f64(writer, value + 0.0)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(|char| !is_printable(char)) {
            let (before, from) = rest.split_at(at);
            let char = from.chars().next().unwrap_or_default();
            write!(writer, "{before}\\u{:04x}", u32::from(char))?;
            rest = &from[char.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
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
    fn what_a_terminal_acts_on_is_an_escape() {
        let value = serde_json::json!("\u{7f}ü\u{9b}\"2J\u{202e}\u{feff}\u{1b}漢");
        let expected = r#""\u007fü\u009b\"2J\u202e\ufeff\u001b漢""#;
        assert_eq!(text(compact, &value), expected);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(expected).unwrap(),
            value
        );
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
