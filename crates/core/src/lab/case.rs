//! A case of any experiment: whose it is, and its words.

use serde::Serialize;

/// What one row of an experiment is about.
pub trait Case: Serialize {
    /// Name of the experiment, as in the JSON.
    const EXPERIMENT: &'static str;

    /// The case in words, without its target.
    fn label(&self) -> String;
}
