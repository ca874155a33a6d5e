//! Options of `iostrata explain`.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::commands::explain::ids;

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Experiment or rule
    #[arg(value_name = "ID", value_parser = PossibleValuesParser::new(ids()),
        hide_possible_values = true)]
    pub(crate) id: Option<String>,
}
