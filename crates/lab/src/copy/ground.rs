//! Preparations before the first copy is timed: targets with their abilities, and sources.

use std::cell::Cell;

use iostrata_core::copy::{Case, CopyMethod, Measure, Source};
use iostrata_core::gap::{Gap, TargetPart};

use super::item::{Item, YardstickItem};
use super::probe::Abilities;
use super::settings::{Plan, sizes};
use super::source::SourceFile;
use crate::error::LabError;
use crate::session::Session;
use crate::target::Target;

#[derive(Default)]
pub(super) struct Ground<'a> {
    places: Vec<Place<'a>>,
    /// Cases that do not exist, and why.
    pub(super) missing: Vec<Gap>,
    /// Cases that cannot be measured here.
    pub(super) left_out: usize,
}

struct Place<'a> {
    target: &'a Target,
    /// Whether it supports writes and reads that bypass the page cache.
    has_device: bool,
    cases: Vec<Case>,
    sources: Vec<SourceFile>,
}

impl<'a> Ground<'a> {
    pub(super) fn prepare(session: &mut Session<'a>, plan: &Plan) -> Result<Self, LabError> {
        let mut ground = Self::default();
        for target in session.targets {
            let wanted = plan.of(target);
            let abilities = Abilities::find(session, target, wanted)?;
            let Abilities { refused, no_device } = abilities;
            let cases: Vec<Case> = refused.possible(wanted).copied().collect();
            ground.missing.extend(refused.gaps(target, wanted));
            if let Some(why) = &no_device {
                let what = target.part(TargetPart::DeviceLimit);
                ground.missing.push(Gap::new(what, why.clone()));
            }
            ground.left_out += wanted.len() - cases.len();
            let mut sources = Vec::new();
            for size_bytes in sizes(&cases) {
                session.step(&format!("writing the source on {}", target.name));
                sources.push(SourceFile::make(target, size_bytes, session.stop)?);
            }
            ground.places.push(Place {
                target,
                has_device: no_device.is_none(),
                cases,
                sources,
            });
        }
        Ok(ground)
    }

    pub(super) fn items<'b>(&'b self, verified: &'b Cell<u64>) -> Vec<Item<'b>> {
        let mut items = Vec::new();
        for place in &self.places {
            for case in &place.cases {
                let sources = place.sources.iter();
                let mut fitting = sources.filter(|source| source.size_bytes == case.size_bytes);
                if let Some(source) = fitting.next() {
                    items.push(Item {
                        target: place.target,
                        source,
                        case: *case,
                        verified,
                    });
                }
            }
        }
        items
    }

    /// The yardsticks for the rows: the machine's once for each size, the device's on each target
    /// with rows that need it.
    pub(super) fn yardsticks(&self, items: &[Item<'_>]) -> Vec<YardstickItem<'_>> {
        let mut yardsticks = Vec::new();
        let cases: Vec<Case> = items.iter().map(|item| item.case).collect();
        for size_bytes in sizes(&cases) {
            for measure in [
                Measure::MemoryCopy,
                Measure::CachedCopy,
                Measure::FreshMemory,
            ] {
                yardsticks.push(YardstickItem {
                    measure,
                    size_bytes,
                    place: None,
                });
            }
        }
        for place in self.places.iter().filter(|place| place.has_device) {
            for source in &place.sources {
                let of_size = |case: &&Case| case.size_bytes == source.size_bytes;
                let needs = |is: fn(&Case) -> bool| place.cases.iter().filter(of_size).any(is);
                let direct = needs(|case| case.method == CopyMethod::Direct);
                for (measure, needed) in [
                    (Measure::DeviceWrite, direct || needs(|case| case.durable)),
                    (
                        Measure::DeviceRead,
                        direct || needs(|case| case.source == Source::Cold),
                    ),
                ] {
                    yardsticks.extend(needed.then_some(YardstickItem {
                        measure,
                        size_bytes: source.size_bytes,
                        place: Some((place.target, source)),
                    }));
                }
            }
        }
        if cases.iter().any(|case| case.method == CopyMethod::Cp) {
            yardsticks.push(YardstickItem {
                measure: Measure::ProgramStart,
                size_bytes: 0,
                place: None,
            });
        }
        yardsticks
    }
}
