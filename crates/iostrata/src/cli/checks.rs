//! Conditions that fail a traced run.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use iostrata_core::rules;
use iostrata_core::trace::Severity;
use iostrata_core::trace::budget::{self, Budget, BudgetError};
use iostrata_tracer::ebpf::call_names;

#[derive(Debug, Args)]
pub(crate) struct Checks {
    /// Exit with code 1 if there is a finding of this severity or worse
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,

    /// Ignore these rules, separated by commas
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rules(),
        hide_possible_values = true)]
    pub(crate) ignore: Vec<String>,

    /// Exit with code 1 if the run exceeds these limits, such as
    /// fsync<=10,writes.bytes<=1MiB,wall<2s
    #[arg(long, value_name = "LIMIT", value_delimiter = ',', value_parser = budget)]
    pub(crate) budget: Vec<Budget>,
}

impl Checks {
    /// The least severity that fails the run.
    pub(crate) fn fail_on(&self) -> Option<Severity> {
        self.fail_on.map(|least| match least {
            FailOn::High => Severity::High,
            FailOn::Medium => Severity::Medium,
            FailOn::Low => Severity::Low,
        })
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    High,
    Medium,
    Low,
}

fn rules() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(rules::ALL.iter().map(|rule| rule.id))
}

fn budget(text: &str) -> Result<Budget, BudgetError> {
    budget::parse(text, call_names())
}
