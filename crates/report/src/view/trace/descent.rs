//! Bytes from stratum to stratum, and what was left to write-back.

use iostrata_core::bytes::grouped;
use iostrata_core::evidence::DeviceCounts;
use iostrata_core::trace::TraceResult;

use super::View;
use super::wall::COLUMN;
use crate::format::{counted, number, or_not_seen, size};
use crate::view::page::{Page, Tone};

pub(super) fn draw(page: &mut Page, view: &View<'_>) {
    let bytes = &view.result.bytes;
    let nothing_written = bytes.written_bytes == 0 && bytes.device_written_bytes.unwrap_or(0) == 0;
    if !nothing_written {
        page.entry("  written", Tone::Plain, COLUMN, &written(view));
    }
    let nothing_read = bytes.read_bytes == 0 && bytes.device_read_bytes.unwrap_or(0) == 0;
    if !nothing_read {
        page.entry("  read", Tone::Plain, COLUMN, &read(view));
    }
    if nothing_written && nothing_read {
        let text = "nothing was read from files or written to them";
        page.entry("  bytes", Tone::Plain, COLUMN, text);
    }
    page.entry("  unpaid", Tone::Plain, COLUMN, &unpaid(view));
    if let Some(requests) = view.result.other_requests.filter(|count| *count > 0) {
        let text = format!(
            "{} requests of other programs went to the same disks: journal, metadata and \
             flushes may have theirs among them",
            grouped(requests)
        );
        page.entry("  others", Tone::Plain, COLUMN, &text);
    }
}

/// Bytes of calls, which are those on files that found room in the tables.
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
    let device = view.result.evidence.device.as_ref();
    let mut facts = Vec::new();
    let amplification = bytes
        .amplification()
        .filter(|_| view.result.other_calls == 0);
    facts.extend(amplification.map(|times| format!("×{}", number(times))));
    let causes = device.map(causes).unwrap_or_default();
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
        or_not_seen(bytes.dirtied_bytes, size),
        or_not_seen(bytes.device_written_bytes, size),
    )
}

/// `data 6.1 MiB, journal 12.6 MiB`, and flushes.
fn causes(device: &DeviceCounts) -> String {
    let causes = [
        ("data", device.data),
        ("journal", device.journal),
        ("commit", device.commit),
        ("metadata", device.metadata),
        ("unknown", device.unknown),
    ];
    let causes = causes.iter().filter(|(_, counted)| counted.count > 0);
    let mut words: Vec<String> = causes
        .map(|(cause, counted)| format!("{cause} {}", size(counted.bytes)))
        .collect();
    if device.flushes > 0 {
        let noun = if device.flushes == 1 {
            "flush"
        } else {
            "flushes"
        };
        words.push(format!("{} {noun}", grouped(device.flushes)));
    }
    words.join(", ")
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
        let pages = pages.map(|(count, what)| format!("{} {what}", or_not_seen(count, grouped)));
        format!("page cache {} pages", pages.join(" / "))
    };
    format!(
        "device {} → {pages} → application {}",
        or_not_seen(bytes.device_read_bytes, size),
        of_calls(view.result, bytes.read_bytes),
    )
}

fn unpaid(view: &View<'_>) -> String {
    let dirty = match view.result.bytes.dirty_at_exit_bytes {
        None => "n/a".to_owned(),
        Some(0) => "0 B dirty at exit".to_owned(),
        Some(bytes) => format!(
            "{} dirty at exit: the kernel's write-back pays, or whoever syncs next",
            size(bytes)
        ),
    };
    let after = view.result.evidence.device_after_exit.as_ref();
    let Some(later) = after.map(DeviceCounts::writes).filter(|all| all.count > 0) else {
        return dirty;
    };
    let requests = usize::try_from(later.count).unwrap_or(usize::MAX);
    let (bytes, requests) = (size(later.bytes), counted(requests, "request"));
    format!("{dirty}; after it {bytes} were written for it in {requests}")
}
