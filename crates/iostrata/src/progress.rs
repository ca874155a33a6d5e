//! Progress of a run, on standard error: a bar on a terminal, otherwise a line every few seconds.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use iostrata_lab::engine::{Progress, Step};
use iostrata_lab::error::LabError;

use crate::ui::say;

/// Time between two lines without a terminal: silence never exceeds 10 s.
const BETWEEN_LINES: Duration = Duration::from_secs(8);

pub(crate) struct Bar {
    drawn: ProgressBar,
    lines: Option<Lines>,
    label: String,
    failed: Option<(String, LabError)>,
}

impl Bar {
    pub(crate) fn new(name: &'static str) -> Self {
        let drawn = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len}  {left}{wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        drawn.set_style(style.with_key("left", left));
        Self::drawing(drawn, name, "")
    }

    /// For work of unknown size, counted in units such as `files`.
    pub(crate) fn counting(name: &'static str, counted: &'static str) -> Self {
        let drawn = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template(&format!("{{pos}} {counted} so far  {{wide_msg}}"));
        drawn.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self::drawing(drawn, name, counted)
    }

    fn drawing(drawn: ProgressBar, name: &'static str, counted: &'static str) -> Self {
        let lines = drawn
            .is_hidden()
            .then(|| Lines::begin(name, counted))
            .flatten();
        Self {
            drawn,
            lines,
            label: String::new(),
            failed: None,
        }
    }

    /// The first failure that did not lose the result, and its step.
    pub(crate) fn failed(self) -> Option<(String, LabError)> {
        self.failed
    }

    /// The last started step; empty before the first.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }
}

/// `12 s left  `; nothing as long as no step has shown how long one takes.
fn left(state: &ProgressState, text: &mut dyn std::fmt::Write) {
    let total = state.len().unwrap_or(0);
    if let Some(left) = remaining(state.elapsed(), state.pos(), total) {
        // Writing to a string cannot fail.
        _ = write!(text, "{left} left  ");
    }
}

/// Remaining time at the current rate; `None` before the first step is done.
fn remaining(elapsed: Duration, done: u64, total: u64) -> Option<String> {
    if done == 0 {
        return None;
    }
    let each_s = elapsed.as_secs_f64() / done as f64;
    let seconds = (each_s * total.saturating_sub(done) as f64).ceil();
    Some(if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    })
}

impl Progress for Bar {
    fn step(&mut self, step: &Step<'_>) {
        step.label.clone_into(&mut self.label);
        if step.total > 0 {
            self.drawn.set_length(step.total as u64);
        }
        self.drawn.set_position(step.done as u64);
        self.drawn.set_message(self.label.clone());
        if let Some(lines) = &self.lines {
            lines.at(step);
        }
    }

    fn line(&mut self, text: &str) {
        self.drawn.suspend(|| say(text));
    }

    fn failed(&mut self, error: LabError) {
        self.failed.get_or_insert((self.label.clone(), error));
    }

    fn finished(&mut self) {
        self.drawn.finish_and_clear();
        self.lines = None;
    }
}

/// A thread that prints how far a run is.
struct Lines {
    at: Arc<Mutex<At>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Clone, Default)]
struct At {
    done: u64,
    total: u64,
    label: String,
    /// What is counted where there is no total.
    counted: &'static str,
}

impl Lines {
    /// `None` where no further thread can be created: then nothing is printed.
    fn begin(name: &'static str, counted: &'static str) -> Option<Self> {
        let at = Arc::new(Mutex::new(At {
            counted,
            ..At::default()
        }));
        let (end, ended) = mpsc::channel::<()>();
        let seen = Arc::clone(&at);
        let begun = Instant::now();
        let tell = move || {
            while ended.recv_timeout(BETWEEN_LINES) == Err(RecvTimeoutError::Timeout) {
                let at = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
                say(&at.line(name, begun.elapsed()));
            }
        };
        let thread = thread::Builder::new().name("progress".to_owned());
        Some(Self {
            at,
            end: Some(end),
            thread: Some(thread.spawn(tell).ok()?),
        })
    }

    fn at(&self, step: &Step<'_>) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.done = step.done as u64;
        at.total = step.total as u64;
        step.label.clone_into(&mut at.label);
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked prints nothing more.
            drop(thread.join());
        }
    }
}

impl At {
    /// `sync: 12 of 50 done, 40 s left: timing fsync append on host`.
    fn line(&self, name: &str, elapsed: Duration) -> String {
        let Self {
            done,
            total,
            label,
            counted,
        } = self;
        if *total == 0 && !counted.is_empty() && !label.is_empty() {
            return format!(
                "{name}: {done} {counted} so far, {} s: {label}",
                elapsed.as_secs()
            );
        }
        if *total == 0 {
            return format!("{name}: preparing, {} s so far", elapsed.as_secs());
        }
        let left = remaining(elapsed, *done, *total);
        let left = left.map_or_else(String::new, |left| format!(", {left} left"));
        format!("{name}: {done} of {total} done{left}: {label}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_to_say_before_the_first_step_is_done() {
        let after = Duration::from_secs(20);
        assert_eq!(remaining(after, 0, 50), None);
        assert_eq!(remaining(after, 10, 50).as_deref(), Some("80 s"));
        assert_eq!(remaining(after, 10, 100).as_deref(), Some("3 min"));
        assert_eq!(remaining(after, 50, 50).as_deref(), Some("0 s"));
    }

    #[test]
    fn lines_say_where_a_run_is() {
        let at = |done| At {
            done,
            total: 50,
            label: "timing fsync".to_owned(),
            counted: "",
        };
        let after = Duration::from_secs(20);
        assert_eq!(
            at(0).line("sync", after),
            "sync: 0 of 50 done: timing fsync"
        );
        assert_eq!(
            at(10).line("sync", after),
            "sync: 10 of 50 done, 80 s left: timing fsync"
        );
        let begun = At::default().line("copy", after);
        assert_eq!(begun, "copy: preparing, 20 s so far");
        let found = At {
            total: 0,
            label: "/usr/lib".to_owned(),
            counted: "files",
            ..at(12)
        };
        assert_eq!(
            found.line("cache", after),
            "cache: 12 files so far, 20 s: /usr/lib"
        );
    }
}
