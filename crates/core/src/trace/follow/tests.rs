//! Histories of runs, written down event by event.

use super::*;
use crate::trace::{Naming, Target};

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
        shown: (0, inode),
    });
}

/// An event of thread 1 that took from `at` to `at + 1`.
pub(super) fn event(at: u64, step: Step) -> Event {
    Event {
        process: 1,
        thread: 1,
        started_ns: at,
        ended_ns: at + 1,
        call: "call",
        step,
        error: None,
    }
}

fn opened(inode: u64, created: bool, truncated: bool) -> Step {
    Step::Opened {
        file: id(inode),
        created,
        truncated,
        synchronous: false,
        direct: false,
    }
}

pub(super) fn wrote(inode: u64, from: u64, bytes: u64) -> Step {
    Step::Wrote {
        file: id(inode),
        count: 1,
        bytes,
        from,
        to: from + bytes,
        sequential: 0,
        durable: false,
    }
}

pub(super) fn synced(inode: u64, scope: Scope) -> Step {
    Step::Synced {
        file: Some(id(inode)),
        scope,
    }
}

fn renamed(from: &str, to: &str) -> Step {
    Step::Renamed {
        from: from.as_bytes().to_vec(),
        to: to.as_bytes().to_vec(),
        exchange: false,
    }
}

fn unlinked(path: &str) -> Step {
    Step::Unlinked {
        path: path.as_bytes().to_vec(),
        directory: false,
    }
}

/// A follower that knows the directory `/d` (1), the old file `/d/old` (2, 100 bytes) and
/// the new one `/d/new` (3); it is then shown the steps, ten nanoseconds apart.
fn follow(steps: &[Step]) -> Followed {
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
        synced(3, Scope::File),
        wrote(3, 10, 5),
        Step::Closed { file: id(3) },
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
    // Changed only after that: its name was another one when it was first used, all the same.
    follower.event(&event(3, wrote(3, 0, 10)));
    let followed = follower.finish();
    assert_eq!(followed.renamed_to[&id(2)], b"/d/n/a");
    assert_eq!(followed.renamed_to[&id(3)], b"/d/n/b");
    assert_eq!(followed.files.len(), 2);
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
    assert_eq!(history.renamed_over, Some(Target::Existing));
    assert_eq!(history.name_unsynced, Some(Naming::Renamed));
    assert_eq!(faulty.renamed_to[&id(3)], b"/d/old");
    assert_eq!(faulty.directories[0].renamed, 1);
    assert_eq!(faulty.directories[0].renamed_unsynced, 1);

    let right = follow(&[
        opened(3, true, false),
        wrote(3, 0, 10),
        synced(3, Scope::Data),
        renamed("/d/new", "/d/old"),
        synced(1, Scope::File),
    ]);
    let history = &right.files[&id(3)];
    assert!(!history.renamed_unsynced.is_any());
    assert_eq!(history.name_unsynced, None);
    assert_eq!(right.directories[0].syncs, 1);
    assert_eq!(right.directories[0].unsynced_names, 0);
}

#[test]
fn the_target_of_a_rename_is_known_when_the_run_showed_it() {
    let by = |call, before: Option<Step>, error: Option<i32>, to: &str| {
        let mut follower = Follower::default();
        name(&mut follower, 3, "/d/new", FileKind::Regular, 0);
        if let Some(step) = before {
            follower.event(&Event {
                error,
                ..event(1, step)
            });
        }
        follower.event(&event(10, wrote(3, 0, 10)));
        follower.event(&Event {
            call,
            ..event(20, renamed("/d/new", to))
        });
        follower.finish().files[&id(3)].renamed_over
    };
    let over = |before, error, to| by("rename", before, error, to);
    let looked = |path: &str| Step::Looked {
        path: path.as_bytes().to_vec(),
    };
    assert_eq!(over(None, None, "/d/x"), Some(Target::Unknown));
    assert_eq!(
        over(Some(looked("/d/x")), Some(2), "/d/x"),
        Some(Target::Vacant)
    );
    // RENAME_NOREPLACE succeeded.
    assert_eq!(by("renameat2", None, None, "/d/x"), Some(Target::Vacant));
    // It was refused.
    let refused = renamed("/d/new", "/d/x");
    assert_eq!(
        over(Some(refused), Some(17), "/d/x"),
        Some(Target::Existing)
    );
}

#[test]
fn an_old_file_that_is_removed_too_early_is_seen() {
    let early = follow(&[
        opened(3, true, false),
        wrote(3, 0, 10),
        unlinked("/d/old"),
        synced(3, Scope::File),
        renamed("/d/new", "/d/old"),
    ]);
    let history = &early.files[&id(3)];
    assert_eq!(history.took_removed_name.first_ns, [30]);
    assert!(!history.renamed_unsynced.is_any());

    let late = follow(&[
        opened(3, true, false),
        wrote(3, 0, 10),
        synced(3, Scope::File),
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
    // What the run itself had made is no loss.
    assert!(!followed.files[&id(4)].recreated.is_any());
}

#[test]
fn contents_that_are_cut_off_and_written_again_are_seen() {
    let followed = follow(&[
        opened(2, false, true),
        wrote(2, 0, 10),
        Step::Resized {
            file: id(2),
            bytes: 0,
        },
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
    let fail = |at, error| Event {
        error: Some(error),
        ..event(at, synced(3, Scope::File))
    };
    follower.event(&event(10, wrote(3, 0, 10)));
    follower.event(&fail(20, 22)); // EINVAL: not a failure of the storage
    follower.event(&event(30, wrote(3, 10, 10)));
    follower.event(&fail(40, 5));
    follower.event(&event(50, wrote(3, 20, 10)));
    follower.event(&event(60, synced(3, Scope::File)));
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
    let everything = Step::Synced {
        file: None,
        scope: Scope::Everything,
    };
    for whole in [synced(3, Scope::FileSystem), everything] {
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
    let mapping = Step::Mapped {
        file: id(2),
        bytes: 4096,
    };
    let msync = Step::Synced {
        file: None,
        scope: Scope::Data,
    };
    let followed = follow(&[wrote(3, 0, 10), synced(3, Scope::Hint), mapping.clone()]);
    let history = &followed.files[&id(3)];
    assert_eq!((history.hints.count, history.unsynced_bytes), (1, 10));
    assert!(!followed.files[&id(2)].mapping_synced);
    let followed = follow(&[mapping, msync]);
    assert!(followed.files[&id(2)].mapping_synced);
}

#[test]
fn writes_through_a_synchronous_descriptor_are_durable() {
    let open = Step::Opened {
        file: id(3),
        created: true,
        truncated: false,
        synchronous: true,
        direct: false,
    };
    let Step::Wrote {
        file,
        count,
        bytes,
        from,
        to,
        sequential,
        ..
    } = wrote(3, 0, 10)
    else {
        unreachable!()
    };
    let durable = Step::Wrote {
        file,
        count,
        bytes,
        from,
        to,
        sequential,
        durable: true,
    };
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
