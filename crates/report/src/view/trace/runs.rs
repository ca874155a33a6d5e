//! The unobserved runs: their times, and reasons to doubt them.

use iostrata_core::noun;
use iostrata_core::trace::{Cold, Doubt, Spread, TimedRuns};

use super::View;
use super::names::middle;
use super::wall::COLUMN;
use crate::format::{counted, size, time};
use crate::view::page::{Page, SEPARATOR, Tone};

/// Maximum columns of the path of a file that stayed.
const PATH: usize = 40;

pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let Some(runs) = &view.result.runs else {
        return;
    };
    if let Some(wall) = runs.wall_s {
        page.entry("  runs", Tone::Plain, COLUMN, took(runs, &wall));
        let slowdown = view.result.slowdown();
        let traced = slowdown.map(|factor| {
            let of = if wall.n == 1 { "that" } else { "the median" };
            let traced = time(view.result.wall_s);
            format!("traced run: {traced}, {factor:.1}x {of}")
        });
        let doubts = runs.doubts().into_iter().map(|doubt| told(doubt, &wall));
        let words: Vec<String> = traced.into_iter().chain(doubts).collect();
        if !words.is_empty() {
            page.entry("", Tone::Plain, COLUMN, words.join(SEPARATOR));
        }
    }
    if let Some(cold) = &runs.cold {
        page.entry("  cold", Tone::Plain, COLUMN, evicted(cold));
    }
}

/// `5 runs: 1.08 s median (1.05 s to 1.12 s, their range), user 0.90 s, system 0.10 s`.
fn took(runs: &TimedRuns, wall: &Spread) -> String {
    let ends = format!("{} to {}", time(wall.low), time(wall.high));
    let ends = match wall.n {
        1 => String::new(),
        _ if wall.is_range() => format!(" (range {ends})"),
        _ => format!(
            " (95\u{a0}%: {ends}; range {} to {})",
            time(wall.min),
            time(wall.max)
        ),
    };
    let cpu = runs.user_s.zip(runs.system_s);
    let cpu = cpu.map_or_else(String::new, |(user_s, system_s)| {
        format!(", user {}, system {}", time(user_s), time(system_s))
    });
    let warmup = match runs.warmup {
        0 => String::new(),
        some => format!(", after {}", noun::counted(some, "warm-up run")),
    };
    let median = if wall.n == 1 { "" } else { " median" };
    format!(
        "{}: {}{median}{ends}{cpu}{warmup}",
        counted(wall.n, "run"),
        time(wall.median),
    )
}

fn told(doubt: Doubt, wall: &Spread) -> String {
    match doubt {
        Doubt::Failed(1) => "1 run ended with a failure".to_owned(),
        Doubt::Failed(failed) => format!("{failed} runs ended with a failure"),
        Doubt::FirstSlower(factor) => {
            format!("the first run took {factor:.1}x the median: --warmup 1 leaves it out")
        }
        Doubt::Outliers(far) => format!(
            "{far} of {} took far longer or shorter than the others: was the machine busy?",
            counted(wall.n, "run")
        ),
    }
}

fn evicted(cold: &Cold) -> String {
    let (files, bytes) = (noun::counted(cold.files, "file"), size(cold.evicted_bytes));
    let gone = format!("{files} evicted before each run, {bytes} before the traced one");
    let Some(first) = cold.left.first() else {
        return format!("{gone}; none of it stayed");
    };
    let why = if first.why.is_empty() {
        String::new()
    } else {
        format!(" ({})", first.why)
    };
    let more = match cold.left.len() - 1 {
        0 => String::new(),
        more => format!(", and of {}", counted(more, "more file")),
    };
    format!(
        "{gone}; up to {} stayed: of {}{why}{more}",
        size(cold.left_bytes),
        middle(&first.path, PATH),
    )
}

#[cfg(test)]
mod tests {
    use iostrata_core::trace::{Selection, TimedRun};

    use super::super::fixture::{five_runs, full};
    use super::*;
    use crate::terminal::text_of;

    fn drawn(runs: TimedRuns, width: usize) -> String {
        let mut result = full();
        result.runs = Some(runs);
        let everything = Selection::default();
        let mut page = Page::new(width);
        draw(&mut page, &View::new(&result, &everything));
        text_of(&page, false).replace('\u{a0}', " ")
    }

    /// `wall_s` each, and an exit code.
    fn runs(all: &[(f64, i32)]) -> TimedRuns {
        let run = |(wall_s, code): &(f64, i32)| TimedRun {
            wall_s: *wall_s,
            exit_code: Some(*code),
            ..TimedRun::default()
        };
        TimedRuns::of(0, all.iter().map(run).collect(), None)
    }

    #[test]
    fn runs_are_told_with_their_range_and_what_tracing_cost() {
        insta::assert_snapshot!(drawn(five_runs(), 100), @r"
        runs     5 runs: 3.25 s median (range 3.00 s to 3.75 s), user 750 ms, system 250 ms, after 1
                 warm-up run
                 traced run: 4.20 s, 1.3x the median
        cold     12 files evicted before each run, 64.0 MiB before the traced one; up to 1.0 MiB stayed:
                 of /usr/lib/x86_64-linux-gnu/libc.so.6 (mapped by process 1 (init))
        ");
        insta::assert_snapshot!(drawn(five_runs(), 60), @r"
        runs     5 runs: 3.25 s median (range 3.00 s to 3.75 s),
                 user 750 ms, system 250 ms, after 1 warm-up run
                 traced run: 4.20 s, 1.3x the median
        cold     12 files evicted before each run, 64.0 MiB before
                 the traced one; up to 1.0 MiB stayed: of
                 /usr/lib/x86_64-linux-gnu/libc.so.6 (mapped by
                 process 1 (init))
        ");
    }

    #[test]
    fn more_than_five_runs_have_an_interval() {
        let six = [(3.0, 0), (3.1, 0), (3.2, 0), (3.3, 0), (3.4, 0), (9.0, 0)];
        insta::assert_snapshot!(drawn(runs(&six), 100), @r"
        runs     6 runs: 3.25 s median (95 %: 3.05 s to 6.20 s; range 3.00 s to 9.00 s), user 0 s, system
                 0 s
                 traced run: 4.20 s, 1.3x the median · 1 of 6 runs took far longer or shorter than the
                 others: was the machine busy?
        ");
    }

    #[test]
    fn doubts_are_told() {
        let slow = [(9.0, 0), (3.0, 0), (3.0, 1)];
        insta::assert_snapshot!(drawn(runs(&slow), 100), @r"
        runs     3 runs: 3.00 s median (range 3.00 s to 9.00 s), user 0 s, system 0 s
                 traced run: 4.20 s, 1.4x the median · 1 run ended with a failure · the first run took
                 3.0x the median: --warmup 1 leaves it out
        ");
        insta::assert_snapshot!(drawn(runs(&[(3.0, 0)]), 100), @r"
        runs     1 run: 3.00 s, user 0 s, system 0 s
                 traced run: 4.20 s, 1.4x that
        ");
        assert_eq!(drawn(runs(&[]), 100), "", "nothing was timed");
    }

    #[test]
    fn all_that_was_evicted_is_told_when_none_stayed() {
        let mut runs = runs(&[]);
        runs.cold = Some(Cold {
            files: 1,
            evicted_bytes: 4096,
            ..Cold::default()
        });
        insta::assert_snapshot!(drawn(runs, 100), @r"
          cold     1 file evicted before each run, 4.0 KiB before the traced one; none of it stayed
        ");
    }
}
