//! Parts of iostrata that fail while a program runs: their messages and, in tests, how failures are
//! injected.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use iostrata_core::gap::{Gap, Missing, Reason};

/// Does one part of the work. If it panics, the resulting gap is added to `failed`.
pub fn survive<T>(missing: Missing, failed: &mut Vec<Gap>, work: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.map_err(|panic| failed.push(Gap::new(missing, Reason::Defect(message(&*panic)))))
        .ok()
}

pub fn message(panic: &(dyn Any + Send)) -> String {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    said.unwrap_or("a panic").to_owned()
}

/// The same as a reason.
pub fn words(panic: &(dyn Any + Send)) -> String {
    format!("a defect of iostrata: {}", message(panic))
}

/// A stage at which a test may make this part fail. Does nothing in a release build.
#[inline]
pub fn stage(name: &str) {
    #[cfg(debug_assertions)]
    injected::fail_at(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

/// Whether a test wants this kernel-side program never to run (`kernel.NAME`).
pub(crate) fn is_silenced(program: &str) -> bool {
    #[cfg(debug_assertions)]
    return injected::is_silenced(program);
    #[cfg(not(debug_assertions))]
    {
        let _ = program;
        false
    }
}

#[cfg(debug_assertions)]
pub use injected::{inject, planted};

#[cfg(debug_assertions)]
mod injected {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Wanted {
        stage: String,
        /// How often the stage still passes before it fails.
        passes: AtomicU64,
    }

    static WANTED: OnceLock<Wanted> = OnceLock::new();

    /// Makes the part panic at a stage: `reader.drain`, or `reader.drain@7` for the seventh time
    /// only.
    pub fn inject(wanted: &str) {
        let (stage, time) = wanted.split_once('@').unwrap_or((wanted, "1"));
        let passes = time.parse::<u64>().unwrap_or(1).saturating_sub(1);
        WANTED.get_or_init(|| Wanted {
            stage: stage.to_owned(),
            passes: AtomicU64::new(passes),
        });
    }

    pub(super) fn is_silenced(program: &str) -> bool {
        let stage = WANTED.get().map(|wanted| wanted.stage.as_str());
        stage.and_then(|stage| stage.strip_prefix("kernel.")) == Some(program)
    }

    /// The fault that a test wants in what was observed (`planted.NAME`).
    pub fn planted() -> Option<&'static str> {
        WANTED.get()?.stage.strip_prefix("planted.")
    }

    pub(super) fn fail_at(name: &str) {
        let Some(wanted) = WANTED.get().filter(|wanted| wanted.stage == name) else {
            return;
        };
        let before = wanted.passes.fetch_sub(1, Ordering::Relaxed);
        assert!(before != 0, "injected at {name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_panics_is_missing() {
        let mut failed = Vec::new();
        assert_eq!(survive(Missing::Findings, &mut failed, || 1), Some(1));
        assert_eq!(failed, []);
        let none: Option<()> = survive(Missing::Signal, &mut failed, || panic!("said {}", 2));
        assert_eq!(none, None);
        let gap = Gap::new(Missing::Signal, Reason::Defect("said 2".into()));
        assert_eq!(failed, [gap]);
    }
}
