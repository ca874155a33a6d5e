//! Blocked time by call site: each function as wide as the time that the calls below it were blocked,
//! callers above what they call. Where that was not seen, time in calls.

use iostrata_core::trace::{CallRow, TraceResult};

use super::svg::{Area, Svg, letters};
use crate::format::{beginning, time};
use crate::html::markup::Markup;

/// Height of a frame.
const FRAME: f64 = 19.0;
/// Narrower frames are not drawn.
const NARROWEST: f64 = 1.0;
/// Narrower frames have no name.
const NAMED: f64 = 30.0;
/// Callers of deeper stacks are left out.
const DEEPEST: usize = 64;

/// A function, and the time of the calls below it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Frame {
    /// Its name, as the stacks have it; of the innermost the system call.
    name: String,
    time_s: f64,
    is_call: bool,
    /// Most time first.
    below: Vec<Frame>,
}

impl Frame {
    fn add(&mut self, mut names: impl Iterator<Item = (String, bool)>, time_s: f64) {
        self.time_s += time_s;
        let Some((name, is_call)) = names.next() else {
            return;
        };
        let known = |frame: &Self| frame.name == name && frame.is_call == is_call;
        let position = self.below.iter().position(known).unwrap_or_else(|| {
            self.below.push(Self {
                name,
                is_call,
                ..Self::default()
            });
            self.below.len() - 1
        });
        self.below[position].add(names, time_s);
    }

    fn sort(&mut self) {
        let by_time = |one: &Self, other: &Self| other.time_s.total_cmp(&one.time_s);
        self.below.sort_by(by_time);
        for frame in &mut self.below {
            frame.sort();
        }
    }

    fn depth(&self) -> usize {
        let below = self.below.iter().map(Self::depth).max();
        1 + below.unwrap_or(0)
    }
}

/// The meaning of the widths of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Blocked,
    InCalls,
}

impl Weight {
    /// Of the times that a trace has seen.
    pub(super) fn of(result: &TraceResult) -> Self {
        let mut calls = result.syscalls.iter();
        if calls.any(|call| call.blocked_s.is_some()) {
            Self::Blocked
        } else {
            Self::InCalls
        }
    }

    fn of_call(self, call: &CallRow) -> f64 {
        match self {
            Self::Blocked => call.blocked_s.unwrap_or(0.0),
            Self::InCalls => call.time_s,
        }
    }

    /// The title of the chart.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Blocked => "Blocked time by call site",
            Self::InCalls => "Time in calls by call site",
        }
    }
}

/// All stacks of a trace in one tree; `None` where none was taken.
pub(super) fn frames(result: &TraceResult, weight: Weight) -> Option<Frame> {
    let mut root = Frame {
        name: "all calls with a recorded call site".to_owned(),
        ..Frame::default()
    };
    for call in result.files.iter().flat_map(|file| &file.calls) {
        for site in call.sites.iter().filter(|site| !site.stack.is_empty()) {
            let time_s = weight.of_call(&call.row) * site.share;
            if !(time_s > 0.0 && time_s.is_finite()) {
                continue;
            }
            let functions = site.stack.iter().take(DEEPEST).rev();
            let functions = functions.map(|name| (name.clone(), false));
            let names = functions.chain([(call.row.name.clone(), true)]);
            root.add(names, time_s);
        }
    }
    root.sort();
    (root.time_s > 0.0 && root.time_s.is_finite()).then_some(root)
}

/// The chart in words.
pub(super) fn words(root: &Frame, weight: Weight) -> String {
    let spent = match weight {
        Weight::Blocked => "blocked",
        Weight::InCalls => "spent",
    };
    format!(
        "Each box is a function; its width is the share of {} {spent} in the system calls below it. \
         Callers are above their callees, system calls at the end.",
        time(root.time_s)
    )
}

/// The drawing at a width.
pub(super) fn draw(root: &Frame, class: &str, width: f64) -> Markup {
    let mut svg = Svg::new(width);
    draw_frame(&mut svg, root, (0.0, 0.0), width, root.time_s);
    svg.finish(class, root.depth() as f64 * FRAME + 4.0)
}

fn draw_frame(svg: &mut Svg, frame: &Frame, (x, y): (f64, f64), width: f64, all_s: f64) {
    if width < NARROWEST {
        return;
    }
    let share = frame.time_s / all_s * 100.0;
    let words = format!("{}: {}, {share:.1} %", frame.name, time(frame.time_s));
    svg.mark(&words, |svg| {
        let class = match frame {
            frame if frame.is_call => "frame call",
            frame if is_library(&frame.name) => "frame library",
            _ => "frame",
        };
        svg.rect(class, Area::at((x, y), (width - 0.6, FRAME - 1.0)));
        if width >= NAMED {
            let name = beginning(&frame.name, letters(width - 6.0));
            svg.text("label", (x + 3.0, y + 13.0), &name);
        }
    });
    let mut at = x;
    for below in &frame.below {
        let share = width * (below.time_s / frame.time_s);
        draw_frame(svg, below, (at, y + FRAME), share, all_s);
        at += share;
    }
}

/// The parts of `write (libc.so.6)` or `libc.so.6+0x12`.
fn is_library(name: &str) -> bool {
    name.contains("(lib") || name.starts_with("lib")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(stacks: &[(&[&str], f64)]) -> Frame {
        let mut root = Frame::default();
        for (names, time_s) in stacks {
            let names = names.iter().map(|name| ((*name).to_owned(), false));
            root.add(names, *time_s);
        }
        root.sort();
        root
    }

    #[test]
    fn stacks_with_the_same_callers_share_them() {
        let root = root(&[
            (&["main", "flush", "fsync"], 1.0),
            (&["main", "load", "read"], 2.0),
            (&["main", "flush", "write"], 0.5),
        ]);
        assert_eq!(root.depth(), 4);
        let main = &root.below[0];
        let below: Vec<(&str, f64)> = main
            .below
            .iter()
            .map(|frame| (frame.name.as_str(), frame.time_s))
            .collect();
        assert_eq!(
            (main.time_s, below),
            (3.5, vec![("load", 2.0), ("flush", 1.5)])
        );
    }

    #[test]
    fn frames_are_as_wide_as_their_time() {
        let root = root(&[(&["main", "a"], 3.0), (&["main", "b"], 1.0)]);
        let text = draw(&root, "wide", 400.0).finish();
        // 3 of 4 s of 400, less the gap of 0.6.
        assert!(text.contains(r#"x="0" y="38" width="299.4""#), "{text}");
        assert!(text.contains(r#"x="300" y="38" width="99.4""#), "{text}");
        assert!(
            text.contains("<title>b: 1.00\u{a0}s, 25.0 %</title>"),
            "{text}"
        );
    }

    #[test]
    fn frames_are_of_blocked_time_where_it_was_seen() {
        let mut result = crate::view::trace::fixture::full();
        let call = &mut result.files[0].calls[0];
        (call.row.time_s, call.row.blocked_s) = (2.0, Some(1.5));
        call.sites = vec![iostrata_core::trace::Site {
            stack: vec!["main".to_owned()].into(),
            share: 0.5,
            ..Default::default()
        }];
        let all = |result: &TraceResult| {
            let weight = Weight::of(result);
            (weight, frames(result, weight).unwrap().time_s)
        };
        assert_eq!(all(&result), (Weight::Blocked, 0.75));
        for call in &mut result.syscalls {
            call.blocked_s = None;
        }
        assert_eq!(all(&result), (Weight::InCalls, 1.0));
    }

    #[test]
    fn a_deep_stack_keeps_its_innermost_functions() {
        let mut result = crate::view::trace::fixture::full();
        let mut file = result.files[0].clone();
        let mut call = file.calls[0].clone();
        call.row.time_s = 2.0;
        let stack: Vec<String> = (0..200).map(|depth| format!("f{depth}")).collect();
        call.sites = vec![iostrata_core::trace::Site {
            stack: stack.into(),
            share: 1.0,
            ..Default::default()
        }];
        file.calls = vec![call];
        result.files = vec![file];
        let root = frames(&result, Weight::InCalls).unwrap();
        assert_eq!(root.depth(), 1 + DEEPEST + 1);
        assert_eq!(root.below[0].name, "f63");
    }
}
