//! Waits for what no call waits for: files, states of processes, screens. Other crates' tests
//! include this file.
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Longer than a busy machine needs.
const PATIENCE: Duration = Duration::from_mins(5);

/// Asks until there is an answer. An error is what was seen instead; the test fails with the last.
#[track_caller]
pub(crate) fn until<T, E: Debug>(mut ask: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let seen = match ask() {
            Ok(answer) => return answer,
            Err(seen) => seen,
        };
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {seen:?}");
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
