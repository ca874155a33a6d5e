use iostrata_core::gap::{Countable, Listed, Missing, Reason};
use iostrata_core::law::Law;
use iostrata_core::trace::Judged;
use iostrata_core::trace::budget::Amount;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

/// Names of all variants, as serde lists them for one that does not exist.
fn variants<T: DeserializeOwned>() -> Vec<String> {
    let none = serde_json::from_value::<T>(json!("no such variant"));
    let told = none.err().unwrap().to_string();
    let names = told.split('`').skip(3).step_by(2);
    names.map(str::to_owned).collect()
}

/// Each variant without data, and those with data as `samples` have it: every variant at least once.
fn each<T: DeserializeOwned>(samples: &[(&str, Value)]) -> Vec<T> {
    let mut all = Vec::new();
    for name in variants::<T>() {
        let with_data = samples.iter().filter(|(of, _)| *of == name);
        let mut values: Vec<Value> = with_data.map(|(of, data)| json!({ *of: data })).collect();
        if values.is_empty() {
            values.push(json!(name));
        }
        for value in values {
            let read = serde_json::from_value(value);
            all.push(read.unwrap_or_else(|error| panic!("a sample of {name}: {error}")));
        }
    }
    all
}

fn lines(words: impl Iterator<Item = Words>) -> String {
    let lines: Vec<String> = words.map(|words| words.to_string()).collect();
    assert!(lines.iter().all(|line| !line.is_empty()));
    lines.join("\n")
}

/// Variants which `gaps.txt` has the words of: all but those whose words are code.
fn in_table<T: DeserializeOwned>(
    section: &'static str,
    in_code: &[&str],
) -> Vec<(&'static str, String)> {
    let mut names = variants::<T>();
    names.retain(|name| !in_code.contains(&name.as_str()));
    names.into_iter().map(|name| (section, name)).collect()
}

#[test]
fn each_code_has_one_line() {
    let in_code = [
        "stratum",
        "contradicted",
        "count",
        "listed",
        "loops",
        "on_machine",
        "on_target",
        "targets",
    ];
    let mut codes = in_table::<Missing>("missing", &in_code);
    codes.extend(in_table::<Countable>("countable", &[]));
    codes.extend(in_table::<Listed>("listed", &[]));
    let in_code = [
        "broken_law",
        "differs",
        "dontcache_refused",
        "exit_unreported",
        "incomplete_side",
        "not_followed",
        "not_saved",
        "not_used_before",
        "not_verified",
        "one_run_each",
        "other_privileges",
        "threads_summed",
    ];
    codes.extend(in_table::<Reason>("reason", &in_code));
    codes.extend(in_table::<gap::Exit>("exit", &[]));
    codes.extend(in_table::<gap::NotFollowed>("not_followed", &[]));
    codes.extend(in_table::<gap::TargetPart>("target_part", &["mounts"]));
    codes.extend(in_table::<gap::Difference>("difference", &["mode"]));
    codes.extend(in_table::<Law>("law", &[]));
    codes.extend(in_table::<Law>("broken_law", &[]));
    codes.sort_unstable();
    let of_table = gaps::FIXED.keys();
    let mut lines: Vec<_> = of_table
        .map(|(section, code)| (*section, (*code).to_owned()))
        .collect();
    lines.sort_unstable();
    assert_eq!(codes, lines);
    // A second line for a code would replace the first one.
    let written = include_str!("gaps.txt").lines();
    assert_eq!(
        written.filter(|line| line.contains(": ")).count(),
        lines.len()
    );
}

#[test]
fn what_is_missing() {
    let mut samples = vec![
        ("stratum", json!("ring")),
        ("contradicted", json!("device")),
        ("file_system", json!({"module": "xfs"})),
        ("privileges", json!({"path": "/bin/su"})),
        ("calls", json!({"count": 2, "name": "swapon"})),
        ("saving", json!({"rule": "small-writes"})),
        ("changed_file", json!({"path": "/a"})),
        ("experiment", json!({"id": "sync"})),
        ("language", json!({"name": "Go"})),
        ("file", json!({"path": "/a"})),
        ("latency", json!({"percentile": "p99"})),
        ("loops", json!({"targets": ["host", "xfs"]})),
        ("on_machine", json!({"machine": "web1", "what": "times"})),
        ("projections", json!({"target": "host"})),
        (
            "row_time",
            json!({"experiment": "copy", "row": "cp, 1 MiB"}),
        ),
        ("requests_for", json!({"filesystem": "nfs4"})),
        ("rows_of", json!({"machine": "web1"})),
        ("targets", json!({"names": ["ext4", "xfs"]})),
    ];
    for what in [
        json!({"case": "o_dsync"}),
        json!({"mounts": ["noatime", "lazytime"]}),
        json!("cold_source"),
        json!("device_limit"),
        json!("direct_latency"),
        json!("durable_bytes"),
    ] {
        samples.push(("on_target", json!({"what": what, "target": "host"})));
    }
    for of in variants::<Countable>() {
        samples.extend([1, 1204].map(|count| ("count", json!({"count": count, "of": of}))));
    }
    for (at, of) in variants::<Listed>().into_iter().enumerate() {
        samples.push((
            "listed",
            json!({"of": of, "first": ["/a", "/b"], "more": at % 2}),
        ));
    }
    let all = each::<Missing>(&samples);
    insta::assert_snapshot!(lines(all.iter().map(missing)));
}

#[test]
fn what_contradicts() {
    let laws = each::<Law>(&[]);
    let judged = laws.iter().map(|law| Judged {
        law: *law,
        ours: Amount::Count(3),
        witness: Amount::Count(1204),
        holds: false,
    });
    insta::assert_snapshot!(lines(judged.map(|judged| broken(&judged))));
    let reasons = laws.iter().map(|law| reason(&Reason::BrokenLaw(*law)));
    insta::assert_snapshot!(lines(reasons));
}

#[test]
fn why_it_is_missing() {
    let mut samples = vec![
        ("error", json!("EPERM")),
        ("defect", json!("an index")),
        ("not_installed", json!("ruby")),
        ("broken_law", json!("calls")),
        (
            "history_full",
            json!({"files": 1204, "names": 2, "name_changes": 3}),
        ),
        ("no_room_in_tables", json!({"calls": 7})),
        ("addresses_unread", json!({"defect": "an index"})),
        ("exit_unreported", json!("scanned")),
        ("exit_unreported", json!("gone")),
        ("exit_unreported", json!("uncounted")),
        ("calls_summed", json!({"calls": 1})),
        ("calls_summed", json!({"calls": 1204})),
        ("counts_too_low", json!({"events": 7})),
        ("disturbed", json!({"requests": 1204, "syncs": 7})),
        ("events_lost", json!({"events": 1})),
        ("events_lost", json!({"events": 1204})),
        (
            "threads_summed",
            json!({
                "rows": 1024, "calls": 1204, "on_cpu_ns": 1_500_000_000, "time_ns": 250_000,
                "read_bytes": 4096, "written_bytes": 10_000_000,
            }),
        ),
        ("differs", json!("absent")),
        ("differs", json!("not_in_log")),
        ("differs", json!("target")),
        ("differs", json!({"bytes": {"from": 1, "to": 9}})),
        (
            "differs",
            json!({"kind": {"file": "directory", "log": "file"}}),
        ),
        ("differs", json!({"length": {"file": 1, "log": 2}})),
        ("differs", json!({"mode": {"file": 420, "log": 384}})),
        ("differs", json!({"not_zero_after": {"byte": 5}})),
        ("differs", json!({"not_zero_at": {"byte": 5}})),
        (
            "misfit",
            json!("operation 7 unlinks a name that is not there"),
        ),
        ("over_limit", json!({"limit_bytes": 1000, "bytes": 2000})),
        ("read_back", json!("it ends early")),
        ("ended_with", json!({"exit_code": 3})),
        (
            "incomplete_side",
            json!({"side": "base", "why": "not_fully_observed"}),
        ),
        (
            "not_in_file",
            json!({"file": "a.json", "experiment": "sync"}),
        ),
        ("one_run_each", json!({"remedy": true})),
        ("one_run_each", json!({"remedy": false})),
        (
            "cached_no_device",
            json!({"target": "tmpfs", "filesystem": "tmpfs"}),
        ),
        ("not_verified", json!("overlay_passes")),
        ("cachestat_failed", json!("ENOSYS")),
        ("direct_refused", json!("EINVAL")),
        (
            "dontcache_refused",
            json!({"error": "EOPNOTSUPP", "needs_kernel": true}),
        ),
        (
            "dontcache_refused",
            json!({"error": "EIO", "needs_kernel": false}),
        ),
        ("fallocate_failed", json!("EOPNOTSUPP")),
        ("few_seconds", json!({"fewest": 3})),
        ("few_syncs", json!({"needed": 1000})),
        ("kept_in_memory", json!({"filesystem": "tmpfs"})),
        ("no_device", json!({"filesystem": "tmpfs"})),
        ("quick_only", json!({"target": "ext4"})),
        (
            "stayed_resident",
            json!({"resident_pages": 3, "pages": 256}),
        ),
        ("unsupported", json!({"error": "EOPNOTSUPP"})),
        ("observing_failed", json!("EIO")),
        (
            "not_saved",
            json!({"why": "it was interrupted", "thorough_s": null}),
        ),
        ("not_saved", json!({"why": "time was up", "thorough_s": 10})),
        ("not_used_before", json!({"first": ["/a"], "more": 0})),
        ("not_used_before", json!({"first": ["/a", "/b"], "more": 2})),
        ("not_listed", json!("EACCES")),
        ("not_opened", json!("EACCES")),
        ("proc_not_listed", json!("EACCES")),
        (
            "other_privileges",
            json!([
                {"process": 7, "program": "su"},
                {"process": 9, "program": "passwd"},
                {"process": 11, "program": "su"},
            ]),
        ),
    ];
    for call in variants::<gap::NotFollowed>() {
        samples.push(("not_followed", json!(call)));
    }
    let all = each::<Reason>(&samples);
    insta::assert_snapshot!(lines(all.iter().map(reason)));
}

#[test]
fn words_come_into_json_and_are_not_read_back() {
    install();
    let gap = Gap::new(Missing::Times, Reason::OneTimed);
    let json = serde_json::to_value(&gap).unwrap();
    let expected = json!({
        "what": "times",
        "why": "only one of the two has timed runs (trace --runs)",
        "code": {"what": "times", "why": "one_timed"},
    });
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<Gap>(json).unwrap(), gap);
}
