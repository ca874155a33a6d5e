//! What is said besides when the command line is refused: clap's own tips, where they fit.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Error, Parser as _};
use iostrata_core::suggest::is_slip;

use super::Arguments;
use crate::ui;

/// The arguments of this process. Where it has none to go on with, that is said, or the help is printed.
pub(crate) fn parsed() -> Result<Arguments, ExitCode> {
    Arguments::try_parse().map_err(|error| {
        let error = fitting(error);
        let printed = ui::unless_closed(error.print());
        match printed {
            // What was asked for, `--help` and `--version`, is a result.
            Err(full) if !error.use_stderr() => ui::unprinted(&full).report(),
            _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
        }
    })
}

/// The error with the tips that help.
fn fitting(mut error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidValue => {
            let text = |kind| match error.get(kind) {
                Some(ContextValue::String(text)) => text.as_str(),
                _ => "",
            };
            let (typed, suggested) = (
                text(ContextKind::InvalidValue),
                text(ContextKind::SuggestedValue),
            );
            if !suggested.is_empty() && !is_slip(typed, suggested) {
                error.remove(ContextKind::SuggestedValue);
            }
        }
        ErrorKind::UnknownArgument => unknown_option(&mut error),
        ErrorKind::MissingRequiredArgument => nothing_to_trace(&mut error),
        _ => {}
    }
    error
}

/// clap would have an option that it does not know handed on as a value. Only `trace` has values that
/// begin with a hyphen: the program's own options, which stand behind the program.
fn unknown_option(error: &mut Error) {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested) else {
        return;
    };
    let as_value = format!("'-- {option}'");
    if !tips.iter().any(|tip| tip.to_string().contains(&as_value)) {
        return;
    }
    let tip = if option == "-f" {
        "trace follows every process that the program starts; leave -f out"
    } else {
        "options of iostrata stand before the command, those of the command behind it"
    };
    let tips = ContextValue::StyledStrs(vec![tip.into()]);
    error.insert(ContextKind::Suggested, tips);
}

/// A command is not the only thing that can be traced, and clap names no other.
fn nothing_to_trace(error: &mut Error) {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else {
        return;
    };
    if usage.to_string().contains("iostrata trace ") {
        let tip = "iostrata trace -- COMMAND runs a program; -p PID, --name, --unit, --cgroup or --container \
                   observe a running one";
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
}
