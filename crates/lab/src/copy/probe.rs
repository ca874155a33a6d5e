//! Unsupported methods are found before anything is timed: each method once, with a small file, and
//! one eviction.

use std::cell::Cell;

use iostrata_core::copy::{Case, CopyMethod, Measure, Source};

use super::item::{Item, YardstickItem};
use super::source::SourceFile;
use super::states::States;
use crate::engine::{EngineError, FailureKind};
use crate::error::LabError;
use crate::refused::Refused;
use crate::session::{Item as _, Session};
use crate::target::Target;

/// Bytes of the probe file: not a whole number of blocks.
const PROBE_BYTES: u64 = (64 << 10) + 1;

/// Buffer size of the probe.
const PROBE_BUFFER_BYTES: u64 = 8 << 10;

/// The abilities of a target.
pub(super) struct Abilities {
    /// Cases that are not possible here.
    pub(super) refused: Refused<Case>,
    /// Why the device does not support writes and reads that bypass the page cache.
    pub(super) no_device: Option<String>,
}

impl Abilities {
    /// Probes them, for the methods and states of `cases`.
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
                refused.add(method.as_str(), why, move |case: &Case| {
                    case.method == method
                });
            }
        }
        let is_cold = |case: &Case| case.source == Source::Cold;
        if cases.iter().any(is_cold)
            && let Some(why) = why_not_cold(&source, target)?
        {
            refused.add("cold source", why, is_cold);
        }
        let device = YardstickItem {
            measure: Measure::DeviceWrite,
            size_bytes: PROBE_BYTES,
            place: Some((target, &source)),
        };
        let no_device = if target.is_memory() {
            Some(format!("{} has no device", target.storage.filesystem))
        } else {
            refusal(device.run(session).map(drop))?
        };
        Ok(Self { refused, no_device })
    }
}

/// Why a method cannot be used here; other failures are errors.
fn refusal(outcome: Result<(), LabError>) -> Result<Option<String>, LabError> {
    match outcome {
        Err(LabError::Engine(EngineError::Failed(failure)))
            if failure.kind == FailureKind::Unsupported =>
        {
            // The kernel's own answer is enough; the message names a probe file.
            let why = failure.errno.map(std::io::Error::from_raw_os_error);
            Ok(Some(why.map_or(failure.message, |error| {
                format!("the kernel or the file system does not support it: {error}")
            })))
        }
        other => other.map(|()| None),
    }
}

fn why_not_cold(source: &SourceFile, target: &Target) -> Result<Option<String>, LabError> {
    let seen = source.prepare(Source::Cold, target)?;
    Ok(match seen {
        Some(seen) if seen.is_cold() => None,
        Some(_) if target.is_memory() => Some(format!(
            "{} keeps its files only in memory",
            target.storage.filesystem
        )),
        Some(seen) => Some(format!(
            "asked to evict a file, but {} of {} pages stayed resident",
            seen.resident_pages, seen.pages
        )),
        None => Some(
            target
                .unknown_cache()
                .unwrap_or("this kernel does not report residency (cachestat, Linux 6.5)")
                .to_owned(),
        ),
    })
}
