//! docs/grafana.json asks for nothing that is not there.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::{Server, skips};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana.json");

fn dashboard() -> Value {
    serde_json::from_slice(&std::fs::read(PAGE).unwrap()).unwrap()
}

/// Its queries.
pub(super) fn expressions() -> Vec<String> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    expressions.collect()
}

#[test]
fn every_metric_of_the_dashboard_exists() {
    if skips() {
        return;
    }
    let server = Server::start(&[]);
    let metrics = server.until(|metrics| {
        metrics.contains("iostrata_disk_requests_total")
            && metrics.contains("iostrata_file_calls_total")
    });
    let there = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    let there: BTreeSet<&str> = there.filter_map(|line| line.split(' ').next()).collect();
    let name = Regex::new("iostrata_[a-z_]+").unwrap();
    let mut all = expressions();
    assert!(all.len() >= 14, "{all:?}");
    let variables = dashboard()["templating"]["list"]
        .as_array()
        .unwrap()
        .clone();
    all.extend(
        variables
            .iter()
            .filter_map(|one| Some(one["definition"].as_str()?.to_owned())),
    );
    for expression in all {
        let mut names = name.find_iter(&expression).peekable();
        assert!(names.peek().is_some(), "{expression}");
        for name in names {
            assert!(
                there.contains(name.as_str()),
                "{} of {expression}",
                name.as_str()
            );
        }
    }
    let mut numbers = BTreeSet::new();
    for panel in dashboard()["panels"].as_array().unwrap() {
        assert!(numbers.insert(panel["id"].as_u64().unwrap()), "{panel}");
    }
}
