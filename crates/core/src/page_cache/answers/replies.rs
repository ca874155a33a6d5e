//! Questions about reads.

use super::{TargetRows, WARM_READ, again, memory, parse, residency, sizes, targets};
use crate::answer::Verdict;
use crate::bytes::exact;
use crate::figures::{duration, percent};
use crate::judge::{Judged as _, Missing, Pair, Relation, numbers};
use crate::page_cache::{PageCacheResult, PageCacheRow, Parse, Reader, State, parse_lines};
use crate::reply::{self, Question, Reply, Said, Standing, by_time, by_verdict, judged, times};

const REUSED: (State, Reader, Parse) = (State::Warm, Reader::ReadReused, Parse::None);
const MAPPED: (State, Reader, Parse) = (State::Warm, Reader::Mmap, Parse::None);

const QUESTIONS: [Question<PageCacheRow, PageCacheResult>; 10] = [
    Question::leading("Does the cache help?", cache),
    Question::leading("Reuse the read buffer?", reuse),
    Question::leading("mmap or read?", mapping),
    Question::leading("Random 4 KiB reads?", random),
    Question::further("Is a second read faster?", second_read),
    Question::further("And one with O_DIRECT?", second_direct),
    Question::further("Does it help JSON parsing?", |target| {
        parsing(target, Parse::Json, Relation::SameOrLess)
    }),
    Question::further("Does it help a checksum?", |target| {
        parsing(target, Parse::Checksum, Relation::SameOrLess)
    }),
    Question::further("Does one read cache it all?", |target| {
        let found = residency::all_is_cached(target)?;
        Ok(judged(found, "Yes.", "No."))
    }),
    Question::further("Does RWF_DONTCACHE work?", |target| {
        let found = residency::dontcache_leaves_nothing(target)?;
        let (yes, no) = (
            "Yes: no page stayed cached.",
            "No: some pages stayed cached.",
        );
        Ok(judged(found, yes, no))
    }),
];

/// The answers of the rows to each question.
pub fn replies(result: &PageCacheResult) -> Vec<Reply> {
    reply::replies(&QUESTIONS, targets(result))
}

/// The smallest and the largest size where it does, and the sizes where that is not known.
fn cache(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let pairs = sizes::pairs(target)?;
    let rows = numbers(pairs.iter().flat_map(|pair| &pair.rows));
    let which = |wanted: Verdict| -> Vec<&Pair<'_, '_, PageCacheRow, PageCacheResult>> {
        let pairs = pairs.iter();
        let pairs = pairs.filter(|pair| pair.time.is(Relation::LONGER) == wanted);
        pairs.collect()
    };
    let (helped, slower, open) = (
        which(Verdict::Holds),
        which(Verdict::Refuted),
        which(Verdict::Inconclusive),
    );
    let figure = |pair: &Pair<'_, '_, PageCacheRow, PageCacheResult>| {
        format!("{} {}", pair.rows[0].size(), times(&pair.time))
    };
    let names = |pairs: &[&Pair<'_, '_, PageCacheRow, PageCacheResult>]| {
        let names: Vec<String> = pairs.iter().map(|pair| pair.rows[0].size()).collect();
        names.join(", ")
    };
    let ends: Vec<String> = match helped.as_slice() {
        [first, .., last] => vec![figure(first), figure(last)],
        some => some.iter().map(|pair| figure(pair)).collect(),
    };
    let mut rest = Vec::new();
    if !slower.is_empty() {
        rest.push(format!("Not at {}.", names(&slower)));
    }
    if !open.is_empty() {
        rest.push(format!("Unclear at {}.", names(&open)));
    }
    let said = match (helped.is_empty(), slower.is_empty()) {
        (false, _) => {
            Said::fact(format!("Yes: {}.", ends.join(", ")), rows).standing(Standing::Good)
        }
        (true, false) => Said::fact("No.", rows),
        (true, true) => {
            let figures = match pairs.as_slice() {
                [first, .., last] => format!("{}, {}", figure(first), figure(last)),
                some => some.iter().map(figure).collect(),
            };
            return Ok(Said::unclear(&format!("{figures}."), rows));
        }
    };
    let last = helped.first().filter(|_| rest.is_empty());
    if let Some(pair) = last {
        rest.push(pair.words("{size0} {time1} cached."));
    }
    Ok(said.because(rest.join(" ")))
}

fn second_read(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let found = again::the_cache_explains_it(target)?;
    let twice = again::twice(target, State::Cold)?;
    let [first_s, second_s] = twice.first_over_second.median_s.map(duration);
    let compared = times(&twice.first_over_second);
    let size = twice.row.size();
    let reason = match found.verdict {
        Verdict::Holds => format!("{size}: {first_s}, then {second_s}."),
        _ => String::new(),
    };
    Ok(by_verdict(
        found.verdict,
        found.rows,
        format!("Yes: {compared}; the first read cached it."),
        format!("No, or not because of the cache: {compared}."),
        &format!("{size} {first_s}, then {second_s}, {compared}."),
    )
    .because(reason)
    .gist(found.verdict.as_str()))
}

fn second_direct(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let found = again::without_the_cache(target)?;
    let twice = again::twice(target, State::Direct)?;
    let compared = times(&twice.first_over_second);
    Ok(by_verdict(
        found.verdict,
        found.rows,
        format!("Yes: {compared}, without the cache."),
        format!("No: {compared}."),
        &format!("{compared}, within noise."),
    ))
}

fn reuse(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let pair = Pair::of(target, target.largest([WARM_READ, REUSED])?)?;
    let is_better = pair.time.is(Relation::LONGER) == Verdict::Holds;
    let faults = pair.rows.map(|row| row.evidence().faults.minor);
    let by_faults = matches!(faults, [Some(many), Some(few)] if many > few);
    let share = percent(memory::new_buffer_share(&pair));
    let faulting = if by_faults {
        format!("; page faults cost {share}.")
    } else {
        ".".to_owned()
    };
    let said = by_time(
        &pair,
        &format!("Yes: {{size0}} {{x}}{faulting}"),
        "No: {size0} is {x} as fast with it.",
    );
    let reason = if is_better {
        pair.words("{time1}, not {time0}.")
    } else {
        String::new()
    };
    Ok(said.good_if(is_better).because(reason))
}

fn mapping(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let pair = Pair::of(target, target.largest([WARM_READ, MAPPED])?)?;
    let reused = target.of_size(REUSED, pair.rows[0].row.size_bytes());
    let reused = reused.filter(|row| row.unfit().is_none() && row.median_s().is_finite());
    // A new buffer costs page faults, which mmap has too: most programs read into the same one again.
    let reused = reused.map_or_else(String::new, |row| {
        format!("Reused buffer: {}.", duration(row.median_s()))
    });
    let said = match pair.time.is(Relation::LONGER) {
        Verdict::Inconclusive => {
            let figures = pair.words("read {time0}, mmap {time1}, within noise.");
            Said::unclear(&figures, numbers(&pair.rows))
        }
        _ => by_time(
            &pair,
            "mmap: {size0} in {1}; read {x}.",
            "read: {size0} in {0}, {x} mmap.",
        ),
    };
    Ok(said.because(reused))
}

/// Latencies of the same size, cached and past the cache.
fn random(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let kind = |state| (state, Reader::PreadRandom, Parse::None);
    let mut parts = Vec::new();
    let mut rows = Vec::new();
    let [warm] = target.largest([kind(State::Warm)])?;
    let size = warm.row.size_bytes();
    let direct = target.of_size(kind(State::Direct), size);
    for (row, how) in [(Some(warm), "cached"), (direct, "with O_DIRECT")] {
        let row = row.filter(|row| row.unfit().is_none());
        if let Some((row, latency)) = row.and_then(|row| Some((row, row.row.latency_s?))) {
            parts.push(format!("{} {how}", duration(latency.p50)));
            rows.push(row.number);
        }
    }
    if parts.is_empty() {
        return Err(Missing::Rows);
    }
    let file = exact(size);
    Ok(Said::fact(format!("p50 {}.", parts.join(", ")), rows).because(format!("File of {file}.")))
}

fn parsing(target: &TargetRows<'_>, of: Parse, relation: Relation) -> Result<Said, Missing> {
    // Judged as the claim is; the other way round, it asks whether the cache helps.
    let found = parse::matters(target, of, relation)?;
    let [cold, warm] = parse::rows(target, of)?;
    let compared = times(&cold.time_over(&warm)?);
    let lines = parse_lines(&[cold.row.clone(), warm.row.clone()]);
    let reason = lines.first().map_or_else(String::new, |line| {
        let (share, size) = (percent(line.cold_reading_share), exact(line.size_bytes));
        format!("Reading is {share} of the time for {size}, cold.")
    });
    Ok(by_verdict(
        found.verdict,
        found.rows,
        format!("No: {compared}."),
        format!("Yes: {compared} faster."),
        &format!("{compared}; is it 10 % or more?"),
    )
    .good_if(found.verdict == Verdict::Refuted)
    .because(reason))
}
