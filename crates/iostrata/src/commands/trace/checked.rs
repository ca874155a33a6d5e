//! Conditions that fail a run: findings, and exceeded budgets.

use iostrata_core::noun::counted;
use std::process::ExitCode;

use iostrata_core::environment::Backend;
use iostrata_core::trace::TraceResult;
use iostrata_core::trace::budget::{self, Outcome, Sight};
use iostrata_report::terminal;
use iostrata_tracer::ptrace;

use super::itself;
use crate::cli::Checks;
use crate::error::Failure;
use crate::ui::{self, Canvas};

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
    ui::say_drawn(&terminal::trace::draw_budgets(
        &judged,
        Canvas::Error.width(),
    ));
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
            &"a budget could not be judged; the table above shows the reason",
        ))
    } else {
        Ok(program)
    }
}

/// Whether findings fail the run.
fn found(result: &TraceResult, checks: &Checks) -> bool {
    let Some(least) = checks.fail_on() else {
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
