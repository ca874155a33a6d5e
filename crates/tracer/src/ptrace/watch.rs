//! Communication between a tracing thread and its owner.

use std::io::PipeWriter;
use std::process::ExitStatus;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Shared by both threads.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub(super) alive: AtomicU64,
    pub(super) stops: AtomicU64,
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
    /// The end of a pipe; when it is closed, a child of the tracing thread ends. After a ring, that
    /// child ends at once.
    pub(super) fn hang(&self, pipe: PipeWriter) {
        let mut bell = lock(&self.bell);
        bell.pipe = (!bell.rung).then_some(pipe);
    }

    /// Ends that child, which the tracing thread notices like a stop.
    pub(super) fn ring(&self) {
        *lock(&self.bell) = Bell {
            pipe: None,
            rung: true,
        };
    }

    /// Whether the child was ended by that, and not by another process.
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

/// A thread that panicked leaves a consistent value: each is set in one step.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
