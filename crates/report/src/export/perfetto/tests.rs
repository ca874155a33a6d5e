use std::collections::HashMap;

use iostrata_core::op::FileId;
use iostrata_core::record::{Change, Durability, FileKind, Operation, Place};
use iostrata_core::trace::timeline::{CallSeries, Purpose, Timeline};
use iostrata_core::trace::{FileHistory, Happened, TaskRow};
use serde_json::{Value, json};

use super::*;
use crate::format::is_printable;
use crate::view::trace::fixture;

const NODE: FileId = FileId {
    device: 1,
    inode: 7,
    generation: 0,
};

fn synced() -> Change {
    Change::Synced {
        node: Some(NODE),
        description: None,
        scope: Durability::Data,
    }
}

fn logged(
    thread: u32,
    call: &'static str,
    (started_ns, took_ns): (u64, u64),
    change: Change,
) -> Logged {
    Logged {
        result: 1,
        recording: 1,
        path: Some(b"/srv/\xff\"</script>\n".to_vec()),
        other_path: None,
        payload_blake3: None,
        operation: Operation {
            id: 3,
            process: 10,
            thread,
            started_ns,
            took_ns,
            call: call.into(),
            outcome: Ok(0),
            change,
        },
    }
}

fn events(result: Option<&TraceResult>, operations: Vec<Logged>) -> Vec<Value> {
    let mut text = Vec::new();
    write(result, &mut operations.into_iter(), &mut text).unwrap();
    let shown = String::from_utf8(text.clone()).unwrap();
    let mut shown = shown.chars();
    assert!(shown.all(|char| char == '\n' || is_printable(char)));
    let read: Value = serde_json::from_slice(&text).unwrap();
    let events = read["traceEvents"].as_array().unwrap().clone();
    for event in &events {
        check(event);
    }
    events
}

/// The fields that the format requires for every event of its phase.
fn check(event: &Value) {
    let phase = event["ph"].as_str().unwrap();
    assert!(event["name"].is_string(), "{event}");
    assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
    assert_eq!(event["ts"].is_number(), phase != "M", "{event}");
    assert_eq!(event["dur"].is_number(), phase == "X", "{event}");
    assert_eq!(
        event["id"].is_string(),
        matches!(phase, "b" | "e"),
        "{event}"
    );
    assert_eq!(event["s"] == "t", phase == "i", "{event}");
    if phase == "C" {
        let values = event["args"].as_object().unwrap();
        assert!(values.values().all(Value::is_number), "{event}");
    }
    assert!(["X", "b", "e", "i", "C", "M"].contains(&phase), "{event}");
}

fn of_phase<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

#[test]
fn a_run_without_anything_has_its_name_and_no_time() {
    assert_eq!(events(None, Vec::new()), Vec::<Value>::new());
    let events = events(Some(&fixture::empty()), Vec::new());
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["args"]["name"], "the run: ./app --fast two words");
}

#[test]
fn a_call_is_a_slice_with_its_own_times() {
    let calls = vec![
        logged(11, "fdatasync", (1_000_000_001, 2_999), synced()),
        logged(12, "fdatasync", (1_000_000_500, 1_000), synced()),
        logged(11, "fdatasync", (1_000_003_000, 7), synced()),
    ];
    let events = events(None, calls);
    let first = &events[0];
    assert_eq!(
        *first,
        json!({
            "ph": "X", "cat": "sync", "name": "fdatasync", "pid": 10, "tid": 11,
            "ts": 1_000_000.001, "dur": 2.999,
            "args": {
                "operation": 3, "change": "synced", "path": "/srv/\u{fffd}\"</script>\n",
                "path_hex": "2f7372762fff223c2f7363726970743e0a", "durability": "data",
                "returned": 0,
            },
        })
    );
    // Slices of a thread follow one another.
    let mut ends: HashMap<u64, f64> = HashMap::new();
    for slice in of_phase(&events, "X") {
        let (start, took) = (
            slice["ts"].as_f64().unwrap(),
            slice["dur"].as_f64().unwrap(),
        );
        let end = ends.insert(slice["tid"].as_u64().unwrap(), start + took);
        assert!(end.is_none_or(|end| end <= start), "{slice}");
    }
    assert_eq!(ends.len(), 2);
}

#[test]
fn what_is_no_call_of_its_own_is_no_slice() {
    let found = Change::Found {
        node: NODE,
        kind: FileKind::Regular,
        place: Place::Nowhere,
        mode: None,
        size_bytes: 1,
        contents: None,
    };
    let touched = Change::Touched {
        node: NODE,
        offset: 0,
        bytes: 4096,
    };
    let events = events(
        None,
        vec![
            logged(11, "openat", (5_000, 0), found),
            logged(11, "page fault", (6_000, 0), touched),
            logged(11, "copy_file_range", (7_000, 900), synced()),
            logged(11, "copy_file_range", (7_000, 900), synced()),
        ],
    );
    let told: Vec<(&str, &str)> = events
        .iter()
        .map(|event| {
            (
                event["ph"].as_str().unwrap(),
                event["name"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [("i", "page fault"), ("X", "copy_file_range")]);
}

/// Slices of a thread must nest; requests of a ring need not.
#[test]
fn requests_beside_a_call_are_no_slices_of_the_thread() {
    let events = events(
        None,
        vec![
            logged(11, "write", (1_000, 1_000), synced()),
            logged(11, "io_uring.fsync", (3_000, 9_000), synced()),
            logged(11, "write", (4_000, 1_000), synced()),
            logged(11, "fsync", (4_500, 2_000), synced()),
        ],
    );
    assert_eq!(of_phase(&events, "X").len(), 2);
    let (begins, ends) = (of_phase(&events, "b"), of_phase(&events, "e"));
    let times = |events: &[&Value]| -> Vec<f64> {
        events
            .iter()
            .map(|event| event["ts"].as_f64().unwrap())
            .collect()
    };
    assert_eq!(times(&begins), [3.0, 4.5]);
    assert_eq!(times(&ends), [12.0, 6.5]);
    let ids: Vec<_> = begins
        .iter()
        .zip(&ends)
        .map(|(b, e)| (&b["id"], &e["id"]))
        .collect();
    assert!(ids.iter().all(|(begin, end)| begin == end), "{ids:?}");
    assert_ne!(ids[0].0, ids[1].0);
}

fn run() -> TraceResult {
    let mut result = fixture::empty();
    result.started_ns = 2_000_000;
    result.wall_s = 0.004;
    result.bytes.dirty_at_exit_bytes = Some(4096);
    let task = |thread, ended_s| TaskRow {
        thread,
        process: 10,
        name: "a\u{1b}[31m\"b\u{202e}\u{9b}".to_owned(),
        started_s: 0.001,
        ended_s,
        ..TaskRow::default()
    };
    result.tasks = vec![task(10, Some(0.003)), task(11, None)];
    result.timeline = Some(Timeline {
        bucket_s: 0.002,
        calls: vec![CallSeries {
            group: Purpose::Write,
            counts: vec![0, 4, 4, 2],
            bytes: vec![0; 4],
            time_s: vec![0.0; 4],
        }],
        requests: None,
        flushes: None,
        shared: false,
    });
    let mut file = fixture::full().files[0].clone();
    file.history = Some(Box::new(FileHistory {
        syncs: Happened {
            count: 9,
            took_ns: 1,
            first_ns: vec![2_500_000, 2_600_000],
        },
        ..FileHistory::default()
    }));
    result.files = vec![file];
    result
}

#[test]
fn threads_have_names_and_lives() {
    let events = events(Some(&run()), Vec::new());
    let names: Vec<_> = of_phase(&events, "M")
        .iter()
        .map(|event| {
            (
                event["name"].clone(),
                event["tid"].clone(),
                event["args"]["name"].clone(),
            )
        })
        .filter(|(_, thread, _)| *thread == 10 || *thread == 11)
        .collect();
    let hostile = json!("a\u{1b}[31m\"b\u{202e}\u{9b}");
    assert_eq!(
        names,
        [
            (json!("process_name"), json!(10), hostile.clone()),
            (json!("thread_name"), json!(10), hostile.clone()),
            (json!("thread_name"), json!(11), hostile),
        ]
    );
    let begins: Vec<_> = of_phase(&events, "b")
        .iter()
        .map(|event| event["ts"].clone())
        .collect();
    assert_eq!(begins, [json!(3000.0), json!(3000.0)]);
    // The one that outlived the observation has no end.
    let ends: Vec<_> = of_phase(&events, "e")
        .iter()
        .map(|event| (event["tid"].clone(), event["ts"].clone()))
        .collect();
    assert_eq!(ends, [(json!(10), json!(5000.0))]);
}

#[test]
fn sums_over_buckets_are_rates_from_the_begin_of_the_bucket() {
    let events = events(Some(&run()), Vec::new());
    let counters: Vec<(&str, f64, f64)> = of_phase(&events, "C")
        .iter()
        .map(|event| {
            let value = event["args"].as_object().unwrap().values().next().unwrap();
            let at = event["ts"].as_f64().unwrap();
            (event["name"].as_str().unwrap(), at, value.as_f64().unwrap())
        })
        .collect();
    // 4 calls in 2 ms; a counter that is always 0 has no track.
    assert_eq!(
        counters,
        [
            ("write calls: calls/s", 2000.0, 0.0),
            ("write calls: calls/s", 4000.0, 2000.0),
            ("write calls: calls/s", 8000.0, 1000.0),
            ("dirty at exit: bytes", 6000.0, 4096.0),
        ]
    );
}

#[test]
fn the_first_moments_of_a_file_are_instants() {
    let events = events(Some(&run()), Vec::new());
    let moments: Vec<_> = of_phase(&events, "i")
        .iter()
        .map(|event| (event["name"].clone(), event["ts"].clone()))
        .collect();
    assert_eq!(
        moments,
        [
            (json!("syncs"), json!(2500.0)),
            (json!("syncs"), json!(2600.0))
        ]
    );
}
