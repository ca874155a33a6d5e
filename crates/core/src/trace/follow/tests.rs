//! Histories of runs, written event by event.

use super::*;
use crate::record::{Description, RENAME_EXCHANGE};
use crate::trace::{Located, NameHolder, Naming};

pub(super) fn id(inode: u64) -> FileId {
    FileId {
        device: 8,
        inode,
        generation: 0,
    }
}

pub(super) fn name(
    follower: &mut Follower,
    inode: u64,
    path: &str,
    kind: FileKind,
    size_bytes: u64,
) {
    follower.named(&NamedFile {
        file: id(inode),
        path: path.as_bytes().to_vec(),
        kind,
        filesystem: "ext4".to_owned(),
        size_bytes,
        is_removed: false,
        shown: (0, inode),
    });
}

/// A call of thread 1 that took from `at` to `at + 1`.
pub(super) fn event(at: u64, did: Did) -> Event {
    let call = Call {
        process: 1,
        thread: 1,
        started_ns: at,
        ended_ns: at + 1,
        name: "call",
        outcome: Ok(0),
    };
    let open = None;
    Event { call, open, did }
}

pub(super) fn failed(at: u64, did: Did, error: i32) -> Event {
    let mut event = event(at, did);
    event.call.outcome = Err(error);
    event
}

pub(super) fn located(path: &str) -> Located {
    Located {
        path: path.into(),
        directory: None,
    }
}

pub(super) fn opened(inode: u64, created: bool, truncated: bool) -> Did {
    Did::Named(NameChange::Opened {
        file: id(inode),
        at: None,
        mode: 0,
        created,
        truncated,
    })
}

pub(super) fn wrote(inode: u64, from: u64, bytes: u64) -> Did {
    Did::Wrote(Writes {
        file: id(inode),
        count: 1,
        bytes,
        from,
        to: from + bytes,
        durable: false,
        appends: false,
        size_bytes: None,
    })
}

pub(super) fn synced(inode: u64, scope: Durability) -> Did {
    synced_as(Some(inode), scope)
}

pub(super) fn synced_as(inode: Option<u64>, scope: Durability) -> Did {
    Did::Changed(Change::Synced {
        node: inode.map(id),
        description: None,
        scope,
    })
}

pub(super) fn renamed(from: &str, to: &str) -> Did {
    Did::Named(NameChange::Renamed {
        node: None,
        from: located(from),
        to: located(to),
        flags: 0,
    })
}

pub(super) fn unlinked(path: &str) -> Did {
    Did::Named(NameChange::Unlinked {
        node: None,
        at: located(path),
        directory: false,
    })
}

pub(super) fn closed(inode: u64) -> Did {
    Did::Changed(Change::Closed {
        node: id(inode),
        description: Description(0),
    })
}

pub(super) fn resized(inode: u64, bytes: u64) -> Did {
    Did::Changed(Change::Resized {
        node: id(inode),
        description: None,
        bytes,
    })
}

pub(super) fn mapped(inode: u64) -> Did {
    Did::Changed(Change::Mapped {
        node: id(inode),
        offset: 0,
        bytes: 4096,
    })
}

pub(super) fn looked(path: &str) -> Did {
    let paths = vec![path.into()];
    Did::Changed(Change::Attempted { paths })
}

/// A follower that knows the directory `/d` (1), the old file `/d/old` (2, 100 bytes) and the new
/// one `/d/new` (3); it then gets the steps, ten nanoseconds apart.
fn follow(steps: &[Did]) -> Followed {
    let mut follower = Follower::default();
    name(&mut follower, 1, "/d", FileKind::Directory, 4096);
    name(&mut follower, 2, "/d/old", FileKind::Regular, 100);
    name(&mut follower, 3, "/d/new", FileKind::Regular, 0);
    for (number, step) in steps.iter().enumerate() {
        follower.event(&event(10 * number as u64 + 10, step.clone()));
    }
    follower.finish()
}

#[test]
fn what_was_written_before_the_sync_is_durable() {
    let followed = follow(&[
        opened(3, true, false),
        wrote(3, 0, 10),
        synced(3, Durability::File),
        wrote(3, 10, 5),
        closed(3),
    ]);
    let history = &followed.files[&id(3)];
    assert!(history.created && !history.uncertain);
    assert_eq!(
        (history.writes, history.written_bytes, history.appends),
        (2, 15, 2)
    );
    assert_eq!((history.syncs.count, history.growing_syncs.count), (1, 1));
    assert_eq!(history.syncs.first_ns, [30]);
    assert_eq!(history.unsynced_bytes, 5);
    assert_eq!(history.closed_unsynced.first_ns, [50]);
    assert_eq!(history.name_unsynced, Some(Naming::Created));
    assert!(history.synced_since_named);
    assert_eq!(followed.directories[0].path, "/d");
    assert_eq!(followed.directories[0].unsynced_names, 1);
    assert_eq!(followed.events, 5);
}

#[test]
fn files_below_a_renamed_directory_have_its_name_in_their_last_one() {
    let mut follower = Follower::default();
    name(&mut follower, 1, "/d/m", FileKind::Directory, 0);
    name(&mut follower, 2, "/d/m/a", FileKind::Regular, 0);
    name(&mut follower, 3, "/d/m/b", FileKind::Regular, 0);
    follower.event(&event(1, wrote(2, 0, 10)));
    follower.event(&event(2, renamed("/d/m", "/d/n")));
    // Changed only after that: nevertheless it had another name at first use.
    follower.event(&event(3, wrote(3, 0, 10)));
    let followed = follower.finish();
    assert_eq!(followed.renamed_to[&id(2)], b"/d/n/a");
    assert_eq!(followed.renamed_to[&id(3)], b"/d/n/b");
    assert_eq!(followed.files.len(), 2);
}

/// Others cut it: the end that an append finds is where the old contents end.
#[test]
fn what_is_appended_overwrites_nothing() {
    let appended = |from: u64| {
        Did::Wrote(Writes {
            file: id(2),
            count: 1,
            bytes: 10,
            from,
            to: from + 10,
            durable: false,
            appends: true,
            size_bytes: None,
        })
    };
    let history = &follow(&[appended(100), appended(0), wrote(2, 0, 10)]).files[&id(2)];
    assert_eq!((history.appends, history.overwritten_bytes), (2, 0));
    let history = &follow(&[appended(100), wrote(2, 0, 10)]).files[&id(2)];
    assert_eq!((history.appends, history.overwritten_bytes), (1, 10));
}

/// Others have cut the file, and the program writes at its new end.
#[test]
fn what_is_written_behind_a_cut_overwrites_nothing() {
    let Did::Wrote(writes) = wrote(2, 10, 10) else {
        unreachable!()
    };
    let written = |size_bytes: u64| {
        let size_bytes = Some(size_bytes);
        let then = [
            Did::Wrote(Writes {
                size_bytes,
                ..writes
            }),
            wrote(2, 0, 30),
        ];
        let followed = follow(&then);
        let history = &followed.files[&id(2)];
        (
            history.appends,
            history.overwritten.count,
            history.overwritten_bytes,
        )
    };
    // As it was, cut to where the write begins and before, and cut within it.
    assert_eq!(written(100), (0, 2, 30));
    assert_eq!(written(10), (2, 1, 10));
    assert_eq!(written(0), (2, 0, 0));
    assert_eq!(written(15), (2, 2, 15));
}

/// A run of writes has the first offset and the last end.
#[test]
fn no_more_is_overwritten_than_was_written() {
    let apart = Did::Wrote(Writes {
        file: id(2),
        count: 2,
        bytes: 20,
        from: 0,
        to: 90,
        durable: false,
        appends: false,
        size_bytes: None,
    });
    let history = &follow(&[apart, wrote(2, 20, 10)]).files[&id(2)];
    assert_eq!(history.overwritten_bytes, 30);
}

#[test]
fn a_file_without_a_name_is_removed_from_the_beginning() {
    let mut follower = Follower::default();
    follower.named(&NamedFile {
        file: id(2),
        path: b"/d/old".to_vec(),
        kind: FileKind::Regular,
        filesystem: "ext4".to_owned(),
        size_bytes: 100,
        is_removed: true,
        shown: (1, 2),
    });
    // Another file has the path.
    name(&mut follower, 3, "/d/old", FileKind::Regular, 0);
    follower.event(&event(1, wrote(2, 0, 10)));
    follower.event(&event(2, wrote(3, 0, 10)));
    follower.event(&event(3, renamed("/d/old", "/d/new")));
    let followed = follower.finish();
    assert!(followed.files[&id(2)].unlinked);
    assert!(!followed.files[&id(3)].unlinked);
    assert_eq!(followed.renamed_to.get(&id(2)), None);
    assert_eq!(followed.renamed_to[&id(3)], b"/d/new");
}

#[test]
fn files_below_exchanged_directories_exchange_theirs() {
    let mut follower = Follower::default();
    name(&mut follower, 1, "/d/m", FileKind::Directory, 0);
    name(&mut follower, 2, "/d/m/a", FileKind::Regular, 0);
    name(&mut follower, 3, "/d/n", FileKind::Regular, 0);
    let exchange = |from: &str, to: &str| {
        Did::Named(NameChange::Renamed {
            node: None,
            from: located(from),
            to: located(to),
            flags: RENAME_EXCHANGE,
        })
    };
    follower.event(&event(1, exchange("/d/m", "/d/n")));
    // Each is below the other's name.
    name(&mut follower, 4, "/e/n", FileKind::Directory, 0);
    name(&mut follower, 5, "/e/n/b", FileKind::Regular, 0);
    follower.event(&event(2, wrote(2, 0, 10)));
    follower.event(&event(3, exchange("/e/n", "/d/n")));
    follower.event(&event(4, wrote(3, 0, 10)));
    follower.event(&event(5, wrote(5, 0, 10)));
    let followed = follower.finish();
    assert_eq!(followed.renamed_to[&id(2)], b"/e/n/a");
    assert_eq!(followed.renamed_to[&id(3)], b"/d/m");
    assert_eq!(followed.renamed_to[&id(5)], b"/d/n/b");
}

#[test]
fn a_rename_of_contents_that_are_not_durable_is_seen() {
    let faulty = follow(&[
        opened(3, true, false),
        wrote(3, 0, 10),
        renamed("/d/new", "/d/old"),
    ]);
    let history = &faulty.files[&id(3)];
    assert_eq!(history.renamed_unsynced.first_ns, [30]);
    assert_eq!(history.renamed_over, Some(NameHolder::Existing));
    assert_eq!(history.name_unsynced, Some(Naming::Renamed));
    assert_eq!(faulty.renamed_to[&id(3)], b"/d/old");
    assert_eq!(faulty.directories[0].renamed, 1);
    assert_eq!(faulty.directories[0].renamed_unsynced, 1);

    let right = follow(&[
        opened(3, true, false),
        wrote(3, 0, 10),
        synced(3, Durability::Data),
        renamed("/d/new", "/d/old"),
        synced(1, Durability::File),
    ]);
    let history = &right.files[&id(3)];
    assert!(!history.renamed_unsynced.is_any());
    assert_eq!(history.name_unsynced, None);
    assert_eq!(right.directories[0].syncs, 1);
    assert_eq!(right.directories[0].unsynced_names, 0);
}

#[test]
fn the_target_of_a_rename_is_known_when_the_run_showed_it() {
    let by = |call, before: Option<Event>, to: &str| {
        let mut follower = Follower::default();
        name(&mut follower, 3, "/d/new", FileKind::Regular, 0);
        if let Some(event) = before {
            follower.event(&event);
        }
        follower.event(&event(10, wrote(3, 0, 10)));
        let mut rename = event(20, renamed("/d/new", to));
        rename.call.name = call;
        follower.event(&rename);
        follower.finish().files[&id(3)].renamed_over
    };
    let over = |before, to| by("rename", before, to);
    assert_eq!(over(None, "/d/x"), Some(NameHolder::Unknown));
    let looked = failed(1, looked("/d/x"), 2);
    assert_eq!(over(Some(looked), "/d/x"), Some(NameHolder::Vacant));
    // RENAME_NOREPLACE succeeded.
    assert_eq!(by("renameat2", None, "/d/x"), Some(NameHolder::Vacant));
    // It was refused.
    let refused = failed(1, renamed("/d/new", "/d/x"), 17);
    assert_eq!(over(Some(refused), "/d/x"), Some(NameHolder::Existing));
}

#[test]
fn an_old_file_that_is_removed_too_early_is_seen() {
    let early = follow(&[
        opened(3, true, false),
        wrote(3, 0, 10),
        unlinked("/d/old"),
        synced(3, Durability::File),
        renamed("/d/new", "/d/old"),
    ]);
    let history = &early.files[&id(3)];
    assert_eq!(history.took_removed_name.first_ns, [30]);
    assert!(!history.renamed_unsynced.is_any());

    let late = follow(&[
        opened(3, true, false),
        wrote(3, 0, 10),
        synced(3, Durability::File),
        unlinked("/d/old"),
        renamed("/d/new", "/d/old"),
    ]);
    assert!(!late.files[&id(3)].took_removed_name.is_any());
}

#[test]
fn a_name_that_was_removed_and_created_anew_is_seen() {
    let mut follower = Follower::default();
    name(&mut follower, 2, "/d/old", FileKind::Regular, 100);
    follower.event(&event(10, unlinked("/d/old")));
    name(&mut follower, 3, "/d/old", FileKind::Regular, 0);
    follower.event(&event(20, opened(3, true, false)));
    follower.event(&event(30, unlinked("/d/old")));
    name(&mut follower, 4, "/d/old", FileKind::Regular, 0);
    follower.event(&event(40, opened(4, true, false)));
    let followed = follower.finish();
    assert_eq!(followed.files[&id(3)].recreated.first_ns, [10]);
    // Contents that the run itself created are not a loss.
    assert!(!followed.files[&id(4)].recreated.is_any());
}

#[test]
fn contents_that_are_cut_off_and_written_again_are_seen() {
    let followed = follow(&[
        opened(2, false, true),
        wrote(2, 0, 10),
        resized(2, 0),
        opened(3, true, true),
        wrote(3, 0, 10),
    ]);
    let old = &followed.files[&id(2)];
    assert_eq!(old.emptied.first_ns, [10, 30]);
    assert_eq!(old.rewritten.first_ns, [10]);
    assert!(!followed.files[&id(3)].emptied.is_any());
}

#[test]
fn writes_after_a_failed_sync_are_counted_until_the_file_is_opened_again() {
    let mut follower = Follower::default();
    name(&mut follower, 3, "/d/new", FileKind::Regular, 0);
    let fail = |at, error| failed(at, synced(3, Durability::File), error);
    follower.event(&event(10, wrote(3, 0, 10)));
    follower.event(&fail(20, 22)); // EINVAL: not a failure of the storage
    follower.event(&event(30, wrote(3, 10, 10)));
    follower.event(&fail(40, 5));
    follower.event(&event(50, wrote(3, 20, 10)));
    follower.event(&event(60, synced(3, Durability::File)));
    follower.event(&event(70, opened(3, false, false)));
    follower.event(&event(80, wrote(3, 30, 10)));
    let history = follower.finish().files.remove(&id(3)).unwrap();
    assert_eq!(history.failed_syncs.first_ns, [40]);
    assert_eq!(history.writes_after_failed_sync, 1);
    assert_eq!(history.syncs_after_failed_sync.count, 1);
    assert_eq!(history.unsynced_bytes, 10);
}

#[test]
fn syncs_of_everything_cover_files_and_names() {
    let everything = synced_as(None, Durability::Everything);
    for whole in [synced(3, Durability::FileSystem), everything] {
        let followed = follow(&[
            opened(3, true, false),
            wrote(3, 0, 10),
            whole,
            renamed("/d/new", "/d/old"),
        ]);
        let history = &followed.files[&id(3)];
        assert_eq!(history.unsynced_bytes, 0);
        assert!(!history.renamed_unsynced.is_any());
        assert_eq!(history.name_unsynced, Some(Naming::Renamed));
    }
}

#[test]
fn hints_make_nothing_durable_and_msync_does() {
    let mapping = mapped(2);
    let (offset, bytes) = (0, 4096);
    let msync = synced_as(None, Durability::Range { offset, bytes });
    let followed = follow(&[
        wrote(3, 0, 10),
        synced(3, Durability::Hint),
        mapping.clone(),
    ]);
    let history = &followed.files[&id(3)];
    assert_eq!((history.hints.count, history.unsynced_bytes), (1, 10));
    assert!(!followed.files[&id(2)].mapping_synced);
    let followed = follow(&[mapping.clone(), msync]);
    assert!(followed.files[&id(2)].mapping_synced);
    // Its file is known. Bytes written outside its range stay.
    let (offset, bytes) = (0, 4096);
    let msync = synced_as(Some(2), Durability::Range { offset, bytes });
    let followed = follow(&[mapping, wrote(2, 8192, 10), msync]);
    let history = &followed.files[&id(2)];
    assert!(history.mapping_synced);
    assert_eq!((history.syncs.count, history.msyncs), (1, 1));
    assert_eq!(history.unsynced_bytes, 10);
}

#[test]
fn writes_through_a_synchronous_descriptor_are_durable() {
    let open = opened(3, true, false);
    let Did::Wrote(writes) = wrote(3, 0, 10) else {
        unreachable!()
    };
    let durable = Did::Wrote(Writes {
        durable: true,
        appends: false,
        ..writes
    });
    let steps = [open, durable, renamed("/d/new", "/d/old")];
    let history = &follow(&steps).files[&id(3)];
    assert!(history.synchronous && !history.synced_since_named);
    assert_eq!(history.unsynced_bytes, 0);
    assert!(!history.renamed_unsynced.is_any());
    assert!(follow(&steps[..2]).files[&id(3)].synced_since_named);
}

#[test]
fn files_beyond_the_room_are_counted_and_removed_ones_make_room() {
    let mut follower = Follower::default();
    for inode in 0..CHANGED as u64 + 5 {
        follower.event(&event(inode, wrote(inode, 0, 1)));
    }
    assert_eq!(
        (follower.lives.len(), follower.left_out.files),
        (CHANGED, 5)
    );

    let mut follower = Follower::default();
    for inode in 0..CHANGED as u64 + 5 {
        let path = format!("/t/{inode}");
        name(&mut follower, inode, &path, FileKind::Regular, 0);
        follower.event(&event(inode, wrote(inode, 0, 1)));
        follower.event(&event(inode, unlinked(&path)));
    }
    let newest = id(CHANGED as u64 + 4);
    assert_eq!(follower.left_out.files, 5);
    assert!(follower.finish().files[&newest].unlinked);
}
