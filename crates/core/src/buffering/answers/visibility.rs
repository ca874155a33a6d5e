//! When another process sees written data, decided by the timelines.

use super::TargetRows;
use crate::answer::Verdict;
use crate::buffering::{APPLICATION_BUFFER_BYTES, Mode, Step, Timeline};
use crate::bytes;
use crate::judge::{Finding, Missing};

/// With a buffer the reader lags behind the writer until the buffer is written
/// out; with a flush after each record it never does.
pub(super) fn after_the_flush(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let (buffered, flush) = smallest_pair(target)?;
    let most_hidden = buffered.steps.iter().max_by_key(|step| hidden(step));
    let held_back = most_hidden.filter(|step| hidden(step) > 0);
    let in_the_end = buffered.steps.last().is_some_and(|step| hidden(step) == 0);
    let late = (0..flush.steps.len()).find(|index| is_late(&flush.steps, *index));
    let buffered_says = match held_back {
        Some(step) => format!("buffered: {}", seen(step)),
        None => "buffered: all visible after every step".to_owned(),
    };
    let end_says = buffered.steps.last().map(seen).unwrap_or_default();
    let flush_says = match late {
        Some(index) => format!("flush: {}", seen(&flush.steps[index])),
        None => "flush: all visible after each record".to_owned(),
    };
    let rows = [Mode::Buffered, Mode::Flush]
        .iter()
        .filter_map(|mode| target.of_size(*mode, buffered.size_bytes))
        .map(|row| row.number)
        .collect();
    Ok(Finding {
        verdict: Verdict::from_fact(held_back.is_some() && in_the_end && late.is_none()),
        because: format!("{buffered_says}, {end_says}; {flush_says}"),
        rows,
    })
}

/// The most bytes that the buffered mode held back at once, of those written until then.
pub(super) fn most_hidden(target: &TargetRows<'_>) -> Result<(u64, u64), Missing> {
    let (buffered, _) = smallest_pair(target)?;
    let most = buffered.steps.iter().max_by_key(|step| hidden(step));
    let most = most.ok_or(Missing::Rows)?;
    Ok((hidden(most), most.written_bytes))
}

/// The timelines of the smallest records that both modes have. Records as large
/// as the buffer are never held back and decide nothing.
fn smallest_pair<'a>(target: &TargetRows<'a>) -> Result<(&'a Timeline, &'a Timeline), Missing> {
    let of = |mode: Mode| {
        target.result.own.timelines.iter().filter(move |timeline| {
            timeline.target == target.key
                && timeline.mode == mode
                && !timeline.steps.is_empty()
                && timeline.size_bytes < APPLICATION_BUFFER_BYTES
        })
    };
    of(Mode::Buffered)
        .filter_map(|buffered| {
            let flush = of(Mode::Flush).find(|flush| flush.size_bytes == buffered.size_bytes)?;
            Some((buffered, flush))
        })
        .min_by_key(|(buffered, _)| buffered.size_bytes)
        .ok_or(Missing::Rows)
}

/// Bytes written that a second process could not read yet.
fn hidden(step: &Step) -> u64 {
    step.written_bytes.saturating_sub(step.visible_bytes)
}

/// Whether bytes stayed hidden although the program had done everything for them: a step
/// that is followed by its flush may hide some.
fn is_late(steps: &[Step], index: usize) -> bool {
    let flush_follows = steps
        .get(index + 1)
        .is_some_and(|next| next.action.starts_with("flush"));
    hidden(&steps[index]) > 0 && !flush_follows
}

/// `0 of 9 B visible after write 9`.
fn seen(step: &Step) -> String {
    format!(
        "{} of {} B visible after {}",
        bytes::grouped(step.visible_bytes),
        bytes::grouped(step.written_bytes),
        step.action
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{judged as judge, made, result, timeline};
    use super::*;

    const HELD: &[(&str, u64, u64)] = &[("write 1", 3, 0), ("write 2", 6, 0), ("close", 6, 6)];
    const OPEN: &[(&str, u64, u64)] = &[("write 1", 3, 3), ("write 2", 6, 6), ("close", 6, 6)];

    fn judged(
        buffered: &[(&str, u64, u64)],
        flush: &[(&str, u64, u64)],
        size: u64,
    ) -> Result<Finding, Missing> {
        let mut result = result(vec![made(Mode::Buffered, size), made(Mode::Flush, size)]);
        result.own.timelines = vec![
            timeline(Mode::Buffered, size, buffered),
            timeline(Mode::Flush, size, flush),
        ];
        judge("visible to other", &result)
    }

    #[test]
    fn held_back_until_the_buffer_is_written() {
        let found = judged(HELD, OPEN, 3).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 2]));
        assert_eq!(
            found.because,
            "buffered: 0 of 6 B visible after write 2, 6 of 6 B visible after close; \
             flush: all visible after each record"
        );
    }

    #[test]
    fn opposite_timelines_refute() {
        assert_eq!(judged(OPEN, OPEN, 3).unwrap().verdict, Verdict::Refuted);
        assert_eq!(judged(HELD, HELD, 3).unwrap().verdict, Verdict::Refuted);
        let lost = &[("write 1", 3, 0), ("close", 3, 0)];
        assert_eq!(judged(lost, OPEN, 3).unwrap().verdict, Verdict::Refuted);
    }

    #[test]
    fn a_flush_may_be_a_step_of_its_own() {
        let apart = &[
            ("write 1", 3, 0),
            ("flush 1", 3, 3),
            ("write 2", 6, 3),
            ("flush 2", 6, 6),
        ];
        assert_eq!(judged(HELD, apart, 3).unwrap().verdict, Verdict::Holds);
    }

    #[test]
    fn records_as_large_as_the_buffer_decide_nothing() {
        let said = judged(OPEN, OPEN, APPLICATION_BUFFER_BYTES);
        assert_eq!(said, Err(Missing::Rows));
    }
}
