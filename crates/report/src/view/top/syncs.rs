//! Who waits for syncs, and what the file system did meanwhile.

use iostrata_core::bytes::grouped;
use iostrata_core::noun::counted;
use iostrata_core::top::{Awaited, Interval, Part, SyncWait};

use super::count_rate;
use crate::format::{join, time};
use crate::view::page::{Page, Tone};

/// Waits that are shown in lines, most time first.
pub(super) const MOST: usize = 5;

/// Waits that a screen of them has room for.
pub(super) const MOST_ON_A_SCREEN: usize = 50;

pub(super) fn draw(page: &mut Page, interval: &Interval, most: usize) {
    if interval.syncs.is_empty() {
        return;
    }
    page.blank();
    page.styled(0, "waits for syncs", Tone::Strong);
    for wait in interval.syncs.iter().take(most) {
        page.bullet(2, &told(interval, wait));
    }
    let hidden = interval.syncs.len().saturating_sub(most);
    if hidden > 0 {
        page.paragraph(2, &format!("and {} more", counted(hidden as u64, "file")));
    }
}

fn told(interval: &Interval, wait: &SyncWait) -> String {
    let name = wait.name.as_deref().unwrap_or("process");
    let file = wait
        .path
        .as_deref()
        .unwrap_or("files whose path is not known");
    let calls = [
        (Some(&wait.syncs), "syncs/s"),
        (wait.synchronous_writes.as_ref(), "synchronous writes/s"),
    ];
    let calls = calls.iter().filter_map(|(calls, what)| {
        let calls = calls.filter(|calls| calls.stats.count > 0)?;
        let mean_s = calls.stats.time_s / calls.stats.count as f64;
        let rate = count_rate(interval, calls.stats.count);
        let (mean, longest) = (time(mean_s), time(calls.longest_s));
        Some(format!("{rate} {what} of {mean}, the longest {longest}"))
    });
    let calls = join(calls, "; ");
    let mut parts = vec![format!("{name} ({}) on {file}: {calls}", wait.pid)];
    if let (Some(disk), Some(commits), Some(flushes)) = (&wait.disk, &wait.commits, &wait.flushes) {
        let commits = count_rate(interval, commits.count);
        let flushes = count_rate(interval, flushes.count);
        parts.push(format!(
            "{disk} meanwhile: {commits} commits/s, {flushes} flushes/s"
        ));
    }
    if let Some(commit) = &wait.commit
        && commit.syncs > 0
    {
        parts.push(committed(wait, commit));
    } else if wait.beside > 0 {
        let others = counted(wait.beside, "other process");
        parts.push(format!("{others} also wrote to this file system"));
    }
    parts.join("; ")
}

/// Participants that are named.
const MOST_PARTS: usize = 3;

/// `118 of 120 waited for 60 commits; also in their transactions: cron (88) with /var/spool in 12`.
fn committed(wait: &SyncWait, commit: &Awaited) -> String {
    let commits = counted(commit.commits, "commit");
    let [own, all] = [commit.syncs, wait.count()].map(grouped);
    let waited = format!("{own} of {all} waited for {commits}");
    if commit.commits_known == 0 {
        return format!("{waited}, with changes from before this watch");
    }
    let others = others(wait, commit);
    if others.is_empty() && commit.parts_more == 0 {
        return format!("{waited}, with changes of this process alone");
    }
    let named = others.iter().take(MOST_PARTS).map(|part| took_part(part));
    let more = others.len().saturating_sub(MOST_PARTS) as u64;
    let more = more.saturating_add(commit.parts_more);
    let more = (more > 0).then(|| format!("{more} more"));
    let all = join(named.chain(more), ", ");
    format!("{waited}, also with changes of {all}")
}

/// Each process once, with the file of most of the commits; threads of the kernel last. What these write back of
/// the file itself is no change of others.
fn others<'a>(wait: &SyncWait, commit: &'a Awaited) -> Vec<&'a Part> {
    let of_others = commit.parts.iter().filter(|part| match part.pid {
        Some(pid) => pid != wait.pid,
        None => part.path.is_none() || part.path != wait.path,
    });
    let mut others: Vec<&Part> = Vec::new();
    for part in of_others {
        match others.iter_mut().find(|other| other.pid == part.pid) {
            Some(other) if other.path.is_none() && part.path.is_some() => *other = part,
            Some(_) => {}
            None => others.push(part),
        }
    }
    others.sort_by_key(|part| part.pid.is_none());
    others
}

fn took_part(part: &Part) -> String {
    let who = match (part.pid, part.name.as_deref()) {
        (Some(pid), name) => format!("{} ({pid})", name.unwrap_or("process")),
        (None, _) => "the kernel's threads".to_owned(),
    };
    let path = part.path.as_ref().map(|path| format!(" to {path}"));
    let (path, commits) = (path.unwrap_or_default(), grouped(part.commits));
    format!("{who}{path} in {commits}")
}
