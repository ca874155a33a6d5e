//! Blocked time by call site: each function as wide as the time that the calls below it were blocked,
//! callers above what they call. Where that was not seen, time in calls.

use iostrata_core::trace::TraceResult;

use super::drawing::{Drawing, Plot};
use crate::format::time;
use crate::html::markup::Markup;

const FRAME: f64 = 19.0;
/// Shares of all: narrower frames are not drawn.
const NARROWEST: f64 = 0.0013;
/// Narrower frames have no name.
const NAMED: f64 = 0.04;
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

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frames {
    root: Frame,
    /// Whether widths are blocked time, or, where that was not seen, time in calls.
    of_blocked: bool,
}

/// `None` where no stack was taken.
pub(super) fn frames(result: &TraceResult) -> Option<Frames> {
    let of_blocked = result.syscalls.iter().any(|call| call.blocked_s.is_some());
    let mut root = Frame {
        name: "all calls with a recorded call site".to_owned(),
        ..Frame::default()
    };
    for call in result.files.iter().flat_map(|file| &file.calls) {
        let call_s = if of_blocked {
            call.row.blocked_s.unwrap_or(0.0)
        } else {
            call.row.stats.time_s
        };
        for site in call.sites.iter().filter(|site| !site.stack.is_empty()) {
            let time_s = call_s * site.share;
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
    let any = root.time_s > 0.0 && root.time_s.is_finite();
    any.then_some(Frames { root, of_blocked })
}

impl Frames {
    /// The title of the chart, and what it shows.
    pub(super) fn words(&self) -> (&'static str, String) {
        let (title, spent) = if self.of_blocked {
            ("Blocked time by call site", "blocked")
        } else {
            ("Time in calls by call site", "spent")
        };
        let words = format!(
            "Each box is a function; its width is the share of {} {spent} in the system calls below it. \
             Callers are above their callees, system calls at the end.",
            time(self.root.time_s)
        );
        (title, words)
    }

    pub(super) fn draw(&self) -> Markup {
        let mut plot = Plot::new("plot", self.root.depth() as f64 * FRAME);
        draw_frame(&mut plot, &self.root, 0.0, 1.0, 0.0);
        let mut drawing = Drawing::new("flame");
        drawing.plot(&plot);
        drawing.finish()
    }
}

fn draw_frame(plot: &mut Plot, frame: &Frame, from: f64, share: f64, y: f64) {
    if share < NARROWEST {
        return;
    }
    let percent = share * 100.0;
    let words = format!("{}: {}, {percent:.1} %", frame.name, time(frame.time_s));
    plot.mark(&words, |plot| {
        let class = match frame {
            frame if frame.is_call => "frame call",
            frame if is_library(&frame.name) => "frame library",
            _ => "frame",
        };
        plot.rect(class, from, from + share, y, FRAME - 1.0);
        if share >= NAMED {
            plot.name(&frame.name, from, from + share, y, FRAME - 1.0);
        }
    });
    let mut at = from;
    for below in &frame.below {
        let width = share * (below.time_s / frame.time_s);
        draw_frame(plot, below, at, width, y + FRAME);
        at += width;
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
        let frames = Frames {
            root,
            of_blocked: true,
        };
        let text = frames.draw().finish();
        // 3 and 1 of 4 s.
        assert!(text.contains(r#"x="0%" y="38" width="75%""#), "{text}");
        assert!(text.contains(r#"x="75%" y="38" width="25%""#), "{text}");
        assert!(
            text.contains("<title>b: 1.00\u{a0}s, 25.0 %</title>"),
            "{text}"
        );
    }

    #[test]
    fn frames_are_of_blocked_time_where_it_was_seen() {
        let mut result = crate::view::trace::fixture::full();
        let call = &mut result.files[0].calls[0];
        (call.row.stats.time_s, call.row.blocked_s) = (2.0, Some(1.5));
        call.sites = vec![iostrata_core::trace::Site {
            stack: vec!["main".to_owned()].into(),
            share: 0.5,
            ..Default::default()
        }];
        let all = |result: &TraceResult| {
            let frames = frames(result).unwrap();
            (frames.of_blocked, frames.root.time_s)
        };
        assert_eq!(all(&result), (true, 0.75));
        for call in &mut result.syscalls {
            call.blocked_s = None;
        }
        assert_eq!(all(&result), (false, 1.0));
    }

    #[test]
    fn a_deep_stack_keeps_its_innermost_functions() {
        let mut result = crate::view::trace::fixture::full();
        let mut file = result.files[0].clone();
        let mut call = file.calls[0].clone();
        call.row.stats.time_s = 2.0;
        let stack: Vec<String> = (0..200).map(|depth| format!("f{depth}")).collect();
        call.sites = vec![iostrata_core::trace::Site {
            stack: stack.into(),
            share: 1.0,
            ..Default::default()
        }];
        file.calls = vec![call];
        result.files = vec![file];
        let root = frames(&result).unwrap().root;
        assert_eq!(root.depth(), 1 + DEEPEST + 1);
        assert_eq!(root.below[0].name, "f63");
    }
}
