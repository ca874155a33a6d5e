//! Devices that write less than a page whole: which pages a crash may tear.

use std::collections::BTreeSet;
use std::convert::Infallible;

use proptest::prelude::*;

use super::{Log, ROOT, letters, shown, states};
use crate::crash::{
    BLOCK_BYTES, Budget, Check, Coverage, Found, History, Model, Seen, Stopped, Verdicts, findings,
    search,
};

const REAL: [Model; 3] = [Model::Ext4, Model::Xfs, Model::Btrfs];

fn torn(log: &Log, sector_bytes: u64) -> History {
    let mut history = log.history();
    history.tear_at(sector_bytes);
    history
}

fn trees(history: &History, model: Model) -> BTreeSet<String> {
    let all = states(history, model, Budget::default());
    all.into_iter().map(|(tree, _)| tree).collect()
}

/// A page that is there, written again.
fn rewrite(flags: u32, bytes: u32) -> Log {
    let mut log = Log::new();
    let file = log.found(ROOT, "f", letters('a', bytes));
    log.write_flags(file, 0, letters('b', bytes), flags);
    log
}

#[test]
fn a_page_in_place_is_torn_at_sectors() {
    let log = rewrite(0, 4096);
    for model in Model::ALL {
        assert_eq!(trees(&torn(&log, BLOCK_BYTES), model).len(), 1, "{model:?}");
    }
    for model in [Model::Posix, Model::Ext4, Model::Xfs] {
        let all = trees(&torn(&log, 512), model);
        // Without the one before the program.
        assert_eq!(all.len(), (1 << 8) - 1, "{model:?}");
        assert!(all.contains("f=b*2048+a*2048"), "{model:?}");
    }
    let new = BTreeSet::from(["f=b*4096".to_owned()]);
    assert_eq!(trees(&torn(&log, 512), Model::Btrfs), new);
    let mut pages = log.history();
    pages.grow_by_pages();
    pages.tear_at(512);
    assert_eq!(trees(&pages, Model::Ext4Journal), new);
}

#[test]
fn a_page_is_torn_between_two_writes_of_it() {
    let mut log = Log::new();
    let file = log.found(ROOT, "f", letters('a', 4096));
    log.write(file, 0, letters('b', 1024));
    log.write(file, 512, letters('c', 1024));
    let later = "f=a*1024+c*512+a*2560";
    assert!(!trees(&torn(&log, BLOCK_BYTES), Model::Ext4).contains(later));
    let all = trees(&torn(&log, 512), Model::Ext4);
    assert!(all.contains(later), "{all:?}");
    // The second sector has both writes or the earlier one.
    assert!(all.contains("f=b*1024+c*512+a*2560"), "{all:?}");
}

#[test]
fn a_page_that_a_write_allocates_is_torn_by_no_file_system() {
    let mut log = Log::new();
    let file = log.found(ROOT, "f", letters('a', 4096));
    log.write(file, 4096, letters('b', 4096));
    let is_torn = |model| {
        let all = trees(&torn(&log, 512), model);
        all.contains("f=a*4096+b*2048+0*2048")
    };
    assert!(is_torn(Model::Posix));
    for model in REAL {
        assert!(!is_torn(model), "{model:?}");
    }
}

#[test]
fn an_atomic_write_is_never_torn() {
    let rwf_atomic = 0x40;
    for sector_bytes in [512, BLOCK_BYTES] {
        for model in Model::ALL {
            let history = torn(&rewrite(rwf_atomic, 16_384), sector_bytes);
            let new = BTreeSet::from(["f=b*16384".to_owned()]);
            assert_eq!(trees(&history, model), new, "{model:?}");
        }
    }
    let history = torn(&rewrite(0, 16_384), BLOCK_BYTES);
    assert_eq!(trees(&history, Model::Ext4).len(), (1 << 4) - 1);
}

#[test]
fn a_journal_of_the_page_does_not_help_unless_it_is_synced_first() {
    let program = |syncs: bool| {
        let mut log = Log::new();
        let file = log.found(ROOT, "f", letters('a', 4096));
        let journal = log.create(ROOT, "j");
        log.write(journal, 0, letters('b', 4096));
        if syncs {
            log.fsync(journal);
        }
        log.write(file, 0, letters('b', 4096));
        log.fsync(file);
        log
    };
    let is_fine = |tree: &String| {
        ["f=a*4096", "f=b*4096"]
            .iter()
            .any(|file| tree.starts_with(file))
            || tree.ends_with("j=b*4096")
    };
    for model in REAL {
        let is_safe = |syncs| {
            trees(&torn(&program(syncs), 512), model)
                .iter()
                .all(is_fine)
        };
        assert!(is_safe(true), "{model:?}");
        assert_eq!(is_safe(false), model == Model::Btrfs, "{model:?}");
        let whole = trees(&torn(&program(false), BLOCK_BYTES), model);
        assert!(whole.iter().all(is_fine), "{model:?}");
    }
}

/// No page of `f` may be torn.
fn look((tree, _): &Seen) -> Option<String> {
    let all = shown(tree);
    let runs = all.trim_start_matches("f=").split('+');
    let mut runs = runs.filter_map(|run| run[2..].parse::<u64>().ok());
    let is_whole = runs.all(|bytes| bytes % BLOCK_BYTES == 0);
    (!is_whole).then(|| "torn".to_owned())
}

/// Of what a search finds with so many states: of each finding, the sector.
fn found(pages: u32, most: u64, sector_bytes: u64) -> Vec<Option<u64>> {
    let history = torn(&rewrite(0, pages * 4096), sector_bytes);
    let mut found = Found::default();
    let mut check =
        |seen: &[Seen], _: &Coverage| Ok::<_, Stopped<Infallible>>(seen.iter().map(look).collect());
    let check: &mut Check<'_, Infallible> = &mut check;
    let budget = Budget {
        states: most,
        ..Budget::default()
    };
    let mut verdicts = Verdicts::new(1);
    let Ok(()) = search(
        &history,
        Model::Ext4,
        budget,
        &mut verdicts,
        check,
        &mut found,
    );
    assert!(found.coverage.states <= most);
    let found = [(Model::Ext4, found)];
    let told = findings(&history, &found, b"/");
    told.iter().map(|told| told.finding.torn_at_bytes).collect()
}

#[test]
fn few_states_tear_a_page_of_many_and_the_finding_names_the_sector() {
    assert_eq!(found(1, 300, 512), [Some(512)]);
    // Too many to try all, and too few states for each sector alone.
    for pages in [4, 100] {
        assert_eq!(found(pages, 40, 512), [Some(512)], "{pages}");
        assert_eq!(found(pages, 40, BLOCK_BYTES), [], "{pages}");
    }
}

#[test]
fn combinations_of_whole_pages_are_tried_as_without_sectors_and_halves_of_each_after_them() {
    let log = rewrite(0, 5 * 4096);
    let whole = trees(&torn(&log, BLOCK_BYTES), Model::Ext4);
    let all = trees(&torn(&log, 512), Model::Ext4);
    assert_eq!(whole.len(), (1 << 5) - 1);
    assert!(all.is_superset(&whole));
    // In the half, at an end, and a sector within.
    for torn in [
        "f=b*18432+a*2048",
        "f=a*2048+b*18432",
        "f=b*2048+a*18432",
        "f=b*19968+a*512",
        "f=b*1024+a*512+b*18944",
    ] {
        assert!(all.contains(torn), "{torn}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever a device with sectors of 4 KiB leaves is looked at with smaller ones too.
    #[test]
    fn smaller_sectors_leave_no_less(
        writes in prop::collection::vec((any::<bool>(), 0..30_000_u64, 1..30_000_u32), 1..5),
    ) {
        let mut log = Log::new();
        let old = log.found(ROOT, "f", letters('a', 20_000));
        let new = log.create(ROOT, "g");
        for (number, (is_old, offset, bytes)) in writes.into_iter().enumerate() {
            let letter = char::from(b'b' + u8::try_from(number).unwrap());
            log.write(if is_old { old } else { new }, offset, letters(letter, bytes));
        }
        log.rename(new, (ROOT, "g"), (ROOT, "h"));
        let budget = Budget { exhaustive: 64, ..Budget::default() };
        for model in Model::ALL {
            let whole = states(&torn(&log, BLOCK_BYTES), model, budget);
            let all = states(&torn(&log, 512), model, budget);
            prop_assert!(all.is_superset(&whole), "{model:?}: {:?}", whole.difference(&all).next());
        }
    }
}
