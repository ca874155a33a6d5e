//! The command, how it ended, and the observer.

use std::collections::BTreeMap;
use std::path::Path;

use iostrata_core::environment::Backend;
use iostrata_core::gap::Raised;
use iostrata_core::noun::counted;
use iostrata_core::trace::{FileRow, TraceResult};

use super::View;
use crate::format::{self, beginning, in_line, join};
use crate::view::page::{Page, SEPARATOR};
use crate::view::place::{below, file_system, machine, observed};

/// Signals 1 to 31 (include/uapi/asm-generic/signal.h; some architectures differ).
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// The command, and the machine.
pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let result = view.result;
    let facts = [end(result), who(result), seen(result)];
    lines(page, result, &facts, machine(&result.environment));
}

/// The command and its directory: the reader knows the machine.
pub(super) fn brief(page: &mut Page, view: &View<'_>) {
    let result = view.result;
    lines(page, result, &[end(result), who(result)], seen(result));
}

/// The title with its facts, and where it ran, with one fact more.
fn lines(page: &mut Page, result: &TraceResult, facts: &[String], fact: String) {
    // The rest of the line is more useful than the end of a long command line.
    let command = beginning(&command(result), page.width() / 2);
    let words = [&[format::time(result.wall_s)], facts].concat();
    page.title("trace", &command, words);
    page.machine();
    matched(page, result);
    page.paragraph(0, &[place(result), fact].join(SEPARATOR));
}

fn place(result: &TraceResult) -> String {
    let target = &result.environment.target;
    let (file_system, below) = (file_system(target), below(target));
    let path = in_line(&target.path);
    let elsewhere = elsewhere(result).map_or_else(String::new, |work| {
        let (verb, name) = (work.verb, in_line(work.filesystem));
        format!("; most bytes {verb} on {name} ({})", work.device)
    });
    format!("in {path} on {file_system}{below}{elsewhere}")
}

/// A file system that is not the working directory's.
struct Work<'a> {
    verb: &'static str,
    filesystem: &'a str,
    device: &'a str,
}

/// Where most bytes are written, or read if none are written.
fn elsewhere(result: &TraceResult) -> Option<Work<'_>> {
    let most = |bytes: fn(&FileRow) -> u64| {
        let mut by_device: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for file in result.files.iter().filter(|file| file.kind.is_stored()) {
            let sum = by_device
                .entry((&file.device, &file.filesystem))
                .or_default();
            *sum = sum.saturating_add(bytes(file));
        }
        by_device
            .into_iter()
            .filter(|(_, bytes)| *bytes > 0)
            .max_by_key(|(_, bytes)| *bytes)
    };
    let written = most(|file| file.writes.bytes).map(|most| ("written", most));
    let (verb, ((device, filesystem), _)) =
        written.or_else(|| most(|file| file.reads.bytes).map(|most| ("read", most)))?;
    let target = &result.environment.target;
    let is_here = |file: &&FileRow| Path::new(&file.path).parent() == Some(Path::new(&target.path));
    let mut here = result
        .files
        .iter()
        .filter(is_here)
        .map(|file| file.device.as_str());
    // Below it another may be mounted. Without a file in the directory itself, only its type is known.
    let is_other = here
        .next()
        .map_or(filesystem != target.filesystem, |here| here != device);
    is_other.then_some(Work {
        verb,
        filesystem,
        device,
    })
}

fn command(result: &TraceResult) -> String {
    let words = result.command.iter().map(|word| {
        if word.is_empty() || word.contains(char::is_whitespace) {
            format!("'{word}'")
        } else {
            word.clone()
        }
    });
    let line = join(words, " ");
    match (result.adopted, &result.attached) {
        (Some(process), _) => format!("process {process} ({line})"),
        (None, Some(attached)) => attached.words(),
        (None, None) => line,
    }
}

/// Who was found, where more than one process was asked for.
fn matched(page: &mut Page, result: &TraceResult) {
    /// More of them say nothing new.
    const LISTED: usize = 4;
    if let (None, Some(attached)) = (result.adopted, &result.attached) {
        page.paragraph(0, &format!("attached to {}", attached.found(LISTED)));
    }
}

fn end(result: &TraceResult) -> String {
    match (result.exit_code, result.signal, result.adopted) {
        (_, Some(signal), _) => match signal_name(signal) {
            Some(name) => format!("ended by SIG{name}"),
            None => format!("ended by signal {signal}"),
        },
        (Some(code), None, _) => format!("exit {code}"),
        (None, None, Some(process)) => end_of(process, result),
        (None, None, None) if result.is_attached() => "attached".to_owned(),
        (None, None, None) => "end not observed".to_owned(),
    }
}

/// How much of a process that was attached to was observed.
fn end_of(process: u32, result: &TraceResult) -> String {
    if let Some(raised) = Raised::of(process, &result.missing) {
        return format!("observed until it executed {}", raised.program);
    }
    let mut its = result.tasks.iter().filter(|task| task.process == process);
    let lives = its.any(|task| task.ended_s.is_none());
    if lives { "still running" } else { "ended" }.to_owned()
}

fn signal_name(signal: i32) -> Option<&'static str> {
    let index = usize::try_from(signal).ok()?.checked_sub(1)?;
    SIGNALS.get(index).copied()
}

fn who(result: &TraceResult) -> String {
    let processes = counted(result.processes, "process");
    format!("{processes}, {}", counted(result.threads, "thread"))
}

fn seen(result: &TraceResult) -> String {
    let by = observed(result.backend);
    match result.backend {
        Backend::None => by.to_owned(),
        Backend::Ebpf | Backend::Ptrace => {
            format!("{by}, {} lost", counted(result.lost_events, "event"))
        }
    }
}
