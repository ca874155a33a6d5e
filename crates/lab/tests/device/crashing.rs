//! What real file systems leave of small programs when the power fails.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use iostrata_core::crash::Held;
use iostrata_core::crash::block::{Pressure, SubsetBudget};
use iostrata_lab::crash::block::{
    BlockError, ExploreBudget, Explored, Foundation, Image, Recording, Recovered, Room, Setting,
    explore, keep, record,
};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::ImageKind;
use iostrata_tracer::clock::now_ns;
use iostrata_tracer::record::Presser;

use crate::{is_root, start_server};

const BUDGET: ExploreBudget = ExploreBudget {
    images: 300,
    subsets: SubsetBudget {
        exhaustive_blocks: 7,
        sampled: 30,
        seed: 1,
    },
    every: 1,
    after_ns: None,
    until: None,
    beside: usize::MAX,
};

/// The different contents of `f` that a crash left, as text, and how it was explored.
fn contents(
    kind: ImageKind,
    pressure: Pressure,
    program: fn(&Path, &mut dyn FnMut()),
) -> (BTreeSet<String>, Explored) {
    recorded(kind, pressure, program, |room, recording, _| {
        let (seen, explored) = explored(room, recording, |_| 0);
        (seen.into_iter().map(|(files, _)| files).collect(), explored)
    })
}

/// What is made of the recording of a program, with when each of its calls had returned.
fn recorded<R: Send + 'static>(
    kind: ImageKind,
    pressure: Pressure,
    program: fn(&Path, &mut dyn FnMut()),
    then: fn(&Room<'_>, &Recording, &[u64]) -> R,
) -> R {
    let server = start_server();
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().to_owned();
    std::thread::spawn(move || {
        let mounts = iostrata_lab::scratch::isolate().unwrap();
        let interrupt = Interrupt::never();
        let room = Room {
            directory: &at,
            mounts: &mounts,
            interrupt: &interrupt,
        };
        let foundation = Foundation::make(&room, kind, None, |work| {
            fs::write(work.join("f"), vec![b'a'; 9000]).unwrap();
            Ok(())
        });
        let setting = Setting {
            pressure,
            // As by default: data is on its way when the metadata is committed.
            delay: Duration::from_millis(2),
        };
        let mut returned = Vec::new();
        let run = |work: &Path, press: Option<&Path>| -> Result<(), BlockError> {
            let mut presser = press.map(|path| Presser::open(path).unwrap());
            let mut changed = || {
                returned.push(now_ns());
                if let Some(presser) = &mut presser {
                    presser.press().unwrap();
                }
            };
            program(work, &mut changed);
            Ok(())
        };
        let recording = record(&room, &server, &foundation.unwrap(), setting, run).unwrap();
        assert_eq!(recording.cut, None);
        then(&room, &recording, &returned)
    })
    .join()
    .unwrap()
}

/// Each content of `f` that was recovered, with how many calls had returned.
fn explored(
    room: &Room<'_>,
    recording: &Recording,
    told_at: impl Fn(u64) -> usize,
) -> (BTreeSet<(String, usize)>, Explored) {
    explored_within(room, recording, BUDGET, told_at)
}

fn explored_within(
    room: &Room<'_>,
    recording: &Recording,
    budget: ExploreBudget,
    told_at: impl Fn(u64) -> usize,
) -> (BTreeSet<(String, usize)>, Explored) {
    let seen = Mutex::new(BTreeSet::new());
    let look = |recovered: Recovered<'_>, told| -> Result<Option<String>, BlockError> {
        assert_eq!(recovered.observed.unreadable, None);
        let contents = match recovered.observed.files.get(b"f".as_slice()) {
            Some(Held::Bytes { .. }) => told_of(recovered.work),
            other => format!("{other:?}"),
        };
        seen.lock().unwrap().insert((contents, told));
        Ok(None)
    };
    let (explored, ended) = explore(room.site(), recording, budget, told_at, look, |_| {});
    ended.unwrap();
    (seen.into_inner().unwrap(), explored)
}

fn told_of(work: &Path) -> String {
    told(&fs::read(work.join("f")).unwrap())
}

/// Runs of equal bytes: `a9000`.
fn told(bytes: &[u8]) -> String {
    let runs = bytes.chunk_by(|one, other| one == other);
    let runs = runs.map(|run| format!("{}{}", char::from(run[0].max(b'0')), run.len()));
    runs.collect::<Vec<_>>().join("+")
}

fn replace(work: &Path, changed: &mut dyn FnMut()) {
    let mut file = File::create(work.join("t")).unwrap();
    changed();
    file.write_all(&[b'b'; 9000]).unwrap();
    changed();
    drop(file);
    changed();
    fs::rename(work.join("t"), work.join("f")).unwrap();
    changed();
}

fn replace_synced(work: &Path, changed: &mut dyn FnMut()) {
    let mut file = File::create(work.join("t")).unwrap();
    changed();
    file.write_all(&[b'b'; 9000]).unwrap();
    changed();
    file.sync_all().unwrap();
    changed();
    fs::rename(work.join("t"), work.join("f")).unwrap();
    changed();
}

fn of(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

#[test]
fn a_rename_without_a_sync() {
    if !is_root() {
        return;
    }
    // The rename starts writeback: where the processors are busy, the data may be faster than the commit.
    let mut runs = (0..10).map(|_| contents(ImageKind::Ext4, Pressure::Fsync, replace));
    let zeros = runs.find(|(seen, _)| seen.contains("09000"));
    let (ext4, explored) = zeros.expect("zeros after a commit by somebody else");
    assert!(ext4.contains("a9000") && ext4.contains("b9000"), "{ext4:?}");
    assert!(!ext4.contains(""), "{ext4:?}");
    assert!(
        explored.images < explored.states,
        "equal images are recovered once"
    );
    assert!(explored.journal_epochs > 0, "{explored:?}");
    let mut runs = (0..10).map(|_| contents(ImageKind::Xfs, Pressure::Fsync, replace));
    assert!(runs.any(|(seen, _)| seen.contains("")), "an empty file");
    let (btrfs, _) = contents(ImageKind::Btrfs, Pressure::Fsync, replace);
    assert_eq!(btrfs, of(&["a9000", "b9000"]));
}

#[test]
fn a_rename_after_a_sync() {
    if !is_root() {
        return;
    }
    for kind in [ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs] {
        for pressure in [Pressure::Fsync, Pressure::Commit] {
            let (seen, _) = contents(kind, pressure, replace_synced);
            assert_eq!(seen, of(&["a9000", "b9000"]), "{kind}, {pressure:?}");
        }
    }
}

fn rewrite(work: &Path, changed: &mut dyn FnMut()) {
    let mut file = File::create(work.join("f")).unwrap();
    changed();
    file.write_all(&[b'b'; 9000]).unwrap();
    changed();
    drop(file);
    changed();
}

/// A sync of another file is in the tree log, and leaves the transaction alone.
#[test]
fn a_commit_between_the_calls_of_a_program_on_btrfs() {
    if !is_root() {
        return;
    }
    for program in [replace, rewrite] {
        let (logged, _) = contents(ImageKind::Btrfs, Pressure::Fsync, program);
        assert!(!logged.contains(""), "{logged:?}");
        // The data may be faster than the commit.
        let mut runs = (0..10).map(|_| contents(ImageKind::Btrfs, Pressure::Commit, program));
        let empty = runs.find(|(seen, _)| seen.contains(""));
        let (seen, _) = empty.expect("an empty file");
        assert_eq!(seen, of(&["", "a9000", "b9000"]));
    }
}

#[test]
fn the_end_of_a_run_is_on_disk_whoever_commits() {
    if !is_root() {
        return;
    }
    let (seen, _) = contents(ImageKind::Ext4, Pressure::None, replace);
    assert!(seen.contains("b9000"), "{seen:?}");
    let (seen, _) = contents(ImageKind::Btrfs, Pressure::Timer, replace);
    assert_eq!(seen, of(&["a9000", "b9000"]));
}

/// Every subset of small epochs, each recovered by itself: no image stands for another, and none is left out.
fn each_by_itself(
    room: &Room<'_>,
    recording: &Recording,
    told_at: impl Fn(u64) -> usize,
) -> BTreeSet<(String, usize)> {
    let into = tempfile::tempdir().unwrap();
    let mut seen = BTreeSet::new();
    let mut number = 0;
    for (at, epoch) in recording.epochs.iter().enumerate() {
        let count = epoch.blocks.len();
        let all = (1_u32 << count.min(5)) - 1;
        for set in 0..=all {
            let kept = (0..count).map(|block| match count {
                0..=5 => set >> block & 1 == 1,
                // Of large ones none, all, and those without one of the first blocks.
                _ => set != 0 && (set == all || block >= 5 || set >> block & 1 == 1),
            });
            let kept: Vec<bool> = kept.collect();
            let lacks = kept.iter().filter(|kept| !**kept).count();
            if count > 5 && set != 0 && lacks > 1 {
                continue;
            }
            number += 1;
            let place = into.path().join(number.to_string());
            fs::create_dir(&place).unwrap();
            let image = Image { epoch: at, kept };
            let tree = keep(room.site(), recording, &image, &place).unwrap();
            seen.insert((told_of(&tree), told_at(epoch.ended_ns)));
            fs::remove_dir_all(&place).unwrap();
        }
    }
    assert!(number > 50, "{number} images are no test");
    seen
}

#[test]
fn images_that_stand_for_others_show_all_that_these_show() {
    if !is_root() {
        return;
    }
    let replaced = |work: &Path, changed: &mut dyn FnMut()| {
        for letter in [b'c', b'd'] {
            replace(work, changed);
            fs::write(work.join("f"), [letter; 5000]).unwrap();
            changed();
        }
    };
    recorded(
        ImageKind::Ext4,
        Pressure::Fsync,
        replaced,
        |room, recording, returned| {
            let told_at = |now_ns: u64| returned.partition_point(|at| *at <= now_ns);
            let (merged, explored) = explored(room, recording, told_at);
            assert_eq!(explored.skipped_epochs, 0);
            assert!(explored.images < explored.states, "{explored:?}");
            assert!(explored.journal_epochs > 2, "{explored:?}");
            let alone = each_by_itself(room, recording, told_at);
            let lacking: Vec<_> = alone.difference(&merged).collect();
            assert!(
                lacking.is_empty(),
                "{lacking:?} of {alone:?} not in {merged:?}"
            );
        },
    );
}

/// Sixteen blocks that are on their way together.
fn overwrite_many(work: &Path, changed: &mut dyn FnMut()) {
    let mut file = File::create(work.join("f")).unwrap();
    file.write_all(&vec![b'a'; 16 * 4096]).unwrap();
    file.sync_all().unwrap();
    file.rewind().unwrap();
    file.write_all(&vec![b'b'; 16 * 4096]).unwrap();
    changed();
}

#[test]
fn the_seed_chooses_among_many_subsets() {
    if !is_root() {
        return;
    }
    recorded(
        ImageKind::Ext4,
        Pressure::None,
        overwrite_many,
        |room, recording, _| {
            let seen = |seed| {
                let subsets = SubsetBudget {
                    seed,
                    ..BUDGET.subsets
                };
                let budget = ExploreBudget { subsets, ..BUDGET };
                let (seen, explored) = explored_within(room, recording, budget, |_| 0);
                assert!(explored.sampled_epochs > 0, "{explored:?}");
                seen
            };
            let first = seen(1);
            assert_eq!(first, seen(1));
            assert_ne!(first, seen(2));
        },
    );
}
