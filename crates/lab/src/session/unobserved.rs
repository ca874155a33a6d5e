//! What is known about an unobserved run.

use iostrata_core::Gap;
use iostrata_core::evidence::{Evidence, Faults};

use crate::engine::Work;

/// The parts that need an observer.
const UNSEEN: [&str; 4] = [
    "system calls",
    "page-cache events",
    "device requests",
    "blocked time",
];

/// The part that getrusage(2) provides without privileges; the rest is missing, for the reason
/// `because`.
pub(crate) fn unobserved(work: &Work, because: &str) -> Evidence {
    Evidence {
        faults: Faults {
            minor: Some(work.minor_faults),
            major: Some(work.major_faults),
        },
        on_cpu_s: Some(work.sample.user_s + work.sample.system_s),
        missing: UNSEEN.map(|what| Gap::new(what, because)).into(),
        ..Evidence::default()
    }
}
