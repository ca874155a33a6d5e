//! Activity of the rest of the machine during a timing run.

use std::fs;

use iostrata_core::lab::Interference;

use super::child::usage;

/// CPU time of the whole machine, from the `cpu` line of `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MachineTicks {
    /// Ticks in which a CPU ran something, interrupts included.
    busy: u64,
    /// Ticks in which the hypervisor ran another guest.
    steal: u64,
}

/// CPU time at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    machine: Option<MachineTicks>,
    own_s: Option<f64>,
}

/// Sums the interference of several intervals.
///
/// The machine's time is counted in ticks of 10 ms and our own in microseconds, so one short
/// interval says little; the sum over all runs of a case is meaningful.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    /// One for each interval; `None` where it is unknown.
    steal_s: Vec<Option<f64>>,
    other_s: Vec<Option<f64>>,
}

/// The sum; unknown when one of its parts is, or without any. A sum below 0 is a rounding error: ticks against
/// microseconds.
fn sum_s(parts_s: &[Option<f64>]) -> Option<f64> {
    let known: Option<f64> = parts_s.iter().copied().sum();
    known
        .filter(|_| !parts_s.is_empty())
        .map(|sum| sum.max(0.0))
}

impl Reading {
    /// Reads the machine's and our own CPU time. Children count after they were reaped.
    pub fn now() -> Self {
        let machine = fs::read_to_string("/proc/stat")
            .ok()
            .and_then(|text| parse_stat(&text));
        Self {
            machine,
            own_s: usage().ok().map(|used| used.user_s + used.system_s),
        }
    }
}

impl Meter {
    pub fn add(&mut self, before: &Reading, after: &Reading) {
        let ticks_per_s = iostrata_tracer::kernel::clock_ticks_per_second() as f64;
        let seconds = |pick: fn(&MachineTicks) -> u64| {
            let (from, to) = (before.machine.as_ref()?, after.machine.as_ref()?);
            Some(pick(to).saturating_sub(pick(from)) as f64 / ticks_per_s)
        };
        let own_s = before.own_s.zip(after.own_s).map(|(from, to)| to - from);
        self.steal_s.push(seconds(|ticks| ticks.steal));
        let busy_s = seconds(|ticks| ticks.busy).zip(own_s);
        self.other_s.push(busy_s.map(|(busy, own)| busy - own));
    }

    /// The disturbance of the intervals. Kernel threads that write back for the case count as
    /// others: their work is not charged to any process.
    pub fn interference(&self) -> Interference {
        Interference {
            steal_s: sum_s(&self.steal_s),
            other_cpu_s: sum_s(&self.other_s),
            other_requests: None,
        }
    }
}

/// Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq,
/// softirq, steal (`proc_stat(5)`). Guest time is already part of user time.
fn parse_stat(text: &str) -> Option<MachineTicks> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = fields[..] else {
        return None;
    };
    Some(MachineTicks {
        busy: user + nice + system + irq + softirq,
        steal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 5 50 9000 20 3 2 7 1 0\ncpu0 50 2 25 4500 10 1 1 3 0 0\nintr 5\n";

    #[test]
    fn busy_is_all_but_idle_iowait_and_steal() {
        assert_eq!(
            parse_stat(STAT),
            Some(MachineTicks {
                busy: 160,
                steal: 7
            })
        );
    }

    #[test]
    fn anything_else_is_unknown() {
        for text in [
            "",
            "cpu  1 2 3",
            "cpu  a b c d e f g h",
            "cpu0 1 2 3 4 5 6 7 8",
        ] {
            assert_eq!(parse_stat(text), None, "{text:?}");
        }
    }

    fn reading(busy: u64, steal: u64, own_s: f64) -> Reading {
        Reading {
            machine: Some(MachineTicks { busy, steal }),
            own_s: Some(own_s),
        }
    }

    #[test]
    fn own_time_is_not_interference() {
        let ticks = iostrata_tracer::kernel::clock_ticks_per_second();
        let mut meter = Meter::default();
        meter.add(&reading(0, 0, 1.0), &reading(3 * ticks, ticks, 3.0));
        let seen = meter.interference();
        assert_eq!((seen.other_cpu_s, seen.steal_s), (Some(1.0), Some(1.0)));
        meter.add(&reading(0, 0, 0.0), &reading(0, 0, 5.0));
        assert_eq!(
            meter.interference().other_cpu_s,
            Some(0.0),
            "rounding is not negative noise"
        );
    }

    #[test]
    fn one_unreadable_interval_makes_the_sum_unknown() {
        let mut meter = Meter::default();
        assert_eq!(meter.interference().steal_s, None);
        let blind = Reading {
            machine: None,
            own_s: Some(0.0),
        };
        meter.add(&blind, &reading(1, 1, 0.0));
        meter.add(&reading(0, 0, 0.0), &reading(1, 1, 0.0));
        assert_eq!(meter.interference(), Interference::default());
    }

    #[test]
    fn this_machine_can_be_read() {
        let reading = Reading::now();
        assert!(reading.machine.is_some_and(|ticks| ticks.busy > 0));
        assert!(reading.own_s.is_some());
    }
}
