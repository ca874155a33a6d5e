//! Files of formats that others look at.

use super::super::FormatRow;
use super::{Log, ROOT, letters, shown};

fn row(file: &str) -> FormatRow {
    FormatRow {
        file: file.to_owned(),
        format: "a format".to_owned(),
        check: "format:file".to_owned(),
        checked: true,
        unchecked_because: None,
    }
}

#[test]
fn a_format_has_its_file_its_journals_and_what_is_in_its_directory() {
    let database = row("d/t.db");
    for path in ["d/t.db", "d/t.db-journal", "d/t.db-wal", "d/t.db-shm"] {
        assert!(database.covers(path.as_bytes()), "{path}");
    }
    for path in ["t.db", "d/t.db-mine", "d/t.dbx", "d/t", "e/d/t.db"] {
        assert!(!database.covers(path.as_bytes()), "{path}");
    }
    assert!(row(".git").covers(b".git/refs/heads/a"));
    assert!(!row(".git").covers(b".gitignore"));
}

#[test]
fn the_run_has_a_tree_for_each_change_of_the_files() {
    let mut log = Log::new();
    let data = log.found(ROOT, "data", letters('a', 10));
    let other = log.found(ROOT, "other", letters('a', 10));
    log.print();
    log.write(data, 0, letters('b', 10));
    log.write(other, 0, letters('b', 10));
    log.print();
    log.print();
    log.write(data, 0, letters('c', 10));
    let history = log.history();
    let is_data = |path: &[u8]| path == b"data";
    let trees = history.trees_with(is_data, 3).unwrap();
    let all: Vec<_> = trees
        .iter()
        .map(|(tree, told)| (shown(tree), *told))
        .collect();
    let expected = [
        ("data=a*10 other=a*10", 1),
        ("data=b*10 other=b*10", 3),
        ("data=c*10 other=b*10", 3),
    ];
    assert_eq!(all, expected.map(|(shown, told)| (shown.to_owned(), told)));
    assert!(history.trees_with(is_data, 2).is_none());
    assert_eq!(history.trees_with(|_| false, 1).unwrap().len(), 1);
}
