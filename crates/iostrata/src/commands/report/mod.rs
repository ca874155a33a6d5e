//! `iostrata report`: draws saved results by the code that drew them first.

mod exports;
pub(super) mod log;
mod metrics;
mod page;
pub(super) mod read;
mod tables;

use iostrata_report::terminal;

use self::read::Saved;
use crate::cli::{Report, SHOWN};
use crate::error::Failure;
use crate::outputs::{self, Named};
use crate::ui::{self, Canvas};

/// Reads every file, then draws them in their order.
pub(crate) fn run(options: &Report) -> Result<(), Failure> {
    check_files(options)?;
    let results = options.paths.iter().map(|path| read::saved(path));
    let results: Vec<Saved> = results.collect::<Result<_, _>>()?;
    check_options(options, &results)?;
    if options.html.html.is_some() {
        page::write(options, &results)?;
    }
    if options.exports.is_given() {
        exports::run(options, &results)?;
    }
    if options.html.html.is_some() || options.exports.is_given() {
        return Ok(());
    }
    // What cannot be drawn is told before anything is.
    let drawn = results.iter().map(|result| draw(options, result));
    let drawn: Vec<String> = drawn.collect::<Result<_, _>>()?;
    for (position, (path, text)) in options.paths.iter().zip(&drawn).enumerate() {
        if results.len() > 1 {
            let blank = if position == 0 { "" } else { "\n" };
            let name = iostrata_report::printable(&path.to_string_lossy());
            ui::print(&format!("{blank}==> {name} <==\n"))?;
        }
        ui::print(text)?;
    }
    Ok(())
}

/// What is read is not written over.
fn check_files(options: &Report) -> Result<(), Failure> {
    let (html, exports) = (&options.html, &options.exports);
    let outputs = [
        ("--html", &html.html),
        ("--parquet", &exports.parquet),
        ("--csv", &exports.csv),
        ("--prometheus", &exports.prometheus),
    ];
    let outputs = outputs.map(|(option, path)| Named::output(option, path.as_deref()));
    let inputs = options.paths.iter().map(|path| Named::input(path));
    outputs::check(inputs.chain(outputs.into_iter().flatten()))
}

/// An option that means nothing for any of the files is a mistake.
fn check_options(options: &Report, results: &[Saved]) -> Result<(), Failure> {
    let has = |wanted: fn(&Saved) -> bool| results.iter().any(wanted);
    if options.all_rows && !has(|saved| matches!(saved, Saved::Lab(_) | Saved::Cache(_))) {
        return Err(Failure::Usage(
            "--all-rows is for results of lab and cache, and none of the files is one; leave it out"
                .to_owned(),
        ));
    }
    if options.shown.is_given() && !has(|saved| matches!(saved, Saved::Trace(_))) {
        return Err(Failure::Usage(format!(
            "{SHOWN} are for results of trace, and none of the files is one; leave them out"
        )));
    }
    Ok(())
}

fn draw(options: &Report, result: &Saved) -> Result<String, Failure> {
    let (width, colour) = (Canvas::Output.width(), Canvas::Output.colour());
    Ok(match result {
        Saved::Lab(result) => {
            let all_rows = options.all_rows;
            terminal::lab::draw(result, width, terminal::lab::Style { colour, all_rows })
        }
        Saved::Trace(result) => terminal::trace::draw(result, width, &options.shown.style(colour)),
        Saved::Doctor(result) => terminal::doctor::draw(result, width),
        Saved::Cache(result) => {
            let all_rows = options.all_rows;
            terminal::cache::draw(result, width, terminal::cache::Style { colour, all_rows })
        }
        Saved::Log(log) => return Err(log.not_drawn()),
    })
}
