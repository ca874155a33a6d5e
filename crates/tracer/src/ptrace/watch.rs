//! What a tracing thread and its owner tell each other.

use std::io::PipeWriter;
use std::process::ExitStatus;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Shared by both threads.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Threads that are traced.
    pub(super) alive: AtomicU64,
    /// Stops that were answered.
    pub(super) stops: AtomicU64,
    /// Whether the program was executed.
    pub(super) executed: AtomicBool,
    status: Mutex<Option<ExitStatus>>,
    bell: Mutex<Option<PipeWriter>>,
}

impl Watch {
    /// The end of a pipe on whose closing a child of the tracing thread ends.
    pub(super) fn hang(&self, bell: PipeWriter) {
        *lock(&self.bell) = Some(bell);
    }

    /// Ends that child, which the tracing thread notices as it notices stops.
    pub(super) fn ring(&self) {
        lock(&self.bell).take();
    }

    pub(super) fn root_ended(&self, status: ExitStatus) {
        *lock(&self.status) = Some(status);
    }

    pub(super) fn status(&self) -> Option<ExitStatus> {
        *lock(&self.status)
    }
}

/// A thread that panicked leaves a whole value behind: each is set in one step.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
