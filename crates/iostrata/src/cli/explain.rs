//! Options of `iostrata explain`.

use clap::Args;

use crate::commands::explain::Ids;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// Experiment, rule, kind of crash finding or glossary term
    #[arg(value_name = "ID", value_parser = Ids, hide_possible_values = true)]
    pub(crate) id: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  iostrata explain
  iostrata explain sync
  iostrata explain rename-without-fsync
  iostrata explain lost-after-ack
  iostrata explain write-amplification";
