//! `iostrata report --html`: one page for all files.

use std::path::Path;

use iostrata_report::html::{Drawn, Titled};

use super::read::Saved;
use crate::cli::{Report, SHOWN};
use crate::commands::written::Page;
use crate::error::Failure;

/// Writes the page in place of text.
pub(super) fn write(options: &Report, names: &[&str], results: &[Saved]) -> Result<(), Failure> {
    if options.all_rows || options.shown.is_given() {
        return Err(Failure::Usage(format!(
            "--all-rows, {SHOWN} select parts of the text, and --html writes a page with all of \
             it; leave them out"
        )));
    }
    if options.parts.is_given() || !names.is_empty() {
        return Err(Failure::Usage(
            "experiments, --rows, --notes, --method and --all select parts of the text, and \
             --html writes a page with all of it; leave them out"
                .to_owned(),
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
