//! Questions about writes.

use super::{Numbered, TargetRows, device, targets, visibility};
use crate::answer::Verdict;
use crate::buffering::{BufferingResult, BufferingRow, GROUP_WRITES, Mode};
use crate::bytes;
use crate::figures::{number, rate};
use crate::judge::{Finding, Judged as _, Missing, Pair, Relation, numbers};
use crate::reply::{
    self, Question, Reply, Said, Standing, by_requests, by_time, count, judged, times,
};

const QUESTIONS: [Question<BufferingRow, BufferingResult>; 10] = [
    Question::leading("When do others see it?", visible),
    Question::leading("When is it durable?", durable),
    Question::leading("What does fsync cost?", cost),
    Question::leading("Does batching help?", batching),
    Question::leading("Is fdatasync cheaper?", |target| {
        by_requests(target, [Mode::Fsync, Mode::Fdatasync])
    }),
    Question::leading("Is sync_file_range safe?", range),
    Question::leading("What reaches the device?", reaches),
    Question::further("Do large records cost more?", large),
    Question::further("What does a buffer save?", flushes),
    Question::further("Are O_SYNC, O_DSYNC alike?", |target| {
        let found = device::flags_equal_calls(target)?;
        let (yes, no) = (
            "O_SYNC acts like fsync, O_DSYNC and RWF_DSYNC like fdatasync.",
            "No: they make other requests than fsync and fdatasync.",
        );
        Ok(judged(found, yes, no))
    }),
];

/// The answers to each question, and the buffering of the languages found here.
pub fn replies(result: &BufferingResult) -> Vec<Reply> {
    let mut replies = reply::replies(&QUESTIONS, targets(result));
    replies.extend(runtimes(result));
    replies
}

fn visible(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let Finding { verdict, rows, .. } = visibility::after_the_flush(target)?;
    let (hidden, written) = visibility::most_hidden(target)?;
    let (hidden, written) = (bytes::grouped(hidden), bytes::grouped(written));
    Ok(match verdict {
        Verdict::Holds => {
            let answer = format!("After write(); {hidden} of {written} B were hidden before.");
            Said::fact(answer, rows)
        }
        _ if hidden == "0" => Said::fact("At once: nothing stayed in the buffer.", rows),
        _ => {
            let answer = "Late: bytes were hidden after write(), or at the end.";
            Said::fact(answer, rows).standing(Standing::Bad)
        }
    }
    .gist(verdict.as_str()))
}

fn durable(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let found = device::only_a_sync_asks_the_device(target)?;
    let [flush, fsync] = target.smallest([Mode::Flush, Mode::Fsync])?;
    let (each, asked) = (flushes_of(&flush)?, flushes_of(&fsync)?);
    let asked = count(&asked, "flush", "flushes");
    Ok(if found.verdict == Verdict::Holds {
        let answer = format!("After a sync ({asked} per record); write() sends {each}.");
        Said::fact(answer, found.rows)
    } else {
        let figures = format!("fsync sent {asked} per record, and write() {each}.");
        Said::unclear(&figures, found.rows)
    })
}

fn flushes_of(row: &Numbered<'_>) -> Result<String, Missing> {
    Ok(rate(row.each(row.device()?.flushes)))
}

fn cost(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let pair = Pair::of(target, target.smallest([Mode::Fsync, Mode::Flush])?)?;
    let (longer, less) = (
        "{0} per {size0} record, {x} a write().",
        "{0} per {size0} record, no more than a write(): {x}.",
    );
    Ok(by_time(&pair, longer, less))
}

fn batching(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let rows = target.smallest([Mode::Fsync, Mode::GroupFsync])?;
    let pair = Pair::of(target, rows)?;
    let longer = format!("Yes: {{x}} at {GROUP_WRITES} records per fsync.");
    let less = format!("No: {{x}} at {GROUP_WRITES} records per fsync.");
    let said = by_time(&pair, &longer, &less);
    let reason = match rows.map(|row| flushes_of(&row)) {
        [Ok(each), Ok(group)] => format!("{group} flushes per record, not {each}."),
        _ => String::new(),
    };
    let is_better = pair.time.is(Relation::LONGER) == Verdict::Holds;
    Ok(said.good_if(is_better).because(reason))
}

fn range(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let found = device::sync_file_range_is_durable(target)?;
    let rows = target.smallest([Mode::SyncFileRange, Mode::Fsync])?;
    let [ranged, fsync] = [flushes_of(&rows[0])?, flushes_of(&rows[1])?];
    let asked = count(&ranged, "flush", "flushes");
    Ok(if found.verdict == Verdict::Refuted {
        let answer = format!("No: it sends {asked} per record, fsync {fsync}.");
        Said::fact(answer, found.rows).standing(Standing::Bad)
    } else {
        let figures = format!("the device saw {asked} per record, with fsync {fsync}.");
        Said::unclear(&figures, found.rows)
    })
}

fn reaches(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let mut parts: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for [fsync] in target.each_size([Mode::Fsync])? {
        let size = fsync.row.size_bytes();
        let written = fsync.each(fsync.device()?.writes().bytes);
        parts.push(if parts.is_empty() {
            format!("{} B per {} record", number(written), fsync.size())
        } else {
            format!("{}x at {}", number(written / size as f64), fsync.size())
        });
        rows.push(fsync.number);
    }
    let answer = format!("With fsync {}.", parts.join(", "));
    let [smallest] = target.smallest([Mode::Fsync])?;
    let buffered = target.of_size(Mode::Buffered, smallest.row.size_bytes());
    let later = buffered.is_some_and(|row| {
        let device = row.device();
        let unpaid = row.row.per_write.unpaid_bytes;
        device.is_ok_and(|device| device.writes().bytes == 0)
            && unpaid.is_some_and(|each| each > 0.0)
    });
    let reason = if later { "Without: later." } else { "" };
    Ok(Said::fact(answer, rows).because(reason))
}

fn large(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let [[small], [large]] = target.extremes([Mode::Fsync])?;
    let pair = Pair::of(target, [large, small])?;
    let (longer, less) = (
        "With fsync, {size0} {0}, {x} a record of {size1}.",
        "No: with fsync {size0} {0}, {x} a record of {size1}.",
    );
    Ok(by_time(&pair, longer, less))
}

fn flushes(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let [small, large] = target.extremes([Mode::Flush, Mode::Buffered])?;
    let figures = [small, large].map(|[flush, buffered]| {
        let time = flush.time_over(&buffered)?;
        Ok((times(&time), flush.size()))
    });
    let [small_figure, large_figure] = figures;
    let ((small_times, small_size), (large_times, large_size)) = (small_figure?, large_figure?);
    let answer = format!(
        "A write() per {small_size} record takes {small_times} as long, per {large_size} {large_times}."
    );
    Ok(Said::fact(answer, numbers(small.iter().chain(&large))))
}

/// The article's question of Ruby, asked of every language found here.
fn runtimes(result: &BufferingResult) -> Option<Reply> {
    let each = result.own.runtimes.iter().map(|runtime| {
        let size = match runtime.buffer_bytes {
            Some(size) => bytes::exact(size),
            None => match runtime.buffered {
                Some(true) => "a queue".to_owned(),
                Some(false) => "none".to_owned(),
                None => "unknown".to_owned(),
            },
        };
        let name = match runtime.api.as_str() {
            api if api.starts_with("fs.") => api,
            _ => &runtime.runtime,
        };
        format!("{name} {size}")
    });
    let each: Vec<String> = each.collect();
    let answer = format!("{}.", each.join(", "));
    (!each.is_empty())
        .then(|| Said::fact(answer, Vec::new()).reply("How large are buffers?", false))
}
