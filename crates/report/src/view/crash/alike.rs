//! Findings of one cause: they differ in nothing but the file, as those of a program that copies many, or in nothing but
//! what it broke.

use std::collections::{BTreeSet, HashMap};
use std::iter;

use iostrata_core::crash::{Finding, OperationRow};
use iostrata_core::noun::counted;

/// Files that are named.
const NAMED: usize = 3;

/// Stands for a path, and for a number: no text has it.
const PATH: &str = "\u{1}";
const NUMBER: char = '\u{2}';

/// A finding, and those that came later and are like it.
pub(super) struct Alike<'a> {
    pub(super) first: &'a Finding,
    /// The same of other files.
    others: Vec<&'a Finding>,
    /// What else the same operations broke.
    also: Vec<Alike<'a>>,
}

/// Groups by cause.
pub(super) fn grouped(findings: &[Finding]) -> Vec<Alike<'_>> {
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut groups: Vec<Alike<'_>> = Vec::new();
    for group in of_files(findings) {
        let place = *places.entry(cause(group.first)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(known) => known.also.push(group),
            None => groups.push(group),
        }
    }
    groups
}

fn of_files(findings: &[Finding]) -> Vec<Alike<'_>> {
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut groups: Vec<Alike<'_>> = Vec::new();
    for finding in findings {
        let place = *places.entry(shape(finding)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.others.push(finding),
            None => groups.push(Alike {
                first: finding,
                others: Vec::new(),
                also: Vec::new(),
            }),
        }
    }
    groups
}

impl<'a> Alike<'a> {
    /// The first finding, and what else the same operations broke.
    pub(super) fn firsts(&self) -> impl Iterator<Item = &'a Finding> {
        iter::once(self.first).chain(self.also.iter().map(|group| group.first))
    }

    /// `20 findings are like this one, of b, c, d and 17 other files.`
    pub(super) fn others(&self) -> Option<String> {
        let all = iter::once(self).chain(&self.also);
        let others: Vec<&Finding> = all.flat_map(|group| &group.others).copied().collect();
        if others.is_empty() {
            return None;
        }
        let are = if others.len() == 1 { "is" } else { "are" };
        let count = counted(others.len() as u64, "more finding");
        let like = match self.also.len() {
            0 => "this one",
            _ => "these",
        };
        let files = other_files(self.first, &others);
        let named: Vec<&str> = files.iter().copied().take(NAMED).collect();
        let of = match files.len().saturating_sub(NAMED) {
            _ if named.is_empty() => "the same file".to_owned(),
            0 => named.join(", "),
            rest => format!(
                "{} and {}",
                named.join(", "),
                counted(rest as u64, "other file")
            ),
        };
        Some(format!("{count} {are} like {like}, of {of}."))
    }

    pub(super) fn count(&self) -> usize {
        let also: usize = self.also.iter().map(Self::count).sum();
        1 + self.others.len() + also
    }

    /// Of how many other files the same is said: of none where the message names no file.
    pub(super) fn said_of(&self) -> usize {
        let own = file(self.first);
        let names_it = own.is_some_and(|own| without(&self.first.message, own).contains(PATH));
        if names_it {
            other_files(self.first, &self.others).len()
        } else {
            0
        }
    }
}

fn other_files<'a>(first: &Finding, others: &[&'a Finding]) -> BTreeSet<&'a str> {
    let own = file(first);
    let files = others.iter().filter_map(|finding| file(finding));
    files.filter(|path| Some(*path) != own).collect()
}

/// The file as it is known afterwards: that of a rename is its new name.
fn file(finding: &Finding) -> Option<&str> {
    let row = finding.before.as_ref().unwrap_or(&finding.culprit);
    row.other_path.as_deref().or(row.path.as_deref())
}

/// What it has in common with others of the same operations.
fn cause(finding: &Finding) -> impl Eq + std::hash::Hash + use<'_> {
    let op = |row: &OperationRow| row.op;
    let before = finding.before.as_ref().map(op);
    let ops = (op(&finding.culprit), before, finding.recovering);
    let told = (finding.kind, ops, &finding.story);
    (
        told,
        &finding.advice,
        &finding.possible_on,
        finding.is_smallest,
    )
}

/// What it has in common with those of other files.
fn shape(finding: &Finding) -> impl Eq + std::hash::Hash + use<> {
    let rows = [Some(&finding.culprit), finding.before.as_ref()];
    let names = |row: &OperationRow| [row.path.clone(), row.other_path.clone()];
    let mut paths: Vec<String> = rows
        .iter()
        .flatten()
        .flat_map(|row| names(row))
        .flatten()
        .collect();
    // One may be within another.
    paths.sort_unstable_by_key(|path| std::cmp::Reverse(path.len()));
    let named = |text: &str| {
        let paths = paths.iter();
        paths.fold(text.to_owned(), |text, path| without(&text, path))
    };
    let calls = rows.map(|row| row.map(|row| (row.syscall.clone(), row.stack.clone())));
    let possible_on = finding.possible_on.clone();
    // A number that the checker said may be the point.
    let message = named(&finding.message);
    let told = [&finding.story, &finding.advice].map(|text| numbered(&named(text)));
    let kind = (finding.kind.as_str(), finding.recovering.is_some());
    (kind, calls, message, told, possible_on)
}

/// Each place where a path stands alone replaced: that of `f` in `fsync f`, not in `fsync`.
fn without(text: &str, path: &str) -> String {
    let mut shaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(path).filter(|_| !path.is_empty()) {
        let (before, from) = rest.split_at(place);
        let after = &from[path.len()..];
        shaped.push_str(before);
        let begins = shaped.chars().next_back().is_none_or(is_around);
        let is_alone = begins && after.chars().next().is_none_or(is_around);
        shaped.push_str(if is_alone { PATH } else { path });
        rest = after;
    }
    shaped + rest
}

/// What may stand beside a path in a sentence.
fn is_around(letter: char) -> bool {
    letter.is_whitespace() || ".,:;\"'`()".contains(letter)
}

/// Each number replaced, `1,037` by one mark.
fn numbered(text: &str) -> String {
    let mut shaped = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_within = shaped.ends_with(NUMBER);
        match letter {
            '0'..='9' | ',' if is_within => {}
            '0'..='9' => shaped.push(NUMBER),
            other => shaped.push(other),
        }
    }
    shaped
}

#[cfg(test)]
mod tests {
    use iostrata_core::crash::CrashResult;

    use super::*;

    const SAVED: &str = include_str!("../../../../../docs/results/crash.json");

    fn torn(path: &str, bytes: &str, message: &str) -> Finding {
        let mut result: CrashResult = serde_json::from_str(SAVED).unwrap();
        let mut finding = result.findings.swap_remove(0);
        finding.before = None;
        finding.culprit.path = Some(path.to_owned());
        finding.culprit.other_path = None;
        finding.message = message.to_owned();
        finding.story = format!("A part of the write of {bytes} to {path} is on disk.");
        finding.advice = format!("Write a new file, and rename it over {path}.");
        finding
    }

    #[test]
    fn findings_of_other_files_are_one_with_the_first() {
        let files = ["a/b", "b", "c", "d", "e"];
        let mut findings: Vec<Finding> = files
            .iter()
            .map(|path| torn(path, "1,037 B", &format!("{path} is empty")))
            .collect();
        findings.insert(1, torn("a/b", "9 B", "a/b is empty"));
        findings.insert(2, torn("a/b", "9 B", "row 3 is lost"));
        findings.push(torn("a/b", "9 B", "row 4 is lost"));
        let groups = grouped(&findings);
        let told = |group: &Alike<'_>| (group.count(), group.others());
        assert_eq!(
            groups.iter().map(told).collect::<Vec<_>>(),
            [
                (
                    6,
                    Some(
                        "5 more findings are like this one, of b, c, d and 1 other file."
                            .to_owned()
                    )
                ),
                (2, None),
            ]
        );
        let rows = groups[1].firsts().map(|finding| &finding.message);
        assert_eq!(rows.collect::<Vec<_>>(), ["row 3 is lost", "row 4 is lost"]);
        let same = [findings[0].clone(), findings[1].clone()];
        assert_eq!(
            grouped(&same)[0].others().unwrap(),
            "1 more finding is like this one, of the same file."
        );
    }

    #[test]
    fn a_message_that_names_no_file_is_said_of_no_other() {
        let files = ["g", "h"];
        let named = files.map(|path| torn(path, "1 B", &format!("{path} is empty")));
        assert_eq!(grouped(&named)[0].said_of(), 1);
        let unnamed = files.map(|path| torn(path, "1 B", "damaged"));
        let groups = grouped(&unnamed);
        assert_eq!((groups[0].count(), groups[0].said_of()), (2, 0));
    }

    #[test]
    fn another_file_system_or_another_way_is_another_finding() {
        let one = torn("a", "1 B", "a is empty");
        let mut other = torn("b", "1 B", "b is empty");
        other.possible_on.pop();
        let mut way = torn("b", "1 B", "b is empty");
        way.story.push_str(" Nothing else is.");
        assert_eq!(grouped(&[one, other, way]).len(), 3);
    }
}
