//! `iostrata explain`: the page of an experiment, as it stands in docs/.

use crate::cli::Explain;
use crate::error::Failure;
use crate::ui;

/// Prints the page.
pub(crate) fn run(options: &Explain) -> Result<(), Failure> {
    ui::print(options.id.page())
}
