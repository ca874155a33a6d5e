//! Gaps in words: what is missing, and why.

use std::collections::HashMap;
use std::sync::LazyLock;

use iostrata_core::bytes::{exact, grouped};
use iostrata_core::distinct;
use iostrata_core::figures::duration;
use iostrata_core::gap::{Difference, ListedNames, Missing, NotSaved, Others, Reason, TargetPart};
use iostrata_core::noun::counted;
use iostrata_core::timing::seconds;
use iostrata_core::trace::Judged;
use serde::Serialize;

use super::Words;

/// The words of codes, by section and code.
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
    words.expect(WRITTEN)
}

/// What guarantees the words of a code.
const WRITTEN: &str = "a test goes over all codes";

/// The words of a code, with its data in place of `{}`, or fields of them: `{path}`, or in groups `{files#}`. Behind a
/// number `[one|several]` has the form for it.
fn filled(section: &str, value: &impl Serialize) -> Words {
    let json = serde_json::to_value(value).unwrap_or_default();
    let Some((code, data)) = json.as_object().and_then(|one| one.iter().next()) else {
        return Words::fixed(fixed(section, value));
    };
    let template = FIXED.get(&(section, code.as_str()));
    let mut parts = template.expect(WRITTEN).split(['{', '}']);
    let mut words = parts.next().unwrap_or_default().to_owned();
    while let (Some(name), Some(text)) = (parts.next(), parts.next()) {
        let field = match name.trim_end_matches('#') {
            "" => data,
            name => &data[name],
        };
        let count = field.as_u64().unwrap_or_default();
        match field.as_str() {
            Some(text) => words.push_str(text),
            None if name.ends_with('#') => words.push_str(&grouped(count)),
            None => words.push_str(&field.to_string()),
        }
        words.push_str(&formed(text, count));
    }
    words.into()
}

pub fn missing(what: &Missing) -> Words {
    match what {
        Missing::Stratum(stratum) => stratum.as_str().to_owned(),
        Missing::Count { count, of } => counted_as(fixed("countable", of), *count),
        Missing::Listed(ListedNames { of, first, more }) => {
            format!("{}: {}", fixed("listed", of), first_of(first, *more))
        }
        Missing::Loops { targets } => format!("loops on {}", targets.join(", ")),
        Missing::OnMachine { machine, what } => format!("{machine}: {}", missing(what)),
        Missing::OnTarget { what, target } => format!("{} on {target}", target_part(what)),
        Missing::Targets { names } => names.join(", "),
        Missing::Contradicted(stratum) => {
            format!("{} that agree with each other", stratum.as_str())
        }
        _ => return filled("missing", what),
    }
    .into()
}

/// A noun in words: `[one|several]` has the form for the count, which stands for `#`, or in groups for `##`.
pub(crate) fn counted_as(text: &str, count: u64) -> String {
    let words = formed(text, count).replace("##", &grouped(count));
    words.replace('#', &count.to_string())
}

fn formed(text: &str, count: u64) -> String {
    let parts = text.split(['[', ']']);
    let forms = parts.map(|part| match part.split_once('|') {
        Some((one, _)) if count == 1 => one,
        Some((_, several)) => several,
        None => part,
    });
    forms.collect()
}

/// `/a, /b and 2 more`
fn first_of(first: &[String], more: u64) -> String {
    let first = first.join(", ");
    match more {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn target_part(part: &TargetPart) -> Words {
    match part {
        TargetPart::Mounts(options) => options.join(", ").into(),
        _ => filled("target_part", part),
    }
}

pub fn reason(why: &Reason) -> Words {
    match why {
        Reason::ExitUnreported(exit) => format!(
            "the kernel did not report their exit; {}",
            fixed("exit", exit)
        ),
        Reason::ThreadsSummed(others) => threads_summed(others),
        Reason::Differs(difference) => return difference_words(difference),
        Reason::NotFollowed(call) => return Words::fixed(fixed("not_followed", call)),
        Reason::IncompleteSide { side, why } => {
            format!("those of {side} are incomplete: {}", reason(why))
        }
        Reason::OneRunEach { remedy: false } => "the noise is unknown with one run each".to_owned(),
        Reason::OneRunEach { remedy: true } => {
            "the noise is unknown with one run each; measure with --runs".to_owned()
        }
        Reason::NotVerified(why) => format!("residency cannot be verified: {}", reason(why)),
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
        Reason::NotSaved(NotSaved { why, thorough_s }) => match thorough_s {
            None => why.clone(),
            Some(seconds) => format!("{why}; trace --measure gives them {seconds} s"),
        },
        Reason::NotUsedBefore { first, more } => format!(
            "the run that told which files to evict had not used {}",
            first_of(first, *more)
        ),
        Reason::OtherPrivileges(raised) => {
            const FIRST: usize = 8;
            let programs = distinct(raised.iter().map(|raised| raised.program.clone()));
            let (first, more) = programs.split_at(programs.len().min(FIRST));
            format!(
                "not permitted: this user may not trace {} (set-user-ID, set-group-ID, \
                 capabilities, or an unreadable file); run iostrata as root to see all",
                first_of(first, more.len() as u64)
            )
        }
        Reason::BrokenLaw(law) => return Words::fixed(fixed("broken_law", law)),
        _ => return filled("reason", why),
    }
    .into()
}

/// What a broken law says: both figures.
pub fn broken(judged: &Judged) -> Words {
    let words = fixed("law", &judged.law).replace("{ours}", &judged.ours.to_string());
    words
        .replace("{witness}", &judged.witness.to_string())
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

fn difference_words(difference: &Difference) -> Words {
    match difference {
        Difference::Mode { file, log } => {
            format!("its mode is {file:o}, but {log:o} in the log").into()
        }
        _ => filled("difference", difference),
    }
}
