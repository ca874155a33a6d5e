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
        script = with_unused_letters(&script);
        script += &fish_names();
    }
    ui::print(&script)
}

/// Gives long options a letter in the specifications for `argparse`, behind `-`: it is not accepted as an
/// option, but fish before 3.2 refuses a specification without one, and completes nothing.
/// See <https://fishshell.com/docs/3.1/cmds/argparse.html>.
fn with_unused_letters(script: &str) -> String {
    const SPECIFICATIONS: &str = "    string join \\n ";
    let mut lines = String::with_capacity(script.len());
    for line in script.split_inclusive('\n') {
        let Some(options) = line.strip_prefix(SPECIFICATIONS) else {
            lines += line;
            continue;
        };
        lines += SPECIFICATIONS;
        let options = options.trim_end().split(' ').zip(('A'..='Z').cycle());
        let options = options.map(|(option, letter)| match option.as_bytes() {
            [_, b'/', ..] | [_] => option.to_owned(),
            _ => format!("{letter}-{option}"),
        });
        lines += &options.collect::<Vec<_>>().join(" ");
        lines.push('\n');
    }
    lines
}

/// Completions that the generator for fish leaves out: values of arguments.
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
