use super::*;
use crate::evidence::{CacheRow, Life, Pages, Phase, Submitter, SyscallRow};
use crate::ledger::Ledger;
use crate::op::FileId;

/// The run's file system, on a separate disk.
const SYSTEM: u32 = 70;
const DISK: u32 = 7;
/// Another file system on the same disk.
const BESIDE: u32 = 71;
const FILE: FileId = FileId {
    device: SYSTEM,
    inode: 12,
    generation: 1,
};
const OTHER: FileId = FileId {
    device: SYSTEM,
    inode: 13,
    generation: 1,
};

fn request(cause: Cause, file: Option<FileId>, count: u64) -> BlockRow {
    BlockRow {
        disk: DISK,
        phase: Phase::Running,
        cause,
        file,
        submitter: match cause {
            Cause::Read => Submitter::Run,
            _ => Submitter::Unknown,
        },
        pages: match file {
            Some(FILE) => Pages::WrittenByRun,
            _ => Pages::Others,
        },
        count,
        bytes: count * 4096,
        time_ns: 1_000,
    }
}

fn synced() -> SyscallRow {
    SyscallRow {
        name: "fsync",
        file: Some(FILE),
        count: 1,
        errors: 0,
        returned: 0,
        time_ns: 1,
        blocked_ns: 0,
        alone_ns: 0,
        histogram: vec![],
        shape: None,
        span_ns: None,
        is_source: false,
    }
}

/// One data request, two of the journal, one flush, a metadata read: from a run that synced a file,
/// alone.
fn raw() -> RawEvidence {
    RawEvidence {
        syscalls: Some(vec![synced()]),
        block: Some(vec![
            request(Cause::Data, Some(FILE), 1),
            request(Cause::Journal, None, 2),
            request(Cause::Flush, None, 1),
            request(Cause::Read, None, 1),
        ]),
        lives: [(FILE, Life::default())].into(),
        sharing: Some(Sharing {
            told: vec!["ext4"],
            tree_changed: [SYSTEM].into(),
            ..Sharing::default()
        }),
        ..RawEvidence::default()
    }
}

fn storage() -> Storage {
    Storage {
        disks: [(SYSTEM, vec![DISK])].into(),
        unseen: BTreeMap::new(),
        requested: BTreeSet::new(),
        changed: [(SYSTEM, vec![DISK]), (BESIDE, vec![DISK])].into(),
        kinds: [(DISK, ["ext4".to_owned()].into())].into(),
        below: BTreeSet::new(),
    }
}

/// Minimum and maximum of the data, journal, flushes and reads.
type Counted = ([u64; 4], [u64; 4]);

#[track_caller]
fn counted(raw: &RawEvidence, storage: &Storage) -> Counted {
    let claims = Claims::new(raw, &Seen::default(), storage);
    let disks = storage.all_disks();
    let ledger = Ledger::new(raw, &disks, |disk, cause| claims.of(disk, cause)).unwrap();
    let range = ledger.total(Phase::Running);
    range.of(|it| [it.data.count, it.journal.count, it.flushes, it.reads.count])
}

fn shared_by(change: impl FnOnce(&mut Sharing)) -> Counted {
    let mut raw = raw();
    change(raw.sharing.as_mut().unwrap());
    counted(&raw, &storage())
}

const ALL: [u64; 4] = [1, 2, 1, 1];
const LEAST: [u64; 4] = [1, 0, 0, 1];

#[test]
fn a_disk_of_its_own_is_counted_exactly() {
    assert_eq!(counted(&raw(), &storage()), (ALL, ALL));
}

#[test]
fn whoever_else_changes_the_disk_makes_it_a_range() {
    assert_eq!(
        shared_by(|it| it.others_changed = [SYSTEM].into()),
        (LEAST, ALL)
    );
    assert_eq!(
        shared_by(|it| it.others_changed = [BESIDE].into()),
        (LEAST, ALL)
    );
    assert_eq!(
        shared_by(|it| it.others_wrote = [DISK].into()),
        (LEAST, ALL)
    );
    // On another disk, no matter which program uses it.
    assert_eq!(shared_by(|it| it.others_changed = [99].into()), (ALL, ALL));
    assert_eq!(shared_by(|it| it.others_wrote = [99].into()), (ALL, ALL));
}

#[test]
fn a_read_is_that_of_its_submitter() {
    let mut raw = raw();
    raw.block.as_mut().unwrap().push(BlockRow {
        submitter: Submitter::Unknown,
        ..request(Cause::Read, Some(FILE), 9)
    });
    assert_eq!(counted(&raw, &storage()), (ALL, ALL));
}

#[test]
fn written_files_of_others_share_the_disk() {
    let mut raw = raw();
    raw.block
        .as_mut()
        .unwrap()
        .push(request(Cause::Data, Some(OTHER), 9));
    assert_eq!(counted(&raw, &storage()), (LEAST, ALL));
}

#[test]
fn what_the_run_submitted_is_its_own_in_any_case() {
    let mut raw = raw();
    raw.sharing.as_mut().unwrap().others_changed = [SYSTEM].into();
    raw.block.as_mut().unwrap().push(BlockRow {
        submitter: Submitter::Run,
        ..request(Cause::Journal, None, 5)
    });
    assert_eq!(counted(&raw, &storage()), ([1, 5, 0, 1], [1, 7, 1, 1]));
}

#[test]
fn who_changes_nothing_has_nothing_committed() {
    let mut raw = raw();
    raw.syscalls = Some(vec![]);
    raw.sharing.as_mut().unwrap().tree_changed.clear();
    raw.sharing.as_mut().unwrap().others_changed = [SYSTEM].into();
    assert_eq!(counted(&raw, &storage()), (LEAST, LEAST));
    // Pages that it dirtied are a change.
    raw.cache = Some(vec![CacheRow {
        file: FILE,
        metadata: false,
        lookups_pages: 0,
        missed_pages: 0,
        filled_pages: 0,
        dirtied_bytes: 4096,
    }]);
    assert_eq!(counted(&raw, &storage()), (LEAST, ALL));
}

#[test]
fn where_nothing_tells_it_is_a_range() {
    let mut unseen = raw();
    unseen.sharing = None;
    assert_eq!(counted(&unseen, &storage()), (LEAST, ALL));
    let mut other_kind = storage();
    other_kind.kinds = [(DISK, ["f2fs".to_owned()].into())].into();
    assert_eq!(counted(&raw(), &other_kind), (LEAST, ALL));
}

/// The image's own requests are repeated on the disk that holds it.
#[test]
fn below_a_loop_device_nothing_is_counted_again() {
    const BELOW: u32 = 254;
    const LIBRARIES: u32 = 2_540;
    let mut raw = raw();
    let again = BlockRow {
        disk: BELOW,
        ..request(Cause::Flush, None, 17)
    };
    raw.block.as_mut().unwrap().push(again);
    let mut storage = storage();
    storage.disks.insert(LIBRARIES, vec![BELOW]);
    storage.changed.insert(LIBRARIES, vec![BELOW]);
    storage.kinds.insert(BELOW, ["ext4".to_owned()].into());
    // If the disk below were not known as such, both would count.
    assert_eq!(counted(&raw, &storage), (ALL, ALL));
    raw.sharing.as_mut().unwrap().tree_changed.insert(LIBRARIES);
    assert_eq!(counted(&raw, &storage).1, [1, 2, 18, 1]);
    storage.below.insert(BELOW);
    assert_eq!(counted(&raw, &storage), (ALL, ALL));
}
