//! Whether a run kept its budgets.

use super::{Amount, Budget, Measure, Of};
use crate::environment::Backend;
use crate::evidence::{Cause, DeviceCounts, RequestCount};
use crate::gap::Stratum;
use crate::noun::counted;
use crate::trace::{CallGroup, CallRow, TraceResult};

/// A budget and the run's use of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged<'a> {
    pub budget: &'a Budget,
    /// The use; `None` when it was not observed.
    pub used: Option<Amount>,
    /// The maximum, if other programs shared the disk; `used` is then the minimum.
    pub at_most: Option<Amount>,
    pub outcome: Outcome,
}

/// Whether a budget was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Kept,
    Exceeded,
    /// Undecidable, and why.
    Unknown(String),
}

/// How completely a run was observed, as far as budgets depend on it.
pub struct Sight<F> {
    /// Whether the back end observes a call by its name: a count of 0 for an unobserved call means
    /// nothing.
    pub sees: F,
    /// Whether an unknown number of calls is missing.
    pub hides_calls: bool,
}

/// Judges a run by its budgets.
pub fn judge<'a>(
    result: &TraceResult,
    budgets: &'a [Budget],
    sight: &Sight<impl Fn(&str) -> bool>,
) -> Vec<Judged<'a>> {
    let judged = budgets.iter().map(|budget| {
        let used = match &budget.of {
            of if let Some(why) = contradicted(result, of) => Err(why),
            Of::Call(name) if !(sight.sees)(name) => Err(not_seen(result, "such calls")),
            _ => used(result, budget),
        };
        let outcome = match &used {
            Ok((least, most)) => outcome(result, budget, (*least, *most), sight.hides_calls),
            Err(why) => Outcome::Unknown(why.clone()),
        };
        let (used, most) = used.ok().unzip();
        Judged {
            budget,
            used,
            at_most: most.filter(|_| used != most),
            outcome,
        }
    });
    judged.collect()
}

/// Why the figure is not to be believed, if the audit says so.
fn contradicted(result: &TraceResult, of: &Of) -> Option<String> {
    let about = match of {
        Of::Wall | Of::DirtyAtExit => return None,
        Of::DeviceReads | Of::DeviceWrites | Of::Flushes => Stratum::Device,
        Of::Call(_) | Of::Reads | Of::Writes | Of::Syncs | Of::Opens => Stratum::Syscalls,
    };
    result.broken_law(about)?;
    Some("two counts of this contradict each other, as the line `audit` says".to_owned())
}

fn outcome(
    result: &TraceResult,
    budget: &Budget,
    (least, most): (Amount, Amount),
    hides_calls: bool,
) -> Outcome {
    if !keeps(budget, least, 0) {
        return Outcome::Exceeded;
    }
    // The clock loses no events; everything else may be more than observed.
    if budget.of == Of::Wall {
        return Outcome::Kept;
    }
    if hides_calls {
        return Outcome::Unknown(
            "not all threads were followed, and with their calls it may be exceeded".to_owned(),
        );
    }
    if keeps_whatever_was_lost(result, budget, most) {
        return Outcome::Kept;
    }
    if !keeps(budget, most, 0) {
        let why = match budget.of {
            Of::DirtyAtExit => {
                "not all of these pages are known to be the run's; `--findings` gives the reasons"
            }
            _ => "requests without a file may be those of others on the same disk",
        };
        return Outcome::Unknown(why.to_owned());
    }
    Outcome::Unknown(format!(
        "{} lost, and with them it may be exceeded",
        counted(result.lost_events, "event")
    ))
}

/// A lost event is at most one more call; its bytes and time can be anything.
fn keeps_whatever_was_lost(result: &TraceResult, budget: &Budget, used: Amount) -> bool {
    match (result.lost_events, used) {
        (0, _) => keeps(budget, used, 0),
        (lost, Amount::Count(_)) => keeps(budget, used, lost),
        (_, Amount::Bytes(_) | Amount::Seconds(_)) => false,
    }
}

fn keeps(budget: &Budget, used: Amount, lost: u64) -> bool {
    match (used, budget.limit) {
        (Amount::Count(used), Amount::Count(limit))
        | (Amount::Bytes(used), Amount::Bytes(limit)) => {
            let used = used.saturating_add(lost);
            used < limit || (budget.inclusive && used == limit)
        }
        (Amount::Seconds(used), Amount::Seconds(limit)) => {
            used < limit || (budget.inclusive && used <= limit)
        }
        // Both follow from the measure.
        _ => false,
    }
}

/// Minimum and maximum of the use, or why they are unknown.
fn used(result: &TraceResult, budget: &Budget) -> Result<(Amount, Amount), String> {
    let measure = budget.measure;
    match &budget.of {
        Of::DeviceReads => requests(result, measure, |device| device.reads),
        Of::DeviceWrites => requests(result, measure, DeviceCounts::writes),
        Of::Flushes => requests(result, measure, |device| device.of(Cause::Flush)),
        Of::DirtyAtExit if let Some(left) = result.bytes.dirty_at_exit() => {
            Ok((Amount::Bytes(left.at_least), Amount::Bytes(left.at_most)))
        }
        _ => exactly(result, budget).map(|used| (used, used)),
    }
}

/// Values that are never shared with other programs.
fn exactly(result: &TraceResult, budget: &Budget) -> Result<Amount, String> {
    match &budget.of {
        Of::Call(name) => calls(result, budget.measure, |row| row.name == *name),
        Of::Reads => group(result, budget.measure, CallGroup::reads),
        Of::Writes => group(result, budget.measure, CallGroup::writes),
        Of::Syncs => group(result, budget.measure, |group| group == CallGroup::Syncs),
        Of::Opens => group(result, budget.measure, |group| group == CallGroup::Opens),
        Of::DeviceReads | Of::DeviceWrites | Of::Flushes => {
            Err(not_seen(result, "device requests"))
        }
        Of::DirtyAtExit => Err(not_seen(result, "dirty bytes")),
        Of::Wall => Ok(Amount::Seconds(result.takes_s())),
    }
}

fn group(
    result: &TraceResult,
    measure: Measure,
    wanted: impl Fn(CallGroup) -> bool,
) -> Result<Amount, String> {
    calls(result, measure, |row| {
        CallGroup::of(&row.name).is_some_and(&wanted)
    })
}

fn calls(
    result: &TraceResult,
    measure: Measure,
    wanted: impl Fn(&CallRow) -> bool,
) -> Result<Amount, String> {
    let mut rows = result.syscalls.iter().filter(|row| wanted(row)).peekable();
    if rows.peek().is_none() && result.evidence.syscalls.is_none() {
        return Err(not_seen(result, "system calls"));
    }
    Ok(match measure {
        Measure::Calls => Amount::Count(sum(rows.map(|row| row.stats.count))),
        Measure::Errors => Amount::Count(sum(rows.map(|row| row.stats.errors))),
        Measure::Bytes => Amount::Bytes(sum(rows.map(|row| row.stats.bytes))),
        Measure::Time => Amount::Seconds(rows.map(|row| row.stats.time_s).sum()),
    })
}

fn requests(
    result: &TraceResult,
    measure: Measure,
    of: impl Fn(&DeviceCounts) -> RequestCount,
) -> Result<(Amount, Amount), String> {
    let range = result.evidence.device;
    let (least, most) = range
        .ok_or_else(|| not_seen(result, "device requests"))?
        .of(of);
    let amount = |counted: RequestCount| match measure {
        Measure::Calls | Measure::Errors => Amount::Count(counted.count),
        Measure::Bytes => Amount::Bytes(counted.bytes),
        Measure::Time => Amount::Seconds(counted.time_s),
    };
    Ok((amount(least), amount(most)))
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn not_seen(result: &TraceResult, what: &str) -> String {
    let remedy = match result.backend {
        Backend::Ebpf => "`iostrata doctor` says why",
        Backend::Ptrace | Backend::None => "it takes eBPF; run it as root",
    };
    format!("{what} were not observed: {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::DeviceRange;
    use crate::trace::{TimedRun, TimedRuns, budget, fixture};

    const CALLS: [&str; 4] = ["fsync", "write", "copy_file_range", "read"];

    /// 11 fsyncs, 1,000 writes, one copy, 3 flushes, 4 requests of 16 KiB.
    fn run() -> TraceResult {
        let mut result = fixture::result();
        let mut write = fixture::call("write", 1000, None);
        write.stats.bytes = 1 << 20;
        write.stats.time_s = 0.25;
        write.stats.errors = 2;
        let mut copy = fixture::call("copy_file_range", 1, None);
        copy.stats.bytes = 1;
        result.syscalls = vec![write, fixture::call("fsync", 11, None), copy];
        let one = RequestCount {
            count: 2,
            bytes: 8192,
            time_s: 0.5,
        };
        result.evidence.device = Some(
            DeviceCounts {
                data: one,
                journal: one,
                flushes: 3,
                ..DeviceCounts::default()
            }
            .into(),
        );
        result
    }

    fn sight(hides_calls: bool) -> Sight<impl Fn(&str) -> bool> {
        Sight {
            sees: |call: &str| call != "read",
            hides_calls,
        }
    }

    #[track_caller]
    fn outcome_of(result: &TraceResult, text: &str) -> (Option<Amount>, Outcome) {
        let budgets = [budget::parse(text, CALLS).unwrap()];
        let judged = judge(result, &budgets, &sight(false)).remove(0);
        (judged.used, judged.outcome)
    }

    #[test]
    fn limits_are_kept_or_exceeded() {
        use Outcome::{Exceeded, Kept};
        for (text, used, outcome) in [
            ("fsync<=11", Amount::Count(11), Kept),
            ("fsync<11", Amount::Count(11), Exceeded),
            ("fsync<=10", Amount::Count(11), Exceeded),
            ("writes<=1001", Amount::Count(1001), Kept),
            ("reads<=0", Amount::Count(1), Exceeded),
            ("writes.bytes<=1MiB", Amount::Bytes((1 << 20) + 1), Exceeded),
            ("write.bytes<=1MiB", Amount::Bytes(1 << 20), Kept),
            ("write.errors<2", Amount::Count(2), Exceeded),
            ("write.time<=250ms", Amount::Seconds(0.25), Kept),
            ("syncs<=11", Amount::Count(11), Kept),
            ("opens<=0", Amount::Count(0), Kept),
            ("device.writes<=3", Amount::Count(4), Exceeded),
            ("device.writes.bytes<=16KiB", Amount::Bytes(16384), Kept),
            ("device.writes.time<=1s", Amount::Seconds(1.0), Kept),
            ("device.reads<=0", Amount::Count(0), Kept),
            ("flushes<=2", Amount::Count(3), Exceeded),
            ("wall<=1s", Amount::Seconds(1.0), Kept),
            ("wall<1s", Amount::Seconds(1.0), Exceeded),
        ] {
            assert_eq!(outcome_of(&run(), text), (Some(used), outcome), "{text}");
        }
    }

    #[test]
    fn what_was_not_seen_is_not_kept() {
        let mut result = run();
        result.evidence.device = None;
        result.backend = Backend::Ptrace;
        let why = "device requests were not observed: it takes eBPF; run it as root";
        let unknown = Outcome::Unknown(why.to_owned());
        assert_eq!(outcome_of(&result, "flushes<=9"), (None, unknown));
        result.syscalls.clear();
        result.evidence.syscalls = None;
        let (used, outcome) = outcome_of(&result, "fsync<=9");
        assert!(used.is_none() && matches!(outcome, Outcome::Unknown(_)));
        let (used, outcome) = outcome_of(&run(), "read<=9");
        assert!(used.is_none() && matches!(outcome, Outcome::Unknown(_)));
        let (used, outcome) = outcome_of(&result, "dirty_at_exit<=9");
        assert!(used.is_none() && matches!(outcome, Outcome::Unknown(_)));
    }

    #[test]
    fn pages_that_may_be_others_are_not_called_requests() {
        let mut result = run();
        result.bytes.dirty_at_exit_bytes = None;
        result.bytes.dirty_at_exit_bytes_shared = Some(crate::trace::Bounds {
            at_least: 0,
            at_most: 4096,
        });
        let (_, outcome) = outcome_of(&result, "dirty_at_exit<=9");
        let Outcome::Unknown(why) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(why.starts_with("not all of these pages"), "{why}");
    }

    /// At least 2 and at most 3 flushes, at least 8 and at most 16 KiB.
    #[test]
    fn what_may_be_others_neither_keeps_nor_exceeds() {
        use Outcome::{Exceeded, Kept};
        let mut result = run();
        let at_most = *result.evidence.exact_device().unwrap();
        let at_least = DeviceCounts {
            data: at_most.data,
            flushes: 2,
            ..DeviceCounts::default()
        };
        result.evidence.device = Some(DeviceRange { at_least, at_most });
        for (text, outcome) in [
            ("flushes<=1", Exceeded),
            ("flushes<2", Exceeded),
            ("flushes<=3", Kept),
            ("device.writes.bytes<8KiB", Exceeded),
            ("device.writes.bytes<=16KiB", Kept),
            ("device.writes.time<0.5s", Exceeded),
            ("device.reads<=0", Kept),
        ] {
            assert_eq!(outcome_of(&result, text).1, outcome, "{text}");
        }
        let because = "requests without a file may be those of others on the same disk";
        let unknown = Outcome::Unknown(because.to_owned());
        for text in [
            "flushes<=2",
            "device.writes<=3",
            "device.writes.bytes<10KiB",
        ] {
            assert_eq!(outcome_of(&result, text).1, unknown, "{text}");
        }
        let budgets = [budget::parse("flushes<=2", CALLS).unwrap()];
        let judged = judge(&result, &budgets, &sight(false)).remove(0);
        assert_eq!(judged.used, Some(Amount::Count(2)));
        assert_eq!(judged.at_most, Some(Amount::Count(3)));
        result.lost_events = 1;
        assert!(matches!(
            outcome_of(&result, "flushes<=3").1,
            Outcome::Unknown(_)
        ));
    }

    #[test]
    fn calls_that_nobody_counted_may_be_of_any_number() {
        for (text, outcome) in [
            ("fsync<=10", Some(Outcome::Exceeded)),
            ("fsync<=1000000", None),
            ("flushes<=1000000", None),
            ("wall<=1s", Some(Outcome::Kept)),
        ] {
            let budgets = [budget::parse(text, CALLS).unwrap()];
            let judged = judge(&run(), &budgets, &sight(true)).remove(0).outcome;
            match outcome {
                Some(outcome) => assert_eq!(judged, outcome, "{text}"),
                None => assert!(matches!(judged, Outcome::Unknown(_)), "{text}"),
            }
        }
    }

    #[test]
    fn losses_leave_room_for_doubt() {
        let mut result = run();
        result.lost_events = 5;
        assert_eq!(outcome_of(&result, "fsync<=16").1, Outcome::Kept);
        let doubtful = outcome_of(&result, "fsync<=15");
        assert_eq!(doubtful.0, Some(Amount::Count(11)));
        assert!(matches!(doubtful.1, Outcome::Unknown(_)));
        assert_eq!(outcome_of(&result, "fsync<=10").1, Outcome::Exceeded);
        let bytes = outcome_of(&result, "write.bytes<=1GiB").1;
        assert!(matches!(bytes, Outcome::Unknown(_)));
        assert_eq!(outcome_of(&result, "wall<=1s").1, Outcome::Kept);
    }
    #[test]
    fn the_wall_time_is_that_without_tracing_where_it_is_known() {
        let mut result = run();
        assert_eq!(outcome_of(&result, "wall<1s").1, Outcome::Exceeded);
        let timed = TimedRun {
            wall_s: 0.75,
            ..TimedRun::default()
        };
        result.runs = Some(TimedRuns::of(0, vec![timed], None));
        assert_eq!(outcome_of(&result, "wall<1s").1, Outcome::Kept);
    }
}
