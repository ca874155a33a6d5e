//! Experiments and their workload processes, on the real kernel.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

/// The result of an experiment, which must be of this kind.
macro_rules! of {
    ($kind:ident, $experiment:expr) => {
        match $experiment {
            iostrata_core::lab::Experiment::$kind(result) => result,
            other => panic!("it is of {}", other.shared().id),
        }
    };
}

mod atime;
mod buffering;
mod child;
mod copying;
mod expected_calls;
mod observed;
mod page_cache;
mod page_cache_observed;
mod places;
mod replay;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
#[path = "../../../tracer/tests/observe/undisturbed.rs"]
mod undisturbed;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
