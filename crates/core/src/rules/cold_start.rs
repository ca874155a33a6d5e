//! `cold-start`: time that a run waited for because its files were not in the page cache.

use super::calls::{PAGE_BYTES, READS, Sum, filled_pages, is_on_disk, length_bytes};
use super::draft::{Found, said};
use super::rule::{Rule, Subject};
use crate::bytes::short;
use crate::trace::{Cited, FileRow, Severity, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "cold-start",
    looks_for: "time spent waiting for data that a second run finds in the page cache",
    in_short: "prefetch the data that will be needed",
    advice: "to compare runs, state whether the cache was cold or warm; to start faster, prefetch \
             the data that will be needed: readahead, posix_fadvise(POSIX_FADV_WILLNEED), vmtouch",
    at: Subject::Run(look),
};

/// A tenth of the run is a visible difference between a first run and a second one.
const LEAST_SHARE: f64 = 0.1;

const CITED: usize = 5;

struct Cold<'a> {
    file: &'a FileRow,
    filled_bytes: u64,
    blocked_s: f64,
}

fn look(run: &TraceResult) -> Option<Found> {
    let mut files: Vec<Cold> = run.files.iter().filter_map(waited).collect();
    files.sort_by(|one, other| other.blocked_s.total_cmp(&one.blocked_s));
    let waited_s: f64 = files.iter().map(|it| it.blocked_s).sum();
    let filled_bytes: u64 = files.iter().map(|it| it.filled_bytes).sum();
    if waited_s < run.wall_s * LEAST_SHARE {
        return None;
    }
    Some(Found {
        title: format!(
            "{} came from the device, not from the page cache",
            short(filled_bytes)
        ),
        evidence: files.iter().take(CITED).map(cited).collect(),
        cost_s: waited_s,
        // Threads may have waited at the same time.
        saving_s: Some(waited_s.min(run.wall_s)),
        // Whether the next run finds them depends on other uses of memory.
        is_unproven: true,
        severity: Some(Severity::Info),
        ..Found::default()
    })
}

/// Only bytes that existed before the run: what it wrote itself is not cold the next time, nor is a
/// file whose pages were evicted during the run.
fn waited(file: &FileRow) -> Option<Cold<'_>> {
    let filled_bytes = filled_pages(file)? * PAGE_BYTES;
    let fits = filled_bytes <= length_bytes(file).saturating_add(PAGE_BYTES) * 2;
    if !is_on_disk(file) || file.size_before_bytes == 0 || filled_bytes == 0 || !fits {
        return None;
    }
    Some(Cold {
        file,
        filled_bytes,
        blocked_s: Sum::of(file, READS).blocked_s?,
    })
}

fn cited(cold: &Cold) -> Cited {
    Cited {
        path: Some(cold.file.path.clone()),
        ..said(format!(
            "{} read from the device, reads waited {:.3} s",
            short(cold.filled_bytes),
            cold.blocked_s
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{blocked, cached, file, in_order, run, the_only, with_calls};
    use super::*;

    fn read_cold(size_before_bytes: u64, filled: u64) -> FileRow {
        let reads = blocked(in_order("read", 256, 4096, 0.3), 0.2);
        let file = FileRow {
            size_before_bytes,
            ..with_calls(file("/data/in"), vec![reads])
        };
        cached(file, 256, 1.min(filled), filled.saturating_sub(1))
    }

    #[test]
    fn waiting_for_what_was_there_before_is_told() {
        let draft = the_only(RULE.look(&run(vec![read_cold(1 << 20, 256)])));
        assert_eq!(draft.finding.saving_s, Some(0.2));
        assert_eq!(draft.finding.severity, Severity::Info);
        assert_eq!(
            draft.finding.title,
            "1.0 MiB came from the device, not from the page cache"
        );
    }

    #[test]
    fn warm_files_own_files_and_lost_pages_are_none() {
        for file in [
            read_cold(1 << 20, 0),
            read_cold(0, 256),
            read_cold(1 << 20, 515),
        ] {
            assert_eq!(RULE.look(&run(vec![file])), vec![]);
        }
    }

    #[test]
    fn a_short_wait_is_not_worth_a_word() {
        let mut long = run(vec![read_cold(1 << 20, 256)]);
        long.wall_s = 2.1;
        assert_eq!(RULE.look(&long), vec![]);
    }
}
