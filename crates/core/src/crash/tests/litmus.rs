//! What each model makes of the litmus programs, by outcomes that were measured on Linux 6.18 with ext4, xfs and
//! btrfs.

use std::collections::BTreeSet;

use super::{Log, ROOT, states};
use crate::crash::litmus::{Litmus, letters};
use crate::crash::{Budget, Model};
use crate::record::{Change, Durability};

const REAL: [Model; 3] = [Model::Ext4, Model::Xfs, Model::Btrfs];

/// Outcomes at any time; with `ended` those after the last call.
fn outcomes(name: &str, model: Model, ended: bool) -> BTreeSet<String> {
    let all = Litmus::named(name).unwrap().allowed(model).into_iter();
    all.filter(|seen| seen.ended == ended)
        .map(|seen| seen.files)
        .collect()
}

/// Fails unless the outcomes are these; `allowed` may be there too: what a model permits and no run has shown.
#[track_caller]
fn assert_outcomes(name: &str, model: Model, seen: &[&str], allowed: &[&str]) {
    assert_these(&outcomes(name, model, false), model, seen, allowed);
}

/// The same of what is left once the last call has returned.
#[track_caller]
fn assert_ended(name: &str, model: Model, seen: &[&str]) {
    assert_these(&outcomes(name, model, true), model, seen, &[]);
}

#[track_caller]
fn assert_these(found: &BTreeSet<String>, model: Model, seen: &[&str], allowed: &[&str]) {
    for outcome in seen {
        assert!(
            found.contains(*outcome),
            "{model:?} lacks {outcome:?}: {found:#?}"
        );
    }
    for outcome in found {
        let known = seen.iter().chain(allowed).any(|known| known == outcome);
        assert!(known, "{model:?} allows {outcome:?} of {found:#?}");
    }
}

#[test]
fn programs_can_be_told_apart_and_are_whole() {
    let names: BTreeSet<_> = Litmus::all().map(|litmus| litmus.name).collect();
    assert_eq!(names.len(), Litmus::all().count());
    for litmus in Litmus::all() {
        assert!(litmus.history().is_whole, "{}", litmus.name);
        let [before, after] = litmus.ends();
        assert_ne!(before, after, "{}", litmus.name);
        for model in Model::ALL {
            let allowed = litmus.allowed(model);
            let has = |files: &str| allowed.iter().any(|seen| seen.files == files);
            assert!(has(&before) && has(&after), "{} {model:?}", litmus.name);
        }
    }
}

#[test]
fn append() {
    let (old, new) = ("f=a*2500", "f=a*2500+b*2500");
    let within = "f=a*2500+b*1596";
    let zeros = "f=a*2500+0*1596";
    // A commit between the submission of the data and its arrival.
    let allocated = "f=a*2500+b*1596+0*904";
    assert_outcomes(
        "append",
        Model::Ext4,
        &[old, zeros, within, allocated, new],
        &["f=a*2500+0*1596+b*904", "f=a*2500+0*2500"],
    );
    assert_outcomes("append", Model::Xfs, &[old, new], &[within]);
    assert_outcomes("append", Model::Btrfs, &[old, new], &[within]);
    for name in ["append-fdatasync", "append-o-dsync"] {
        for model in Model::ALL {
            assert_ended(name, model, &[new]);
        }
    }
}

#[test]
fn replace_by_rename() {
    let name = "replace-by-rename";
    let ext4 = outcomes(name, Model::Ext4, false);
    assert!(ext4.contains("f=0*9000"), "{ext4:?}");
    assert!(
        !ext4.contains("f=empty"),
        "auto_da_alloc: never empty: {ext4:?}"
    );
    let xfs = outcomes(name, Model::Xfs, false);
    assert!(xfs.contains("f=empty"), "{xfs:?}");
    assert!(
        !xfs.contains("f=0*9000"),
        "no length over data that is not there: {xfs:?}"
    );
    // Writeback is started, and the next transaction does not wait for it.
    assert_outcomes(name, Model::Btrfs, &["f=a*9000", "f=b*9000"], &["f=empty"]);
    let posix = outcomes(name, Model::Posix, false);
    assert!(posix.contains("f=empty") && posix.contains("f=0*9000"));
    for model in Model::ALL {
        assert_outcomes("fsync-replace", model, &["f=a*9000", "f=b*9000"], &[]);
        assert_ended("fsync-replace-fsync-directory", model, &["f=b*9000"]);
    }
}

#[test]
fn create_by_rename() {
    for model in Model::DEFAULTS {
        let all = outcomes("create-by-rename", model, false);
        assert!(all.contains("f=empty"), "{model:?}: empty after the rename");
        let has_zeros = matches!(model, Model::Posix | Model::Ext4);
        assert_eq!(all.contains("f=0*9000"), has_zeros, "{model:?}: {all:?}");
    }
}

/// Blocks of 9,000 bytes, each there or zero.
const ZEROS_AND_BLOCKS: [&str; 6] = [
    "f=b*4096+0*4904",
    "f=0*4096+b*4096+0*808",
    "f=0*8192+b*808",
    "f=b*8192+0*808",
    "f=b*4096+0*4096+b*808",
    "f=0*4096+b*4904",
];

#[test]
fn rewrite() {
    let (old, new) = ("f=a*9000", "f=b*9000");
    assert_outcomes(
        "rewrite",
        Model::Ext4,
        &["f=0*9000", "f=empty", old, new],
        &ZEROS_AND_BLOCKS,
    );
    assert_outcomes("rewrite", Model::Xfs, &["f=empty", old, new], &[]);
    assert_outcomes("rewrite", Model::Btrfs, &[old, new], &["f=empty"]);
    assert!(outcomes("rewrite", Model::Posix, false).contains(new));
}

#[test]
fn overwrite() {
    let (old, new) = ("f=a*8192", "f=b*8192");
    let torn = ["f=b*4096+a*4096", "f=a*4096+b*4096", old, new];
    for name in ["overwrite", "overwrite-direct", "overwrite-mapped"] {
        assert_outcomes(name, Model::Ext4, &torn, &[]);
        assert_outcomes(name, Model::Xfs, &torn, &[]);
        // Pages of a mapping may be written back one before there is a store to the other.
        let on_btrfs = match name {
            "overwrite-mapped" => &torn[..],
            _ => &torn[2..],
        };
        assert_outcomes(name, Model::Btrfs, on_btrfs, &[]);
    }
    for model in Model::ALL {
        assert_ended("overwrite-mapped-msync", model, &[new]);
        let hinted = outcomes("overwrite-sync-file-range", model, true);
        assert!(hinted.contains(old), "{model:?}: no sync");
    }
}

#[test]
fn a_sync_of_one_file_and_the_name_of_another() {
    let both = "f=empty g=empty";
    for model in [Model::Ext4, Model::Xfs] {
        assert_ended("create-two-fsync", model, &[both]);
    }
    assert_ended("create-two-fsync", Model::Btrfs, &[both, "g=empty"]);
    let any = ["no file", "f=empty", both, "g=empty"];
    assert_ended("create-two-fsync", Model::Posix, &any);
    for model in [Model::Ext4, Model::Xfs] {
        assert_ended("unlink-create-fsync", model, &["g=empty"]);
    }
    let back = "f=a*10 g=empty";
    assert_ended("unlink-create-fsync", Model::Btrfs, &[back, "g=empty"]);
}

#[test]
fn a_move_between_directories() {
    let (moved, both) = ("B/f=a*10", "A/f=a*10 B/f=a*10");
    for model in [Model::Ext4, Model::Xfs] {
        assert_ended("move-fsync-destination", model, &[moved]);
    }
    assert_ended("move-fsync-destination", Model::Btrfs, &[both, moved]);
    for model in REAL {
        assert_ended("move-fsync-source", model, &[moved]);
    }
}

#[test]
fn what_btrfs_has_logged_is_not_in_order_with_the_rest() {
    let alone = [
        ("fsync-create-rename", "f=b*10"),
        ("fsync-create-link", "f=empty h=empty"),
        ("fsync-create-unlink", "no file"),
        ("fsync-directory-move", "B/f=a*10"),
        ("link-fsync-neighbours", "A/h=empty A/l=a*10"),
    ];
    for (name, left) in alone {
        assert!(outcomes(name, Model::Btrfs, true).contains(left), "{name}");
        for model in [Model::Ext4, Model::Xfs] {
            assert!(!outcomes(name, model, true).contains(left), "{name}");
        }
    }
    // A sync of another file in the directory logs the name there, not where it was.
    let both = "A/k=a*10 A/l=a*10 B/k=a*10";
    let name = "move-link-fsync-neighbour";
    assert!(outcomes(name, Model::Btrfs, true).contains(both));
    assert_ended(name, Model::Ext4, &["A/k=a*10 A/l=a*10"]);
}

#[test]
fn a_rename_over_a_logged_file_takes_it_out_of_the_log() {
    let lost = "no file";
    let ended = |name, model| outcomes(name, model, true);
    assert!(ended("fsync-create-replace", Model::Btrfs).contains(lost));
    for model in [Model::Ext4, Model::Xfs] {
        assert!(!ended("fsync-create-replace", model).contains(lost));
    }
    // An older file has a name in the transaction.
    assert!(!ended("fsync-replace-older", Model::Btrfs).contains(lost));
}

/// A file saved repeatedly by a synced file that is renamed over it is there under one of its names, also on btrfs:
/// the log has the rename too.
#[test]
fn a_synced_file_over_a_synced_one_is_not_lost() {
    let mut log = Log::new();
    for letter in ['a', 'b', 'c'] {
        let t = log.create(ROOT, "t");
        log.write(t, 0, letters(letter, 10));
        log.fsync(t);
        log.rename(t, (ROOT, "t"), (ROOT, "f"));
        log.print();
    }
    let history = log.history();
    for model in REAL {
        let all = states(&history, model, Budget::default()).into_iter();
        let gone: Vec<_> = all
            .filter(|(tree, told)| *told > 1 && tree == "no file")
            .collect();
        assert_eq!(gone, [], "{model:?}");
    }
}

#[test]
fn a_directory_that_was_moved_is_where_it_was() {
    let (moved, back) = ("B/A/ B/A/f=empty", "A/ A/f=empty");
    let name = "move-directory-create-fsync";
    assert_ended(name, Model::Btrfs, &[moved, back]);
    assert_ended(name, Model::Ext4, &[moved]);
    assert_ended(name, Model::Xfs, &[moved]);
}

#[test]
fn a_sync_covers_names_given_and_taken() {
    for model in [Model::Ext4, Model::Xfs] {
        assert_ended("unlink-create-same-fsync", model, &["f=b*10"]);
    }
    for model in REAL {
        assert_ended("rename-create-same-fsync", model, &["f=b*10 g=a*10"]);
        assert_ended("link-unlink-fsync", model, &["g=a*10"]);
        assert_ended("link-fsync-first", model, &["f=a*10 g=a*10"]);
        assert_ended("rename-fsync-directory", model, &["g=a*10"]);
        // Not the data of a file that is not synced itself.
        let replaced = outcomes("replace-by-rename-commit", model, true);
        let zeros = if model == Model::Ext4 {
            "f=0*9000"
        } else {
            "f=empty"
        };
        assert!(replaced.contains(zeros), "{model:?}: {replaced:?}");
    }
}

#[test]
fn a_sync_of_a_file_covers_its_names() {
    for model in REAL {
        assert_ended("create-fsync", model, &["f=b*9000"]);
        assert_ended("create-fdatasync", model, &["f=empty"]);
        assert_ended("mkdir-create-fsync", model, &["A/ A/f=b*9000"]);
        assert_ended("link-fsync", model, &["f=a*10 g=a*10"]);
        assert_ended("rename-fsync", model, &["g=a*10"]);
        assert_ended("link-rename-fsync", model, &["f=a*10 h=a*10"]);
    }
}

/// Pages of a write are there in their order, and all that was before them.
#[test]
fn a_journal_of_data_leaves_a_prefix() {
    let model = Model::Ext4Journal;
    let (old, new) = ("f=a*9000", "f=b*9000");
    let pages = ["f=empty", "f=b*4096", "f=b*8192"];
    assert_outcomes("rewrite", model, &[&pages[..], &[old, new]].concat(), &[]);
    assert_outcomes("replace-by-rename", model, &[old, new], &[]);
    assert_outcomes("create-by-rename", model, &["no file", new], &[]);
    assert_ended("replace-by-rename-commit", model, &[new]);
    let (old, within, new) = ("f=a*2500", "f=a*2500+b*1596", "f=a*2500+b*2500");
    assert_outcomes("append", model, &[old, within, new], &[]);
    let (old, first, new) = ("f=a*8192", "f=b*4096+a*4096", "f=b*8192");
    for name in ["overwrite", "overwrite-direct"] {
        assert_outcomes(name, model, &[old, first, new], &[]);
    }
    // Stores are in no order.
    let second = "f=a*4096+b*4096";
    assert_outcomes("overwrite-mapped", model, &[old, first, second, new], &[]);
    let [none, both] = ["f=a*4096 g=a*4096", "f=b*4096 g=b*4096"];
    let first = "f=b*4096 g=a*4096";
    assert_outcomes("overwrite-two-files", model, &[none, first, both], &[]);
}

/// A sync of one file commits what was written to others before its last change.
#[test]
fn a_sync_of_one_file_commits_the_data_of_others() {
    let model = Model::Ext4Journal;
    assert_ended(
        "append-two-fsync",
        model,
        &["f=a*2500+b*2500 g=a*2500+b*2500"],
    );
    assert_ended("overwrite-two-fsync", model, &["f=b*4096 g=b*4096"]);
    // That of a directory commits all there is.
    assert_ended("create-fsync-directory", model, &["f=b*9000"]);
    let mut log = Log::new();
    let f = log.found(ROOT, "f", letters('a', 10));
    let g = log.found(ROOT, "g", letters('a', 10));
    log.write(f, 0, letters('b', 10));
    log.fsync(g);
    log.print();
    let all = states(&log.history(), model, Budget::default());
    assert!(all.contains(&("f=a*10 g=a*10".to_owned(), 1)), "{all:?}");
}

/// A store in a page that a sync of a range leaves out may be lost, a write may not.
#[test]
fn a_sync_of_a_range_commits_writes_outside_of_it() {
    let store = |log: &mut Log, node, offset| {
        let payload = letters('s', 4_096);
        let stored = Change::Stored {
            node,
            offset,
            payload,
        };
        log.push("msync", stored);
    };
    let mut log = Log::new();
    let f = log.found(ROOT, "f", letters('a', 12_288));
    store(&mut log, f, 8_192);
    log.write(f, 4_096, letters('w', 4_096));
    store(&mut log, f, 0);
    log.sync(
        f,
        Durability::Range {
            offset: 0,
            bytes: 4_096,
        },
    );
    log.print();
    let all = states(&log.history(), Model::Ext4Journal, Budget::default());
    let told: Vec<_> = all.iter().filter(|(_, told)| *told == 1).collect();
    let state = |files: &str| (files.to_owned(), 1);
    assert_eq!(
        told,
        [
            &state("f=s*4096+w*4096+a*4096"),
            &state("f=s*4096+w*4096+s*4096")
        ]
    );
}

/// `chmod` is metadata: in order with the names.
#[test]
fn attributes_are_in_the_order_of_metadata() {
    let mut log = Log::new();
    let f = log.found(ROOT, "f", letters('a', 1));
    log.chmod(f, 0o600);
    log.create(ROOT, "g");
    let history = log.history();
    let needs = |model: Model| model.needs(&history, &model.exempt(&history), 1, 0);
    assert!(needs(Model::Ext4) && !needs(Model::Posix));
}
