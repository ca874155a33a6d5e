//! The progress of a run.

use crate::error::LabError;

/// One step of a run, about to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// The current work, such as `timing fsync 1 B on ext4`.
    pub label: &'a str,
    /// Steps done before this one.
    pub done: usize,
    /// Total number of steps as known now. It shrinks when cases finish early.
    pub total: usize,
}

/// Receives every step.
pub trait Progress {
    fn step(&mut self, step: &Step<'_>);

    /// A line about the measurement, for a user who asked to watch.
    fn line(&mut self, text: &str);

    /// Something failed. Earlier measurements are in the result, which names the gap.
    fn failed(&mut self, error: LabError);

    /// No step will follow.
    fn finished(&mut self);
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&mut self, _: &Step<'_>) {}
    fn line(&mut self, _: &str) {}
    fn failed(&mut self, _: LabError) {}
    fn finished(&mut self) {}
}

/// Counts steps for a [`Progress`].
pub struct Ledger<'a> {
    pub(crate) to: &'a mut dyn Progress,
    done: usize,
    total: usize,
}

impl<'a> Ledger<'a> {
    /// A ledger of `total` steps, none of them done.
    pub fn new(to: &'a mut dyn Progress, total: usize) -> Self {
        Self { to, done: 0, total }
    }

    /// Announces a step, which counts as done when the next is announced.
    pub fn step(&mut self, label: &str) {
        self.total = self.total.max(self.done + 1);
        self.to.step(&Step {
            label,
            done: self.done,
            total: self.total,
        });
        self.done += 1;
    }

    /// Sets the number of remaining steps.
    pub fn remaining(&mut self, steps: usize) {
        self.total = self.done + steps;
    }
}

impl Drop for Ledger<'_> {
    fn drop(&mut self) {
        self.to.finished();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<(String, usize, usize)>);

    impl Progress for Log {
        fn step(&mut self, step: &Step<'_>) {
            self.0.push((step.label.to_owned(), step.done, step.total));
        }

        fn line(&mut self, text: &str) {
            self.0.push((text.to_owned(), 0, 0));
        }

        fn failed(&mut self, error: LabError) {
            self.0.push((error.to_string(), 0, 0));
        }

        fn finished(&mut self) {
            self.0.push(("finished".to_owned(), 0, 0));
        }
    }

    #[test]
    fn the_total_follows_what_is_left() {
        let mut log = Log::default();
        let mut ledger = Ledger::new(&mut log, 5);
        ledger.step("a");
        ledger.remaining(1);
        ledger.step("b");
        ledger.to.line("seen");
        ledger.step("c");
        drop(ledger);
        let seen: Vec<(&str, usize, usize)> = log
            .0
            .iter()
            .map(|(label, done, total)| (label.as_str(), *done, *total))
            .collect();
        assert_eq!(
            seen,
            [
                ("a", 0, 5),
                ("b", 1, 2),
                ("seen", 0, 0),
                ("c", 2, 3),
                ("finished", 0, 0)
            ]
        );
    }
}
