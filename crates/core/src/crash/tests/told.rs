//! What is said of findings: the operation, what failed, and what to do.

use std::convert::Infallible;

use super::{Log, ROOT, fixed, letters, said, shown};
use crate::crash::block::{Failure, On, Pressure, block_findings};
use crate::crash::told::{FileRow, FileState};
use crate::crash::{
    Budget, Check, Coverage, FaultKind, Finding, Found, History, Left, Model, Seen, Stopped,
    Verdicts,
};
use crate::crash::{NoFix, findings, search};
use crate::op::FileId;
use crate::record::{Change, Description, Durability, Payload, Place, STORE};

const EIO: i32 = 5;

fn stored(log: &mut Log, node: FileId, scope: Durability) {
    let payload = letters('b', 8_192);
    log.push(
        "msync",
        Change::Stored {
            node,
            offset: 0,
            payload,
        },
    );
    log.sync(node, scope);
    // One call: what it synced had been stored before.
    log.at_once();
    log.print();
}

/// What a search finds in which `look` says that a state is broken.
fn found_by(
    history: &History,
    model: Model,
    look: impl Fn(&Seen) -> Option<String>,
) -> Vec<Finding> {
    let mut found = Found::default();
    let mut verdicts = Verdicts::new(1);
    let mut check = |seen: &[Seen], _: &Coverage| {
        Ok::<_, Stopped<Infallible>>(seen.iter().map(&look).collect())
    };
    let check: &mut Check<'_, Infallible> = &mut check;
    search(
        history,
        model,
        Budget::default(),
        &mut verdicts,
        check,
        &mut found,
    )
    .unwrap();
    let found = [(model, found)];
    findings(history, &found, b"/")
        .into_iter()
        .map(|told| told.finding)
        .collect()
}

/// What was reported must survive.
fn found(history: &History, wanted: &str) -> Vec<Finding> {
    found_by(history, Model::Ext4, |(tree, told)| {
        let is_lost = *told > 0 && !shown(tree).contains(wanted);
        is_lost.then(|| "lost".to_owned())
    })
}

#[test]
fn stores_are_durable_with_the_sync_at_which_they_were_read() {
    let scopes = [
        (
            Durability::Range {
                offset: 0,
                bytes: 8_192,
            },
            true,
        ),
        (Durability::File, true),
        (Durability::Data, true),
        (Durability::FileSystem, true),
        (Durability::Everything, true),
        // MS_ASYNC, and a part of the range.
        (Durability::Hint, false),
        (
            Durability::Range {
                offset: 0,
                bytes: 4_096,
            },
            false,
        ),
    ];
    for (scope, is_durable) in scopes {
        let mut log = Log::new();
        let node = log.found(ROOT, "f", letters('a', 8_192));
        stored(&mut log, node, scope);
        let findings = found(&log.history(), "f=b*8192");
        assert_eq!(findings.is_empty(), is_durable, "{scope:?}: {findings:?}");
    }
}

/// What was stored to a page of a mapping between two calls, at which it was read.
fn between(log: &mut Log, node: FileId, offset: u64, payload: Payload) {
    let stored = Change::Stored {
        node,
        offset,
        payload,
    };
    log.push(STORE, stored);
}

#[test]
fn stores_between_two_calls_are_on_disk_in_any_order_and_with_the_next_sync() {
    for model in Model::ALL {
        let mut log = Log::new();
        let node = log.found(ROOT, "f", letters('a', 8_192));
        log.fsync(node);
        log.print();
        between(&mut log, node, 0, letters('b', 8_192));
        log.sync(node, Durability::Hint);
        log.print();
        log.fsync(node);
        log.print();
        let states = super::states(&log.history(), model, Budget::default());
        let told = |number: usize| {
            let of = states.iter().filter(move |(_, told)| *told == number);
            of.map(|(tree, _)| tree.as_str()).collect::<Vec<_>>()
        };
        let mixes = ["f=a*4096+b*4096", "f=a*8192", "f=b*4096+a*4096", "f=b*8192"];
        assert_eq!(told(2), mixes, "{model:?}");
        assert_eq!(told(3), ["f=b*8192"], "{model:?}");
    }
}

#[test]
fn bytes_of_a_page_that_were_stored_between_two_calls_are_mixed() {
    let mut log = Log::new();
    let node = log.found(ROOT, "f", letters('a', 4_096));
    between(&mut log, node, 8, letters('b', 3));
    log.write(node, 100, letters('c', 16));
    let mut history = log.history();
    history.mix_stores();
    let states = super::states(&history, Model::Posix, Budget::default());
    let has = |text: &str| states.iter().any(|(tree, _)| tree.contains(text));
    assert!(
        has("f=a*8+b*1+a*1+b*1+a*4085") && has("f=a*10+b*1+a*4085"),
        "{states:?}"
    );
    assert!(has("c*16") && !has("c*8+a"), "a write is whole: {states:?}");
}

#[test]
fn msync_of_a_new_file_brings_its_length() {
    for model in Model::ALL {
        let mut log = Log::new();
        let node = log.create(ROOT, "f");
        log.fsync(node);
        log.fsync(ROOT);
        let (description, bytes) = (None, 8_192);
        log.push(
            "ftruncate",
            Change::Resized {
                node,
                description,
                bytes,
            },
        );
        stored(&mut log, node, Durability::Range { offset: 0, bytes });
        let last = super::states(&log.history(), model, Budget::default());
        let told = last.iter().filter(|(_, told)| *told > 0);
        for (tree, _) in told {
            assert_eq!(tree, "f=b*8192", "{model:?}");
        }
    }
}

#[test]
fn a_sync_that_failed_made_nothing_durable_and_is_told() {
    let mut log = Log::new();
    let node = log.found(ROOT, "f", letters('a', 4_096));
    log.write(node, 0, letters('b', 4_096));
    log.fsync(node);
    log.failed(EIO);
    log.print();
    let findings = found(&log.history(), "f=b*4096");
    let [finding] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    let failed = "The fsync of f after it failed: Input/output error (os error 5).";
    assert!(finding.story.ends_with(failed), "{}", finding.story);
    assert!(finding.advice.starts_with("A sync that failed"));
    let lefts: Vec<Left> = finding.timeline.iter().map(|moment| moment.left).collect();
    assert_eq!(lefts, [Left::Lost, Left::Failed, Left::Done]);
}

/// What is written over a record that was synced and reported is torn: the record is not what is missing.
#[test]
fn what_destroys_a_reported_record_is_named() {
    let mut log = Log::new();
    let node = log.found(ROOT, "f", letters('a', 8_192));
    log.write(node, 0, letters('b', 8_192));
    log.fsync(node);
    log.print();
    log.write(node, 0, letters('c', 8_192));
    let findings = found_by(&log.history(), Model::Ext4, |(tree, told)| {
        let is_whole = ["f=b*8192", "f=c*8192"].contains(&shown(tree).as_str());
        (*told > 0 && !is_whole).then(|| "lost".to_owned())
    });
    for finding in &findings {
        assert_eq!(finding.kind, FaultKind::Atomicity);
        let story =
            "A part of the pwrite64 of 8,192 B to f at offset 0 is on disk, the rest is not.";
        assert_eq!(finding.story, story);
        assert!(
            finding.advice.starts_with("Write a new file"),
            "{}",
            finding.advice
        );
    }
    assert!(!findings.is_empty());
}

/// What is said of a real recovery of ext4 after the report, in which these files differ.
fn on_a_disk(log: &Log, is_lost_after_ack: bool, files: Vec<FileRow>) -> Finding {
    let failure = Failure {
        message: "lost".to_owned(),
        is_lost_after_ack,
        is_boundary: true,
        ended_ns: u64::MAX,
        told: 1,
        kept_blocks: 0,
        blocks: 0,
        states: 1,
        files,
        proof: None,
    };
    let on = On {
        filesystem: Model::Ext4,
        pressure: Pressure::None,
    };
    block_findings(&log.history(), &[failure], on, b"/").remove(0)
}

#[test]
fn a_loss_on_a_disk_is_blamed_on_what_no_sync_covered() {
    let log = |is_synced: bool| {
        let mut log = Log::new();
        let lost = log.found(ROOT, "lost", letters('a', 10));
        let kept = log.found(ROOT, "kept", letters('a', 10));
        log.write(lost, 0, letters('b', 10));
        log.write(kept, 0, letters('b', 10));
        log.fsync(kept);
        if is_synced {
            log.fsync(lost);
        }
        log.print();
        log
    };
    let Finding { culprit, story, .. } = on_a_disk(&log(false), true, Vec::new());
    assert_eq!(culprit.path.as_deref(), Some("lost"));
    assert!(story.contains("that no sync covers"), "{story}");
    let Finding { culprit, story, .. } = on_a_disk(&log(true), true, Vec::new());
    assert_eq!(culprit.path.as_deref(), Some("kept"));
    assert!(!story.contains("no sync covers"), "{story}");
}

#[test]
fn what_a_disk_lost_is_of_the_file_that_is_not_as_at_the_end() {
    let mut log = Log::new();
    for name in ["first", "second"] {
        let file = log.found(ROOT, name, letters('a', 10));
        log.write(file, 0, letters('b', 10));
    }
    log.print();
    let row = |path: &str, state| FileRow {
        path: path.to_owned(),
        before_bytes: Some(10),
        at_bytes: Some(10),
        after_bytes: Some(10),
        state,
    };
    let files = || vec![row("first", FileState::Old), row("second", FileState::New)];
    let lost = on_a_disk(&log, true, files());
    assert_eq!(lost.culprit.path.as_deref(), Some("first"));
    let early = on_a_disk(&log, false, files());
    assert_eq!(early.culprit.path.as_deref(), Some("second"));
    assert!(
        early.advice.starts_with("fsync first before the "),
        "{}",
        early.advice
    );
}

#[test]
fn a_log_that_was_made_and_synced_is_appended_to() {
    let appends = |is_synced: bool| {
        let mut log = Log::new();
        let file = log.create(ROOT, "log");
        log.write(file, 0, letters('a', 5_000));
        if is_synced {
            log.fsync(file);
        }
        log.write(file, 5_000, letters('b', 5_000));
        let history = log.history();
        let last = history.steps.last().unwrap();
        last.appends
    };
    assert!(appends(true) && !appends(false));
}

/// No sync that is added helps: the one that is there may have lost the data already.
#[test]
fn a_sync_that_failed_has_no_fix() {
    let syncs = |failed: bool| {
        let mut log = Log::new();
        let node = log.found(ROOT, "f", letters('a', 4_096));
        log.write(node, 0, letters('b', 4_096));
        if failed {
            log.fsync(node);
            log.failed(EIO);
        }
        log.print();
        fixed(&log.history(), &[Model::Ext4], |(tree, told)| {
            (*told > 0 && shown(tree) != "f=b*4096").then(|| "lost".to_owned())
        })
    };
    assert_eq!(syncs(true), Err(NoFix::SyncFailed));
    assert_eq!(syncs(false).unwrap().len(), 1);
}

#[test]
fn a_name_that_is_lost_is_of_the_directory() {
    let mut log = Log::new();
    let [file, other] = ["f", "log"].map(|name| log.found(ROOT, name, letters('a', 10)));
    log.rename(file, (ROOT, "f"), (ROOT, "new"));
    log.write(other, 0, letters('b', 10));
    let findings = found_by(&log.history(), Model::Posix, |(tree, _)| {
        let all = shown(tree);
        (all.contains("log=b*10") && !all.contains("new=")).then(|| "not renamed".to_owned())
    });
    let advice = "fsync the directory of new before the pwrite64 of 10 B to log at offset 0.";
    assert_eq!(findings[0].advice, advice);
}

/// It is no report because it has no path.
#[test]
fn a_file_that_never_gets_a_name_has_none() {
    let mut log = Log::new();
    let node = log.found(ROOT, "f", letters('a', 10));
    log.write(node, 0, letters('b', 10));
    log.print();
    let mut row = found(&log.history(), "f=b*10").swap_remove(0).culprit;
    assert_eq!(row.text(), "pwrite64 of 10 B to f at offset 0");
    row.path = None;
    assert_eq!(
        row.text(),
        "pwrite64 of 10 B to a file without a name at offset 0"
    );
}

/// The advice where a part of the last write is there.
fn advice(log: &Log) -> String {
    let findings = found_torn(&log.history());
    assert!(!findings.is_empty());
    findings[0].advice.clone()
}

fn found_torn(history: &History) -> Vec<Finding> {
    found_by(history, Model::Posix, |(tree, _)| {
        shown(tree).contains('+').then(|| "torn".to_owned())
    })
}

#[test]
fn a_log_is_not_to_be_written_anew() {
    let mut log = Log::new();
    let node = log.found(ROOT, "f", letters('a', 4_000));
    log.write(node, 4_000, letters('b', 8_000));
    assert!(advice(&log).starts_with("An append is not atomic"));
    // In place, and a new file in two writes.
    let mut log = Log::new();
    let node = log.found(ROOT, "f", letters('a', 12_000));
    log.write(node, 0, letters('b', 8_000));
    assert!(advice(&log).starts_with("Write a new file"));
    let mut log = Log::new();
    let node = log.found(ROOT, "f", letters('a', 4_000));
    log.open_truncated(node);
    log.write(node, 0, letters('b', 4_000));
    log.write(node, 4_000, letters('c', 8_000));
    assert!(advice(&log).starts_with("Write a new file"));
}

#[test]
fn a_file_that_gets_its_name_late_is_told_by_it() {
    let mut log = Log::new();
    let node = super::id(77);
    let opened = Change::Opened {
        node,
        description: Description(1),
        flags: 2,
        created: Some(Place::Nowhere),
        mode: None,
        truncated: false,
    };
    log.push("openat", opened);
    log.write(node, 0, letters('b', 4_096));
    log.link(node, ROOT, "g");
    log.fsync(ROOT);
    log.print();
    let findings = found(&log.history(), "g=b*4096");
    let story = "The program has reported success, but the pwrite64 of 4,096 B to g at offset 0 is not on disk.";
    assert_eq!(findings[0].story, story);
}

#[test]
fn what_is_ignored_is_in_no_finding() {
    let mut log = Log::new();
    let [kept, ignored] = ["f", "cache.db"].map(|name| log.found(ROOT, name, letters('a', 8_192)));
    log.write(kept, 0, letters('b', 8_192));
    log.write(ignored, 0, letters('b', 8_192));
    let all = said(&log.history(), Model::Posix).0;
    assert_eq!(all.len(), 2, "{all:?}");
    let without = |patterns: &[&str]| log.history_ignoring("/", patterns, |_| Vec::new());
    let (rest, states) = said(&without(&["cache.*"]), Model::Posix);
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(rest.first().unwrap().starts_with("f is torn"));
    // It is in no combination either.
    assert_eq!(states, said(&log_of_one().history(), Model::Posix).1);
    assert_eq!(said(&without(&["*"]), Model::Posix).0.len(), 0);
    assert_eq!(without(&["cache.*"]).rebuilt()[0].file, "cache.db");
}

fn log_of_one() -> Log {
    let mut log = Log::new();
    let node = log.found(ROOT, "f", letters('a', 8_192));
    log.write(node, 0, letters('b', 8_192));
    log
}
