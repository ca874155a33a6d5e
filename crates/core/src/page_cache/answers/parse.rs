//! Reading against what is done with the bytes.

use super::view::{Numbered, TargetRows, numbers};
use crate::answer::Verdict;
use crate::bytes;
use crate::judge::figures::{duration, number};
use crate::judge::{Compared, Finding, Missing, SAME_WITHIN};
use crate::page_cache::{MATTERS_SHARE, Parse, ParseLine, State, parse_lines};

const _: () = assert!(
    (SAME_WITHIN - 1.0 - MATTERS_SHARE).abs() < 1e-9,
    "the cache matters when it is not the same"
);

/// The line of a parser on its smallest file, with the times compared.
fn smallest<'a>(
    target: &TargetRows<'a>,
    parse: Parse,
) -> Result<(ParseLine, [Numbered<'a>; 2], Compared), Missing> {
    let with_parser = |state: State| {
        let rows = target.rows.iter().copied();
        rows.filter(|row| row.row.row.case.parse == parse && row.row.asked_state == state)
            .min_by_key(|row| row.row.row.case.size_bytes)
            .ok_or_else(|| {
                Missing::Rows(format!(
                    "no {} row with {} on {}",
                    state.as_str(),
                    parse.as_str(),
                    target.name
                ))
            })
    };
    let rows @ [cold, warm] = [with_parser(State::Cold)?, with_parser(State::Warm)?];
    for row in rows {
        if !row.row.is_as_asked() {
            return Err(row.not_as_asked());
        }
    }
    let compared = cold.time_over(&warm)?;
    let pair = [cold.row.clone(), warm.row.clone()];
    let line = parse_lines(&pair).into_iter().next().ok_or_else(|| {
        Missing::Evidence(format!(
            "rows {} and {} do not tell reading from parsing",
            cold.number, warm.number
        ))
    })?;
    Ok((line, rows, compared))
}

/// `145 KiB json: 2.06 ms cold, 1.60 ms warm, ...; reading is 26.2 % and 5.00 % of it`.
fn figures(line: &ParseLine, compared: &Compared) -> String {
    let percent = |share: f64| number(share * 100.0);
    let mut text = format!(
        "{} {}: {} cold, {} warm, {}; reading is {} % and {} % of it; the parser does {} MB/s",
        bytes::exact(line.size_bytes),
        line.parse.as_str(),
        duration(line.cold_s),
        duration(line.warm_s),
        compared.times(),
        percent(line.cold_reading_share),
        percent(line.warm_reading_share),
        number(line.parser_bytes_per_s / 1e6),
    );
    if let Some(break_even) = line.break_even_bytes_per_s {
        text.push_str(", and the cache saves 10 % or more from ");
        text.push_str(&number(break_even / 1e6));
        text.push_str(" MB/s on");
    }
    text
}

/// Cold and warm within the margin that counts as the same.
pub(super) fn json_hides_the_cache(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let (line, rows, compared) = smallest(target, Parse::Json)?;
    let verdict = match (compared.same(), compared.longer()) {
        // Faster when cold: the cache does not help either.
        (_, Verdict::Refuted) => Verdict::Holds,
        (same, _) => same,
    };
    Ok(Finding {
        verdict,
        because: figures(&line, &compared),
        rows: numbers(&rows),
    })
}

/// The other end: work as cheap as can be.
pub(super) fn cheap_work_shows_it(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let (line, rows, compared) = smallest(target, Parse::Checksum)?;
    let verdict = if compared.far_longer() {
        Verdict::Holds
    } else if compared.bounds.high < SAME_WITHIN {
        Verdict::Refuted
    } else {
        Verdict::Inconclusive
    };
    Ok(Finding {
        verdict,
        because: figures(&line, &compared),
        rows: numbers(&rows),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Made, SLOW, SLOW_TOO, WIDE, judge};
    use super::*;
    use crate::page_cache::Reader;

    fn case(parse: Parse, cold_reading: &[f64], warm_reading: &[f64], parsing: f64) -> Vec<Made> {
        let made = |state, reading: &[f64]| {
            Made::new(state, Reader::Read, 148_480).parsed(parse, reading, &[parsing; 5])
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
            let found =
                judge(json_hides_the_cache, case(Parse::Json, cold, warm, parsing)).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
        let found = judge(
            json_hides_the_cache,
            case(Parse::Json, &[540.0; 5], &[80.0; 5], 1520.0),
        )
        .unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Refuted, vec![1, 2]));
        assert!(
            found.because.contains("reading is 26.2 % and 5.00 % of it")
                && found.because.contains("from 32.8 MB/s on"),
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
            let found = judge(cheap_work_shows_it, made).unwrap();
            assert_eq!(found.verdict, due, "{}", found.because);
        }
    }
}
