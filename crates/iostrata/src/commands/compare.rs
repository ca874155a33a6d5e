//! `iostrata compare`: whether two saved results differ.

use std::path::Path;
use std::process::ExitCode;

use iostrata_core::compare::{self, Comparison, Judgement, Sides};
use iostrata_report::{markdown, terminal};

use super::report::read::{self, Saved};
use crate::cli::Compare;
use crate::destination::Destination;
use crate::error::Failure;
use crate::ui::Canvas;

/// Exit code when something is worse than was permitted.
const EXCEEDED: u8 = 1;

pub(crate) fn run(options: &Compare) -> Result<ExitCode, Failure> {
    let is_input = |path: &Path| path.as_os_str() == "-";
    if is_input(&options.base) && is_input(&options.new) {
        return Err(Failure::Usage(
            "standard input can be only one of the two results; name a file for the other"
                .to_owned(),
        ));
    }
    let (base, new) = (read::saved(&options.base)?, read::saved(&options.new)?);
    let mut comparison = compared(options, &base, &new)?;
    refuse(options, &comparison)?;
    if let Some(limit) = options.fail_on {
        comparison.fail_on(limit);
    }
    let destination = options.json.clone().map(Destination::open).transpose()?;
    let json = super::json(&comparison)?;
    super::deliver(destination, &json, || Ok(draw(options, &comparison)))?;
    ending(&comparison)
}

/// The exit code. What nothing could be judged by has not kept its limit.
fn ending(comparison: &Comparison) -> Result<ExitCode, Failure> {
    let Some(fail_on) = &comparison.fail_on else {
        return Ok(ExitCode::SUCCESS);
    };
    let has_times = comparison.judgement != Judgement::NotJudged;
    let has_counts = comparison.trace.is_some() && comparison.calls_differ.is_some();
    if !fail_on.exceeded.is_empty() {
        Ok(ExitCode::from(EXCEEDED))
    } else if has_times || has_counts {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(Failure::Cannot(
            "nothing could be judged, so --fail-on has nothing to hold its limit against: there \
             are fewer than two runs of each case, or calls were not seen; run lab with all its \
             runs, or trace as root"
                .to_owned(),
        ))
    }
}

fn compared(options: &Compare, base: &Saved, new: &Saved) -> Result<Comparison, Failure> {
    let name = |path: &Path| path.to_string_lossy().into_owned();
    let names = Sides {
        base: name(&options.base),
        new: name(&options.new),
    };
    match (base, new) {
        (Saved::Lab(base), Saved::Lab(new)) => Ok(compare::lab(names, base, new)),
        (Saved::Trace(base), Saved::Trace(new)) => Ok(compare::trace(names, base, new)),
        _ => Err(Failure::Usage(format!(
            "cannot compare a result of {} with one of {}; name two of lab, or two of trace",
            base.kind(),
            new.kind()
        ))),
    }
}

/// Two results that have nothing in common, or between which more differs than what is compared.
fn refuse(options: &Compare, comparison: &Comparison) -> Result<(), Failure> {
    if !comparison.has_pairs() {
        return Err(Failure::Cannot(
            "no row of one result is in the other: nothing can be compared; run the same \
             experiments with the same options"
                .to_owned(),
        ));
    }
    let unlike: Vec<String> = comparison
        .unlike()
        .map(|condition| {
            let Sides { base, new } = &condition.sides;
            format!("{}: {base} → {new}", condition.what)
        })
        .collect();
    if unlike.is_empty() || options.anyway {
        return Ok(());
    }
    Err(Failure::Cannot(format!(
        "the results were not made under the same conditions, so a difference would say nothing: \
         {}; run both on the same machine with the same settings, or add --anyway",
        unlike.join("; ")
    )))
}

fn draw(options: &Compare, comparison: &Comparison) -> String {
    if options.markdown {
        return markdown::compare::draw(comparison, options.all_rows);
    }
    let (width, colour) = (Canvas::Output.width(), Canvas::Output.colour());
    let all_rows = options.all_rows;
    let style = terminal::compare::Style { colour, all_rows };
    terminal::compare::draw(comparison, width, style)
}
