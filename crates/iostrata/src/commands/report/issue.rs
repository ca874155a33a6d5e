//! `iostrata report --markdown`: text to paste into an issue.

use iostrata_report::markdown;

use super::read::Saved;
use crate::cli::Report;
use crate::commands::written::Markdown;
use crate::error::Failure;

/// Writes all files, one after the other.
pub(super) fn write(options: &Report, names: &[&str], results: &[Saved]) -> Result<(), Failure> {
    if options.all_rows || options.parts.is_given() {
        return Err(Failure::Usage(
            "--all-rows, --rows, --notes, --method and --all choose what the text holds, and of a lab \
             result --markdown writes the answers; leave them out"
                .to_owned(),
        ));
    }
    let drawn = results.iter().map(|result| draw(options, names, result));
    let drawn: Vec<String> = drawn.collect::<Result<_, _>>()?;
    Markdown::open(&options.markdown)?.save(|| drawn.join("\n"))
}

fn draw(options: &Report, names: &[&str], result: &Saved) -> Result<String, Failure> {
    match result {
        Saved::Lab(result) => Ok(markdown::lab(result, names)),
        Saved::Trace(result) => Ok(markdown::trace(result, &options.shown.style(false))),
        other => Err(Failure::Usage(format!(
            "--markdown is for results of lab and trace, and one of the files is of {}; leave it out",
            other.kind()
        ))),
    }
}
