//! Reading compared with the processing of the bytes.

use super::{Numbered, TargetRows};
use crate::bytes;
use crate::figures::{duration, number};
use crate::judge::{Finding, Missing, Relation, SAME_WITHIN, numbers};
use crate::page_cache::{MATTERS_SHARE, Parse, ParseLine, State, parse_lines};

const _: () = assert!(
    (SAME_WITHIN - 1.0 - MATTERS_SHARE).abs() < 1e-9,
    "the cache matters when the times differ"
);

/// The cold and the warm row of a parser on its smallest file.
pub(super) fn rows<'a>(
    target: &TargetRows<'a>,
    parse: Parse,
) -> Result<[Numbered<'a>; 2], Missing> {
    let with_parser = |state: State| {
        let rows = target.rows.iter().copied();
        rows.filter(|row| row.case().parse == parse && row.row.asked_state == state)
            .min_by_key(|row| row.case().size_bytes)
            .ok_or(Missing::Rows)
    };
    let rows = [with_parser(State::Cold)?, with_parser(State::Warm)?];
    match rows.iter().find_map(Numbered::unfit) {
        Some(unfit) => Err(unfit),
        None => Ok(rows),
    }
}

/// How cold is to warm, for a parser on its smallest file.
pub(super) fn matters(
    target: &TargetRows<'_>,
    parse: Parse,
    relation: Relation,
) -> Result<Finding, Missing> {
    let rows @ [cold, warm] = rows(target, parse)?;
    let compared = cold.time_over(&warm)?;
    let pair = [cold.row.clone(), warm.row.clone()];
    let line = parse_lines(&pair).into_iter().next().ok_or_else(|| {
        Missing::Evidence(format!(
            "rows {} and {} do not separate reading from parsing",
            cold.number, warm.number
        ))
    })?;
    Ok(Finding {
        verdict: compared.is(relation),
        because: figures(&line, &compared.times()),
        rows: numbers(&rows),
    })
}

/// Bytes of a MiB.
const MEBIBYTE: f64 = 1_048_576.0;

/// `145 KiB json: 2.06 ms cold, 1.60 ms warm, ...; reading is 26.2 % and 5.00 % of it`.
fn figures(line: &ParseLine, times: &str) -> String {
    let percent = |share: f64| number(share * 100.0);
    let mut text = format!(
        "{} {}: {} cold, {} warm, {}; reading is {} % and {} % of it; the parser does {} MiB/s",
        bytes::exact(line.size_bytes),
        line.parse.as_str(),
        duration(line.cold_s),
        duration(line.warm_s),
        times,
        percent(line.cold_reading_share),
        percent(line.warm_reading_share),
        number(line.parser_bytes_per_s / MEBIBYTE),
    );
    if let Some(break_even) = line.break_even_bytes_per_s {
        let rate = number(break_even / MEBIBYTE);
        text = format!("{text}, and the cache saves 10 % or more from {rate} MiB/s up");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{judge, made};
    use super::*;
    use crate::answer::Verdict;
    use crate::judge::fixture::{SLOW, SLOW_TOO, WIDE};
    use crate::page_cache::{PageCacheRow, Reader};

    fn case(
        parse: Parse,
        cold_reading: &[f64],
        warm_reading: &[f64],
        parsing: f64,
    ) -> Vec<PageCacheRow> {
        let made = |state, reading: &[f64]| {
            made(state, Reader::Read, 148_480).parsed(parse, reading, &[parsing; 5])
        };
        vec![
            made(State::Cold, cold_reading),
            made(State::Warm, warm_reading),
        ]
    }

    #[test]
    fn json_by_the_time_of_reading() {
        let tenth = SLOW.map(|time| time / 10.0);
        for (cold, warm, parsing, due) in [
            (&SLOW, &tenth, 10_000.0, Verdict::Holds),
            (&tenth, &SLOW, 1.0, Verdict::Holds),
            (&SLOW, &tenth, 1.0, Verdict::Refuted),
            (&WIDE, &SLOW_TOO, 1.0, Verdict::Inconclusive),
        ] {
            let found = judge("parses JSON", case(Parse::Json, cold, warm, parsing)).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
        let found = judge(
            "parses JSON",
            case(Parse::Json, &[540.0; 5], &[80.0; 5], 1520.0),
        )
        .unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Refuted, vec![1, 2]));
        assert!(
            found.because.contains("reading is 26.2 % and 5.00 % of it")
                && found.because.contains("from 31.3 MiB/s up"),
            "{}",
            found.because
        );
    }

    #[test]
    fn a_checksum_by_the_time_of_reading() {
        let tenth = SLOW.map(|time| time / 10.0);
        for (cold, warm, parsing, due) in [
            (&SLOW, &tenth, 1.0, Verdict::Holds),
            (&SLOW, &tenth, 10_000.0, Verdict::Refuted),
            (&WIDE, &SLOW_TOO, 1.0, Verdict::Inconclusive),
        ] {
            let made = case(Parse::Checksum, cold, warm, parsing);
            let found = judge("sums the bytes", made).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
    }
}
