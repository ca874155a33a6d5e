//! Gaps in words: what is missing, and why.

use std::collections::HashMap;
use std::sync::LazyLock;

use iostrata_core::bytes::{exact, grouped};
use iostrata_core::figures::duration;
use iostrata_core::gap::{
    Countable, Difference, ListedNames, Missing, NotSaved, Others, Raised, Reason, TargetPart,
};
use iostrata_core::noun::counted;
use iostrata_core::timing::seconds;
use serde::Serialize;

use super::{Words, laws};

/// The words of codes without data, by section and code.
pub(super) static FIXED: LazyLock<HashMap<(&str, &str), &str>> = LazyLock::new(|| {
    let mut section = "";
    let mut words = HashMap::new();
    for line in include_str!("gaps.txt").lines() {
        if let Some((code, text)) = line.split_once(':') {
            words.insert((section, code), text.trim_start());
        } else {
            section = line.trim_matches(['[', ']']);
        }
    }
    words
});

fn fixed(section: &str, value: &impl Serialize) -> &'static str {
    let code = serde_json::to_value(value).ok();
    let code = code.as_ref().and_then(serde_json::Value::as_str);
    let words = code.and_then(|code| FIXED.get(&(section, code)));
    words.expect("a test goes over all codes")
}

pub fn missing(what: &Missing) -> Words {
    match what {
        Missing::Stratum(stratum) => stratum.as_str().to_owned(),
        Missing::FileSystem { module } => format!("files and requests of {module}, separately"),
        Missing::Privileges { path } => format!("the privileges of {path}"),
        Missing::Calls { count, name } => format!("{count} {name}"),
        Missing::Count { count, of } => items(*count, *of),
        Missing::Listed(ListedNames { of, first, more }) => {
            format!("{}: {}", fixed("listed", of), first_of(first, *more))
        }
        Missing::Saving { rule } => format!("measured saving of {rule}"),
        Missing::ChangedFile { path } => format!("what changed {path}"),
        Missing::Experiment { id: name }
        | Missing::Language { name }
        | Missing::File { path: name } => name.clone(),
        Missing::Latency { percentile } => format!("latency {percentile}"),
        Missing::Loops { targets } => format!("loops on {}", targets.join(", ")),
        Missing::OnMachine { machine, what } => format!("{machine}: {}", missing(what)),
        Missing::OnTarget { what, target } => format!("{} on {target}", target_part(what)),
        Missing::Projections { target } => format!("projections of {target}"),
        Missing::RowTime { experiment, row } => format!("{experiment}: time of {row}"),
        Missing::RequestsFor { filesystem } => format!("device requests for files on {filesystem}"),
        Missing::RowsOf { machine } => format!("rows of {machine}"),
        Missing::Targets { names } => names.join(", "),
        Missing::Contradicted(stratum) => {
            format!("{} that agree with each other", stratum.as_str())
        }
        _ => return Words::fixed(fixed("missing", what)),
    }
    .into()
}

fn items(count: u64, of: Countable) -> String {
    counted_as(fixed("countable", &of), count)
}

/// A noun in words: `[one|several]` has the form for the count, which stands for `#`, or in groups for `##`.
pub(crate) fn counted_as(text: &str, count: u64) -> String {
    let parts = text
        .split(['[', ']'])
        .map(|part| match part.split_once('|') {
            Some((one, _)) if count == 1 => one,
            Some((_, several)) => several,
            None => part,
        });
    let words = parts.collect::<String>().replace("##", &grouped(count));
    words.replace('#', &count.to_string())
}

/// `/a, /b and 2 more`
fn first_of(first: &[String], more: u64) -> String {
    let first = first.join(", ");
    match more {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn target_part(part: &TargetPart) -> String {
    match part {
        TargetPart::Case(name) => name.clone(),
        TargetPart::ColdSource => "cold source".to_owned(),
        TargetPart::DeviceLimit => "device limit".to_owned(),
        TargetPart::DirectLatency => "latency of direct writes".to_owned(),
        TargetPart::DurableBytes => "durable bytes of the timelines".to_owned(),
        TargetPart::Mounts(options) => options.join(", "),
    }
}

pub fn reason(why: &Reason) -> Words {
    match why {
        Reason::Error(said) | Reason::Misfit(said) => said.clone(),
        Reason::Defect(said) => format!("a defect of iostrata: {said}"),
        Reason::NotInstalled(name) => format!("not installed: no {name} in PATH"),
        Reason::HistoryFull(lost) => format!(
            "more files than are followed one by one: there was no room for a file {} times, \
             for a name {} times and for a change of names {} times",
            grouped(lost.files),
            grouped(lost.names),
            grouped(lost.name_changes)
        ),
        Reason::NoRoomInTables { calls } => {
            format!("{calls} calls were on files that found no room in the tables")
        }
        Reason::AddressesUnread { defect } => {
            format!("a defect of iostrata: {defect}; request flags are used instead")
        }
        Reason::ExitUnreported(exit) => format!(
            "the kernel did not report their exit; {}",
            fixed("exit", exit)
        ),
        Reason::CallsSummed { calls } => format!(
            "their {} are summed: of so many files, iostrata keeps those that were changed and \
             those that took most time",
            counted(*calls, "call")
        ),
        Reason::Disturbed { requests, syncs } => format!(
            "other programs made {} requests on the same disk during {} syncs, and metadata, \
             journal and flush requests cannot be told apart from theirs",
            grouped(*requests),
            grouped(*syncs)
        ),
        Reason::CountsTooLow { events } => {
            format!("{events} events were lost: counts may be too low by as many")
        }
        Reason::EventsLost { events } => format!("{} lost", counted(*events, "event")),
        Reason::ThreadsSummed(others) => threads_summed(others),
        Reason::Differs(difference) => difference_words(difference),
        Reason::NotFollowed(call) => return Words::fixed(fixed("not_followed", call)),
        Reason::OverLimit { limit_bytes, bytes } => format!(
            "the total limit of {limit_bytes} bytes was reached, and these have {bytes}; give a \
             larger --record-before-limit"
        ),
        Reason::ReadBack(error) => format!("the log cannot be read back: {error}"),
        Reason::EndedWith { exit_code } => format!(
            "it ended with exit code {exit_code}, so what it would have done otherwise is in no \
             state"
        ),
        Reason::IncompleteSide { side, why } => {
            format!("those of {side} are incomplete: {}", reason(why))
        }
        Reason::NotInFile { file, experiment } => format!("{file} has no {experiment}"),
        Reason::OneRunEach { remedy: false } => "the noise is unknown with one run each".to_owned(),
        Reason::OneRunEach { remedy: true } => {
            "the noise is unknown with one run each; measure with --runs".to_owned()
        }
        Reason::CachedNoDevice { target, filesystem } => format!(
            "{target} is {filesystem}: its files exist only in the page cache, so they cannot be \
             evicted, and no device is read"
        ),
        Reason::NotVerified(why) => format!("residency cannot be verified: {}", reason(why)),
        Reason::CachestatFailed(error) => {
            format!("cachestat(2), which needs Linux 6.5, failed: {error}")
        }
        Reason::DirectRefused(error) => format!("the file system refuses O_DIRECT: {error}"),
        Reason::DontcacheRefused {
            error,
            needs_kernel,
        } => {
            let since = if *needs_kernel {
                "; it needs Linux 6.14 and a file system that supports it"
            } else {
                ""
            };
            format!("RWF_DONTCACHE is not supported: {error}{since}")
        }
        Reason::FallocateFailed(error) => format!("fallocate failed: {error}"),
        Reason::FewSeconds { fewest } => format!("observed for fewer than {fewest} seconds"),
        Reason::FewSyncs { needed } => format!("fewer than {} syncs were timed", grouped(*needed)),
        Reason::KeptInMemory { filesystem } => {
            format!("{filesystem} keeps its files only in memory")
        }
        Reason::NoDevice { filesystem } => format!("{filesystem} has no device"),
        Reason::QuickOnly { target } => format!("--quick times them on {target} only"),
        Reason::StayedResident {
            resident_pages,
            pages,
        } => {
            format!("asked to evict a file, but {resident_pages} of {pages} pages stayed resident")
        }
        Reason::Unsupported { error } => {
            format!("the kernel or the file system does not support it: {error}")
        }
        Reason::NotSaved(NotSaved { why, thorough_s }) => match thorough_s {
            None => why.clone(),
            Some(seconds) => format!("{why}; trace --measure gives them {seconds} s"),
        },
        Reason::NotUsedBefore { first, more } => format!(
            "the run that told which files to evict had not used {}",
            first_of(first, *more)
        ),
        Reason::ObservingFailed(error) => {
            format!("observing it, or a row before it, failed: {error}")
        }
        Reason::NotListed(error) => format!("it cannot be listed: {error}"),
        Reason::NotOpened(error) => format!("it cannot be opened: {error}"),
        Reason::ProcNotListed(error) => format!("/proc cannot be listed: {error}"),
        Reason::OtherPrivileges(raised) => {
            const FIRST: usize = 8;
            let mut programs: Vec<String> = Vec::new();
            for Raised { program, .. } in raised {
                if !programs.contains(program) {
                    programs.push(program.clone());
                }
            }
            let (first, more) = programs.split_at(programs.len().min(FIRST));
            format!(
                "not permitted: this user may not trace {} (set-user-ID, set-group-ID, \
                 capabilities, or an unreadable file); run iostrata as root to see all",
                first_of(first, more.len() as u64)
            )
        }
        Reason::BrokenLaw(law) => return Words::fixed(laws::reason(*law)),
        _ => return Words::fixed(fixed("reason", why)),
    }
    .into()
}

fn threads_summed(others: &Others) -> String {
    let time = |ns: u64| duration(seconds(ns));
    format!(
        "the {} that spent the most time in calls on files have one; the others made {}, were {} \
         on the CPU and {} in calls on files, read {} and wrote {}",
        grouped(others.rows),
        counted(others.calls, "call"),
        time(others.on_cpu_ns),
        time(others.time_ns),
        exact(others.read_bytes),
        exact(others.written_bytes),
    )
}

fn difference_words(difference: &Difference) -> String {
    match difference {
        Difference::Absent => "the log has it, and it does not exist".to_owned(),
        Difference::Bytes { from, to } => format!("bytes {from} to {to} differ from the log"),
        Difference::Kind { file, log } => format!("it is a {file}, but the log has a {log}"),
        Difference::Length { file, log } => {
            format!("it has {}, but {log} in the log", counted(*file, "byte"))
        }
        Difference::Mode { file, log } => {
            format!("its mode is {file:o}, but {log:o} in the log")
        }
        Difference::NotInLog => "it exists, but is not in the log".to_owned(),
        Difference::NotZeroAfter { byte } => format!("it is not zero after byte {byte}"),
        Difference::NotZeroAt { byte } => format!("it is not zero at byte {byte}"),
        Difference::Target => "its target differs from the log".to_owned(),
    }
}
