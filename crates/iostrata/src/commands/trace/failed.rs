//! Parts of iostrata that failed while a program ran.
//!
//! The program keeps running, the partial result is saved with a list of what is missing, and the
//! run fails.

use std::any::Any;
use std::fmt::Display;

use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_tracer::failure::{self, survive};

use super::itself;
use crate::error::Failure;
use iostrata_report::words;

/// Does one part of the work; its failure is listed as missing.
pub(super) fn or_missing<T, E: Display>(
    missing: Missing,
    failed: &mut Vec<Gap>,
    work: impl FnOnce() -> Result<T, E>,
) -> Option<T> {
    let done = survive(missing.clone(), failed, work)?;
    done.map_err(|error| failed.push(Gap::new(missing, Reason::Error(error.to_string()))))
        .ok()
}

/// Fails the run if a part has failed.
pub(super) fn told(failed: &[Gap]) -> Result<(), Failure> {
    let Some(first) = failed.first() else {
        return Ok(());
    };
    Err(itself(&format!(
        "the result is incomplete: {} is missing ({}); the program was not affected. Run it \
         again, and please report this",
        words::missing(&first.what),
        words::reason(&first.why)
    )))
}

/// After a panic that left nothing to save.
pub(super) fn nothing_saved(panic: &(dyn Any + Send)) -> Failure {
    itself(&format!(
        "there is no result ({}); the program was not affected. Run it again, and please report \
         this with the lines above",
        failure::words(panic)
    ))
}

/// The tracing process was killed, and the program with it.
pub(super) fn killed_behind(signal: i32) -> Failure {
    itself(&format!(
        "there is no result: signal {signal} ended iostrata's tracer process, and the kernel \
         ended the program with it, because the program cannot make system calls without its \
         tracer. Run it again; with --every-call it would have kept running"
    ))
}
