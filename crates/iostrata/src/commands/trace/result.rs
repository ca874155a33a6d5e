//! From an observed run to its result.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use iostrata_core::evidence::RawEvidence;
use iostrata_core::gap::{Gap, Missing};
use iostrata_core::timing::seconds;
use iostrata_core::trace::{Facts, Seen, TraceResult, assemble as join};
use iostrata_tracer::failure::{self, survive};
use iostrata_tracer::{aftermath, machine};

use super::Run;
use super::attaching::Attachment;
use super::recording;
use crate::cli::Trace;
use crate::error::Failure;

/// A part that fails is listed as missing; the rest of the result stays.
pub(super) fn assemble(
    options: &Trace,
    run: Run,
    target: Option<&Attachment>,
    failed: &mut Vec<Gap>,
) -> Result<TraceResult, Failure> {
    recording::stacks(options, run.observation.seen.as_ref())?;
    let raw = run.observation.raw;
    let mut seen = run.observation.seen.unwrap_or_default();
    let cache = raw.cache.as_deref().unwrap_or(&[]);
    let asked = survive(Missing::CacheAtEnd, failed, || {
        failure::stage("main.aftermath");
        aftermath::name_mapped(&mut seen, cache);
        // This comes first: the kernel keeps writing back meanwhile.
        let at_exit = aftermath::at_exit(&seen, &raw);
        let calls = raw.syscalls.as_deref().unwrap_or(&[]);
        (at_exit, aftermath::residency(&seen, calls))
    });
    let (at_exit, residency) = asked.unwrap_or_default();
    let mut environment = machine::environment(Path::new("."), run.backend)?;
    environment.ways = run.ways;
    let storage = aftermath::storage(&seen.names, &raw);
    #[cfg(debug_assertions)]
    let (raw, storage) = super::planted::plant(raw, &mut seen, storage);
    let facts = Facts {
        environment,
        command: command(options, target),
        adopted: target.and_then(Attachment::only_process),
        attached: target.map(Attachment::attached),
        exit_code: run.status.and_then(|status| status.code()),
        signal: run.status.and_then(|status| status.signal()),
        started_ns: run.started_ns,
        wall_s: seconds(run.ended_ns.saturating_sub(run.started_ns)),
        storage,
        at_exit,
        residency,
        lower: run.lower,
        missing: target.map(Attachment::gaps).unwrap_or_default(),
    };
    let joined = survive(Missing::EverythingObserved, failed, || {
        failure::stage("main.assemble");
        join(raw, seen, facts.clone())
    });
    Ok(joined.unwrap_or_else(|| join(RawEvidence::default(), Seen::default(), facts)))
}

/// As typed, or that of the process.
fn command(options: &Trace, target: Option<&Attachment>) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let typed = || {
        let words = options.command.iter();
        words.map(|word| text(word.as_bytes())).collect()
    };
    target.map_or_else(typed, |target| target.command.clone())
}
