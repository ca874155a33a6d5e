//! The cost of one synced record on each file system, counted on images: the `reference`
//! measurements, reproduced by requests of the loop device. Needs root.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

mod ground;
#[path = "../experiments/places.rs"]
mod places;
mod sync;
#[path = "../../../tracer/tests/observe/undisturbed.rs"]
mod undisturbed;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
mod witness;

use ground::{Counted, RECORDS, count, is_as_6_1};
use iostrata_core::evidence::Losses;
use iostrata_lab::scratch::ImageKind;

use crate::undisturbed::undisturbed;

/// Mean over the records, within the tolerance for one-time work (a new extent, a checkpoint).
#[track_caller]
fn near(what: &str, got: f64, low: f64, high: f64) {
    assert!(
        (low..=high).contains(&got),
        "{what}: {got} is not within {low} and {high}"
    );
}

fn no_unknowns(counted: &Counted) {
    assert_eq!(counted.device.unknown.count, 0, "{:?}", counted.device);
    assert_eq!(counted.losses, Losses::default());
}

#[test]
fn ext4_without_journal_writes_data_and_the_inode_and_flushes_once() {
    undisturbed(|| {
        let append = count(ImageKind::Ext4NoJournal, &["fsync"]);
        no_unknowns(&append);
        near("data", append.data(), 0.99, 1.02);
        // The inode; on 6.1 also a bitmap for every fourth, and additional write-back.
        let most = if is_as_6_1() { 1.4 } else { 1.25 };
        near("metadata", append.metadata(), 1.0, most);
        near("flushes", append.flushes(), 0.99, 1.02);
        assert_eq!(append.device.journal.count + append.device.commit.count, 0);
    });
}

#[test]
fn ext4_commits_one_transaction_with_two_flushes() {
    undisturbed(|| {
        let append = count(ImageKind::Ext4, &["fsync"]);
        no_unknowns(&append);
        near("data", append.data(), 0.99, 1.02);
        near("journal", append.journal(), 0.99, 1.02);
        near("commit", append.commit(), 0.99, 1.02);
        near("flushes", append.flushes(), 1.98, 2.03);
        near("KiB", append.kib(), 17.5, 21.0);
    });
}

#[test]
fn ext4_fast_commit_needs_two_writes_and_two_flushes() {
    undisturbed(|| {
        let append = count(ImageKind::Ext4FastCommit, &["fsync"]);
        no_unknowns(&append);
        near("writes", append.writes(), 1.99, 2.06);
        near("data", append.data(), 0.99, 1.02);
        near("flushes", append.flushes(), 1.98, 2.03);
        near("KiB", append.kib(), 7.9, 9.0);
    });
}

#[test]
fn xfs_writes_data_and_one_log_record_with_two_flushes() {
    undisturbed(|| {
        let append = count(ImageKind::Xfs, &["fsync"]);
        no_unknowns(&append);
        near("data", append.data(), 0.99, 1.02);
        near("log", append.journal(), 0.99, 1.02);
        assert_eq!(
            append.device.commit.count, 0,
            "the log record is the commit"
        );
        near("flushes", append.flushes(), 1.98, 2.03);
        near("KiB", append.kib(), 4.9, 5.5);
    });
}

#[test]
fn btrfs_writes_its_log_trees_and_the_super_block() {
    undisturbed(|| {
        let append = count(ImageKind::Btrfs, &["fsync"]);
        no_unknowns(&append);
        // Adjacent blocks go out together on 6.1, and one by one later (`write_one_eb`,
        // fs/btrfs/extent_io.c).
        let blocks = if is_as_6_1() { 4.0 } else { 6.5 };
        near("writes", append.writes(), blocks + 2.0, blocks + 4.0);
        near("metadata", append.metadata(), blocks, blocks + 2.0);
        near("super blocks", append.commit(), 0.99, 1.02);
        near("flushes", append.flushes(), 1.98, 2.03);
        near("KiB", append.kib(), 105.0, 130.0);
        let block = append.device.metadata.bytes as f64 / append.device.metadata.count as f64;
        let largest = if is_as_6_1() { 32_768.0 } else { 17_000.0 };
        near("bytes of a metadata write", block, 16_384.0, largest);
    });
}

#[test]
fn an_overwrite_with_fdatasync_is_one_write_and_one_flush() {
    undisturbed(|| {
        for kind in [ImageKind::Ext4, ImageKind::Ext4NoJournal, ImageKind::Xfs] {
            let overwrite = count(kind, &["fdatasync", "overwrite"]);
            no_unknowns(&overwrite);
            near("data", overwrite.data(), 0.99, 1.02);
            // Without a journal, 6.1 returns from `ext4_fsync_nojournal` (fs/ext4/fsync.c) before
            // the flush if the inode has not changed: the data may be in the device's cache.
            if kind == ImageKind::Ext4NoJournal && is_as_6_1() {
                near("flushes", overwrite.flushes(), 0.0, 0.05);
            } else {
                near("flushes", overwrite.flushes(), 0.98, 1.05);
            }
            // mtime reaches the disk from time to time, when the clock has advanced enough.
            near(
                "journal and commit",
                overwrite.journal() + overwrite.commit(),
                0.0,
                0.1,
            );
        }
    });
}

#[test]
fn data_journal_writes_the_data_twice() {
    undisturbed(|| {
        let append = count(ImageKind::Ext4DataJournal, &["fsync"]);
        no_unknowns(&append);
        near("commit", append.commit(), 0.99, 1.02);
        near("journal", append.journal(), 0.99, 1.1);
        if is_as_6_1() {
            // `ext4_sync_file` (fs/ext4/fsync.c) only commits. A page is written in place at a
            // checkpoint, after the last of the four records in it.
            near("data", append.data(), 0.2, 0.3);
            near("flushes", append.flushes(), 1.9, 2.1);
        } else {
            // The transaction is committed first, then the page is written in place
            // (fs/ext4/inode.c, ext4_do_writepages).
            near("data", append.data(), 0.99, 1.02);
            near("flushes", append.flushes(), 2.9, 3.1);
        }
    });
}

#[test]
fn bytes_add_up_from_the_program_to_the_device() {
    undisturbed(|| {
        let append = count(ImageKind::Xfs, &["fsync"]);
        let records = u64::try_from(RECORDS).unwrap();
        assert_eq!(
            append.written_bytes,
            records * 1024,
            "application to page cache"
        );
        assert_eq!(
            append.dirtied_bytes,
            records * 4096,
            "each record dirties its page again"
        );
        assert_eq!(
            append.device.data.bytes, append.dirtied_bytes,
            "page cache to device"
        );
    });
}

#[test]
fn tracefs_sees_the_same_requests() {
    undisturbed(|| {
        for kind in [ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs] {
            let append = count(kind, &["fsync"]);
            let (transfers, flushes) = append.witness;
            let device = append.device;
            assert_eq!(
                device.writes().count + device.reads.count + device.discards,
                transfers,
                "{kind}"
            );
            assert_eq!(device.flushes, flushes, "{kind}");
        }
    });
}
