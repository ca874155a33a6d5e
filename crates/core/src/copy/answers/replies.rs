//! Questions about copies.

use super::{
    CopyMethod, CopyResult, CopyRow, Measure, Numbered, TargetRows, article, buffer, durable,
    methods, plain, targets, yardstick_s,
};
use crate::answer::Verdict;
use crate::bytes::{exact, grouped};
use crate::figures::duration;
use crate::judge::{Judged as _, Missing, Pair, Relation, numbers};
use crate::reply::{self, Question, Reply, Said, by_time, by_verdict, judged, times};

const QUESTIONS: [Question<CopyRow, CopyResult>; 9] = [
    Question::leading("Which is fastest?", fastest),
    Question::leading("And cp?", cp),
    Question::leading("Is mmap faster?", mmap),
    Question::leading("Which buffer size?", buffers),
    Question::leading("What does fsync add?", durability),
    Question::leading("Does reflink copy data?", sharing),
    Question::further("Is one big buffer slower?", |target| {
        let pair = Pair::of(target, article::whole_and_smaller_buffer(target)?)?;
        let said = by_time(&pair, "Yes: {0}, {x} {name1}.", "No: {0}, {x} {name1}.");
        Ok(said.because(faults(&pair.rows)))
    }),
    Question::further("Is stdio slow?", stdio),
    Question::further("From a cold source?", |target| {
        let found = durable::cold_takes_longer(target)?;
        Ok(judged(found, "It takes longer.", "It takes no longer."))
    }),
];

/// The answers of the rows to each question.
pub fn replies(result: &CopyResult) -> Vec<Reply> {
    reply::replies(&QUESTIONS, targets(result))
}

/// `2,184 and 23 page faults.`
fn faults(rows: &[Numbered<'_>]) -> String {
    let faults = rows.iter().map(|row| row.row.figures.faults.map(grouped));
    match faults.collect::<Option<Vec<_>>>().as_deref() {
        Some([ours, theirs]) => format!("{ours} and {theirs} page faults."),
        _ => String::new(),
    }
}

/// More methods that are as fast are counted only.
const MOST_NAMED: usize = 3;

/// The quickest method, with those that are not clearly slower.
fn fastest(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let [_, inside] = methods::buffered_and_inside(target)?;
    let size = inside.row.size_bytes();
    // Shared blocks are not a copy.
    let is_copy = |row: &CopyRow| {
        methods::is_rival(row) && row.size_bytes() == size && row.figures.is_shared != Some(true)
    };
    let quickest = target.best(is_copy)?;
    let rivals = target.rows.iter().copied();
    let rivals = rivals.filter(|row| row.row.kind() != quickest.row.kind() && is_copy(row.row));
    let is_slower = |row: &Numbered<'_>| {
        let time = row.time_over(&quickest);
        time.is_ok_and(|time| time.is(Relation::LONGER) == Verdict::Holds)
    };
    let open: Vec<Numbered<'_>> = rivals.filter(|row| !is_slower(row)).collect();
    let names: Vec<String> = open.iter().map(|row| row.row.name()).collect();
    let best = format!("{} {}", quickest.row.name(), duration(quickest.median_s()));
    let mut rows = vec![quickest];
    rows.extend(open);
    let answer = match names.len() {
        0 => format!("{best}."),
        1..=MOST_NAMED => format!("{best}; tied: {}.", names.join(", ")),
        several => {
            let figures = format!("{best}, {several} others within noise.");
            return Ok(Said::unclear(&figures, numbers(&rows)));
        }
    };
    let mut reason = format!("{}.", exact(size));
    if let Ok(buffered) = plain(target, CopyMethod::ReadWrite)
        && let Ok(time) = buffered.time_over(&quickest)
        && time.is(Relation::LONGER) == Verdict::Holds
    {
        reason = format!(
            "{}; {} takes {}.",
            exact(size),
            buffered.row.name(),
            times(&time)
        );
        rows.push(buffered);
    }
    Ok(Said::fact(answer, numbers(&rows)).because(reason))
}

fn cp(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let [quickest, cp] = methods::quickest_and_cp(target)?;
    let pair = Pair::of(target, [cp, quickest])?;
    let start_s = yardstick_s(target, Measure::ProgramStart, &cp);
    let start = start_s.map_or_else(String::new, |start_s| {
        format!(" ({} to start)", duration(start_s))
    });
    let words = format!("{{0}}{start}, {{x}} {{name1}}.");
    Ok(by_time(&pair, &words, &words))
}

fn mmap(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let mapped = plain(target, CopyMethod::MmapMemcpy)?;
    let pair = Pair::of(target, [article::whole(target)?, mapped])?;
    let [whole_s, mapped_s] = pair.time.median_s.map(duration);
    let slower = Pair::of(target, [mapped, article::whole(target)?])?;
    let figures = format!("{mapped_s}, {} read and write", times(&slower.time));
    let said = by_verdict(
        pair.time.is(Relation::LONGER),
        numbers(&pair.rows),
        format!("Yes: {figures}."),
        format!("No: {figures}."),
        &format!("{figures}."),
    );
    let faults = mapped.row.figures.faults.map(grouped);
    let faults = faults.map_or_else(String::new, |faults| format!("{faults} page faults; "));
    Ok(said.because(format!("{faults}read and write with one buffer {whole_s}.")))
}

fn buffers(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let found = buffer::its_size_matters(target)?;
    let rows = buffer::by_size(target);
    let from = buffer::smallest_as_good(&rows).ok_or(Missing::Rows)?;
    let (quickest, slowest, time) = buffer::extremes(&rows)?;
    let (best, worst, compared) = (buffer::figure(&from), buffer::size(&slowest), times(&time));
    let size = exact(from.case().size_bytes);
    let of = if quickest.number == from.number {
        String::new()
    } else {
        format!(" that of {}", buffer::size(&quickest))
    };
    let others = rows.iter().filter(|row| row.number != from.number);
    let others: Vec<String> = others.map(buffer::figure).collect();
    Ok(by_verdict(
        found.verdict,
        found.rows,
        format!("{best} for {size}; {worst} takes {compared}{of}."),
        format!("Any: {best} for {size}, {worst} {compared}{of}."),
        &format!("{best}, {worst} {compared}{of}."),
    )
    .because(format!("{}.", others.join(", "))))
}

fn durability(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let pair = durable::pair(target, |row| row.case().durable)?;
    let (longer, less) = ("{x} the time: {0}, without {1}.", "Nothing: {x}.");
    Ok(by_time(&pair, longer, less).because(pair.words("With {name0}.")))
}

fn sharing(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let found = methods::copies_nothing(target)?;
    let [copy, shared] =
        [CopyMethod::ReadWrite, CopyMethod::Reflink].map(|method| plain(target, method));
    let pair = Pair::of(target, [copy?, shared?])?;
    let [_, shared_s] = pair.time.median_s.map(duration);
    let compared = times(&pair.time);
    Ok(by_verdict(
        found.verdict,
        found.rows,
        format!("No: {shared_s}; read and write take {compared}."),
        format!("Yes, or it is not faster: {compared}."),
        &format!("{compared}, within noise."),
    )
    .good_if(found.verdict == Verdict::Holds))
}

/// The same library, with and without a lock for each byte.
fn stdio(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let methods = [CopyMethod::FgetcFputc, CopyMethod::GetcUnlocked];
    let [locked, unlocked] = methods.map(|method| plain(target, method));
    let pair = Pair::of(target, [locked?, unlocked?])?;
    let said = by_time(
        &pair,
        "fgetc {0}; without a lock per byte {1}, {x} faster.",
        "fgetc {0}; its lock costs nothing: {x}.",
    );
    let calls = pair.rows.map(|row| row.row.figures.calls.map(grouped));
    let reason = match calls {
        [Some(ours), Some(theirs)] => format!("{ours} and {theirs} system calls."),
        _ => String::new(),
    };
    Ok(said.because(reason))
}
