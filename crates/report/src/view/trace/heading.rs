//! What ran, how it ended, what observed it; before all of it, what was lost.

use iostrata_core::bytes::grouped;
use iostrata_core::environment::Backend;
use iostrata_core::trace::TraceResult;

use super::View;
use crate::format::{self, beginning, counted};
use crate::view::page::{Page, SEPARATOR, Tone};
use crate::view::place::{below, file_system, machine, observed};

/// Signals 1 to 31 (include/uapi/asm-generic/signal.h; some architectures differ).
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let result = view.result;
    if result.lost_events > 0 {
        let text = format!(
            "{} events lost: counts may be too low by them",
            grouped(result.lost_events)
        );
        page.styled(0, &text, Tone::Warning);
    }
    // The rest of the line says more than the end of a long command line.
    let command = beginning(&command(result), page.width());
    let words = [
        format::time(result.wall_s),
        end(result),
        who(result),
        seen(result),
    ];
    page.title("trace", &command, words.to_vec());
    let target = &result.environment.target;
    let place = format!(
        "in {} on {}{}",
        target.path,
        file_system(target),
        below(target)
    );
    let words = [place, machine(&result.environment)];
    page.paragraph(0, &words.join(SEPARATOR));
}

fn command(result: &TraceResult) -> String {
    let words = result.command.iter().map(|word| {
        if word.is_empty() || word.contains(char::is_whitespace) {
            format!("'{word}'")
        } else {
            word.clone()
        }
    });
    let line = words.collect::<Vec<_>>().join(" ");
    match result.adopted {
        Some(process) => format!("process {process} ({line})"),
        None => line,
    }
}

fn end(result: &TraceResult) -> String {
    match (result.exit_code, result.signal) {
        (_, Some(signal)) => match signal_name(signal) {
            Some(name) => format!("ended by SIG{name}"),
            None => format!("ended by signal {signal}"),
        },
        (Some(code), None) => format!("exit {code}"),
        (None, None) if result.adopted.is_some() => "goes on".to_owned(),
        (None, None) => "end not seen".to_owned(),
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    let index = usize::try_from(signal).ok()?.checked_sub(1)?;
    SIGNALS.get(index).copied()
}

fn who(result: &TraceResult) -> String {
    let plural = if result.processes == 1 { "" } else { "es" };
    let processes = format!("{} process{plural}", grouped(result.processes));
    let threads = usize::try_from(result.threads).unwrap_or(usize::MAX);
    format!("{processes}, {}", counted(threads, "thread"))
}

fn seen(result: &TraceResult) -> String {
    let by = observed(result.backend);
    match result.backend {
        Backend::None => by.to_owned(),
        Backend::Ebpf | Backend::Ptrace => {
            format!("{by}, {} events lost", grouped(result.lost_events))
        }
    }
}
