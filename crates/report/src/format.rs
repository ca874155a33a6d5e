//! Figures as text, on a page: [`iostrata_core::figures`] and [`iostrata_core::bytes`] format the numbers.

use std::borrow::Cow;
use std::fmt::Display;

use iostrata_core::bytes;
pub(crate) use iostrata_core::figures::{duration, number, rate};
use textwrap::core::display_width;

/// MiB to a tenth: `0`, `<0.1`, `19.1`, `3,105.4`.
pub(crate) fn mebibytes(size_bytes: u64) -> String {
    const MEBIBYTE: u64 = 1 << 20;
    let tenths = (u128::from(size_bytes) * 10 + u128::from(MEBIBYTE) / 2) / u128::from(MEBIBYTE);
    match (size_bytes, u64::try_from(tenths).unwrap_or(u64::MAX)) {
        (0, _) => "0".to_owned(),
        (_, 0) => "<0.1".to_owned(),
        (_, tenths) => format!("{}.{}", bytes::grouped(tenths / 10), tenths % 10),
    }
}

/// Seconds with as many decimals as the shortest time of a column needs, so that the decimal points
/// are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seconds {
    decimals: usize,
}

impl Seconds {
    /// Two digits of the shortest, but nothing below the microsecond, the resolution of
    /// `getrusage`(2).
    pub(crate) fn showing(times_s: impl Iterator<Item = f64>) -> Self {
        let shortest = times_s.filter(|time| *time > 0.0).fold(1.0, f64::min);
        let decimals = (2..6).find(|decimals| shortest * 10_f64.powi(*decimals) >= 9.95);
        let decimals = decimals.unwrap_or(6).unsigned_abs() as usize;
        Self { decimals }
    }

    /// `0.0133`.
    pub(crate) fn text(self, seconds: f64) -> String {
        format!("{seconds:.*}", self.decimals)
    }
}

/// Microseconds of a time in seconds, to three digits.
pub(crate) fn microseconds(seconds: f64) -> String {
    number(seconds * 1e6)
}

/// Milliseconds of a time in seconds, to three digits.
pub(crate) fn milliseconds(seconds: f64) -> String {
    number(seconds * 1e3)
}

/// A rounded time, kept on one line: `2.90 s`, `71.0 µs`.
pub(crate) fn time(seconds: f64) -> String {
    if seconds > 0.0 {
        glued(&duration(seconds))
    } else {
        glued("0 s")
    }
}

/// Seconds to the microsecond, without ending zeros: moments that a script reads, or that stand below
/// each other.
pub(crate) fn seconds(seconds: f64) -> String {
    let text = format!("{seconds:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

/// A size for reading at a glance, kept on one line: `19.0 KiB`.
pub(crate) fn size(size_bytes: u64) -> String {
    glued(&bytes::short(size_bytes))
}

/// A figure, or its range: `3.1 MiB`, `0 to 1,414`. Bounds that read alike are one figure.
pub(crate) fn between<T>(least: T, most: T, text: impl Fn(T) -> String) -> String {
    let (least, most) = (text(least), text(most));
    if least == most {
        least
    } else {
        format!("{least}\u{a0}to\u{a0}{most}")
    }
}

fn glued(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// Text of at most `columns`: of a longer one the end, which matters most in a path, starting at a
/// slash if one is near.
pub(crate) fn ending(text: &str, columns: usize) -> String {
    let safe = printable(text);
    if display_width(&safe) <= columns {
        return safe;
    }
    let end = last(&safe, columns.saturating_sub(1));
    // A whole name is easier to read than a little more of the one before it.
    let names = end.find('/').filter(|slash| *slash <= end.len() / 2);
    format!("…{}", &end[names.unwrap_or(0)..])
}

/// Text of at most `columns`: of a longer one the beginning.
pub(crate) fn beginning(text: &str, columns: usize) -> String {
    let safe = printable(text);
    if display_width(&safe) <= columns {
        return safe;
    }
    format!("{}…", first(&safe, columns.saturating_sub(1)))
}

/// The beginning, of at most `columns`.
pub(crate) fn first(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let fits = text.char_indices().take_while(|(_, char)| {
        used += display_width(char.encode_utf8(&mut [0; 4]));
        used <= columns
    });
    let end = fits.last().map_or(0, |(at, char)| at + char.len_utf8());
    &text[..end]
}

/// The end, of at most `columns`.
pub(crate) fn last(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let fits = text.char_indices().rev().take_while(|(_, char)| {
        used += display_width(char.encode_utf8(&mut [0; 4]));
        used <= columns
    });
    &text[fits.last().map_or(text.len(), |(at, _)| at)..]
}

/// Runs of row numbers in ascending order, each with its first and its last one.
pub(crate) fn row_runs(numbers: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if number.checked_sub(1) == Some(*last) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}

/// `3`, `3, 4`, `3–5`.
pub(crate) fn run(first: usize, last: usize) -> String {
    match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    }
}

/// Row numbers in ascending order, with runs as ranges: `rows 1–3, 7`.
pub(crate) fn rows(numbers: &[usize]) -> String {
    let runs = row_runs(numbers).into_iter();
    let runs = join(runs.map(|(first, last)| run(first, last)), ", ");
    let noun = iostrata_core::noun::noun_of(numbers.len() as u64, "row");
    format!("{noun} {runs}")
}

/// Texts as one, with something between them.
pub(crate) fn join(texts: impl IntoIterator<Item = impl Display>, between: &str) -> String {
    let texts = texts.into_iter().map(|text| text.to_string());
    texts.collect::<Vec<_>>().join(between)
}

/// `1 row`, `3 rows`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    iostrata_core::noun::counted(count as u64, noun)
}

/// Bytes of a text that are drawn. A path has at most 4,096 (`PATH_MAX`, limits.h); wrapping megabytes takes
/// seconds, and nobody reads them.
const LONGEST_BYTES: usize = 16_384;

/// Text that is safe on a terminal: names and paths may hold escape sequences, line breaks, and
/// characters that reverse a line's direction. The middle of a text longer than 16 KiB is left out.
pub fn printable(text: &str) -> String {
    escaped(&shortened(text, LONGEST_BYTES))
}

/// A name that is part of a line, which shall not be copied as a whole where it is of megabytes.
pub(crate) fn in_line(name: &str) -> Cow<'_, str> {
    shortened(name, LONGEST_BYTES / 2)
}

fn shortened(text: &str, longest_bytes: usize) -> Cow<'_, str> {
    if text.len() <= longest_bytes {
        return text.into();
    }
    let head = &text[..text.floor_char_boundary(longest_bytes / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - longest_bytes / 2)..];
    let left_out = bytes::grouped((text.len() - head.len() - tail.len()) as u64);
    format!("{head} … {left_out} B left out … {tail}").into()
}

fn escaped(text: &str) -> String {
    text.chars()
        .fold(String::with_capacity(text.len()), |mut safe, char| {
            if is_printable(char) {
                safe.push(char);
            } else {
                safe.extend(char.escape_default());
            }
            safe
        })
}

/// Whether it stands for itself on a terminal, and changes nothing else there.
pub fn is_printable(char: char) -> bool {
    !char.is_control() && !is_invisible(char)
}

/// Zero-width characters, direction marks and line separators (Unicode 16, general categories Cf,
/// Zl and Zp, as far as they change the appearance of a line).
fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mebibytes_to_a_tenth() {
        for (bytes, text) in [
            (0, "0"),
            (4096, "<0.1"),
            (1 << 20, "1.0"),
            (3_256_254_464, "3,105.4"),
            (u64::MAX, "17,592,186,044,416.0"),
        ] {
            assert_eq!(mebibytes(bytes), text);
        }
    }

    #[test]
    fn the_shortest_time_keeps_two_digits() {
        let texts = |times: &[f64]| {
            let seconds = Seconds::showing(times.iter().copied());
            times
                .iter()
                .map(|time| seconds.text(*time))
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(&[0.0011, 0.714]), ["0.0011", "0.7140"]);
        assert_eq!(texts(&[0.26, 12.0]), ["0.26", "12.00"]);
        assert_eq!(texts(&[3e-7]), ["0.000000"]);
        assert_eq!(texts(&[0.0]), ["0.00"]);
    }

    #[test]
    fn long_names_are_cut_where_it_hurts_least() {
        assert_eq!(ending("a/b.db", 6), "a/b.db");
        assert_eq!(ending("/very/long/way/to/b.db", 12), "…/to/b.db");
        assert_eq!(ending("/way/to-a-name-without-end.db", 12), "…hout-end.db");
        assert_eq!(ending("\u{1b}/x", 9), "\\u{1b}/x");
        assert_eq!(ending("漢漢漢漢", 5), "…漢漢");
        assert_eq!(beginning("cc -O2 main.c", 6), "cc -O…");
        assert_eq!(beginning("cc", 6), "cc");
        assert_eq!(
            (time(0.0), time(2.9)),
            ("0\u{a0}s".into(), "2.90\u{a0}s".into())
        );
    }

    #[test]
    fn what_is_not_exact_is_between() {
        let text = |count: u64| bytes::grouped(count);
        assert_eq!(between(7, 7, text), "7");
        assert_eq!(between(0, 1414, text), "0\u{a0}to\u{a0}1,414");
    }

    #[test]
    fn row_numbers() {
        assert_eq!(rows(&[3]), "row 3");
        assert_eq!(rows(&[1, 2]), "rows 1, 2");
        assert_eq!(rows(&[1, 2, 3, 7, 9, 10]), "rows 1–3, 7, 9, 10");
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(1200, "row"), "1,200 rows");
    }

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(
            printable("a\u{1b}[2J\n\u{9b}\u{202e}b é"),
            "a\\u{1b}[2J\\n\\u{9b}\\u{202e}b é"
        );
    }
    #[test]
    fn texts_that_nobody_reads_lose_their_middle() {
        let whole = "é".repeat(8_192);
        assert_eq!(printable(&whole), whole);
        // 2 + 100,000 + 5,000 + 1 bytes, of which 8,192 stay at each end.
        let name = format!("/a{}{}z", "é".repeat(50_000), "\u{1b}".repeat(5_000));
        let drawn = printable(&name);
        let head = format!("/a{}", "é".repeat(4_095));
        // A character that the cut would go through is left out.
        let tail = format!("{}{}z", "é".repeat(1_595), "\\u{1b}".repeat(5_000));
        assert_eq!(drawn, format!("{head} … 88,620 B left out … {tail}"));
    }
}
