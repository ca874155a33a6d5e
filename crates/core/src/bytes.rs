//! Byte counts as people write them: `4096`, `64KiB`, `100kB`.

use thiserror::Error;

/// Units with their factor, largest first. Binary ones come before the decimal
/// one of the same prefix.
const UNITS: [(&str, u64); 8] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
];

/// Why a text is not a number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SizeError {
    /// No digits at the start.
    #[error("`{text}` is not a size: it does not start with a number; write 4096, 64KiB or 100kB")]
    NoNumber { text: String },
    #[error("`{text}` is not a size: it must be a whole number; write 1536KiB for 1.5MiB")]
    Fraction { text: String },
    /// A unit that is unknown or ambiguous.
    #[error(
        "`{unit}` in `{text}` is not a unit of size; write B, KiB, MiB, GiB or TiB (powers of \
         1024), or kB, MB, GB or TB (powers of 1000)"
    )]
    Unit {
        text: String,
        /// The part after the number.
        unit: String,
    },
    /// More than 64 bits.
    #[error("`{text}` is too large: the largest size is {max} bytes", max = u64::MAX)]
    TooLarge { text: String },
}

/// Parses a size: a whole number, then nothing, `B`, a binary unit (`KiB`, in any case: its `i` is
/// unambiguous) or a decimal one (`kB` or `KB`, `MB` ...), after at most one space. A bare `K` or
/// `M` is refused, because tools disagree about it, and so are `mb` and `Mb`, which may be bits.
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let text = || text.to_owned();
    if number.is_empty() {
        return Err(SizeError::NoNumber { text: text() });
    }
    if rest.starts_with(['.', ',']) {
        return Err(SizeError::Fraction { text: text() });
    }
    let unit = rest
        .strip_prefix(' ')
        .filter(|unit| !unit.is_empty())
        .unwrap_or(rest);
    let factor = factor(unit).ok_or_else(|| SizeError::Unit {
        text: text(),
        unit: unit.trim().to_owned(),
    })?;
    // Only too many digits can fail here.
    let number: Option<u64> = number.parse().ok();
    number
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| SizeError::TooLarge { text: text() })
}

fn factor(unit: &str) -> Option<u64> {
    match unit {
        "" | "B" => Some(1),
        "KB" => Some(1_000),
        _ => UNITS
            .iter()
            .find(|(name, _)| {
                *name == unit || (name.contains('i') && name.eq_ignore_ascii_case(unit))
            })
            .map(|(_, factor)| *factor),
    }
}

/// An exact size, in the unit with the fewest digits: `100 kB`, `64 KiB`, `4097 B`. [`parse`] reads
/// it back.
pub fn exact(bytes: u64) -> String {
    UNITS
        .iter()
        .filter(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor))
        .map(|(name, factor)| (bytes / factor, name))
        // The first of the smallest: the binary unit when both fit.
        .min_by_key(|(number, _)| number.checked_ilog10())
        .map_or_else(
            || format!("{bytes} B"),
            |(number, name)| format!("{number} {name}"),
        )
}

/// A size rounded to a tenth of a binary unit: `512 B`, `19.0 KiB`, `1.5 GiB`.
pub fn short(bytes: u64) -> String {
    let mut value = bytes as f64;
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    for unit in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        value /= 1024.0;
        // Still below the next unit after rounding to a tenth.
        if value < 1023.95 {
            return format!("{value:.1} {unit}");
        }
    }
    format!("{:.1} EiB", value / 1024.0)
}

/// A count with thousands separators: `19,456`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A path in hexadecimal if it is not valid text, where replacement characters would be wrong.
pub fn hex_unless_text(path: &[u8]) -> Option<String> {
    let hex = || {
        path.iter()
            .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
    };
    std::str::from_utf8(path).is_err().then(hex)
}

/// The bytes of such a path; `None` for what is no hexadecimal.
pub fn unhex(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let digits: Option<Vec<u32>> = hex.as_bytes().iter().map(digit).collect();
    let pairs = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    let bytes = pairs
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]));
    bytes.collect::<Result<_, _>>().ok()
}

/// A name as text that no other name has: a byte that is no UTF-8 is `\xff`. A backslash before what could be such a
/// byte, or the `\u{1b}` by which a reader may show a control character, is `\x5c`; others, as systemd has them in
/// names of cgroups, stay.
pub fn text_of(name: &[u8]) -> String {
    let begins_escape = |rest: &str| match rest.as_bytes() {
        [b'u', b'{', ..] | [b'x', b'5', b'c', ..] => true,
        [b'x', b'8' | b'9' | b'a'..=b'f', low, ..] => low.is_ascii_hexdigit(),
        _ => false,
    };
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for (at, char) in chunk.valid().char_indices() {
            if char == '\\' && begins_escape(&chunk.valid()[at + 1..]) {
                text += r"\x5c";
            } else {
                text.push(char);
            }
        }
        text.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    text
}

/// The same of a path of a result.
pub fn text_of_path(path: &str, hex: Option<&str>) -> String {
    let bytes = hex.and_then(unhex);
    text_of(bytes.as_deref().unwrap_or(path.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bytes that a text stands for.
    fn read_back(text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            let code = rest.get(2..4).filter(|_| rest.starts_with(r"\x"));
            let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
            let byte = byte.filter(|byte| *byte >= 0x80 || *byte == b'\\');
            if let Some(byte) = byte {
                bytes.push(byte);
                rest = &rest[4..];
            } else {
                assert!(!rest.starts_with(r"\u{"), "{text}");
                bytes.extend(char.to_string().bytes());
                rest = &rest[char.len_utf8()..];
            }
        }
        bytes
    }

    #[test]
    fn names_are_text_that_no_other_name_has() {
        for (name, text) in [
            (&b"\xff\xfe\x80bad"[..], r"\xff\xfe\x80bad"),
            (b"..\x81bad", r"..\x81bad"),
            (br"\xff", r"\x5cxff"),
            (br"a\u{1b}\xff", r"a\x5cu{1b}\x5cxff"),
            (b"\\x8\xff\\", r"\x8\xff\"),
            (
                br"system-systemd\x2dfsck.slice",
                r"system-systemd\x2dfsck.slice",
            ),
            ("ü\u{fffd}".as_bytes(), "ü\u{fffd}"),
            (b"", ""),
        ] {
            assert_eq!(text_of(name), text);
            assert_eq!(read_back(text), name);
        }
        assert_eq!(text_of_path("a\u{fffd}", Some("61ff")), r"a\xff");
    }

    #[test]
    fn a_path_that_is_no_text_is_read_back() {
        let path = b"/srv/\xff\x00a";
        let hex = hex_unless_text(path).unwrap();
        assert_eq!(unhex(&hex).as_deref(), Some(&path[..]));
        assert_eq!(unhex(""), Some(Vec::new()));
        for wrong in ["f", "zz", "0é", "+1"] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn reads_what_people_write() {
        for (text, bytes) in [
            ("0", 0),
            ("1", 1),
            ("4096", 4096),
            ("4096B", 4096),
            ("64KiB", 65_536),
            ("64kib", 65_536),
            ("64 KiB", 65_536),
            ("1MiB", 1_048_576),
            ("1GiB", 1_073_741_824),
            ("1TIB", 1_099_511_627_776),
            ("100kB", 100_000),
            ("100KB", 100_000),
            ("1MB", 1_000_000),
            ("2GB", 2_000_000_000),
            ("3TB", 3_000_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn refuses_what_has_no_one_meaning() {
        for text in ["", "KiB", "-1", "+1", " 1", "x", "٣"] {
            assert!(
                matches!(parse(text), Err(SizeError::NoNumber { .. })),
                "{text}"
            );
        }
        for text in ["1.5MiB", "1.0", "1,000"] {
            assert!(
                matches!(parse(text), Err(SizeError::Fraction { .. })),
                "{text}"
            );
        }
        for text in [
            "1K", "1M", "1mb", "1Mb", "1kb", "1b", "1  KiB", "1 ", "1KiB ", "1e3", "1_000",
        ] {
            assert!(matches!(parse(text), Err(SizeError::Unit { .. })), "{text}");
        }
    }

    #[test]
    fn refuses_more_than_64_bits() {
        for text in [
            "18446744073709551616",
            "16777216TiB",
            "18446744073709551615kB",
        ] {
            assert_eq!(
                parse(text),
                Err(SizeError::TooLarge {
                    text: text.to_owned()
                })
            );
        }
        assert_eq!(parse("16777215TiB"), Ok(16_777_215 << 40));
    }

    #[test]
    fn the_error_says_what_is_accepted() {
        let error = parse("1K").unwrap_err().to_string();
        assert!(
            error.contains("`K` in `1K`") && error.contains("KiB"),
            "{error}"
        );
        assert!(
            parse("1.5MiB")
                .unwrap_err()
                .to_string()
                .contains("whole number")
        );
    }

    #[test]
    fn writes_sizes() {
        for (bytes, text) in [
            (0, "0 B"),
            (1, "1 B"),
            (1000, "1 kB"),
            (4096, "4 KiB"),
            (4097, "4097 B"),
            (100_000, "100 kB"),
            (128_000, "125 KiB"),
            (1_000_000_000_000, "1 TB"),
            (1 << 40, "1 TiB"),
        ] {
            assert_eq!(exact(bytes), text);
        }
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (19_456, "19.0 KiB"),
            (1_048_575, "1.0 MiB"),
            (1_610_612_736, "1.5 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(short(bytes), text);
        }
        for (count, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (19_456, "19,456")] {
            assert_eq!(grouped(count), text);
        }
        assert_eq!(grouped(1_234_567_890), "1,234,567,890");
    }

    proptest! {
        #[test]
        fn every_name_is_read_back(parts in prop::collection::vec(
            prop_oneof![r"[\\\\xu58cf{}ü]{0,6}".prop_map(String::into_bytes), prop::collection::vec(0u8.., 0..4)], 0..6
        )) {
            let name = parts.concat();
            prop_assert_eq!(read_back(&text_of(&name)), name);
        }

        #[test]
        fn exact_sizes_read_back(number: u64, shift in 0_u32..64) {
            let bytes = number >> shift;
            prop_assert_eq!(parse(&exact(bytes)), Ok(bytes));
            prop_assert_eq!(parse(&bytes.to_string()), Ok(bytes));
        }

        #[test]
        fn round_sizes_read_back(number in 0_u64..5000, unit in 0..UNITS.len()) {
            let bytes = number * UNITS[unit].1;
            prop_assert_eq!(parse(&exact(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_panics(text: String) {
            let read = parse(&text);
            prop_assert!(read.is_ok() || !read.unwrap_err().to_string().is_empty());
        }

        #[test]
        fn grouping_only_adds_commas(count: u64) {
            prop_assert_eq!(grouped(count).replace(',', ""), count.to_string());
        }
    }
}
