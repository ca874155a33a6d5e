//! Unsupported methods are found before anything is timed: each method once, with a small file, and
//! one eviction.

use std::cell::Cell;

use iostrata_core::copy::{Case, CopyMethod, Measure, Source};
use iostrata_core::gap::{Reason, TargetPart};

use super::item::States;
use super::item::{Item, YardstickItem};
use super::source::SourceFile;
use crate::engine::{EngineError, FailureKind};
use crate::error::LabError;
use crate::refused::Refused;
use crate::session::{Item as _, Session};
use crate::target::Target;

/// Bytes of the probe file: not a whole number of blocks.
const PROBE_BYTES: u64 = (64 << 10) + 1;

const PROBE_BUFFER_BYTES: u64 = 8 << 10;

pub(super) struct Abilities {
    pub(super) refused: Refused<Case>,
    /// Why the device does not support writes and reads that bypass the page cache.
    pub(super) no_device: Option<Reason>,
}

impl Abilities {
    pub(super) fn find(
        session: &mut Session<'_>,
        target: &Target,
        cases: &[Case],
    ) -> Result<Self, LabError> {
        session.ledger.step(&format!("probing {}", target.name));
        let source = SourceFile::make(target, PROBE_BYTES, session.stop)?;
        let mut refused = Refused::nothing();
        for method in CopyMethod::ALL {
            let Some(case) = cases.iter().find(|case| case.method == method) else {
                continue;
            };
            let case = Case {
                size_bytes: PROBE_BYTES,
                buffer_bytes: case.buffer_bytes.map(|_| PROBE_BUFFER_BYTES),
                source: Source::Warm,
                ..*case
            };
            let item = Item {
                target,
                source: &source,
                case,
                verified: &Cell::default(),
            };
            let tried = item.run(session, &mut States::default());
            if let Some(why) = refusal(tried.map(drop))? {
                let part = TargetPart::Case(method.as_str().to_owned());
                refused.add(part, why, move |case: &Case| case.method == method);
            }
        }
        let is_cold = |case: &Case| case.source == Source::Cold;
        if cases.iter().any(is_cold)
            && let Some(why) = why_not_cold(&source, target)?
        {
            refused.add(TargetPart::ColdSource, why, is_cold);
        }
        let device = YardstickItem {
            measure: Measure::DeviceWrite,
            size_bytes: PROBE_BYTES,
            place: Some((target, &source)),
        };
        let no_device = if target.is_memory() {
            Some(Reason::NoDevice {
                filesystem: target.storage.filesystem.clone(),
            })
        } else {
            refusal(device.run(session).map(drop))?
        };
        Ok(Self { refused, no_device })
    }
}

/// Why a method cannot be used here; other failures are errors.
fn refusal(outcome: Result<(), LabError>) -> Result<Option<Reason>, LabError> {
    match outcome {
        Err(LabError::Engine(EngineError::Failed(failure)))
            if failure.kind == FailureKind::Unsupported =>
        {
            // The kernel's own answer is enough; the message names a probe file.
            let why = failure.errno.map(std::io::Error::from_raw_os_error);
            Ok(Some(match why {
                Some(error) => Reason::Unsupported {
                    error: error.to_string(),
                },
                None => Reason::Error(failure.message),
            }))
        }
        other => other.map(|()| None),
    }
}

fn why_not_cold(source: &SourceFile, target: &Target) -> Result<Option<Reason>, LabError> {
    let seen = source.prepare(Source::Cold, target)?;
    Ok(match seen {
        Some(seen) if seen.is_cold() => None,
        Some(_) if target.is_memory() => Some(Reason::KeptInMemory {
            filesystem: target.storage.filesystem.clone(),
        }),
        Some(seen) => Some(Reason::StayedResident {
            resident_pages: seen.resident_pages,
            pages: seen.pages,
        }),
        None => Some(target.unknown_cache().unwrap_or(Reason::NoCachestat)),
    })
}
