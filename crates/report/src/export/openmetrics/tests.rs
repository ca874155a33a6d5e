//! The metrics of a saved interval.

use std::collections::BTreeSet;
use std::sync::Arc;

use iostrata_core::top::{Interval, Sums};

use super::{Format, write};

fn interval() -> Interval {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/top.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn written(interval: &Interval, most: usize, format: Format) -> String {
    let mut sums = Sums::new(most, true);
    sums.add(interval);
    write(&Arc::new(sums), format).unwrap()
}

#[test]
fn one_place_and_all_others() {
    insta::assert_snapshot!(written(&interval(), 1, Format::Text));
}

/// Samples of one name stand together, with their type and what they are, and no two are the same.
#[test]
fn every_sample_is_of_a_described_family_and_is_there_once() {
    let text = written(&interval(), 20, Format::OpenMetrics);
    let (mut family, mut families, mut seen) = ("", BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap();
            assert!(text.contains(&format!("# HELP {family} ")), "{family}");
            assert!(families.insert(family), "{family} comes twice");
        } else if !line.starts_with('#') {
            let (sample, _) = line.rsplit_once(' ').unwrap();
            let name = sample.split('{').next().unwrap();
            assert_eq!(name.strip_suffix("_total").unwrap_or(name), family);
            assert!(seen.insert(sample), "{sample} comes twice");
        }
    }
    assert!(text.ends_with("# EOF\n"));
    assert!(seen.len() > 200, "{}", seen.len());
}

/// A program may call itself as it likes.
#[test]
fn names_cannot_end_a_label() {
    let mut interval = interval();
    interval.processes[0].name = Some("a\"} 1\nb\\".to_owned());
    interval.processes[1].name = Some("(others)".to_owned());
    let file = &mut interval.files[0];
    file.path = Some("a\u{fffd}".to_owned());
    file.path_hex = Some("61ff1b071b9f7fc29be280ae".to_owned());
    let text = written(&interval, 2, Format::Text);
    assert!(
        text.contains(r#"file="a\\xff\\u{1b}\\u{7}\\u{1b}\\x9f\\u{7f}\\u{9b}\\u{202e}""#),
        "{text}"
    );
    assert!(text.contains(r#"process="a\"} 1\nb\\","#), "{text}");
    assert!(
        text.lines()
            .all(|line| line.starts_with('#') || line.starts_with("iostrata_"))
    );
    assert!(text.contains(r#"process="(others)",others="true""#));
    assert!(text.contains(r#"process="(others)",cgroup="#));
}
