//! `iostrata report`: draws saved results by the code that drew them first.

mod exports;
mod last;
pub(super) mod log;
pub(super) mod read;
mod tables;
pub(super) mod viewers;

use std::path::{Path, PathBuf};

use iostrata_core::lab::LabResult;
use iostrata_core::top::{By, Interval, Selection};
use iostrata_report::html::{Drawn, Titled};
use iostrata_report::terminal::lab_screen::{Kept, Parts, Screen};
use iostrata_report::{markdown, terminal};

use self::read::Saved;
use crate::cli::{Report, SHOWN};
use crate::commands::written::{Markdown, Page};
use crate::error::Failure;
use crate::outputs::{self, Named};
use crate::ui::{self, Canvas};

/// Reads every file, then draws them in their order.
pub(crate) fn run(mut options: Report) -> Result<(), Failure> {
    if options.list {
        return last::list();
    }
    let names = options.take_names();
    let is_last = options.paths.is_empty();
    if is_last {
        options.paths = vec![last::find(&options, &names)?];
    }
    let options = &options;
    check_files(options)?;
    let results = options.paths.iter().map(|path| read::saved(path));
    let results: Vec<Saved> = results.collect::<Result<_, _>>()?;
    check_options(options, &names, &results)?;
    if options.html.html.is_some() {
        write_page(options, &names, &results)?;
    }
    if options.markdown.markdown.is_some() {
        write_issue(options, &names, &results)?;
    }
    if options.exports.is_given() {
        exports::run(options, &results)?;
    }
    if options.html.html.is_some()
        || options.markdown.markdown.is_some()
        || options.exports.is_given()
    {
        return Ok(());
    }
    // What cannot be drawn is reported before anything is drawn.
    let drawn = options.paths.iter().zip(&results).map(|(path, result)| {
        let path = (!is_last).then_some(path.as_path());
        draw(options, &names, path, result)
    });
    let drawn: Vec<String> = drawn.collect::<Result<_, _>>()?;
    ui::page(&joined(&options.paths, &drawn))
}

/// Several results follow each other under their names.
fn joined(paths: &[PathBuf], drawn: &[String]) -> String {
    match drawn {
        [only] => only.clone(),
        several => {
            let names = paths.iter().map(|path| path.to_string_lossy());
            let named = names.zip(several).map(|(name, text)| {
                let name = iostrata_report::printable(&name);
                format!("==> {name} <==\n{text}")
            });
            named.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Inputs are not overwritten.
fn check_files(options: &Report) -> Result<(), Failure> {
    let (html, exports) = (&options.html, &options.exports);
    let outputs: [(&'static str, &Option<PathBuf>); 5] = [
        ("--html", &html.html),
        ("--markdown", &options.markdown.markdown),
        ("--parquet", &exports.parquet),
        ("--csv", &exports.csv),
        ("--prometheus", &exports.prometheus),
    ];
    let outputs = outputs.map(|(option, path)| Named::output(option, path.as_deref()));
    let inputs = options.paths.iter().map(|path| Named::input(path));
    let viewers = crate::commands::written::Viewers::named(&exports.viewers);
    outputs::check(inputs.chain(outputs.into_iter().flatten()).chain(viewers))
}

/// An option that means nothing for any of the files is a mistake.
fn check_options(options: &Report, names: &[&str], results: &[Saved]) -> Result<(), Failure> {
    let has = |wanted: fn(&Saved) -> bool| results.iter().any(wanted);
    if options.all_rows && !has(|saved| matches!(saved, Saved::Lab(_) | Saved::Cache(_))) {
        return Err(Failure::usage(
            "--all-rows is for lab and cache results, and none of the files is one; leave it out",
        ));
    }
    if options.shown.is_given() && !has(|saved| matches!(saved, Saved::Trace(_))) {
        return Err(Failure::Usage(format!(
            "{SHOWN} are for trace results, and none of the files is one; leave them out"
        )));
    }
    let is_lab = |saved: &Saved| matches!(saved, Saved::Lab(_));
    if options.parts.is_given() && !has(is_lab) {
        return Err(Failure::usage(
            "--rows, --notes, --method and --all are for lab results, and none of the files is \
             one; leave them out",
        ));
    }
    match names {
        [] => Ok(()),
        [first, ..] if !has(is_lab) => Err(Failure::Usage(format!(
            "{first} is a lab experiment, and none of the files is a lab result; leave it out, or \
             write ./{first} for a file of this name"
        ))),
        names => {
            let has = |name: &str| results.iter().any(|saved| has_experiment(saved, name));
            match names.iter().find(|name| !has(name)) {
                None => Ok(()),
                Some(name) => {
                    let known: Vec<&str> = results.iter().flat_map(experiments_of).collect();
                    let known = known.join(", ");
                    let why = format!("the result has no experiment {name}; it has {known}");
                    Err(Failure::Usage(why))
                }
            }
        }
    }
}

fn has_experiment(saved: &Saved, name: &str) -> bool {
    experiments_of(saved).contains(&name)
}

fn experiments_of(saved: &Saved) -> Vec<&'static str> {
    match saved {
        Saved::Lab(result) => {
            let experiments = result.experiments.iter();
            experiments.map(|one| one.shared().id).collect()
        }
        _ => Vec::new(),
    }
}

/// `path` is `None` of the last result.
fn draw(
    options: &Report,
    names: &[&str],
    path: Option<&Path>,
    result: &Saved,
) -> Result<String, Failure> {
    let (width, colour) = (Canvas::Output.width(), Canvas::Output.colour());
    Ok(match result {
        Saved::Lab(result) => draw_lab(options, names, path, result),
        Saved::Trace(result) => terminal::trace::draw(result, width, &options.shown.style(colour)),
        Saved::Doctor(result) => terminal::doctor(result, width),
        Saved::Cache(result) => {
            let all_rows = options.all_rows;
            terminal::cache(result, width, terminal::Style { colour, all_rows })
        }
        Saved::Crash(result) => terminal::crash(result, width, colour),
        Saved::Calibrate(result) => terminal::calibrate(result, width, colour),
        Saved::Top(intervals) => draw_top(intervals, width, colour),
        Saved::Log(log) => return Err(log.not_drawn()),
    })
}

/// As `top` shows them, unless other rows are asked for.
fn draw_top(intervals: &[Interval], width: usize, colour: bool) -> String {
    let selection = Selection {
        top: Some(super::top::ROWS),
        ..Selection::default()
    };
    let drawn = intervals.iter().enumerate().map(|(position, interval)| {
        let mut interval = interval.clone();
        selection.apply(&mut interval);
        let style = terminal::top::Style {
            by: By::Process,
            is_first: position == 0,
            colour,
        };
        terminal::top::draw(&interval, width, style)
    });
    drawn.collect()
}

fn draw_lab(options: &Report, names: &[&str], path: Option<&Path>, result: &LabResult) -> String {
    let path = path.map(|path| path.to_string_lossy());
    let asked = options.parts;
    let parts = if asked.all || options.all_rows {
        Some(Parts::ALL)
    } else if asked.is_given() {
        Some(Parts {
            answers: false,
            claims: asked.method,
            rows: asked.rows,
            notes: asked.notes,
            method: asked.method,
        })
    } else {
        (!names.is_empty()).then_some(Parts::TABLES)
    };
    let screen = Screen {
        colour: Canvas::Output.colour(),
        names,
        parts,
        all_rows: options.all_rows || asked.all,
        kept: path.as_deref().map_or(Kept::Last, Kept::File),
    };
    terminal::lab_screen::draw(result, Canvas::Output.width(), &screen)
}

/// Writes the page in place of text.
fn write_page(options: &Report, names: &[&str], results: &[Saved]) -> Result<(), Failure> {
    if options.all_rows || options.shown.is_given() {
        return Err(Failure::Usage(format!(
            "--all-rows, {SHOWN} select parts of the text, and --html writes a page with all of \
             it; leave them out"
        )));
    }
    if options.parts.is_given() || !names.is_empty() {
        return Err(Failure::usage(
            "experiments, --rows, --notes, --method and --all select parts of the text, and \
             --html writes a page with all of it; leave them out",
        ));
    }
    let files = options.paths.iter().zip(results);
    let titled = files.map(|(path, saved)| {
        Ok(Titled {
            name: Some(name(path)),
            result: match saved {
                Saved::Lab(result) => Drawn::Lab(result),
                Saved::Trace(result) => Drawn::Trace(result),
                Saved::Doctor(result) => Drawn::Doctor(result),
                Saved::Cache(result) => Drawn::Cache(result),
                Saved::Log(log) => return Err(log.not_drawn()),
                Saved::Crash(result) => Drawn::Crash(result),
                Saved::Calibrate(_) | Saved::Top(_) => return Err(has_no_page(path, saved)),
            },
        })
    });
    let titled: Vec<Titled<'_>> = titled.collect::<Result<_, Failure>>()?;
    match Page::open(&options.html)? {
        Some(page) => page.save(&titled),
        None => Ok(()),
    }
}

fn has_no_page(path: &Path, saved: &Saved) -> Failure {
    Failure::Usage(format!(
        "--html is for results of lab, trace, doctor, cache and crash, and {} is of {}; leave it out",
        name(path),
        saved.kind()
    ))
}

fn name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.to_string_lossy().into_owned()
    }
}

/// Writes text to paste into an issue: all files, one after the other.
fn write_issue(options: &Report, names: &[&str], results: &[Saved]) -> Result<(), Failure> {
    if options.all_rows || options.parts.is_given() {
        return Err(Failure::usage(
            "--all-rows, --rows, --notes, --method and --all choose what the text holds, and of a lab \
             result --markdown writes the answers; leave them out",
        ));
    }
    let drawn = results
        .iter()
        .map(|result| drawn_issue(options, names, result));
    let drawn: Vec<String> = drawn.collect::<Result<_, _>>()?;
    Markdown::open(&options.markdown)?.save(|| drawn.join("\n"))
}

fn drawn_issue(options: &Report, names: &[&str], result: &Saved) -> Result<String, Failure> {
    match result {
        Saved::Lab(result) => Ok(markdown::lab(result, names)),
        Saved::Trace(result) => Ok(markdown::trace(result, &options.shown.style(false))),
        other => Err(Failure::Usage(format!(
            "--markdown is for results of lab and trace, and one of the files is of {}; leave it out",
            other.kind()
        ))),
    }
}
