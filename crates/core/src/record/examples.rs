//! A count of items, with the names of the first few.

use std::fmt::Write as _;

use crate::op::Gap;

/// Number of paths that are named.
const NAMED: usize = 10;

/// A count of files of one kind.
#[derive(Debug, Default)]
pub struct Examples {
    count: u64,
    first: Vec<String>,
}

impl Examples {
    /// Adds one. Its name is computed only if it is kept.
    pub fn add(&mut self, path: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(path());
        }
    }

    /// The resulting gap; `None` when the count is 0.
    pub fn gap(&self, what: &str, why: &str) -> Option<Gap> {
        if self.count == 0 {
            return None;
        }
        let mut named = format!("{what}: {}", self.first.join(", "));
        let more = self.count - self.first.len() as u64;
        if more > 0 {
            // Writing to a string cannot fail.
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
