//! Parser against cache: how much of the whole is reading.

use serde::{Deserialize, Serialize};

use super::{PageCacheRow, Parse, Reader, State};

/// The cache matters to a program when it saves more than this share of the time that
/// the program takes with the file cached.
pub const MATTERS_SHARE: f64 = 0.1;

/// One parser on one file, cold and warm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ParseLine {
    pub target: String,
    pub reader: Reader,
    pub size_bytes: u64,
    pub parse: Parse,
    /// Median time with nothing cached, seconds.
    pub cold_s: f64,
    /// Median time with everything cached, seconds.
    pub warm_s: f64,
    /// Share of reading in the cold time, 0 to 1.
    pub cold_reading_share: f64,
    /// Share of reading in the warm time, 0 to 1.
    pub warm_reading_share: f64,
    /// Throughput of the parser alone, bytes per second, with the file cached.
    pub parser_bytes_per_s: f64,
    /// The saving by the cache, as a share of the warm time.
    pub saved_share: f64,
    /// Throughput of a parser for which the cache would save just [`MATTERS_SHARE`]:
    /// a quicker parser gains more. `null` when the cache saves nothing, or saves
    /// less than that share of reading alone.
    pub break_even_bytes_per_s: Option<f64>,
    /// The cold and the warm row, 1-based.
    pub rows: [usize; 2],
}

/// The lines of all pairs of a cold and a warm row with a parser.
pub fn parse_lines(rows: &[PageCacheRow]) -> Vec<ParseLine> {
    let numbered = || rows.iter().enumerate();
    numbered()
        .filter(|(_, row)| is(row, State::Cold))
        .filter_map(|(cold_index, cold)| {
            let (warm_index, warm) = numbered().find(|(_, warm)| {
                is(warm, State::Warm)
                    && warm.row.target == cold.row.target
                    && (
                        warm.row.case.reader,
                        warm.row.case.size_bytes,
                        warm.row.case.parse,
                    ) == (
                        cold.row.case.reader,
                        cold.row.case.size_bytes,
                        cold.row.case.parse,
                    )
            })?;
            line(cold, warm, [cold_index + 1, warm_index + 1])
        })
        .collect()
}

fn is(row: &PageCacheRow, state: State) -> bool {
    row.row.case.parse != Parse::None && row.is_as_asked() && row.row.case.state == state
}

fn line(cold: &PageCacheRow, warm: &PageCacheRow, rows: [usize; 2]) -> Option<ParseLine> {
    let whole_s = |row: &PageCacheRow| Some(row.row.timing.as_ref()?.median_s);
    let reading_s = |row: &PageCacheRow| Some(row.reading.as_ref()?.median_s);
    let (cold_s, warm_s) = (whole_s(cold)?, whole_s(warm)?);
    let (cold_reading_s, warm_reading_s) = (reading_s(cold)?, reading_s(warm)?);
    let parsing_s = warm.parsing.as_ref()?.median_s;
    let case = warm.row.case;
    let size = case.size_bytes as f64;
    Some(ParseLine {
        target: warm.row.target.clone(),
        reader: case.reader,
        size_bytes: case.size_bytes,
        parse: case.parse,
        cold_s,
        warm_s,
        cold_reading_share: cold_reading_s / cold_s,
        warm_reading_share: warm_reading_s / warm_s,
        parser_bytes_per_s: size / parsing_s,
        saved_share: (cold_s - warm_s) / warm_s,
        break_even_bytes_per_s: break_even(size, cold_reading_s, warm_reading_s),
        rows,
    })
    .filter(|_| cold_s > 0.0 && warm_s > 0.0 && parsing_s > 0.0)
}

/// With a parser of `p` seconds the cache saves `cold - warm` of `warm + p`. That is
/// the share that matters when `p = (cold - warm) / share - warm`.
fn break_even(size: f64, cold_reading_s: f64, warm_reading_s: f64) -> Option<f64> {
    let saved_s = cold_reading_s - warm_reading_s;
    let parser_s = saved_s / MATTERS_SHARE - warm_reading_s;
    (saved_s > 0.0 && parser_s > 0.0).then(|| size / parser_s)
}

#[cfg(test)]
mod tests {
    use super::super::answers::fixture::{made, result};
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < b.abs() * 1e-9
    }

    #[test]
    fn the_articles_figures() {
        // Read 0.54 ms cold and 0.08 warm, parse 1.52: 2.06 and 1.60 in all.
        let row = |state, reading: f64| {
            made(state, Reader::Read, 148_480).parsed(Parse::Json, &[reading; 5], &[1520.0; 5])
        };
        let rows = result(vec![row(State::Warm, 80.0), row(State::Cold, 540.0)]).rows;
        let lines = parse_lines(&rows);
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        assert_eq!(line.rows, [2, 1]);
        assert!(close(line.cold_s, 2.06e-3) && close(line.warm_s, 1.6e-3));
        assert!(close(line.cold_reading_share, 0.54 / 2.06));
        assert!(close(line.warm_reading_share, 0.05));
        assert!(close(line.parser_bytes_per_s, 148_480.0 / 1.52e-3));
        assert!(close(line.saved_share, 0.46 / 1.6));
        // 0.46 / 0.1 - 0.08 = 4.52 ms.
        let break_even = line.break_even_bytes_per_s.unwrap();
        assert!(close(break_even, 148_480.0 / 4.52e-3), "{break_even}");
    }

    #[test]
    fn a_cache_that_saves_nothing_has_no_break_even() {
        assert_eq!(break_even(1e6, 1.0, 1.0), None);
        assert_eq!(break_even(1e6, 0.5, 1.0), None);
        // It saves 5 % of reading alone: no parser is quick enough.
        assert_eq!(break_even(1e6, 1.05, 1.0), None);
    }

    #[test]
    fn a_row_that_is_not_as_asked_is_not_compared() {
        let parsed =
            |state| made(state, Reader::Read, 1000).parsed(Parse::Lines, &[2.0; 5], &[1.0; 5]);
        let rows = result(vec![
            parsed(State::Warm),
            parsed(State::Warm).asked(State::Cold, "mapped"),
        ])
        .rows;
        assert!(parse_lines(&rows).is_empty());
    }
}
