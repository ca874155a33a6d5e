//! What is known about an unobserved run.

use iostrata_core::evidence::{Evidence, Faults};
use iostrata_core::gap::{Gap, Missing, Reason, Stratum};

use crate::engine::Work;

/// The parts that need an observer.
const UNSEEN: [Missing; 4] = [
    Missing::Stratum(Stratum::Syscalls),
    Missing::CacheEvents,
    Missing::Stratum(Stratum::Device),
    Missing::Stratum(Stratum::Blocked),
];

/// The part that getrusage(2) provides without privileges; the rest is missing, for the reason
/// `because`.
pub(crate) fn unobserved(work: &Work, because: &Reason) -> Evidence {
    Evidence {
        faults: Faults {
            minor: Some(work.minor_faults),
            major: Some(work.major_faults),
        },
        on_cpu_s: Some(work.sample.user_s + work.sample.system_s),
        missing: UNSEEN.map(|what| Gap::new(what, because.clone())).into(),
        ..Evidence::default()
    }
}
