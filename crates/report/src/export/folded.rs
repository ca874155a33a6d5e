//! Blocked time by call site as folded stacks: a line for each stack, with its functions from the
//! outermost inwards, joined by `;`, a space, and a weight. Readers are flamegraph.pl, inferno and
//! speedscope.

use std::collections::BTreeMap;
use std::io::{self, Write};

use iostrata_core::trace::{CallRow, FileCall, TraceResult};

use super::ticks;
use crate::format::{join, printable};

/// Placeholder for the functions above a call whose stack was not sampled.
const NO_SITE: &str = "[call site not recorded]";

/// Writes the stacks; weights are whole microseconds.
///
/// The sum of the weights is the run's blocked time, rounded once: time without a sampled stack has
/// a placeholder stack. Returns false, and writes nothing, if blocked time was not observed.
///
/// # Errors
/// When `output` accepts no more bytes.
pub fn write(result: &TraceResult, output: &mut dyn Write) -> io::Result<bool> {
    if result.syscalls.iter().all(|call| call.blocked_s.is_none()) {
        return Ok(false);
    }
    let mut before_s = 0.0;
    for (stack, blocked_s) in stacks(result) {
        // The difference of rounded sums, so that rounding here loses nothing.
        let weight = ticks(before_s + blocked_s, 1e6) - ticks(before_s, 1e6);
        before_s += blocked_s;
        if weight > 0 {
            writeln!(output, "{stack} {weight}")?;
        }
    }
    Ok(true)
}

/// Seconds by stack, in the order of the text.
fn stacks(result: &TraceResult) -> BTreeMap<String, f64> {
    let program = result.command.first().map_or("", String::as_str);
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut stacks = BTreeMap::new();
    for call in &result.syscalls {
        let Some(mut rest_s) = call.blocked_s else {
            continue;
        };
        for on_file in on_files(result, call) {
            let Some(blocked_s) = on_file.row.blocked_s else {
                continue;
            };
            for site in &on_file.sites {
                // Never more than the total: both are sums of the same times, rounded.
                let of_site_s = (blocked_s * site.share).min(rest_s);
                rest_s -= of_site_s;
                let functions = site.stack.iter().rev().map(String::as_str);
                let stack = folded([program].into_iter().chain(functions), &call.name);
                *stacks.entry(stack).or_insert(0.0) += of_site_s;
            }
        }
        *stacks
            .entry(folded([program, NO_SITE].into_iter(), &call.name))
            .or_insert(0.0) += rest_s;
    }
    stacks
}

/// The call on each file. A call between two files is counted for its destination.
fn on_files<'a>(
    result: &'a TraceResult,
    call: &'a CallRow,
) -> impl Iterator<Item = &'a FileCall> + 'a {
    let calls = result.files.iter().flat_map(|file| &file.calls);
    calls.filter(|one| one.row.name == call.name && !one.is_source)
}

fn folded<'a>(functions: impl Iterator<Item = &'a str>, call: &'a str) -> String {
    join(functions.chain([call]).map(frame), ";")
}

/// A `;` would end the frame: stackcollapse-perf.pl also replaces it by a colon.
fn frame(name: &str) -> String {
    if name.is_empty() {
        return "[no name]".to_owned();
    }
    printable(name).replace(';', ":")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iostrata_core::trace::{Site, spent};

    use super::*;
    use crate::view::trace::fixture;

    fn written(result: &TraceResult) -> String {
        let mut text = Vec::new();
        assert!(write(result, &mut text).unwrap());
        String::from_utf8(text).unwrap()
    }

    fn row(name: &str, blocked_s: Option<f64>) -> CallRow {
        CallRow {
            name: name.to_owned(),
            blocked_s,
            ..CallRow::default()
        }
    }

    fn site(stack: &[&str], share: f64) -> Site {
        Site {
            stack: stack
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Arc<[String]>>(),
            share,
            ..Site::default()
        }
    }

    /// One file on which `fsync` blocked for 3 s; the run's `fsync`s did so for 4 s.
    fn run(sites: Vec<Site>) -> TraceResult {
        let mut result = fixture::empty();
        let mut file = fixture::full().files[0].clone();
        file.calls = vec![FileCall {
            row: row("fsync", Some(3.0)),
            sites,
            ..FileCall::default()
        }];
        result.syscalls = vec![row("fsync", Some(4.0)), row("futex", Some(0.000_001_4))];
        result.files = vec![file];
        result
    }

    #[test]
    fn stacks_begin_with_the_program_and_end_with_the_call() {
        let sites = vec![
            site(&["commit", "main"], 0.75),
            site(&["checkpoint", "main"], 0.25),
        ];
        assert_eq!(
            written(&run(sites)),
            "app;[call site not recorded];fsync 1000000\n\
             app;[call site not recorded];futex 1\n\
             app;main;checkpoint;fsync 750000\n\
             app;main;commit;fsync 2250000\n"
        );
    }

    #[test]
    fn weights_come_to_the_blocked_time_of_the_run() {
        // 300 stacks of 3.3 µs: rounded one by one they would lose a tenth.
        let names: Vec<String> = (0..300).map(|number| format!("f{number:03}")).collect();
        let sites = names
            .iter()
            .map(|name| site(&[name], 1.0 / 300.0))
            .collect();
        let mut result = run(sites);
        result.syscalls = vec![row("fsync", Some(0.000_99))];
        result.files[0].calls[0].row.blocked_s = Some(0.000_99);
        let text = written(&result);
        let weights = text.lines().map(|line| line.rsplit_once(' ').unwrap().1);
        let sum: u64 = weights.map(|weight| weight.parse::<u64>().unwrap()).sum();
        assert_eq!(sum, 990);
        let blocked = spent(&result).blocked.unwrap();
        assert!((blocked.total_s() - 0.000_99).abs() < 1e-12);
    }

    #[test]
    fn a_name_is_one_frame_whatever_it_holds() {
        let text = written(&run(vec![site(&["<[u8; 4] as A>::b c\n;1 9", ""], 1.0)]));
        assert!(
            text.contains("app;[no name];<[u8: 4] as A>::b c\\n:1 9;fsync 3000000\n"),
            "{text}"
        );
    }

    #[test]
    fn blocked_time_that_was_not_seen_is_not_zero() {
        let mut result = run(Vec::new());
        for call in &mut result.syscalls {
            call.blocked_s = None;
        }
        let mut text = Vec::new();
        assert!(!write(&result, &mut text).unwrap());
        assert_eq!(text, b"");
    }
}
