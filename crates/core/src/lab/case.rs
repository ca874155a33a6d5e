//! A case of any experiment: its experiment and its name in words.

use serde::Serialize;

/// The case of one row of an experiment.
pub trait Case: Serialize {
    /// Name of the experiment, as in the JSON.
    const EXPERIMENT: &'static str;

    /// The case in words, without its target.
    fn label(&self) -> String;
}
