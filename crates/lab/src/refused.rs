//! Cases that a target or this kernel refuses, found before anything is timed.

use iostrata_core::gap::{Gap, Reason, TargetPart};

use crate::target::Target;

/// Features that cases need and this target lacks, with the reasons.
pub(crate) struct Refused<C> {
    parts: Vec<Part<C>>,
}

struct Part<C> {
    what: TargetPart,
    why: Reason,
    is_in: Box<dyn Fn(&C) -> bool>,
}

impl<C> Refused<C> {
    pub(crate) fn nothing() -> Self {
        Self { parts: Vec::new() }
    }

    pub(crate) fn add(
        &mut self,
        what: TargetPart,
        why: Reason,
        is_in: impl Fn(&C) -> bool + 'static,
    ) {
        self.parts.push(Part {
            what,
            why,
            is_in: Box::new(is_in),
        });
    }

    /// Why the case cannot be measured; `None` when it can.
    pub(crate) fn why(&self, case: &C) -> Option<&Reason> {
        let part = self.parts.iter().find(|part| (part.is_in)(case));
        part.map(|part| &part.why)
    }

    /// The cases that can be measured.
    pub(crate) fn possible<'a>(&self, cases: &'a [C]) -> impl Iterator<Item = &'a C> {
        cases.iter().filter(|case| self.why(case).is_none())
    }

    /// The cases left out on this target.
    pub(crate) fn gaps(&self, target: &Target, cases: &[C]) -> Vec<Gap> {
        let mut parts: Vec<&Part<C>> = self.parts.iter().collect();
        parts.retain(|part| cases.iter().any(&part.is_in));
        let gap = |part: &Part<C>| Gap::new(target.part(part.what.clone()), part.why.clone());
        parts.into_iter().map(gap).collect()
    }
}
