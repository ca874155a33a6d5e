//! Work on many things that a user waits for, by two threads.

use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

/// Does each half of the work, at the same time where another thread can be had: the answers of the
/// first half, then those of the second. A panic in either goes on here.
pub fn both<T: Sync, A: Send>(all: &[T], work: impl Fn(&[T]) -> A + Sync) -> [A; 2] {
    let (first, second) = all.split_at(all.len() / 2);
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, || work(second));
        let done = work(first);
        let other = match other.map(ScopedJoinHandle::join) {
            Ok(Ok(other)) => other,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_no_thread) => work(second),
        };
        [done, other]
    })
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
