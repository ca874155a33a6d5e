//! `lab atime` on file systems created for the test: the matrix follows the kernel's rules, cell by
//! cell, and reads cause exactly the known writes. Needs root.

use iostrata_core::atime::{
    AtimeResult, ClockState, Loop, LoopRow, Mount, Operation, Probe, Reading, expected,
    expected_of_directory,
};
use iostrata_core::environment;
use iostrata_core::gap::Reason;
use iostrata_core::observe::Observer;
use iostrata_lab::atime::Selection;
use iostrata_lab::engine::Silent;
use iostrata_lab::experiment::run;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{ImageKind, Images, Plan, Prepared, TMPFS, isolate, prepare};
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::target::Target;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::page_cache::page_out;
use iostrata_tracer::stack::{Roots, inspect};

use crate::places::launcher;
use crate::undisturbed::undisturbed;

const KINDS: [ImageKind; 3] = [ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs];

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        crate::skip::skip("mounting needs root");
    }
    root
}

fn targets(prepared: &Prepared) -> Vec<Target> {
    let images = prepared.images().iter();
    let images = images.map(|image| (image.kind().name(), image.path()));
    let tmpfs = prepared.tmpfs().map(|tmpfs| (TMPFS, tmpfs));
    images
        .chain(tmpfs)
        .map(|(name, path)| {
            let under = inspect(path, &Roots::default()).unwrap();
            let storage: environment::Storage = under.target(path.display().to_string());
            Target {
                name: name.to_owned(),
                dir: path.to_owned(),
                image: true,
                backing_cached: false,
                disks: under.charged_disks(),
                device_path: None,
                storage,
            }
        })
        .collect()
}

/// Runs the selection on images of `kinds` and a tmpfs.
fn measure(kinds: &[ImageKind], selection: &Selection, observed: bool) -> AtimeResult {
    let mounts = isolate().unwrap();
    let base = tempfile::tempdir_in("/var/tmp").unwrap();
    let images = Images {
        kinds,
        bytes: 512 << 20,
        mounts: &mounts,
    };
    let plan = Plan {
        dir: base.path(),
        enter: false,
        host_bytes: 1 << 20,
        images: Some(images),
    };
    let mut prepared = prepare(&plan, None, &Interrupt::never()).unwrap();
    prepared.add_tmpfs(128 << 20, &mounts).unwrap();
    let mut observer = observed.then(|| EbpfObserver::open().unwrap());
    let settings = RunSettings {
        stopping: selection.effort.stopping(),
        effort: selection.effort,
        scratch: prepared.host().to_owned(),
        launcher: launcher(),
        virtualization: None,
        unobserved_because: Reason::Error("not asked for".to_owned()),
    };
    let mut targets = targets(&prepared);
    if observed {
        targets.retain(|target| target.name != TMPFS);
    }
    let result = run(
        &selection.plan(),
        &settings,
        &targets,
        observer
            .as_mut()
            .map(|observer| observer as &mut dyn Observer),
        &mut Silent,
        &|| false,
    );
    for target in targets {
        let left = std::fs::read_dir(&target.dir).unwrap().count();
        // ext4 creates a lost+found.
        assert!(left <= 1, "{} entries stay on {}", left, target.name);
    }
    assert!(prepared.close().is_empty());
    of!(Atime, result.unwrap())
}

#[test]
fn the_matrix_is_what_the_kernels_rules_say() {
    undisturbed(|| {
        if !is_root() {
            return;
        }
        let selection = Selection {
            operations: Operation::ALL.to_vec(),
            effort: Effort::Quick,
            ..Selection::default()
        };
        let result = measure(&KINDS, &selection, false);
        assert_eq!(result.rows.len(), 22 * 5 * 4, "{:?}", result.missing);
        let mut wrong = Vec::new();
        for (_, row) in result.touches() {
            let case = &row.row.case;
            let of = |state| expected(case.operation, case.mount, &case.filesystem, state);
            let seen = (row.atime_changed, row.atime_changed_when_fresh);
            if seen != (of(ClockState::Due), of(ClockState::Fresh)) {
                wrong.push(format!("{case:?}: {seen:?}"));
            }
            let of = |state| expected_of_directory(case.operation, case.mount, state);
            let expected = of(ClockState::Due).zip(of(ClockState::Fresh));
            let seen = row.directory.map(|moved| (moved.due, moved.fresh));
            if seen != expected {
                wrong.push(format!("directory of {case:?}: {seen:?}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        let moved = |probe: Probe| -> Vec<bool> {
            let probes = result.own.relatime.iter().filter(|one| one.probe == probe);
            probes.map(|one| one.atime_changed).collect()
        };
        assert_eq!(moved(Probe::BeforeMtime), [true; 4]);
        assert_eq!(moved(Probe::BeforeCtime), [true; 4]);
        assert_eq!(moved(Probe::AfterBoth), [false; 4]);
        assert_eq!(moved(Probe::DayOld), [true], "{:?}", result.missing);
        assert_eq!(moved(Probe::NotDayOld), [false]);
    });
}

fn row(result: &AtimeResult, files: Loop, reading: Reading, mount: Mount) -> &LoopRow {
    let found = result.loops().map(|(_, row)| row).find(|row| {
        let case = &row.row.case;
        (case.files, case.reading, case.mount) == (files, reading, mount)
    });
    found.unwrap()
}

/// An inode of 256 bytes is half a sector in the journal and half a sector in its place.
#[test]
fn reading_files_on_ext4_writes_a_sector_for_each_that_was_due() {
    undisturbed(|| {
        if !is_root() {
            return;
        }
        let selection = Selection {
            loops: vec![Loop::ManyFiles, Loop::OneFile],
            mounts: vec![Mount::Strictatime, Mount::Relatime, Mount::Noatime],
            effort: Effort::Normal,
            ..Selection::default()
        };
        let result = measure(&[ImageKind::Ext4], &selection, true);
        assert_eq!(result.rows.len(), 9);
        let sectors = |files, reading, mount| row(&result, files, reading, mount).sectors.unwrap();
        for (mount, first, second) in [
            (Mount::Strictatime, 5000..=5200, 5000..=5200),
            (Mount::Relatime, 5000..=5200, 0..=40),
            (Mount::Noatime, 0..=40, 0..=40),
        ] {
            let written = sectors(Loop::ManyFiles, Reading::First, mount);
            assert!(first.contains(&written), "{mount:?}, first: {written}");
            let written = sectors(Loop::ManyFiles, Reading::Second, mount);
            assert!(second.contains(&written), "{mount:?}, second: {written}");
            let written = sectors(Loop::OneFile, Reading::First, mount);
            assert!(written <= 100, "{mount:?}, one file: {written}");
        }
        for (_, row) in result.loops() {
            let reads = row.row.case.reads;
            let calls = row.row.evidence.syscalls.as_ref().unwrap();
            assert_eq!(
                calls.get("read").unwrap().count,
                reads,
                "{:?}",
                row.row.case
            );
            assert_eq!(calls.get("read").unwrap().bytes, reads * 4096);
            // A kernel with proactive page-out may evict files between two loops, of which the row takes note.
            let is_evicted = |note: &String| note.ends_with("not all files were resident");
            let notes = &row.row.notes;
            let is_quiet =
                notes.is_empty() || !page_out().is_empty() && notes.iter().all(is_evicted);
            assert!(is_quiet, "{:?}: {notes:?}", row.row.case);
            assert_eq!(row.row.evidence.lost_events, 0);
        }
        // Two options compared with noatime, for each of three loops.
        assert_eq!(result.own.comparisons.len(), 6);
    });
}
