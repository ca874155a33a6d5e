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
    bell: Mutex<Bell>,
}

/// A child of the tracing thread that ends when its pipe is closed.
#[derive(Debug, Default)]
struct Bell {
    pipe: Option<PipeWriter>,
    rung: bool,
}

impl Watch {
    /// The end of a pipe on whose closing a child of the tracing thread ends. Once it was
    /// rung, that child ends at once.
    pub(super) fn hang(&self, pipe: PipeWriter) {
        let mut bell = lock(&self.bell);
        bell.pipe = (!bell.rung).then_some(pipe);
    }

    /// Ends that child, which the tracing thread notices as it notices stops.
    pub(super) fn ring(&self) {
        *lock(&self.bell) = Bell {
            pipe: None,
            rung: true,
        };
    }

    /// Whether the child was ended by that, and not by somebody else.
    pub(super) fn was_rung(&self) -> bool {
        lock(&self.bell).rung
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
