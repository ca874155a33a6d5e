//! What `core` has as values, in words: a file for each family.

mod gaps;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use iostrata_core::gap::{self, Gap, Wording};

pub(crate) use gaps::counted_as;
pub use gaps::{broken, missing, reason};

/// Text for people. It may become part of a longer one, and only renderers open it: no code looks
/// into a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Cow<'static, str>);

impl Words {
    const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// The text, for a renderer.
    pub(crate) fn open(&self) -> &str {
        &self.0
    }

    /// Number of characters.
    pub(crate) fn width(&self) -> usize {
        self.0.chars().count()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Words {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl fmt::Display for Words {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// `WHAT: WHY`
pub fn gap(gap: &Gap) -> Words {
    let Gap { what, why } = gap;
    format!("{}: {}", missing(what), reason(why)).into()
}

/// What a metric counts, by its name without `iostrata_`.
pub(crate) fn help(metric: &str) -> &'static str {
    static HELP: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        let lines = include_str!("metrics.txt").lines();
        lines.filter_map(|line| line.split_once(':')).collect()
    });
    HELP.get(metric).map_or("", |text| text.trim_start())
}

/// Gives results the words that their JSON has beside codes.
pub fn install() {
    gap::write_with(Wording {
        what: |what| missing(what).to_string(),
        why: |why| reason(why).to_string(),
    });
}
