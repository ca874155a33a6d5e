//! `iostrata report`: draws saved results by the code that drew them first.

mod read;

use iostrata_report::terminal;

use self::read::Saved;
use crate::cli::Report;
use crate::error::Failure;
use crate::ui::{self, Canvas};

/// Reads every file, then draws them in their order.
pub(crate) fn run(options: &Report) -> Result<(), Failure> {
    let results = options.paths.iter().map(|path| read::saved(path));
    let results: Vec<Saved> = results.collect::<Result<_, _>>()?;
    check_options(options, &results)?;
    for (position, (path, result)) in options.paths.iter().zip(&results).enumerate() {
        if results.len() > 1 {
            let blank = if position == 0 { "" } else { "\n" };
            let name = iostrata_report::printable(&path.to_string_lossy());
            ui::print(&format!("{blank}==> {name} <==\n"))?;
        }
        ui::print(&draw(options, result))?;
    }
    Ok(())
}

/// An option that means nothing for any of the files is a mistake.
fn check_options(options: &Report, results: &[Saved]) -> Result<(), Failure> {
    let has = |wanted: fn(&Saved) -> bool| results.iter().any(wanted);
    if options.all_rows && !has(|saved| matches!(saved, Saved::Lab(_))) {
        return Err(Failure::Usage(
            "--all-rows is for results of lab, and none of the files is one; leave it out"
                .to_owned(),
        ));
    }
    if options.shown.is_given() && !has(|saved| matches!(saved, Saved::Trace(_))) {
        return Err(Failure::Usage(
            "--findings, --files, --calls and --by are for results of trace, and none of the \
             files is one; leave them out"
                .to_owned(),
        ));
    }
    Ok(())
}

fn draw(options: &Report, result: &Saved) -> String {
    let (width, colour) = (Canvas::Output.width(), Canvas::Output.colour());
    match result {
        Saved::Lab(result) => {
            let all_rows = options.all_rows;
            terminal::lab::draw(result, width, terminal::lab::Style { colour, all_rows })
        }
        Saved::Trace(result) => terminal::trace::draw(result, width, options.shown.style(colour)),
        Saved::Doctor(result) => terminal::doctor::draw(result, width),
    }
}
