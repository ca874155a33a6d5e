//! Questions about syncs.

use super::{APPEND, Numbered, TargetRows, rate, requests, targets};
use crate::answer::Verdict;
use crate::bytes::{grouped, short};
use crate::figures::{number, percent, rate as rate_text};
use crate::judge::{Missing, Pair, Relation, numbers};
use crate::reply::{
    self, Question, Reply, Said, Standing, by_requests, by_time, by_verdict, judged, times,
};
use crate::sync::{SyncCall, SyncResult, SyncRow, Write};

const QUESTIONS: [Question<SyncRow, SyncResult>; 11] = [
    Question::leading("How many per second?", how_many),
    Question::leading("Do more writers help?", sharing),
    Question::leading("Which requests per sync?", one_sync),
    Question::leading("Does preallocating help?", |target| {
        against_append(target, Write::Preallocated)
    }),
    Question::leading("Is the rate steady?", steady),
    Question::leading("10,000/s by one writer?", ten_thousand),
    Question::further("Does overwriting help?", |target| {
        against_append(target, Write::Overwrite)
    }),
    Question::further("fdatasync for appends?", |target| {
        data_only(target, Write::Append)
    }),
    Question::further("fdatasync for overwrites?", |target| {
        data_only(target, Write::Overwrite)
    }),
    Question::further("Do sync and syncfs do more?", |target| {
        let found = requests::sync_asks_for_more(target)?;
        Ok(judged(
            found,
            "Yes, more than fsync.",
            "No, the same as fsync.",
        ))
    }),
    Question::further("Can it be predicted?", |target| {
        let found = rate::the_projection_holds(target)?;
        let (yes, no) = (
            "Yes, from the requests per sync and the device's latencies.",
            "No: do not use the projection for other devices.",
        );
        Ok(judged(found, yes, no))
    }),
];

/// The answers of the rows to each question.
pub fn replies(result: &SyncResult) -> Vec<Reply> {
    reply::replies(&QUESTIONS, targets(result))
}

/// Appends of the smallest size: one writer, and the most that were measured.
fn how_many(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let [lone] = target.smallest([APPEND])?;
    let syncs = |row: &Numbered<'_>| {
        let rate = row.row.syncs_per_s.map(number);
        rate.ok_or_else(|| Missing::Evidence(format!("row {} has no timing run", row.number)))
    };
    let mut answer = format!("{}, 1 writer ({})", syncs(&lone)?, runs(&lone)?);
    let mut rows = vec![lone.number];
    if let Ok([_, many]) = requests::lone_and_many(target) {
        answer = format!("{answer}; {} with {}", syncs(&many)?, many.case().writers);
        rows.push(many.number);
    }
    let reason = format!("fsync of {} appends.", lone.size());
    Ok(Said::fact(format!("{answer}."), rows).because(reason))
}

/// `runs 5,010-5,950`: the range, which an interval of few runs is too.
fn runs(row: &Numbered<'_>) -> Result<String, Missing> {
    let rates = row.row.times_s().into_iter().map(|each_s| 1.0 / each_s);
    let least = rates.clone().min_by(f64::total_cmp).ok_or(Missing::Rows)?;
    let most = rates.max_by(f64::total_cmp).ok_or(Missing::Rows)?;
    Ok(format!("runs {}-{}", number(least), number(most)))
}

/// Whether they get more done is a matter of time; why they do is one of requests.
fn sharing(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let [lone, many] = requests::lone_and_many(target)?;
    let time = lone.time_over(&many)?;
    let rates = [&many, &lone].map(|row| row.row.syncs_per_s.map_or_else(String::new, number));
    let [many_per_s, lone_per_s] = rates;
    let writers = many.case().writers;
    let rates = format!("{many_per_s}/s with {writers}, {lone_per_s}/s with 1");
    let said = by_verdict(
        time.is(Relation::LONGER),
        numbers(&[lone, many]),
        format!("Yes: {} as many per second.", times(&time)),
        format!("No: {rates}."),
        &format!("{rates}: noise."),
    );
    Ok(said.because(why_sharing(target).unwrap_or_default()))
}

/// What the requests say about it.
fn why_sharing(target: &TargetRows<'_>) -> Result<String, Missing> {
    let found = requests::writers_share(target)?;
    let [lone, many] = requests::lone_and_many(target)?;
    let shared = requests::shared(&lone, &many)?;
    let (noun, each, shared) = (shared.noun, shared.alone, shared.together);
    Ok(match found.verdict {
        Verdict::Holds => {
            format!("They share {noun}: {shared} per sync; a lone writer makes {each}.")
        }
        Verdict::Refuted => format!("Each has its own {noun}."),
        Verdict::Inconclusive => String::new(),
    })
}

fn one_sync(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let [row] = target.smallest([APPEND])?;
    let asked = row.requests()?;
    let answer = format!("{}.", asked.named().join(", "));
    let bytes = row.row.per_sync.bytes;
    let reason = bytes.map_or_else(String::new, |bytes| {
        format!("{} per {} append.", whole_bytes(bytes), row.size())
    });
    let rounded = asked.rounded();
    Ok(Said::fact(answer, vec![row.number])
        .because(reason)
        .gist(rounded))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to u64 saturates; bytes of a sync are not negative"
)]
fn whole_bytes(bytes: f64) -> String {
    short(bytes.round() as u64)
}

fn against_append(target: &TargetRows<'_>, write: Write) -> Result<Said, Missing> {
    let pair = Pair::of(
        target,
        target.smallest([APPEND, (SyncCall::Fsync, write, 1)])?,
    )?;
    let said = by_time(&pair, "Yes: {x} faster.", "No: {x}.");
    let is_better = pair.time.is(Relation::LONGER) == Verdict::Holds;
    let asked = pair
        .rows
        .map(|row| row.requests().ok().map(|requests| requests.sum()));
    let reason = match asked {
        [Some(append), Some(other)] => {
            let (append, other) = (rate_text(append), rate_text(other));
            format!("{other} requests per sync, appends {append}.")
        }
        _ => String::new(),
    };
    Ok(said.good_if(is_better).because(reason))
}

fn steady(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let found = rate::is_steady(target)?;
    let [row] = target.smallest([APPEND])?;
    let series = &row.row.series;
    let (Some(steadiness), [first, .., last]) = (series.steadiness, series.seconds.as_slice())
    else {
        return Err(Missing::Rows);
    };
    let seconds = grouped(series.seconds.len() as u64);
    Ok(if steadiness.steady {
        let mean = number(steadiness.mean_per_s);
        let left = series.seconds.len() - steadiness.warm_up_seconds;
        let range = percent(steadiness.range);
        let answer = format!("Yes: {mean}/s observed over {left} s, within {range}.");
        Said::fact(answer, found.rows).standing(Standing::Good)
    } else {
        let (first, last) = (number(first.syncs_per_s()), number(last.syncs_per_s()));
        let answer = format!("No: {first}/s in second 1, {last}/s in second {seconds}.");
        let said = Said::fact(answer, found.rows).standing(Standing::Bad);
        said.because("Do not quote one rate.")
    })
}

fn ten_thousand(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let found = rate::ten_thousand(target)?;
    let (row, _) = rate::fastest(target)?;
    let case = row.case();
    let most = number(row.row.syncs_per_s.unwrap_or(0.0));
    let by = format!("{} {}", case.call.as_str(), case.write.as_str());
    let most = format!("{most}/s ({})", runs(&row)?);
    Ok(by_verdict(
        found.verdict,
        found.rows,
        format!("Yes: {most}, {by}, each flushed."),
        format!("No: {most}, {by}."),
        &format!("{most}, {by}."),
    ))
}

fn data_only(target: &TargetRows<'_>, write: Write) -> Result<Said, Missing> {
    by_requests(
        target,
        [SyncCall::Fsync, SyncCall::Fdatasync].map(|call| (call, write, 1)),
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_are_whole() {
        assert_eq!(super::whole_bytes(8192.6), "8.0 KiB");
    }
}
