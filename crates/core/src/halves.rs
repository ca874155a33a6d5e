//! Splits work between two threads while the user waits.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

/// Runs two functions, in parallel if a second thread is available. A panic in either propagates.
pub fn at_once<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    // The first to take it runs it: without a second thread it stays here.
    let other = Mutex::new(Some(other));
    let rest = || {
        let mut other = other.lock().unwrap_or_else(PoisonError::into_inner);
        other.take().map(|other| other())
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, rest);
        let one = one();
        let done = match thread.map(ScopedJoinHandle::join) {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_no_thread) => rest(),
        };
        match done {
            Some(other) => (one, other),
            None => unreachable!("only one of both ways is gone"),
        }
    })
}

/// Runs each half of the work: the results of the first half, then those of the second.
pub fn both<T: Sync, A: Send>(all: &[T], work: impl Fn(&[T]) -> A + Sync) -> [A; 2] {
    let (first, second) = all.split_at(all.len() / 2);
    let (first, second) = at_once(|| work(first), || work(second));
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once_and_in_order() {
        for count in 0..5 {
            let all: Vec<u32> = (0..count).collect();
            assert_eq!(both(&all, <[u32]>::to_vec).concat(), all);
        }
    }

    #[test]
    #[should_panic(expected = "the second half")]
    fn a_panic_of_the_other_thread_is_not_lost() {
        both(&[1, 2], |half| assert_ne!(half, [2], "the second half"));
    }
}
