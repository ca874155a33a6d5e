//! Bytes at each stratum, and what was left to write-back.

use std::collections::BTreeMap;

use iostrata_core::bytes::grouped;
use iostrata_core::evidence::{Cause, DeviceRange};
use iostrata_core::noun::{counted, noun_of};
use iostrata_core::trace::{Bounds, FileKind, TraceResult, stores};

use super::View;
use super::wall::COLUMN;
use crate::format::{between, join, number, size};
use crate::view::page::{Page, Tone};
use crate::view::table::Cell;
use crate::words;

pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let bytes = &view.result.bytes;
    let nothing = |calls: u64, device: Option<Bounds>| {
        calls == 0 && device.is_none_or(|bytes| bytes.at_most == 0)
    };
    let nothing_written = nothing(bytes.written_bytes, bytes.device_written());
    if !nothing_written {
        page.entry("  written", Tone::Plain, COLUMN, written(view));
    }
    let nothing_read = nothing(bytes.read_bytes, bytes.device_read());
    if !nothing_read {
        page.entry("  read", Tone::Plain, COLUMN, read(view));
    }
    if nothing_written && nothing_read {
        let text = "no file reads or writes";
        page.entry("  bytes", Tone::Plain, COLUMN, text);
    }
    if let Some(text) = besides(view.result) {
        page.entry("  besides", Tone::Plain, COLUMN, &text);
    }
    let mut tasks = view.result.tasks.iter();
    let runs_on = view.result.attached.is_some() && tasks.any(|task| task.ended_s.is_none());
    let label = if runs_on { "  at end" } else { "  at exit" };
    page.entry(label, Tone::Plain, COLUMN, at_exit(view));
    if let Some(text) = others(view.result) {
        page.entry("  others", Tone::Plain, COLUMN, &text);
    }
    audit(page, view.result);
}

/// How many laws hold, and what is wrong with the others.
fn audit(page: &mut Page, result: &TraceResult) {
    let (hold, broken): (Vec<_>, Vec<_>) = result.audit.iter().partition(|judged| judged.holds);
    if result.audit.is_empty() {
        return;
    }
    let text = format!("{} of {} judged laws hold", hold.len(), result.audit.len());
    let tone = if broken.is_empty() {
        Tone::Quiet
    } else {
        Tone::Bad
    };
    page.entry("  audit", tone, COLUMN, &text);
    for judged in broken {
        page.entry("", Tone::Bad, COLUMN, words::broken(judged));
    }
}

/// What calls moved that no file system and no disk stores, where the bytes above lack a part of the calls' that
/// shows: `pipes 9.8 MiB read, 9.8 MiB written`.
fn besides(result: &TraceResult) -> Option<String> {
    let files = result.files.iter();
    let mut moved: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for file in files.filter(|file| !stores(file.kind, &file.filesystem)) {
        let what = match file.kind {
            FileKind::Pipe => "pipes",
            FileKind::Socket => "sockets",
            FileKind::CharacterDevice => "terminals and other devices",
            _ => "files of the kernel",
        };
        let [read, written] = moved.entry(what).or_default();
        *read = read.saturating_add(file.reads.bytes);
        *written = written.saturating_add(file.writes.bytes);
    }
    let all = moved.values().flatten();
    let all = all.fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
    let stored = result.bytes.read_bytes;
    let stored = stored.saturating_add(result.bytes.written_bytes);
    if all <= stored / 100 {
        return None;
    }
    let texts = moved.into_iter().filter_map(|(what, bytes)| {
        let ways = bytes.into_iter().zip(["read", "written"]);
        let ways = ways.filter(|(bytes, _)| *bytes > 0);
        let ways: Vec<_> = ways
            .map(|(bytes, way)| format!("{} {way}", size(bytes)))
            .collect();
        (!ways.is_empty()).then(|| format!("{what} {}", ways.join(", ")))
    });
    Some(texts.collect::<Vec<_>>().join("; "))
}

/// The activity of other programs on the same disks, and its effect on the figures.
fn others(result: &TraceResult) -> Option<String> {
    let requests = result.other_requests.filter(|count| *count > 0);
    let requests = requests.map(|count| format!("{} of other programs", counted(count, "request")));
    let device = result.evidence.device;
    if device.is_none_or(|device| device.all_exact().is_some()) {
        return requests.map(|requests| format!("{requests} on the same disks, not included here"));
    }
    let requests = requests.unwrap_or_else(|| "other programs".to_owned());
    let verb = if result.other_requests.is_some_and(|count| count > 0) {
        ":"
    } else {
        " used the same disk:"
    };
    Some(format!(
        "{requests}{verb} a journal commit or flush serves all programs, so \"x to y\" is the \
         range that may be due to this run"
    ))
}

/// Bytes that a device moved: `3.1 MiB`, `1.2 MiB to 6.2 MiB`, `n/a`.
pub(crate) fn moved(bytes: Option<Bounds>) -> Cell {
    Cell::seen(bytes, |bytes| between(bytes.at_least, bytes.at_most, size))
}

/// Bytes of calls, on files that found room in the tables.
pub(crate) fn of_calls(result: &TraceResult, bytes: u64) -> String {
    let at_least = if result.other_calls > 0 {
        "at least "
    } else {
        ""
    };
    format!("{at_least}{}", size(bytes))
}

fn written(view: &View<'_>) -> String {
    let bytes = &view.result.bytes;
    let device = view.result.evidence.device;
    let mut facts = Vec::new();
    let amplification = view.result.amplification();
    facts.extend(amplification.map(|times| format!("×{}", number(times))));
    let causes = device.as_ref().map(causes).unwrap_or_default();
    if !causes.is_empty() {
        facts.push(causes);
    }
    let facts = if facts.is_empty() {
        String::new()
    } else {
        format!(" ({})", facts.join("; "))
    };
    format!(
        "application {} → page cache {} → device {}{facts}",
        of_calls(view.result, bytes.written_bytes),
        Cell::seen(bytes.dirtied_bytes, size),
        moved(bytes.device_written()),
    )
}

/// `data 6.1 MiB, journal 0 B to 12.6 MiB`, and flushes and discards.
fn causes(device: &DeviceRange) -> String {
    let causes = Cause::ALL.into_iter().filter(|cause| *cause != Cause::Read);
    let words = causes.filter_map(|cause| {
        let (least, most) = device.of(|counts| counts.of(cause));
        let name = match most.count {
            0 => return None,
            1 => cause.singular(),
            _ => cause.name(),
        };
        Some(if cause.is_write() {
            format!("{name} {}", between(least.bytes, most.bytes, size))
        } else {
            format!("{} {name}", between(least.count, most.count, grouped))
        })
    });
    join(words, ", ")
}

fn read(view: &View<'_>) -> String {
    let bytes = &view.result.bytes;
    let cache = &view.result.evidence.cache;
    let pages = [
        (cache.resident_pages(), "resident"),
        (cache.prefetched_pages, "prefetched"),
        (cache.missed_pages, "missed"),
    ];
    let pages = if pages.iter().all(|(count, _)| count.is_none()) {
        "page cache n/a".to_owned()
    } else {
        let noun = noun_of(cache.missed_pages.unwrap_or_default(), "page");
        let pages = pages.map(|(count, what)| format!("{} {what}", Cell::seen(count, grouped)));
        format!("page cache {} {noun}", pages.join(" / "))
    };
    let (device, calls) = (
        moved(bytes.device_read()),
        of_calls(view.result, bytes.read_bytes),
    );
    format!("device {device} → {pages} → application {calls}")
}

fn at_exit(view: &View<'_>) -> String {
    let dirty = match view.result.bytes.dirty_at_exit() {
        None => "dirty bytes n/a".to_owned(),
        Some(Bounds { at_most: 0, .. }) => "0 B dirty".to_owned(),
        Some(Bounds { at_least, at_most }) => format!(
            "{} dirty: a power cut before writeback loses it",
            between(at_least, at_most, size)
        ),
    };
    // Certainly for this run.
    let after = view.result.evidence.device_after_exit;
    let later = after.map(|after| after.at_least.writes());
    let Some(later) = later.filter(|all| all.count > 0) else {
        return dirty;
    };
    let (bytes, requests) = (size(later.bytes), counted(later.count, "request"));
    format!("{dirty}; {bytes} written back later in {requests}")
}
