//! A number of things, and the first few by name.

use std::fmt::Write as _;

use crate::op::Gap;

/// Paths that are named.
const NAMED: usize = 10;

/// So many files of one kind.
#[derive(Debug, Default)]
pub struct Examples {
    count: u64,
    first: Vec<String>,
}

impl Examples {
    /// One more. Its name is asked for only where it is kept.
    pub fn add(&mut self, path: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(path());
        }
    }

    /// What is missing of them; `None` when there is none.
    pub fn gap(&self, what: &str, why: &str) -> Option<Gap> {
        if self.count == 0 {
            return None;
        }
        let mut named = format!("{what}: {}", self.first.join(", "));
        let more = self.count - self.first.len() as u64;
        if more > 0 {
            // Writing to a string does not fail.
            let _ = write!(named, " and {more} more");
        }
        Some(Gap::new(named, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_are_named_and_the_rest_is_counted() {
        let mut examples = Examples::default();
        assert_eq!(examples.gap("files", "why"), None);
        for number in 0..12 {
            examples.add(|| format!("/{number}"));
        }
        let gap = examples.gap("files", "why").unwrap();
        assert_eq!(
            gap.what,
            "files: /0, /1, /2, /3, /4, /5, /6, /7, /8, /9 and 2 more"
        );
    }
}
