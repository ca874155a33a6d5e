//! Where the time went, as a bar and as text.

use iostrata_core::noun::counted;
use iostrata_core::trace::{InCalls, Spent, spent};

use super::View;
use crate::format::{join, time};
use crate::view::page::{Page, SEPARATOR, Tone};
use crate::view::table::Cell;

/// Length of the bar in characters.
const BAR: usize = 20;

/// Smaller shares of the blocked time are not named.
const NAMED: f64 = 0.005;

/// Column of text next to the labels of the summary's lines.
pub(super) const COLUMN: usize = 11;

pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let spent = spent(view.result);
    let wall_s = view.result.wall_s;
    let bar = bar(&spent, wall_s);
    let text = sentence(&spent, wall_s, view.result.threads, bar.is_some());
    page.entry("  wall", Tone::Plain, COLUMN, &text);
    page.with_bar(bar);
}

/// On CPU, blocked, and neither; shares of the sum when that exceeds the run.
fn bar(spent: &Spent, wall_s: f64) -> Option<String> {
    let on_cpu_s = spent.on_cpu_s?;
    let blocked_s = spent.blocked?.total_s();
    let whole = wall_s.max(on_cpu_s + blocked_s);
    let on_cpu = cells(on_cpu_s / whole);
    let blocked = cells((on_cpu_s + blocked_s) / whole).saturating_sub(on_cpu);
    let neither = BAR.saturating_sub(on_cpu + blocked);
    let parts = [("█", on_cpu), ("▒", blocked), ("░", neither)];
    Some(parts.map(|(block, count)| block.repeat(count)).concat())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the bar's length"
)]
fn cells(share: f64) -> usize {
    (share * BAR as f64).round().clamp(0.0, BAR as f64) as usize
}

/// Each part after its block, if there is a bar.
fn sentence(spent: &Spent, wall_s: f64, threads: u64, has_bar: bool) -> String {
    let block = |block: &'static str| if has_bar { block } else { "" };
    let seen = |value: Option<f64>| Cell::seen(value, time);
    let blocked_s = spent.blocked.map(|blocked| blocked.total_s());
    let mut words = vec![
        format!("{}on CPU {}", block("█ "), seen(spent.on_cpu_s)),
        format!(
            "{}blocked {}{}",
            block("▒ "),
            seen(blocked_s),
            on_what(spent)
        ),
    ];
    if let Some(sum) = spent.on_cpu_s.zip(blocked_s).map(|(cpu, off)| cpu + off) {
        let rest = wall_s - sum;
        if rest > wall_s * 0.01 {
            words.push(format!(
                "░ neither (page faults, waiting for a CPU) {}",
                time(rest)
            ));
        } else if rest < wall_s * -0.05 {
            words.push(format!("sums of {}", counted(threads, "thread")));
        }
    }
    words.join(SEPARATOR)
}

/// ` (2.90 s in syncs, 0.20 s in reads)`, longest first.
fn on_what(spent: &Spent) -> String {
    let Some(blocked) = spent.blocked else {
        return String::new();
    };
    let mut parts = named(&blocked);
    let total = blocked.total_s();
    parts.retain(|(time_s, _)| *time_s > 0.0 && *time_s >= total * NAMED);
    parts.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    if parts.is_empty() {
        return String::new();
    }
    let parts = parts.into_iter();
    let parts = parts.map(|(time_s, what)| format!("{} {what}", time(time_s)));
    format!(" ({})", join(parts, ", "))
}

fn named(blocked: &InCalls) -> Vec<(f64, &'static str)> {
    vec![
        (blocked.syncs_s, "in syncs"),
        (blocked.reads_s, "in reads"),
        (blocked.writes_s, "in writes"),
        (blocked.ring_s, "in io_uring or libaio"),
        (blocked.other_s, "in other calls"),
        (blocked.waiting_s, "waiting for locks/children/pipes/timers"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(on_cpu_s: f64, syncs_s: f64) -> Spent {
        let blocked = InCalls {
            syncs_s,
            ..InCalls::default()
        };
        Spent {
            on_cpu_s: Some(on_cpu_s),
            blocked: Some(blocked),
            in_calls: None,
        }
    }

    #[test]
    fn the_bar_is_always_whole() {
        for (spent, wall_s, expected) in [
            (run(1.0, 3.0), 4.0, "█████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒"),
            (run(1.0, 1.0), 4.0, "█████▒▒▒▒▒░░░░░░░░░░"),
            (run(8.0, 8.0), 4.0, "██████████▒▒▒▒▒▒▒▒▒▒"),
            (run(0.0, 0.0), 4.0, "░░░░░░░░░░░░░░░░░░░░"),
        ] {
            assert_eq!(bar(&spent, wall_s).unwrap(), expected);
        }
        assert_eq!(bar(&run(0.0, 0.0), 0.0).unwrap().chars().count(), BAR);
        assert_eq!(bar(&Spent::default(), 1.0), None);
    }

    #[test]
    fn words_name_what_counts() {
        assert_eq!(
            sentence(&run(1.0, 3.0), 4.0, 1, true),
            "█ on CPU 1.00\u{a0}s\u{a0}· ▒ blocked 3.00\u{a0}s (3.00\u{a0}s in syncs)"
        );
        assert!(
            sentence(&run(1.0, 1.0), 4.0, 1, true)
                .ends_with("░ neither (page faults, waiting for a CPU) 2.00\u{a0}s")
        );
        assert!(sentence(&run(4.0, 4.0), 4.0, 3, true).ends_with("sums of 3 threads"));
        assert_eq!(
            sentence(&Spent::default(), 1.0, 1, false),
            "on CPU n/a\u{a0}· blocked n/a"
        );
    }
}
