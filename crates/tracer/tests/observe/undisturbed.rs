//! Tests whose pages must stay in the cache.

use std::panic::{AssertUnwindSafe, catch_unwind};

use iostrata_tracer::page_cache::page_out;

/// One page-out in five seconds hits a test of a second at most once in five tries.
const TRIES: u32 = 5;

/// Runs a test that counts pages. A kernel with proactive page-out (`iostrata doctor` reports it)
/// may evict pages in the middle of the test: only on such a kernel is a failed test repeated.
pub(crate) fn undisturbed(test: impl Fn()) {
    if !page_out().is_empty() {
        for _ in 1..TRIES {
            if catch_unwind(AssertUnwindSafe(&test)).is_ok() {
                return;
            }
        }
    }
    test();
}
