//! Questions about access times.

use super::{TargetRows, cost, moves};
use crate::answer::Verdict;
use crate::atime::comparison::Saving;
use crate::atime::{AtimeResult, Loop, LoopRow, Mount, Operation, Reading};
use crate::bytes::grouped;
use crate::figures::rate;
use crate::judge::{Finding, Missing};
use crate::reply::{self, Question, Reply, Said, Standing, judged};

const QUESTIONS: [Question<LoopRow, AtimeResult>; 5] = [
    Question::leading("Is noatime worth it?", |target| {
        let found = cost::faster_at_first(target)?;
        let of_loop = cost::comparison(target, Loop::ManyFiles, Reading::First, Mount::Relatime)?;
        saving(&found, &of_loop.with_sync, "first reads")
    }),
    Question::further("On later reads?", |target| {
        let found = cost::faster_again(target)?;
        let of_loop = cost::comparison(target, Loop::ManyFiles, Reading::Second, Mount::Relatime)?;
        saving(&found, &of_loop.timing, "second reads")
    }),
    Question::leading("What does relatime cost?", writes),
    Question::further("Does noatime save 12 %?", article),
    Question::further("Does lazytime save writes?", |target| {
        let found = cost::lazytime_spares_writes(target)?;
        let (yes, no) = ("Yes, also at a sync.", "Only until the next sync.");
        Ok(judged(found, yes, no))
    }),
];

/// Operations that readers ask about, in this order.
const ASKED: [Operation; 8] = [
    Operation::Read,
    Operation::Mmap,
    Operation::Readdir,
    Operation::Cp,
    Operation::Grep,
    Operation::Stat,
    Operation::Open,
    Operation::Find,
];

/// The answers by rows and probes to each question.
pub fn replies(result: &AtimeResult) -> Vec<Reply> {
    let targets = TargetRows::of(result, &result.targets, result.loops(), [].into_iter());
    let mut replies = reply::replies(&QUESTIONS, targets);
    replies.extend(updates(result));
    let each = moves::Found::each(result);
    let Some(found) = each.first() else {
        return replies;
    };
    let rules = [
        (
            "When does relatime update?",
            moves::relatime_rule(found),
            "When atime is not newer than mtime and ctime, or a day old.",
        ),
        (
            "Does noatime stop it?",
            moves::noatime(found),
            "Yes, every update.",
        ),
        (
            "And nodiratime?",
            moves::nodiratime(found),
            "Only those of directories.",
        ),
    ];
    for (question, finding, holds) in rules {
        let said = finding.map(|found| judged(found, holds, "Not as documented here."));
        replies.extend(said.map(|said| said.reply(question, false)));
    }
    replies
}

/// `first reads take 43 % less time [20 to 49]`.
fn saving(found: &Finding, saving: &Saving, of: &str) -> Result<Said, Missing> {
    let (low, high) = cost::interval(saving)?;
    let figure = |percent: f64| {
        let sign = if percent < 0.0 { "-" } else { "" };
        let size = percent.abs();
        if size < 9.95 {
            format!("{sign}{size:.1}")
        } else {
            format!("{sign}{}", rate(size.round()))
        }
    };
    let range = format!("[{} to {}]", figure(low), figure(high));
    let percent = figure(saving.percent.abs());
    let rows = found.rows.clone();
    Ok(match found.verdict {
        Verdict::Holds => {
            let answer = format!("Yes: {of} take {percent} % less time {range}.");
            Said::fact(answer, rows).standing(Standing::Good)
        }
        Verdict::Refuted => Said::fact(
            format!("No: {of} take {percent} % more time {range}."),
            rows,
        ),
        Verdict::Inconclusive => {
            // The estimate alone would look like an answer.
            let way = |end: f64| if end < 0.0 { "more" } else { "less" };
            let ends = format!(
                "{of}: {} % {} to {} % {} time.",
                figure(low.abs()),
                way(low),
                figure(high.abs()),
                way(high)
            );
            Said::unclear(&ends, rows)
        }
    })
}

fn writes(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let of = |reading| cost::written(target, Loop::ManyFiles, reading, Mount::Relatime);
    let (first, second) = (of(Reading::First)?, of(Reading::Second)?);
    let files = grouped(first.reads());
    let answer = format!(
        "{} sectors for {files} first reads, then {}.",
        grouped(first.sectors()),
        grouped(second.sectors())
    );
    let found = cost::second_reading_writes_nothing(target)?;
    let reason = match found.verdict {
        Verdict::Holds => "It updates each inode once.",
        _ => "",
    };
    Ok(Said::fact(answer, found.rows)
        .gist(found.verdict.as_str())
        .because(reason))
}

fn article(target: &TargetRows<'_>) -> Result<Said, Missing> {
    let found = cost::as_in_the_article(target)?;
    let (yes, no) = ("Yes, the same within noise.", "No.");
    Ok(judged(found, yes, no))
}

/// Operations with the same result on every measured file system.
fn updates(result: &AtimeResult) -> Option<Reply> {
    let moved = |operation: Operation| -> Option<bool> {
        let rows = || {
            let touches = result.touches();
            touches
                .filter(move |(_, row)| row.row.case.operation == operation && moves::may_move(row))
        };
        let first = rows().next()?.1.atime_changed;
        rows()
            .all(|(_, row)| row.atime_changed == first)
            .then_some(first)
    };
    let names = |wanted: bool| -> String {
        let operations = ASKED.into_iter();
        let operations = operations.filter(|operation| moved(*operation) == Some(wanted));
        let names: Vec<&str> = operations.map(Operation::as_str).collect();
        names.join(", ")
    };
    let (by, not) = (names(true), names(false));
    let answer = match (by.is_empty(), not.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("{by}."),
        (true, false) => format!("Not {not}."),
        (false, false) => format!("{by}; not {not}."),
    };
    Some(Said::fact(answer, Vec::new()).reply("What updates atime?", true))
}
