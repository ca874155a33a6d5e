//! Who waits for syncs, and what the file system did meanwhile.

use iostrata_core::top::{Interval, SyncWait};

use super::count_rate;
use crate::format::{counted, time};
use crate::view::page::{Page, Tone};

/// Syncs that are shown, most time first.
const MOST: usize = 5;

pub(super) fn draw(page: &mut Page, interval: &Interval) {
    if interval.syncs.is_empty() {
        return;
    }
    page.blank();
    page.styled(0, "waits for syncs", Tone::Strong);
    for wait in interval.syncs.iter().take(MOST) {
        page.bullet(2, &told(interval, wait));
    }
    let hidden = interval.syncs.len().saturating_sub(MOST);
    if hidden > 0 {
        page.paragraph(2, &format!("and {} more", counted(hidden, "file")));
    }
}

fn told(interval: &Interval, wait: &SyncWait) -> String {
    let name = wait.name.as_deref().unwrap_or("process");
    let file = wait
        .path
        .as_deref()
        .unwrap_or("files whose path is not known");
    let mean_s = wait.syncs.time_s / (wait.syncs.count as f64).max(1.0);
    let mut parts = vec![format!(
        "{name} ({}) on {file}: {} syncs/s of {}, the longest {}",
        wait.pid,
        count_rate(interval, wait.syncs.count),
        time(mean_s),
        time(wait.syncs.longest_s),
    )];
    if let (Some(disk), Some(commits), Some(flushes)) = (&wait.disk, &wait.commits, &wait.flushes) {
        let commits = count_rate(interval, commits.count);
        let flushes = count_rate(interval, flushes.count);
        parts.push(format!(
            "{disk} meanwhile: {commits} commits/s, {flushes} flushes/s"
        ));
    }
    if wait.beside > 0 {
        let others = usize::try_from(wait.beside).unwrap_or(usize::MAX);
        let others = counted(others, "other process");
        parts.push(format!("{others} also wrote to this file system"));
    }
    parts.join("; ")
}
