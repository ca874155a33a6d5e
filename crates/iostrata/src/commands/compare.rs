//! `iostrata compare`: whether two saved results differ.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use iostrata_core::compare::{self, Comparison, FailOn, Pair, Sides};
use iostrata_report::html::{Drawn, Titled};
use iostrata_report::{markdown, terminal};

use super::report::read::{self, Saved};
use super::written::Page;
use crate::cli::Compare;
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::{self, Named};
use crate::ui::Canvas;

/// Limit for all inputs together, bytes: they are held at once, and so is what differs. Two traces
/// with as many files as are kept apart have a little less.
const LARGEST: u64 = 256 << 20;

/// Exit code when a limit is exceeded.
const EXCEEDED: u8 = 1;

pub(crate) fn run(options: &Compare) -> Result<ExitCode, Failure> {
    let files = pairs(options)?;
    let inputs = files.iter().flat_map(|files| [files.base, files.new]);
    let output = Named::output("--json", options.json.as_deref());
    let named = inputs.map(Named::input).chain(output);
    outputs::check(named.chain(Page::named(&options.html)))?;
    let mut left = LARGEST;
    let mut read = |Sides { base, new }: &Sides<&Path>| {
        Ok(Sides {
            base: read::saved_within(base, &mut left)?,
            new: read::saved_within(new, &mut left)?,
        })
    };
    let saved = files
        .iter()
        .map(&mut read)
        .collect::<Result<Vec<_>, Failure>>()?;
    let mut comparison = compared(&files, &saved)?;
    drop(saved);
    refuse(options, &comparison)?;
    if let Some(limit) = options.fail_on {
        comparison.fail_on(limit);
    }
    let page = Page::open(&options.html)?;
    let destination = Destination::open(options.json.as_deref())?;
    let instead = page.as_ref().is_some_and(Page::is_standard_output);
    super::deliver(destination, &comparison, || {
        Ok(if instead {
            String::new()
        } else {
            draw(options, &comparison)
        })
    })?;
    if let Some(page) = page {
        let Sides { base, new } = &comparison.names;
        page.save(&[Titled {
            name: Some(format!("{base}, {new}")),
            result: Drawn::Comparison(&comparison),
        }])?;
    }
    ending(&comparison, options.allow_inconclusive)
}

/// The exit code. A limit that cannot be shown to be kept counts as exceeded.
fn ending(comparison: &Comparison, allow_inconclusive: bool) -> Result<ExitCode, Failure> {
    let Some(fail_on) = &comparison.fail_on else {
        return Ok(ExitCode::SUCCESS);
    };
    let has_times = comparison.verdict.is_some();
    let has_counts = comparison.trace.is_some() && comparison.calls_differ.is_some();
    if !fail_on.exceeded.is_empty() {
        Ok(ExitCode::from(EXCEEDED))
    } else if !has_times && !has_counts {
        Err(Failure::cannot(
            "nothing could be judged, so --fail-on has nothing to hold its limit against: there \
             are fewer than two runs of each case, or calls were not seen; run lab with all its \
             runs, or trace as root",
        ))
    } else if fail_on.undecided.is_empty() || allow_inconclusive {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(Failure::Cannot(inconclusive(comparison, fail_on)))
    }
}

fn inconclusive(comparison: &Comparison, fail_on: &FailOn) -> String {
    let percent = fail_on.limit.percent;
    if comparison.trace.is_some() {
        return format!(
            "inconclusive: events were lost, so calls or bytes may have grown by {percent} %; trace \
             again, or add --allow-inconclusive"
        );
    }
    format!(
        "inconclusive: the noise may hide a slowdown of {percent} %; run lab on an idle machine or \
         with --thorough, compare several pairs, raise --fail-on, or add --allow-inconclusive"
    )
}

fn pairs(options: &Compare) -> Result<Vec<Sides<&Path>>, Failure> {
    let first = [&options.base, &options.new];
    let files: Vec<&Path> = first
        .into_iter()
        .chain(&options.further)
        .map(PathBuf::as_path)
        .collect();
    let inputs = files.iter().filter(|path| path.as_os_str() == "-");
    if inputs.count() > 1 {
        return Err(Failure::usage(
            "standard input can be only one of the results; name files for the others",
        ));
    }
    match files.as_chunks::<2>() {
        (pairs, []) => Ok(pairs
            .iter()
            .map(|&[base, new]| Sides { base, new })
            .collect()),
        (_, [alone, ..]) => Err(Failure::Usage(format!(
            "results are compared in pairs, and {} is one too many; name a NEW for every BASE",
            alone.display()
        ))),
    }
}

fn compared(files: &[Sides<&Path>], saved: &[Sides<Saved>]) -> Result<Comparison, Failure> {
    let name = |path: &Path| path.to_string_lossy().into_owned();
    let names = |files: &Sides<&Path>| Sides {
        base: name(files.base),
        new: name(files.new),
    };
    let labs: Option<Vec<Pair<'_>>> = files
        .iter()
        .zip(saved)
        .map(|(files, saved)| match (&saved.base, &saved.new) {
            (Saved::Lab(base), Saved::Lab(new)) => Some(Pair {
                names: names(files),
                results: Sides { base, new },
            }),
            _ => None,
        })
        .collect();
    if let Some([first, further @ ..]) = labs.as_deref() {
        return Ok(compare::lab(first, further));
    }
    match (files, saved) {
        (
            [files],
            [
                Sides {
                    base: Saved::Trace(base),
                    new: Saved::Trace(new),
                },
            ],
        ) => Ok(compare::trace(names(files), base, new)),
        ([_], [Sides { base, new }]) => Err(Failure::Usage(format!(
            "cannot compare a result of {} with one of {}; name two of lab, or two of trace",
            base.kind(),
            new.kind()
        ))),
        _ => Err(Failure::usage(
            "only results of lab can be compared in several pairs; name two of trace, whose counts \
             one pair tells",
        )),
    }
}

/// Two results that have nothing in common, or that differ in more than what is compared.
fn refuse(options: &Compare, comparison: &Comparison) -> Result<(), Failure> {
    if !comparison.has_pairs() {
        return Err(Failure::cannot(
            "no row of one result is in the other: nothing can be compared; run the same \
             experiments with the same options",
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
        return markdown::compare(comparison, options.all);
    }
    let (width, colour) = (Canvas::Output.width(), Canvas::Output.colour());
    let style = terminal::Style {
        colour,
        all_rows: options.all,
    };
    terminal::compare(comparison, width, style)
}
