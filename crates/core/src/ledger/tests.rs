use super::*;
use crate::evidence::{CacheRow, Life};

const DISK: u32 = 7;
const FILE: FileId = FileId {
    device: 70,
    inode: 12,
    generation: 1,
};
/// The same number, after the run had removed its file.
const AGAIN: FileId = FileId {
    generation: 2,
    ..FILE
};

fn request(cause: Cause, file: Option<FileId>, count: u64) -> BlockRow {
    BlockRow {
        disk: DISK,
        phase: Phase::Running,
        cause,
        file,
        submitter: Submitter::Unknown,
        pages: Pages::Others,
        count,
        bytes: count * 4096,
        time_ns: 1_000,
    }
}

fn back(file: FileId, count: u64) -> BlockRow {
    BlockRow {
        pages: Pages::WrittenByRun,
        ..request(Cause::Data, Some(file), count)
    }
}

fn by_tree(row: BlockRow) -> BlockRow {
    BlockRow {
        submitter: Submitter::Run,
        ..row
    }
}

fn ledger(rows: Vec<BlockRow>, lives: &[(FileId, Life)], dirtied_bytes: u64) -> Ledger {
    let raw = RawEvidence {
        block: Some(rows),
        lives: lives.iter().copied().collect(),
        cache: Some(vec![CacheRow {
            file: FILE,
            metadata: false,
            lookups_pages: 0,
            missed_pages: 0,
            filled_pages: 0,
            dirtied_bytes,
        }]),
        ..RawEvidence::default()
    };
    Ledger::new(&raw, &[DISK], |_, _| Claim::Some).unwrap()
}

fn data_bytes(ledger: &Ledger) -> (u64, u64) {
    let total = ledger.total(Phase::Running);
    total.of(|device| device.data.bytes)
}

#[test]
fn another_file_with_the_same_number_is_another_life() {
    let rows = vec![back(FILE, 1), request(Cause::Data, Some(AGAIN), 16)];
    let ledger = ledger(rows, &[(FILE, Life::default())], 4096);
    assert_eq!(data_bytes(&ledger), (4096, 4096));
    let again = ledger.file(AGAIN, Phase::Running);
    assert_eq!(again, DeviceRange::default());
}

#[test]
fn pages_that_others_dirty_make_a_range_in_row_and_total_alike() {
    let others = Life {
        dirtied_bytes: 8192,
        ..Life::default()
    };
    let ledger = ledger(vec![back(FILE, 3)], &[(FILE, others)], 8192);
    assert_eq!(data_bytes(&ledger), (4096, 8192));
    assert_eq!(
        ledger.file(FILE, Phase::Running),
        ledger.total(Phase::Running)
    );
    assert!(ledger.has_shared_pages());
}

#[test]
fn a_read_and_a_direct_write_are_of_their_submitter() {
    let direct = BlockRow {
        pages: Pages::Direct,
        ..request(Cause::Data, Some(FILE), 4)
    };
    let read = request(Cause::Read, Some(FILE), 8);
    let rows = vec![direct, by_tree(direct), read, by_tree(read)];
    let total = ledger(rows, &[], 0).total(Phase::Running);
    assert_eq!(total.exact(|device| device.data.count), Some(4));
    assert_eq!(total.exact(|device| device.reads.count), Some(8));
}

#[test]
fn a_read_that_was_delayed_may_be_the_runs_if_it_uses_the_file() {
    let delayed = |file| BlockRow {
        submitter: Submitter::Worker,
        ..request(Cause::Read, Some(file), 8)
    };
    let total = ledger(vec![delayed(FILE), delayed(AGAIN)], &[], 0).total(Phase::Running);
    assert_eq!(total.of(|device| device.reads.count), (0, 8));
}

#[test]
fn copies_on_several_disks_are_more_than_the_pages() {
    let others = Life {
        dirtied_bytes: 8192,
        ..Life::default()
    };
    let copy = BlockRow {
        disk: 8,
        ..back(FILE, 3)
    };
    let raw = |life| RawEvidence {
        block: Some(vec![back(FILE, 3), copy]),
        lives: [(FILE, life)].into(),
        ..RawEvidence::default()
    };
    let bytes = |life| {
        let ledger = Ledger::new(&raw(life), &[DISK, 8], |_, _| Claim::Some).unwrap();
        data_bytes(&ledger)
    };
    assert_eq!(bytes(others), (0, 24_576));
    assert_eq!(bytes(Life::default()), (24_576, 24_576));
}

#[test]
fn what_has_no_file_counts_as_it_is_claimed() {
    let rows = || {
        vec![
            by_tree(request(Cause::Journal, None, 1)),
            request(Cause::Journal, None, 4),
            request(Cause::Flush, None, 3),
            // The commit of a transaction of others.
            BlockRow {
                submitter: Submitter::Others,
                ..request(Cause::Journal, None, 20)
            },
            BlockRow {
                disk: 99,
                ..by_tree(request(Cause::Flush, None, 9))
            },
        ]
    };
    let counts = |claim| {
        let raw = RawEvidence {
            block: Some(rows()),
            ..RawEvidence::default()
        };
        let ledger = Ledger::new(&raw, &[DISK], |_, _| claim).unwrap();
        let total = ledger.total(Phase::Running);
        total.of(|device| (device.journal.count, device.flushes))
    };
    assert_eq!(counts(Claim::All), ((5, 3), (5, 3)));
    assert_eq!(counts(Claim::Some), ((1, 0), (5, 3)));
    assert_eq!(counts(Claim::None), ((1, 0), (1, 0)));
}
