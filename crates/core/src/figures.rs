//! Figures as text; [`bytes`] formats sizes and counts.

use crate::bytes;
use crate::evidence::Cause;

/// Three significant digits, without an exponent: `0.14`, `1.33`, `71.0`, `1,234`. A value above 0
/// is never shown as 0.
pub fn number(value: f64) -> String {
    match value {
        none if none <= 0.0 => "0".to_owned(),
        small if small < 0.005 => "<0.01".to_owned(),
        size if size >= 999.5 => grouped(size),
        size if size >= 99.95 => format!("{size:.0}"),
        size if size >= 9.995 => format!("{size:.1}"),
        size => format!("{size:.2}"),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to u64 saturates; the figures are ratios, rates and bytes, not negative"
)]
fn grouped(value: f64) -> String {
    bytes::grouped(value.round() as u64)
}

/// A time: `850 ns`, `71.0 µs`, `1.50 ms`, `2.00 s`.
pub fn duration(seconds: f64) -> String {
    let (factor, unit) = match seconds {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        s if s >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    };
    format!("{} {unit}", number(seconds * factor))
}

/// A count per record: [`number`], or a whole number: `1`, `2.04`.
pub fn rate(per_record: f64) -> String {
    let text = number(per_record);
    let whole = text.strip_suffix(".00").or_else(|| text.strip_suffix(".0"));
    whole.map(str::to_owned).unwrap_or(text)
}

pub fn percent(share: f64) -> String {
    // Adding 0 makes −0 a 0.
    format!("{:.0} %", (share * 100.0).round() + 0.0)
}

/// `2 data, 1 metadata writes and 2 flushes`, the last of `causes`;
/// unknown causes only when there are some.
pub(crate) fn requests(causes: &[(Cause, f64)]) -> String {
    let Some(((_, flushes), writes)) = causes.split_last() else {
        return String::new();
    };
    let writes: Vec<String> = writes
        .iter()
        .filter(|(cause, each)| *cause != Cause::Unknown || *each > 0.0)
        .map(|(cause, each)| format!("{} {}", rate(*each), cause.name()))
        .collect();
    let flushes = rate(*flushes);
    let ends_in_one = writes.last().is_some_and(|last| last.starts_with("1 "));
    let write = if ends_in_one { "write" } else { "writes" };
    let flush = if flushes == "1" { "flush" } else { "flushes" };
    format!("{} {write} and {flushes} {flush}", writes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_a_sentence() {
        let causes = [
            (Cause::Data, 1.0),
            (Cause::Metadata, 0.5),
            (Cause::Unknown, 0.0),
            (Cause::Flush, 1.0),
        ];
        assert_eq!(
            requests(&causes),
            "1 data, 0.50 metadata writes and 1 flush"
        );
        let causes = [
            (Cause::Data, 0.0),
            (Cause::Unknown, 2.0),
            (Cause::Flush, 1.5),
        ];
        assert_eq!(
            requests(&causes),
            "0 data, 2 unknown writes and 1.50 flushes"
        );
    }

    #[test]
    fn figures_keep_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.0034, "<0.01"),
            (0.996, "1.00"),
            (1.333, "1.33"),
            (71.04, "71.0"),
            (99.97, "100"),
            (19_456.4, "19,456"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(
            [0.834, -0.001].map(percent),
            ["83 %".to_owned(), "0 %".to_owned()]
        );
        for (seconds, text) in [
            (8.5e-7, "850 ns"),
            (71e-6, "71.0 µs"),
            (1.5e-3, "1.50 ms"),
            (2.0, "2.00 s"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        for (count, text) in [
            (0.0, "0"),
            (2.0, "2"),
            (12.0, "12"),
            (0.02, "0.02"),
            (1e-4, "<0.01"),
        ] {
            assert_eq!(rate(count), text);
        }
    }
}
