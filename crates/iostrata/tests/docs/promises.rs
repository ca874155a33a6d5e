//! Each promise of SECURITY.md names the tests that hold it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::page::root;

fn names(directory: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let tests = text.split("#[test]").skip(1);
            let tests = tests.filter_map(|test| test.split_once("fn ")?.1.split_once('('));
            into.extend(tests.map(|(name, _)| name.to_owned()));
        }
    }
}

#[test]
fn every_promise_has_a_test() {
    let text = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let (_, promises) = text.split_once("## Promises\n").unwrap();
    let (promises, _) = promises.split_once("\n## ").unwrap();
    let mut tests = BTreeSet::new();
    names(&root().join("crates"), &mut tests);
    let items: Vec<&str> = promises
        .lines()
        .filter(|line| line.starts_with(|one: char| one.is_ascii_digit()))
        .collect();
    let numbers = items
        .iter()
        .map(|line| line.split_once(". ").unwrap().0.parse::<usize>().unwrap());
    assert!(items.len() > 10 && numbers.eq(1..=items.len()));
    let named: Vec<&str> = promises
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|one| one.contains('_'))
        .collect();
    assert!(named.len() > items.len());
    for name in named {
        assert!(tests.contains(name), "no test is called {name}");
    }
}
