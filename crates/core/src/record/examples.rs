//! A count of items, with the names of the first few.

use crate::gap::{Gap, Listed, ListedNames, Missing, Reason};

/// Number of paths that are named.
const NAMED: usize = 10;

/// A count of files of one kind.
#[derive(Debug, Clone, Default)]
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
    pub fn gap(&self, of: Listed, why: Reason) -> Option<Gap> {
        (self.count > 0).then(|| {
            let names = ListedNames {
                of,
                first: self.first.clone(),
                more: self.count - self.first.len() as u64,
            };
            Gap::new(Missing::Listed(names), why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_are_named_and_the_rest_is_counted() {
        let mut examples = Examples::default();
        assert_eq!(examples.gap(Listed::Devices, Reason::Late), None);
        for number in 0..12 {
            examples.add(|| format!("/{number}"));
        }
        let gap = examples.gap(Listed::Devices, Reason::Late).unwrap();
        let Missing::Listed(names) = gap.what else {
            panic!("{gap:?}")
        };
        assert_eq!((names.first.len(), names.more), (10, 2));
    }
}
