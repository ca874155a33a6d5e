//! Each rule with the program that it speaks of, and the one that it only nearly does.

mod durability;
mod measuring;
mod transfers;

use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_core::rules;
use iostrata_core::trace::{Finding, TraceResult};

use crate::place::{Place, is_root, run};
use crate::undisturbed::undisturbed;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/rules");

/// Compiles a file of `workloads/rules`.
fn built(source: &str, place: &Place) -> PathBuf {
    let source = Path::new(SOURCES).join(source);
    let program = place.path(source.file_stem().unwrap().to_str().unwrap());
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Werror", "-o"]);
    let outcome = run({
        compiler.arg(&program).arg(&source);
        compiler
    });
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    program
}

/// What a program's run looked like. One that has something to prepare does so unobserved.
fn traced(name: &str, place: &Place, prepare: bool) -> TraceResult {
    let program = built(&format!("{name}.c"), place);
    if prepare {
        let mut preparing = Command::new(&program);
        preparing.arg(place.dir()).arg("prepare");
        run(preparing).expect(0);
    }
    let result = place.path("result.json");
    let mut command = place.iostrata("trace --json");
    command
        .arg(&result)
        .arg("--")
        .arg(&program)
        .arg(place.dir());
    run(command).expect(0);
    serde_json::from_slice(&std::fs::read(result).unwrap()).unwrap()
}

/// Names of the rules that have something to say. Asked of the rules, because whether a
/// replay measures a saving that is worth a word differs from machine to machine; what needs
/// no replay has to be among the findings.
fn speaking(result: &TraceResult) -> Vec<String> {
    iostrata_report::words::install();
    let drafts = rules::look(result, &[]);
    let bound = rules::Bound::of(result);
    for draft in drafts.iter().filter(|draft| draft.remedy.is_none()) {
        let settled = rules::settle(draft.clone(), None, &bound);
        let found = result.findings.iter().any(|it| {
            let without_proof = Finding {
                crash_command: None,
                no_crash_command_because: None,
                ..it.clone()
            };
            Some(without_proof) == settled
        });
        assert!(
            found || settled.is_none(),
            "not among the findings: {settled:?}"
        );
    }
    drafts.into_iter().map(|draft| draft.finding.rule).collect()
}

/// Runs until a rule must have spoken.
const TRIES: usize = 3;

/// Asserts that the rule speaks of `workloads/rules/RULE.c` and not of the near miss.
#[track_caller]
fn assert_told_apart(rule: &str, prepare: bool) {
    if !is_root("observing a program in the kernel") {
        return;
    }
    let speaking_of = |name: &str| {
        let place = Place::new();
        speaking(&traced(name, &place, prepare))
    };
    undisturbed(|| {
        // A rule is silent about what is less than a hundredth of the run, rightly: on a machine that
        // does other things a run may take many times as long.
        let mut spoke = Vec::new();
        let speaks = (0..TRIES).any(|_| {
            spoke = speaking_of(rule);
            spoke.iter().any(|id| id == rule)
        });
        assert!(speaks, "of {rule} these speak: {spoke:?}");
        let near_miss = format!("{rule}-near-miss");
        let spoke = speaking_of(&near_miss);
        assert!(
            spoke.iter().all(|id| id != rule),
            "of {near_miss} these speak: {spoke:?}"
        );
    });
}

#[test]
fn every_rule_has_a_page_and_two_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = std::fs::read_to_string(root.join("docs/rules.md")).unwrap();
    for rule in rules::ALL {
        let line = format!("| [{0}](rules/{0}.md) | {1} |\n", rule.id, rule.looks_for);
        assert!(list.contains(&line), "docs/rules.md has: {line}");
        let page = std::fs::read_to_string(root.join(format!("docs/rules/{}.md", rule.id)));
        let heading = format!("# {}\n", rule.id);
        assert!(
            page.is_ok_and(|page| page.starts_with(&heading)),
            "{}",
            rule.id
        );
        for name in [rule.id.to_owned(), format!("{}-near-miss", rule.id)] {
            let source = std::fs::read_to_string(Path::new(SOURCES).join(format!("{name}.c")));
            let says_what_it_does = format!("/* {name} DIR");
            assert!(
                source.is_ok_and(|source| source.starts_with(&says_what_it_does)),
                "{name}.c says first of all what it does"
            );
        }
    }
}
