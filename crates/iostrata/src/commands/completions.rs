//! `iostrata completions`: generates shell completions for iostrata's commands and options.

use std::fmt::Write as _;

use clap::CommandFactory as _;
use clap::builder::PossibleValue;
use clap_complete::{Shell as Generator, generate};

use crate::cli::{Arguments, Completions, Shell};
use crate::error::Failure;
use crate::ui;

/// Prints the script.
pub(crate) fn run(options: &Completions) -> Result<(), Failure> {
    let generator = match options.shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    let mut script = Vec::new();
    generate(
        generator,
        &mut Arguments::command(),
        "iostrata",
        &mut script,
    );
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if matches!(options.shell, Shell::Fish) {
        script += &fish_names();
    }
    ui::print(&script)
}

/// What the generator for fish leaves out: names that are no option's value.
fn fish_names() -> String {
    let program = Arguments::command();
    let mut lines = String::new();
    for command in program.get_subcommands() {
        for argument in command.get_positionals() {
            let values = argument.get_possible_values();
            let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
            if !names.is_empty() {
                // Writing to a String cannot fail.
                _ = writeln!(
                    lines,
                    "complete -c iostrata -n \"__fish_seen_subcommand_from {}\" -f -a \"{}\"",
                    command.get_name(),
                    names.join(" ")
                );
            }
        }
    }
    lines
}
