//! The time bar, its parts distinguished by pattern and by name.

use iostrata_core::noun::counted;
use iostrata_core::trace::{Spent, TraceResult};

use super::charts::drawing::{Plot, SQUARE, key};
use super::markup::Markup;
use super::outline::Outline;
use crate::format::time;

/// Height of the bar, pixels.
const HEIGHT: f64 = 26.0;

/// Smaller parts are neither drawn nor named.
const SMALLEST: f64 = 0.001;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    /// Colour and pattern: a class of the style sheet.
    fill: &'static str,
    name: &'static str,
    time_s: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts {
    each: Vec<Part>,
    /// Length of the bar, seconds.
    whole_s: f64,
    /// Whether threads ran side by side, so that their sum is more than the run.
    is_sum: bool,
}

impl Parts {
    fn percent(&self, part: &Part) -> f64 {
        part.time_s / self.whole_s * 100.0
    }
}

/// The parts of the time; `None` where it was not seen.
pub(super) fn parts(spent: &Spent, wall_s: f64) -> Option<Parts> {
    let on_cpu_s = spent.on_cpu_s?;
    let blocked = spent.blocked?;
    let seen_s = on_cpu_s + blocked.total_s();
    let whole_s = wall_s.max(seen_s);
    if !(whole_s > 0.0 && whole_s.is_finite()) {
        return None;
    }
    let part = |fill, name, time_s| Part { fill, name, time_s };
    let each = [
        part("fill-cpu", "on CPU", on_cpu_s),
        part("fill-syncs", "blocked in syncs", blocked.syncs_s),
        part("fill-reads", "blocked in reads", blocked.reads_s),
        part("fill-writes", "blocked in writes", blocked.writes_s),
        part("fill-ring", "blocked in io_uring or libaio", blocked.ring_s),
        part("fill-other", "blocked in other calls", blocked.other_s),
        part(
            "fill-waiting",
            "waiting: locks, children, pipes, timers",
            blocked.waiting_s,
        ),
        part(
            "fill-neither",
            "neither on CPU nor blocked in a call",
            whole_s - seen_s,
        ),
    ];
    let is_there = |part: &Part| part.time_s / whole_s >= SMALLEST;
    Some(Parts {
        each: each.into_iter().filter(is_there).collect(),
        whole_s,
        is_sum: seen_s > wall_s * 1.05,
    })
}

/// Adds the bar and its legend; nothing where the time was not seen.
pub(super) fn draw(
    markup: &mut Markup,
    outline: &mut Outline,
    spent: &Spent,
    result: &TraceResult,
) {
    let Some(parts) = parts(spent, result.wall_s) else {
        return;
    };
    if outline.claim("fill-syncs") {
        patterns(markup, outline);
    }
    markup.open("div", &[("class", "time")]);
    let words: Vec<String> = parts.each.iter().map(|part| words(&parts, part)).collect();
    let mut bar = Plot::new("bar-of-time", HEIGHT).with("role", "img");
    bar = bar.with("aria-label", &words.join(", "));
    let mut from = 0.0;
    for (part, words) in parts.each.iter().zip(&words) {
        let to = from + part.time_s / parts.whole_s;
        bar.mark(words, |bar| bar.rect(part.fill, from, to, 0.0, HEIGHT));
        from = to;
    }
    bar.add_to(markup);
    let fills = parts.each.iter().map(|part| [(part.fill, SQUARE)]);
    key(markup, fills.zip(words.iter().map(String::as_str)));
    if parts.is_sum {
        let text = format!(
            "The bar shows the total time of {}, {}; the run took {}.",
            counted(result.threads, "thread"),
            time(parts.whole_s),
            time(result.wall_s)
        );
        markup.element("p", &[("class", "quiet")], &text);
    }
    markup.end("div");
}

fn words(parts: &Parts, part: &Part) -> String {
    let (time, share) = (time(part.time_s), percent(parts.percent(part)));
    format!("{} {time} ({share})", part.name)
}

fn percent(share: f64) -> String {
    if share < 0.5 {
        "<1\u{a0}%".to_owned()
    } else {
        format!("{share:.0}\u{a0}%")
    }
}

/// A pattern: how it is turned, how far apart its lines are, and the lines themselves.
struct Pattern {
    class: &'static str,
    turn: &'static str,
    lines: &'static str,
}

/// Stripes, dots and crosses, so that no part is identified by its colour alone.
const PATTERNS: [Pattern; 6] = [
    pattern("syncs", "rotate(45)", "M0 2H8"),
    pattern("reads", "rotate(0)", "M0 2H8"),
    pattern("writes", "rotate(90)", "M0 2H8"),
    pattern("ring", "rotate(45)", "M0 2H8M2 0V8"),
    pattern("other", "rotate(0)", "M0 2H8M2 0V8"),
    pattern("waiting", "rotate(-45)", "M0 1H8"),
];

const fn pattern(class: &'static str, turn: &'static str, lines: &'static str) -> Pattern {
    Pattern { class, turn, lines }
}

/// Patterns that the style sheet uses to fill the parts, once a page.
fn patterns(markup: &mut Markup, outline: &mut Outline) {
    let attributes = [
        ("class", "patterns"),
        ("width", "0"),
        ("height", "0"),
        ("aria-hidden", "true"),
    ];
    markup.open("svg", &attributes);
    for pattern in PATTERNS {
        let id = format!("fill-{}", pattern.class);
        outline.claim(&id);
        let attributes = [
            ("id", id.as_str()),
            ("class", &id),
            ("width", "8"),
            ("height", "8"),
            ("patternUnits", "userSpaceOnUse"),
            ("patternTransform", pattern.turn),
        ];
        markup.open("pattern", &attributes);
        let ground = [("class", "ground"), ("width", "8"), ("height", "8")];
        markup.element("rect", &ground, "");
        markup.element("path", &[("class", "lines"), ("d", pattern.lines)], "");
        markup.close("pattern");
    }
    markup.end("svg");
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostrata_core::trace::InCalls;

    fn spent(on_cpu_s: f64, syncs_s: f64, waiting_s: f64) -> Spent {
        Spent {
            on_cpu_s: Some(on_cpu_s),
            blocked: Some(InCalls {
                syncs_s,
                waiting_s,
                ..InCalls::default()
            }),
            in_calls: None,
        }
    }

    fn named(parts: &Parts) -> Vec<(&str, f64)> {
        let parts = parts
            .each
            .iter()
            .map(|part| (part.fill, parts.percent(part)));
        parts.collect()
    }

    #[test]
    fn parts_are_shares_of_the_run() {
        let parts = parts(&spent(1.0, 2.0, 0.0), 4.0).unwrap();
        assert_eq!(
            named(&parts),
            [
                ("fill-cpu", 25.0),
                ("fill-syncs", 50.0),
                ("fill-neither", 25.0)
            ]
        );
        assert!(!parts.is_sum);
    }

    #[test]
    fn parts_of_several_threads_are_shares_of_their_sum() {
        let parts = parts(&spent(2.0, 0.0, 6.0), 4.0).unwrap();
        assert_eq!(named(&parts), [("fill-cpu", 25.0), ("fill-waiting", 75.0)]);
        assert!(parts.is_sum);
    }

    #[test]
    fn what_was_not_seen_has_no_bar() {
        assert_eq!(parts(&Spent::default(), 1.0), None);
        assert_eq!(parts(&spent(0.0, 0.0, 0.0), 0.0), None);
    }
}
