//! `iostrata completions`: generates shell completions for iostrata's commands and options.

use std::fmt::Write as _;

use clap::CommandFactory as _;
use clap::builder::PossibleValue;
use clap_complete::{Shell, generate};

use crate::cli::{Arguments, Completions};
use crate::error::Failure;
use crate::ui;

pub(crate) fn run(options: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut command = Arguments::command();
    generate(options.shell, &mut command, "iostrata", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match options.shell {
        Shell::Bash => script = script.replacen(BASH_FUNCTION, BASH_COMMAND, 1),
        Shell::Fish => {
            script = with_unused_letters(&script);
            script += &fish_names();
            script += FISH_COMMAND;
        }
        _ => {}
    }
    ui::print(&script)
}

/// The beginning of the function that the generator for bash makes.
const BASH_FUNCTION: &str = "_iostrata() {\n";

/// What follows `--` is completed as if it had been typed alone: by bash-completion, or else names of
/// commands, then of files. zsh does so by itself, because of the argument's value hint.
const BASH_COMMAND: &str = r#"_iostrata_command() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif [[ $COMP_CWORD -eq $1 ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}" | sort -u)
    fi
}

_iostrata() {
    local word
    for ((word = 2; word < COMP_CWORD; word++)); do
        if [[ ${COMP_WORDS[word]} == -- ]]; then
            _iostrata_command $((word + 1))
            return
        fi
    done
"#;

/// The same for fish.
const FISH_COMMAND: &str = r"
function __iostrata_command
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $words)
    complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-1]))
end
complete -c iostrata -n 'contains -- -- (commandline -opc)' -f -a '(__iostrata_command)'
";

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
