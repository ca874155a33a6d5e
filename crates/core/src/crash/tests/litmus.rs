//! Small programs whose states after a crash were measured on Linux 6.18 with ext4, xfs and btrfs.

use super::{Log, ROOT, letters, trees};
use crate::crash::Model;
use crate::record::Durability;

/// Fails unless the states are these; `allowed` may be there too: what a model permits and no run has shown.
#[track_caller]
fn assert_states(log: &Log, model: Model, seen: &[&str], allowed: &[&str]) {
    let found = trees(log, model);
    for state in seen {
        assert!(
            found.contains(*state),
            "{model:?} lacks {state:?}: {found:#?}"
        );
    }
    for state in &found {
        let known = seen.iter().chain(allowed).any(|known| known == state);
        assert!(known, "{model:?} allows {state:?} of {found:#?}");
    }
}

/// 2,500 bytes are appended to 2,500 that were synced.
#[test]
fn prefix_append() {
    let mut log = Log::new();
    let f = log.found(ROOT, "f", letters('a', 2_500));
    log.write(f, 2_500, letters('b', 2_500));
    let (old, new) = ("f=a2500", "f=a2500+b2500");
    let within = "f=a2500+b1596";
    let zeros = "f=a2500+01596";
    assert_states(
        &log,
        Model::Ext4,
        &[zeros, within, new],
        &[old, "f=a2500+01596+b904"],
    );
    assert_states(&log, Model::Xfs, &[new], &[old, within]);
    assert_states(&log, Model::Btrfs, &[new], &[old, within]);
}

/// A file is written and renamed over another.
#[test]
fn replace_by_rename_without_a_sync() {
    let mut log = Log::new();
    log.found(ROOT, "f", letters('a', 9_000));
    let tmp = log.create(ROOT, "t");
    log.write(tmp, 0, letters('b', 9_000));
    log.rename(tmp, (ROOT, "t"), (ROOT, "f"));
    let contents = |model| -> Vec<String> {
        let all = trees(&log, model);
        let of_f = all
            .iter()
            .filter_map(|tree| tree.split(' ').find_map(|file| file.strip_prefix("f=")));
        let mut all: Vec<String> = of_f.map(str::to_owned).collect();
        all.sort();
        all.dedup();
        all
    };
    let ext4 = contents(Model::Ext4);
    assert!(ext4.contains(&"09000".to_owned()), "{ext4:?}");
    assert!(
        !ext4.contains(&String::new()),
        "auto_da_alloc: never empty: {ext4:?}"
    );
    let xfs = contents(Model::Xfs);
    assert!(xfs.contains(&String::new()), "{xfs:?}");
    assert!(
        !xfs.contains(&"09000".to_owned()),
        "no length over data that is not there: {xfs:?}"
    );
    assert_eq!(contents(Model::Btrfs), ["a9000", "b9000"]);
    let posix = contents(Model::Posix);
    assert!(posix.contains(&String::new()) && posix.contains(&"09000".to_owned()));
}

/// The same with an `fsync` of the file, and then of the directory.
#[test]
fn replace_by_rename_with_syncs() {
    let mut log = Log::new();
    log.found(ROOT, "f", letters('a', 9_000));
    let tmp = log.create(ROOT, "t");
    log.write(tmp, 0, letters('b', 9_000));
    log.fsync(tmp);
    log.rename(tmp, (ROOT, "t"), (ROOT, "f"));
    log.print();
    for model in Model::ALL {
        let all = trees(&log, model);
        assert!(
            all.iter()
                .all(|tree| tree.contains("f=a9000") || tree == "f=b9000"),
            "{model:?}: {all:?}"
        );
        assert!(
            all.iter().any(|tree| tree.contains("f=a9000")),
            "the rename may be lost: {all:?}"
        );
    }
    let mut with_directory = Log::new();
    with_directory.found(ROOT, "f", letters('a', 9_000));
    let tmp = with_directory.create(ROOT, "t");
    with_directory.write(tmp, 0, letters('b', 9_000));
    with_directory.fsync(tmp);
    with_directory.rename(tmp, (ROOT, "t"), (ROOT, "f"));
    with_directory.fsync(ROOT);
    with_directory.print();
    for model in Model::ALL {
        let history = with_directory.history();
        let told = super::states(&history, model, crate::crash::Budget::default());
        let after: Vec<_> = told.iter().filter(|(_, printed)| *printed == 1).collect();
        assert_eq!(after, [&("f=b9000".to_owned(), 1)], "{model:?}");
    }
}

/// A new file is written and renamed to a name that was free.
#[test]
fn create_by_rename_without_a_sync() {
    for model in Model::ALL {
        let mut log = Log::new();
        let tmp = log.create(ROOT, "t");
        log.write(tmp, 0, letters('b', 9_000));
        log.rename(tmp, (ROOT, "t"), (ROOT, "f"));
        assert!(
            trees(&log, model).contains("f="),
            "{model:?}: empty after the rename"
        );
    }
}

/// Blocks of 9,000 bytes, each there or zero.
const ZEROS_AND_BLOCKS: [&str; 6] = [
    "f=b4096+04904",
    "f=04096+b4096+0808",
    "f=08192+b808",
    "f=b8192+0808",
    "f=b4096+04096+b808",
    "f=04096+b4904",
];

/// A file is cut to nothing and written anew.
#[test]
fn rewrite_in_place() {
    let mut log = Log::new();
    let f = log.found(ROOT, "f", letters('a', 9_000));
    log.open_truncated(f);
    log.write(f, 0, letters('b', 9_000));
    assert_states(
        &log,
        Model::Ext4,
        &["f=09000", "f=", "f=b9000"],
        &ZEROS_AND_BLOCKS,
    );
    assert_states(&log, Model::Xfs, &["f=", "f=b9000"], &[]);
    assert_states(&log, Model::Btrfs, &["f=b9000"], &["f="]);
    for model in Model::ALL {
        assert!(trees(&log, model).contains("f=b9000"), "{model:?}");
    }
}

/// Two blocks are overwritten.
#[test]
fn overwrite() {
    let mut log = Log::new();
    let f = log.found(ROOT, "f", letters('a', 8_192));
    log.write(f, 0, letters('b', 8_192));
    let torn = ["f=b4096+a4096", "f=a4096+b4096", "f=b8192"];
    assert_states(&log, Model::Ext4, &torn, &[]);
    assert_states(&log, Model::Xfs, &torn, &[]);
    assert_states(&log, Model::Btrfs, &["f=b8192"], &[]);
}

/// Two files are created in turn; the second one is synced.
#[test]
fn a_sync_of_one_file_and_the_name_of_another() {
    let mut log = Log::new();
    log.create(ROOT, "a");
    let b = log.create(ROOT, "b");
    log.fsync(b);
    log.print();
    let told = |model| -> Vec<String> {
        let all = super::states(&log.history(), model, crate::crash::Budget::default());
        all.into_iter()
            .filter(|(_, printed)| *printed == 1)
            .map(|(tree, _)| tree)
            .collect()
    };
    assert_eq!(told(Model::Ext4), ["a= b="]);
    assert_eq!(told(Model::Xfs), ["a= b="]);
    assert_eq!(told(Model::Btrfs), ["a= b=", "b="]);
    assert_eq!(told(Model::Posix), ["", "a=", "a= b=", "b="]);
}

/// A file is removed, another one synced.
#[test]
fn a_removal_and_a_sync_of_another_file() {
    let mut log = Log::new();
    let f = log.found(ROOT, "f", letters('a', 10));
    log.unlink(f, ROOT, "f");
    let other = log.create(ROOT, "o");
    log.fsync(other);
    log.print();
    let told = |model| -> Vec<String> {
        let all = super::states(&log.history(), model, crate::crash::Budget::default());
        all.into_iter()
            .filter(|(_, printed)| *printed == 1)
            .map(|(tree, _)| tree)
            .collect()
    };
    assert_eq!(told(Model::Ext4), ["o="]);
    assert_eq!(told(Model::Xfs), ["o="]);
    assert_eq!(told(Model::Btrfs), ["f=a10 o=", "o="]);
}

/// A file is moved to another directory, which is synced.
#[test]
fn a_move_between_directories() {
    let mut log = Log::new();
    let (a, b) = (log.mkdir(ROOT, "A"), log.mkdir(ROOT, "B"));
    let f = log.create(a, "f");
    log.sync(ROOT, Durability::Everything);
    log.rename(f, (a, "f"), (b, "f"));
    log.fsync(b);
    log.print();
    let told = |model| -> Vec<String> {
        let all = super::states(&log.history(), model, crate::crash::Budget::default());
        all.into_iter()
            .filter(|(_, printed)| *printed == 1)
            .map(|(tree, _)| tree)
            .collect()
    };
    assert_eq!(told(Model::Ext4), ["A/ B/ B/f="]);
    assert_eq!(told(Model::Btrfs), ["A/ A/f= B/ B/f=", "A/ B/ B/f="]);
    let mut source = Log::new();
    let (a, b) = (source.mkdir(ROOT, "A"), source.mkdir(ROOT, "B"));
    let f = source.create(a, "f");
    source.sync(ROOT, Durability::Everything);
    source.rename(f, (a, "f"), (b, "f"));
    source.fsync(a);
    source.print();
    let all = super::states(
        &source.history(),
        Model::Btrfs,
        crate::crash::Budget::default(),
    );
    let told: Vec<_> = all.iter().filter(|(_, printed)| *printed == 1).collect();
    assert_eq!(
        told,
        [&("A/ B/ B/f=".to_owned(), 1)],
        "a move out makes a whole transaction"
    );
}

/// An append through `RWF_DSYNC` is durable with its length.
#[test]
fn synchronous_writes() {
    const RWF_DSYNC: u32 = 2;
    for model in Model::ALL {
        let mut log = Log::new();
        let f = log.found(ROOT, "f", letters('a', 100));
        log.write_flags(f, 100, letters('b', 5_000), RWF_DSYNC);
        log.print();
        let all = super::states(&log.history(), model, crate::crash::Budget::default());
        let told: Vec<_> = all.iter().filter(|(_, printed)| *printed == 1).collect();
        assert_eq!(told, [&("f=a100+b5000".to_owned(), 1)], "{model:?}");
    }
}

/// `chmod` is metadata: in order with the names.
#[test]
fn attributes_are_in_the_order_of_metadata() {
    let mut log = Log::new();
    let f = log.found(ROOT, "f", letters('a', 1));
    log.chmod(f, 0o600);
    log.create(ROOT, "g");
    let history = log.history();
    assert!(Model::Ext4.needs(&history, 1, 0) && !Model::Posix.needs(&history, 1, 0));
}
