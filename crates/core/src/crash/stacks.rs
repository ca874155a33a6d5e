//! Where in the program its operations were called.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::trace::SiteRow;

/// The calls from one place, as they are kept beside a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStack {
    /// Functions, innermost first.
    pub functions: Arc<[String]>,
    /// Thread, and end in nanoseconds of `CLOCK_MONOTONIC`.
    pub calls: Vec<(u32, u64)>,
}

impl CallStack {
    /// Those of a session that took the stack of each call.
    pub fn all(sites: &[SiteRow]) -> Vec<Self> {
        let whole = sites.iter().filter(|site| !site.stack.is_empty());
        whole
            .map(|site| Self {
                functions: Arc::clone(&site.stack),
                calls: site.ended.clone(),
            })
            .collect()
    }
}

/// The stack of each call whose stack was taken.
#[derive(Debug, Default)]
pub struct Stacks(HashMap<(u32, u64), Arc<[String]>>);

impl Stacks {
    /// From what was kept beside the log.
    pub fn of(all: &[CallStack]) -> Self {
        let calls = all.iter().flat_map(|stack| {
            let calls = stack.calls.iter();
            calls.map(|call| (*call, Arc::clone(&stack.functions)))
        });
        Self(calls.collect())
    }

    /// Functions, innermost first; empty where they are not known. A thread ends one call at a time.
    pub(super) fn of_call(&self, thread: u32, ended_ns: u64) -> Arc<[String]> {
        let known = self.0.get(&(thread, ended_ns));
        known.map_or_else(|| Arc::from([]), Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_by_its_thread_and_its_end() {
        let functions: Arc<[String]> = Arc::from(["rename".to_owned(), "save".to_owned()]);
        let kept = CallStack {
            functions: Arc::clone(&functions),
            calls: vec![(7, 100), (8, 200)],
        };
        let stacks = Stacks::of(&[kept]);
        assert_eq!(stacks.of_call(8, 200), functions);
        assert!(stacks.of_call(7, 200).is_empty());
    }
}
