//! A result of several machines: the machine is a column, and rows of two machines are never mixed.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::path::Path;

use iostrata_core::lab::{Input, LabResult, merge};
use iostrata_report::export::{self, Content, Format, Source, prometheus};
use iostrata_report::html::{Drawn, Titled, page};
use iostrata_report::terminal::lab_screen::{self, Parts, Screen};

fn merged() -> LabResult {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/quick.json");
    let ours: LabResult = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut theirs = ours.clone();
    "6.12.0".clone_into(&mut theirs.environment.kernel);
    theirs.environment.cpus = 64;
    let inputs = [("a.json", "web1", &ours), ("b.json", "web2", &theirs)];
    let inputs = inputs.map(|(file, machine, result)| Input {
        file,
        machine: Some(machine),
        result,
    });
    merge(&inputs).unwrap()
}

fn drawn(all_rows: bool) -> String {
    let screen = Screen {
        parts: Some(Parts::ALL),
        all_rows,
        ..Screen::default()
    };
    lab_screen::draw(&merged(), 120, &screen)
}

/// The words of the lines that begin with a row's number and name.
fn lines<'t>(text: &'t str, begin: &[&str]) -> Vec<Vec<&'t str>> {
    let words = text.lines().map(|line| line.split_whitespace().collect());
    let words = words.filter(|words: &Vec<&str>| words.starts_with(begin));
    words.collect()
}

#[test]
fn rows_of_one_case_stand_below_each_other_with_their_machine() {
    let text = drawn(false);
    // The first table with them: rates and latencies.
    let ours = lines(&text, &["1", "fsync", "append"]).remove(0);
    let theirs = lines(&text, &["11", "fsync", "append"]).remove(0);
    assert_eq!((ours[3], theirs[3]), ("web1", "web2"));
    assert_eq!(ours[4..], theirs[4..]);
    let numbers = ["1 fsync append", "11 fsync append"].map(|row| {
        let mut lines = text.lines();
        lines.position(|line| line.trim_start().starts_with(row))
    });
    let [Some(above), Some(below)] = numbers else {
        panic!("{text}")
    };
    assert_eq!(above + 1, below);
}

#[test]
fn each_machine_is_described_and_answers_for_itself() {
    let text = drawn(false);
    for line in [
        "web1: kernel 6.18.44-fc-v669 · 2 CPUs",
        "web2: kernel 6.12.0 · 64 CPUs",
        "web1: a flush makes data visible, not durable",
        "web2: a flush makes data visible, not durable",
    ] {
        assert!(
            text.replace('\u{a0}', " ").contains(line),
            "{line} in {text}"
        );
    }
    let cited = text
        .split("web2: a flush makes data visible")
        .nth(1)
        .unwrap();
    assert!(cited.contains("[rows 41–43]"), "{cited:.400}");
}

#[test]
fn all_tables_of_a_page_are_drawn() {
    let (text, result) = (drawn(true), merged());
    let titled = Titled {
        name: None,
        result: Drawn::Lab(&result),
    };
    let html = page(&[titled]);
    assert!(html.contains(">machine<"));
    for id in ["web1", "web2"] {
        assert!(html.matches(id).count() > 200);
        assert!(text.matches(id).count() > 200);
    }
    assert!(!text.contains("more rows; --all-rows"), "{text}");
}

/// Rows of a table as CSV, by column name.
fn csv(table: export::Table<'_>) -> Vec<Vec<String>> {
    let mut written = Vec::new();
    table.write(Format::Csv, &mut written).unwrap();
    let text = String::from_utf8(written).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let head: Vec<&str> = head.trim_end().split(',').collect();
    let place = |name| head.iter().position(|column| *column == name).unwrap();
    let places = ["experiment", "target", "machine"].map(place);
    let rows = rows.lines().map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        places.map(|place| cells[place].to_owned()).to_vec()
    });
    rows.collect()
}

#[test]
fn exported_rows_have_their_machine() {
    let result = merged();
    let results = [(1, &result)];
    for name in ["rows", "targets", "sync_seconds"] {
        let mut tables = export::lab::tables(&results).into_iter();
        let table = tables.find(|table| table.name() == name).unwrap();
        let rows = csv(table);
        let of = |machine: &str| rows.iter().filter(|row| row[2] == machine).count();
        assert!(of("web1") > 0, "{name}: {rows:?}");
        assert_eq!(
            (of("web1"), of("web1") + of("web2")),
            (of("web2"), rows.len())
        );
        assert!(rows.iter().all(|row| !row[1].contains('@')), "{name}");
    }
    let source = Source {
        number: 1,
        path: Path::new("both.json"),
        content: Content::Lab(&result),
    };
    let mut metrics = Vec::new();
    prometheus::write(&[source], &mut metrics).unwrap();
    let metrics = String::from_utf8(metrics).unwrap();
    let mut samples: Vec<&str> = metrics
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect();
    let all = samples.len();
    samples.sort_unstable();
    samples.dedup();
    assert_eq!(samples.len(), all, "labels tell samples apart");
    assert!(metrics.contains("machine=\"web2\""));
}
