//! The requests of one sync on every target, counted through `lab sync` itself.
//!
//! A comment next to a surprising figure names the kernel code that causes it.

use iostrata_core::evidence::RequestsPer;
use iostrata_core::gap::Reason;
use iostrata_core::lab::Experiment;
use iostrata_core::sync::{Case, SyncCall, SyncResult, SyncRow, Write};
use iostrata_lab::engine::{Silent, StoppingRule};
use iostrata_lab::experiment::run;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{ImageKind, Images, Plan, isolate, prepare};
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::sync;
use iostrata_lab::target::Target;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::stack::{Roots, inspect};

use crate::ground::{is_as_6_1, kernel, of_images};
use crate::near;
use crate::places::{self, launcher};
use crate::undisturbed::undisturbed;

/// Requests of one sync: data, journal, commit, metadata, flushes.
type Each = [f64; 5];

const APPENDS: [(SyncCall, Write); 4] = [
    (SyncCall::Fsync, Write::Append),
    (SyncCall::Fdatasync, Write::Append),
    (SyncCall::ODsync, Write::Append),
    (SyncCall::OSync, Write::Append),
];

/// A write of 1 KiB into a block of 4 KiB: the first of four converts the unwritten extent
/// (`ext4_convert_unwritten_extents`, `xfs_iomap_write_unwritten`), which is a transaction; the
/// other three overwrite.
const ONE_IN_FOUR: f64 = 0.25;

fn target(name: &str, dir: &std::path::Path, image: bool) -> Target {
    let stack = inspect(dir, &Roots::default()).unwrap();
    Target {
        image,
        disks: stack.charged_disks(),
        storage: stack.target(dir.display().to_string()),
        ..places::target(name, dir, "")
    }
}

/// Number of syncs whose mean is precise enough.
const ENOUGH: u64 = 30;

/// Measures the kinds on a fresh image, or on the host for `None`; long enough for a slow machine
/// to make enough syncs.
fn measured(kind: Option<ImageKind>, kinds: &[(SyncCall, Write)], writers: &[u64]) -> SyncResult {
    let quick = measured_for(Effort::Quick, kind, kinds, writers);
    let longer = [Effort::Normal, Effort::Thorough];
    longer.into_iter().fold(quick, |result, effort| {
        if result.rows.iter().all(|row| row.observed_syncs >= ENOUGH) {
            return result;
        }
        measured_for(effort, kind, kinds, writers)
    })
}

fn measured_for(
    effort: Effort,
    kind: Option<ImageKind>,
    kinds: &[(SyncCall, Write)],
    writers: &[u64],
) -> SyncResult {
    let mounts = isolate().unwrap();
    let base = match kind {
        Some(_) => of_images(),
        None => tempfile::tempdir_in("/var/tmp").unwrap(),
    };
    let made: Vec<ImageKind> = kind.into_iter().collect();
    let images = (!made.is_empty()).then_some(Images {
        kinds: &made,
        bytes: 512 << 20,
        mounts: &mounts,
    });
    let ground = Plan {
        dir: base.path(),
        enter: false,
        host_bytes: 128 << 20,
        images,
    };
    let prepared = prepare(&ground, None, &Interrupt::never()).unwrap();
    let target = match prepared.images() {
        [image] => target(image.kind().name(), image.path(), true),
        _ => target("host", prepared.host(), false),
    };
    let mut cases = Vec::new();
    for &(call, write) in kinds {
        cases.extend(writers.iter().map(|&writers| Case {
            call,
            write,
            writers,
            ..Case::ARTICLE
        }));
    }
    let settings = RunSettings {
        stopping: StoppingRule {
            min_runs: 1,
            max_runs: 1,
            target_width: 0.1,
            budget_s: 10.0,
        },
        effort,
        scratch: prepared.host().to_owned(),
        launcher: launcher(),
        virtualization: None,
        unobserved_because: Reason::Error(String::new()),
    };
    let mut observer = EbpfObserver::open().unwrap();
    let plan = sync::Plan {
        cases,
        devices: Vec::new(),
        effort,
    };
    let result = run(
        &plan,
        &settings,
        &[target],
        Some(&mut observer),
        &mut Silent,
        &|| false,
    );
    let leftovers = prepared.close();
    assert!(leftovers.is_empty(), "{leftovers:?}");
    match result.unwrap() {
        Experiment::Sync(result) => result,
        other => panic!("it is of {}", other.shared().id),
    }
}

fn row(result: &SyncResult, call: SyncCall, write: Write) -> &SyncRow {
    let wanted = |row: &&SyncRow| (row.row.case.call, row.row.case.write) == (call, write);
    result.rows.iter().find(wanted).unwrap()
}

/// Checks the properties of every row, and its requests: within 3 %, or a twentieth of a request
/// more for a checkpoint or a commit during the run.
#[track_caller]
fn asks(result: &SyncResult, call: SyncCall, write: Write, due: Each) {
    let row = row(result, call, write);
    let case = format!("{} {} {}", row.row.target, call.as_str(), write.as_str());
    whole(row);
    let RequestsPer {
        data,
        journal,
        commit,
        metadata,
        flushes,
        unknown,
    } = row.per_sync.requests;
    assert_eq!(unknown, Some(0.0), "{case}");
    let got = [data, journal, commit, metadata, flushes].map(Option::unwrap);
    let names = ["data", "journal", "commit", "metadata", "flushes"];
    for ((name, got), due) in names.into_iter().zip(got).zip(due) {
        near(
            &format!("{case}: {name}"),
            got,
            due * 0.97,
            due * 1.03 + 0.06,
        );
    }
}

/// The run was as required: no loss, the exact calls, files in their state, no reads.
#[track_caller]
fn whole(row: &SyncRow) {
    assert!(row.observed_syncs >= 10, "{}", row.observed_syncs);
    assert_eq!(row.row.evidence.lost_events, 0);
    let notes = &row.row.notes;
    let wrong = |note: &&String| {
        ["calls with", "written before", "unwritten", "requests read"]
            .iter()
            .any(|words| note.contains(words))
    };
    assert_eq!(notes.iter().find(wrong), None, "{:?}", row.row.case);
    let calls = row.row.evidence.syscalls.as_ref().unwrap();
    assert_eq!(calls.get("pwrite64").unwrap().count, row.observed_syncs);
}

#[test]
fn ext4_commits_a_transaction_unless_only_contents_change() {
    undisturbed(|| {
        let mut kinds = APPENDS.to_vec();
        kinds.extend([
            (SyncCall::Fdatasync, Write::Overwrite),
            (SyncCall::ODsync, Write::Overwrite),
            (SyncCall::Fdatasync, Write::Preallocated),
            (SyncCall::Syncfs, Write::Append),
        ]);
        let result = measured(Some(ImageKind::Ext4), &kinds, &[1]);
        for (call, write) in APPENDS {
            asks(&result, call, write, [1.0, 1.0, 1.0, 0.0, 2.0]);
        }
        for call in [SyncCall::Fdatasync, SyncCall::ODsync] {
            asks(&result, call, Write::Overwrite, [1.0, 0.0, 0.0, 0.0, 1.0]);
        }
        let converts = [1.0, ONE_IN_FOUR, ONE_IN_FOUR, 0.0, 1.0 + ONE_IN_FOUR];
        asks(&result, SyncCall::Fdatasync, Write::Preallocated, converts);
        let bytes = row(&result, SyncCall::Fsync, Write::Append).per_sync.bytes;
        near("bytes", bytes.unwrap(), 17_900.0, 21_500.0);
        // After the commit `sync_filesystem` (fs/sync.c) writes the block device's pages as well,
        // so the committed metadata is written in place at once.
        let syncfs = row(&result, SyncCall::Syncfs, Write::Append).per_sync;
        near(
            "syncfs metadata",
            syncfs.requests.metadata.unwrap(),
            0.9,
            2.5,
        );
        // `sync_filesystem` starts a commit before it waits for the data, and commits again after
        // that (`ext4_sync_fs`, fs/ext4/super.c): the second has work if the data's write-back
        // ended between the two.
        near("syncfs commit", syncfs.requests.commit.unwrap(), 0.97, 2.05);
    });
}

/// Blocks that the flusher writes in one pass besides, of bitmaps, descriptors, directories, inodes and the super block:
/// as many whatever the syncs are, of which a slow disk makes few meanwhile. 13 were seen.
const WRITTEN_BACK: f64 = 24.0;

/// Seconds after which dirty metadata is written back (`dirty_expire_centisecs`, 3,000 by default).
const EXPIRES_S: f64 = 30.0;

/// The metadata of syncs that each write an inode, or no more than that.
#[track_caller]
fn inodes(row: &SyncRow, least: f64, most: f64) {
    let syncs = row.observed_syncs as f64;
    let lasted_s: f64 = row.series.seconds.iter().map(|one| one.lasted_s).sum();
    let passes = 1.0 + (lasted_s / EXPIRES_S).ceil();
    let written = row.row.evidence.exact_device().unwrap().metadata.count as f64;
    near(
        "metadata",
        written,
        least * syncs,
        most * syncs + WRITTEN_BACK * passes,
    );
}

#[test]
fn ext4_without_journal_writes_the_inode_itself() {
    undisturbed(|| {
        let mut kinds = APPENDS.to_vec();
        kinds.push((SyncCall::Fdatasync, Write::Overwrite));
        let result = measured(Some(ImageKind::Ext4NoJournal), &kinds, &[1]);
        for (call, write) in APPENDS {
            let row = row(&result, call, write);
            whole(row);
            let each = row.per_sync;
            assert_eq!(
                (each.requests.journal, each.requests.commit),
                (Some(0.0), Some(0.0))
            );
            near("data", each.requests.data.unwrap(), 0.99, 1.01);
            // Every fourth takes a new block, whose bitmap is written with it on 6.1, and at times on 6.12.
            let most = if kernel() <= (6, 12) { 1.25 } else { 1.0 };
            inodes(row, 1.0, most);
            near("flushes", each.requests.flushes.unwrap(), 0.97, 1.09);
        }
        // `ext4_fsync_nojournal` (fs/ext4/fsync.c) also calls `ext4_write_inode` for fdatasync,
        // which writes the inode's block if its time has changed: once per tick of the clock, or per sync if
        // these are further apart.
        let row = row(&result, SyncCall::Fdatasync, Write::Overwrite);
        whole(row);
        near("data", row.per_sync.requests.data.unwrap(), 0.99, 1.01);
        inodes(row, 0.0, 1.0);
        // 6.1 returns before the flush where the inode has not changed.
        let flushes = if is_as_6_1() { 0.0..=0.1 } else { 0.97..=1.09 };
        let (low, high) = (*flushes.start(), *flushes.end());
        near("flushes", row.per_sync.requests.flushes.unwrap(), low, high);
    });
}

#[test]
fn ext4_fast_commit_writes_one_block_for_journal_and_commit() {
    undisturbed(|| {
        let mut kinds = APPENDS.to_vec();
        kinds.extend([
            (SyncCall::Fdatasync, Write::Overwrite),
            (SyncCall::Fdatasync, Write::Preallocated),
        ]);
        let result = measured(Some(ImageKind::Ext4FastCommit), &kinds, &[1]);
        for (call, write) in APPENDS {
            asks(&result, call, write, [1.0, 0.0, 1.0, 0.0, 2.0]);
        }
        asks(
            &result,
            SyncCall::Fdatasync,
            Write::Overwrite,
            [1.0, 0.0, 0.0, 0.0, 1.0],
        );
        // Three of four writes convert nothing; the fast commit is written nevertheless, because it
        // tracks the inode.
        asks(
            &result,
            SyncCall::Fdatasync,
            Write::Preallocated,
            [1.0, 0.0, 1.0, 0.0, 2.0],
        );
    });
}

/// Data is written in place at a later checkpoint (`ext4_sync_file`, fs/ext4/fsync.c).
#[track_caller]
fn only_commits(result: &SyncResult, call: SyncCall, write: Write) {
    let row = row(result, call, write);
    whole(row);
    let each = row.per_sync;
    near("data", each.requests.data.unwrap(), 0.0, 1.06);
    near("journal", each.requests.journal.unwrap(), 0.97, 1.09);
    near("commit", each.requests.commit.unwrap(), 0.97, 1.09);
    near("flushes", each.requests.flushes.unwrap(), 1.94, 2.12);
}

#[test]
fn ext4_that_journals_data_commits_even_an_overwrite() {
    undisturbed(|| {
        let kinds = [
            (SyncCall::Fsync, Write::Append),
            (SyncCall::ODsync, Write::Append),
            (SyncCall::Fdatasync, Write::Overwrite),
            (SyncCall::Fdatasync, Write::Preallocated),
        ];
        let result = measured(Some(ImageKind::Ext4DataJournal), &kinds, &[1]);
        for (call, write) in kinds {
            if is_as_6_1() {
                only_commits(&result, call, write);
            } else {
                asks(&result, call, write, [1.0, 1.0, 1.0, 0.0, 3.0]);
            }
        }
    });
}

#[test]
fn xfs_writes_one_log_record_unless_only_contents_change() {
    undisturbed(|| {
        let mut kinds = APPENDS.to_vec();
        kinds.extend([
            (SyncCall::Fdatasync, Write::Overwrite),
            (SyncCall::ODsync, Write::Overwrite),
            (SyncCall::Fdatasync, Write::Preallocated),
            (SyncCall::Syncfs, Write::Overwrite),
        ]);
        let result = measured(Some(ImageKind::Xfs), &kinds, &[1]);
        for (call, write) in APPENDS {
            asks(&result, call, write, [1.0, 1.0, 0.0, 0.0, 2.0]);
        }
        for call in [SyncCall::Fdatasync, SyncCall::ODsync] {
            asks(&result, call, Write::Overwrite, [1.0, 0.0, 0.0, 0.0, 1.0]);
        }
        let converts = [1.0, ONE_IN_FOUR, 0.0, 0.0, 1.0 + ONE_IN_FOUR];
        asks(&result, SyncCall::Fdatasync, Write::Preallocated, converts);
        // `xfs_fs_sync_fs` (fs/xfs/xfs_super.c) only forces the log, and an empty log sends no
        // flush; `xfs_file_fsync` (xfs_file.c) sends one in that case. So most of these syncs leave
        // their contents in the device's volatile cache.
        let syncfs = row(&result, SyncCall::Syncfs, Write::Overwrite);
        whole(syncfs);
        near("data", syncfs.per_sync.requests.data.unwrap(), 0.97, 1.03);
        let (flushes, log) = (
            syncfs.per_sync.requests.flushes,
            syncfs.per_sync.requests.journal,
        );
        let (flushes, log) = (flushes.unwrap(), log.unwrap());
        assert!(
            flushes <= 2.0 * log + 0.05,
            "{flushes} flushes, {log} log writes"
        );
    });
}

#[test]
fn btrfs_writes_its_log_trees_whatever_changes() {
    undisturbed(|| {
        let kinds = [
            (SyncCall::Fsync, Write::Append),
            (SyncCall::ODsync, Write::Append),
            (SyncCall::Fdatasync, Write::Overwrite),
            (SyncCall::Fdatasync, Write::Preallocated),
        ];
        let result = measured(Some(ImageKind::Btrfs), &kinds, &[1]);
        for (call, write) in kinds {
            let row = row(&result, call, write);
            whole(row);
            let each = row.per_sync;
            // The first two appends lie inline in the tree (`max_inline`, btrfs(5)).
            near("data", each.requests.data.unwrap(), 0.8, 1.03);
            near("super blocks", each.requests.commit.unwrap(), 0.97, 1.1);
            // Two log trees with two blocks, each with a copy (DUP), and more as they grow.
            near("metadata", each.requests.metadata.unwrap(), 3.8, 9.0);
            near("flushes", each.requests.flushes.unwrap(), 1.97, 2.1);
        }
    });
}

#[test]
fn on_the_host_data_is_charged_by_file() {
    undisturbed(|| {
        let kinds = [
            (SyncCall::Fsync, Write::Append),
            (SyncCall::Fdatasync, Write::Overwrite),
            (SyncCall::Sync, Write::Append),
        ];
        let result = measured(None, &kinds, &[1]);
        for (call, write) in kinds {
            let row = row(&result, call, write);
            whole(row);
            near("data", row.per_sync.requests.data.unwrap(), 0.99, 1.01);
            let calls = row.row.evidence.syscalls.as_ref().unwrap();
            assert_eq!(calls.get(call.as_str()).unwrap().count, row.observed_syncs);
            assert_eq!(row.per_sync.requests.unknown, Some(0.0));
        }
        assert!(
            result
                .caveats
                .iter()
                .any(|caveat| caveat.contains("is shared"))
        );
    });
}

#[test]
fn a_series_has_every_second_and_adds_up() {
    undisturbed(|| {
        let result = measured_for(Effort::Quick, Some(ImageKind::Ext4), &APPENDS[..1], &[1]);
        let row = row(&result, SyncCall::Fsync, Write::Append);
        let seconds = &row.series.seconds;
        assert_eq!(seconds.len(), 3);
        assert!(seconds.iter().all(|second| second.lasted_s >= 1.0));
        let syncs: u64 = seconds.iter().map(|second| second.syncs).sum();
        assert_eq!(syncs, row.observed_syncs);
        let data: u64 = seconds
            .iter()
            .map(|second| second.requests.data.unwrap())
            .sum();
        let whole = row.row.evidence.exact_device().unwrap().data.count;
        assert_eq!(data, whole, "no request between the seconds");
        assert!(row.series.steadiness.is_some());
    });
}

#[test]
fn writers_at_the_same_time_share_commits() {
    undisturbed(|| {
        let result = measured(Some(ImageKind::Ext4), &APPENDS[..1], &[1, 8]);
        let commits: Vec<f64> = result
            .rows
            .iter()
            .map(|row| {
                whole(row);
                row.per_sync.requests.commit.unwrap()
            })
            .collect();
        near("a lone writer's commits", commits[0], 0.97, 1.1);
        assert!(commits[1] < 0.9, "{commits:?}");
        let answer = result
            .answers
            .iter()
            .find(|answer| answer.claim.contains("share"))
            .unwrap();
        assert_eq!(answer.verdict, iostrata_core::Verdict::Holds);
    });
}
