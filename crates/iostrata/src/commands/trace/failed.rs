//! What fails a run: findings, exceeded budgets, and parts of iostrata that failed while a program ran.
//!
//! After such a failure the program keeps running, the partial result is saved with a list of what is missing, and the
//! run fails.

use std::any::Any;
use std::fmt::Display;
use std::process::ExitCode;

use iostrata_core::environment::Backend;
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::noun::counted;
use iostrata_core::trace::TraceResult;
use iostrata_core::trace::budget::{self, Outcome, Sight};
use iostrata_report::{terminal, words};
use iostrata_tracer::failure::{self, survive};
use iostrata_tracer::ptrace;

use super::{itself, not_said};
use crate::cli::Checks;
use crate::error::Failure;
use crate::ui::{self, Canvas};

/// Does one part of the work; its failure is listed as missing.
pub(super) fn or_missing<T, E: Display>(
    missing: Missing,
    failed: &mut Vec<Gap>,
    work: impl FnOnce() -> Result<T, E>,
) -> Option<T> {
    let done = survive(missing.clone(), failed, work)?;
    done.map_err(|error| failed.push(Gap::new(missing, Reason::Error(error.to_string()))))
        .ok()
}

/// Fails the run if a part has failed.
pub(super) fn told(failed: &[Gap]) -> Result<(), Failure> {
    let Some(first) = failed.first() else {
        return Ok(());
    };
    Err(itself(format!(
        "the result is incomplete: {} is missing ({}); the program was not affected. Run it \
         again, and please report this",
        words::missing(&first.what),
        words::reason(&first.why)
    )))
}

/// After a panic that left nothing to save.
pub(super) fn nothing_saved(panic: &(dyn Any + Send)) -> Failure {
    itself(format!(
        "there is no result ({}); the program was not affected. Run it again, and please report \
         this with the lines above",
        failure::words(panic)
    ))
}

/// The tracing process was killed, and the program with it.
pub(super) fn killed_behind(signal: i32) -> Failure {
    itself(format!(
        "there is no result: signal {signal} ended iostrata's tracer process, and the kernel \
         ended the program with it, because the program cannot make system calls without its \
         tracer. Run it again; with --every-call it would have kept running"
    ))
}

/// The program's own failure keeps its code. A budget that cannot be judged is a failure of iostrata.
pub(super) fn judge(
    result: &TraceResult,
    checks: &Checks,
    program: ExitCode,
    hides_calls: bool,
) -> Result<ExitCode, Failure> {
    let sees = |call: &str| match result.backend {
        Backend::Ebpf => true,
        Backend::Ptrace => ptrace::sees(call),
        Backend::None => false,
    };
    let sight = Sight { sees, hides_calls };
    let judged = budget::judge(result, &checks.budget, &sight);
    let drawn = terminal::trace::draw_budgets(&judged, Canvas::Error.width());
    ui::say_drawn(&drawn).map_err(|error| not_said(&error))?;
    let exceeded = judged.iter().any(|one| one.outcome == Outcome::Exceeded);
    let unknown = judged
        .iter()
        .any(|one| matches!(one.outcome, Outcome::Unknown(_)));
    let found = found(result, checks);
    if program != ExitCode::SUCCESS {
        Ok(program)
    } else if exceeded || found {
        Ok(ExitCode::FAILURE)
    } else if unknown {
        Err(itself(
            "a budget could not be judged; the table above shows the reason",
        ))
    } else {
        Ok(program)
    }
}

/// Whether findings fail the run.
fn found(result: &TraceResult, checks: &Checks) -> bool {
    let Some(least) = checks.fail_on else {
        return false;
    };
    let found = result.findings.iter();
    let count = found.filter(|finding| finding.severity >= least).count();
    if count > 0 {
        let findings = counted(count as u64, "finding");
        ui::say(&format!("--fail-on: {findings} of that severity or worse"));
    }
    count > 0
}
