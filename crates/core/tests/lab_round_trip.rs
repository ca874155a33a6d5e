//! A lab result survives being saved and read: the saved file is the source of truth.

use iostrata_core::answer::{Answer, Verdict};
use iostrata_core::buffering::{
    BufferingResult, BufferingRow, Case, Memory, MemoryChange, Mode, QUESTION, RuntimeBuffer,
    RuntimeCall, Seen, Step, Timeline,
};
use iostrata_core::environment::{Backend, Device, Environment, Storage};
use iostrata_core::evidence::{
    Cache, CallStats, DeviceCounts, DeviceRange, Evidence, Faults, RequestCount,
};
use iostrata_core::gap::{Gap, Missing, Reason, Stratum};
use iostrata_core::lab::{
    Experiment, Interference, LabResult, MeasuredTarget, Method, OwnCost, Row, SCHEMA,
};
use iostrata_core::timing::{Sample, Timing};
use serde_json::{Value, json};

fn target() -> Storage {
    Storage {
        path: "/data".into(),
        filesystem: "ext4".into(),
        mount_options: "rw,relatime".into(),
        journal: Some(true),
        devices: vec![Device {
            name: "vda".into(),
            model: None,
            rotational: Some(false),
            write_cache: Some("write back".into()),
            fua: None,
            scheduler: Some("none".into()),
        }],
    }
}

fn timing() -> Option<Timing> {
    // A parser with incorrect rounding returns the first one as ...688.
    Timing::from_samples(&[
        Sample {
            real_s: 0.907_303_832_202_868_9,
            user_s: 1.0 / 3.0,
            system_s: 0.1 + 0.2,
        },
        Sample {
            real_s: 1.000_000_000_000_000_2,
            user_s: 5e-324,
            system_s: 1.797e308,
        },
    ])
}

fn evidence() -> Evidence {
    let request = RequestCount {
        count: 10_000,
        bytes: 40_960_000,
        time_s: 0.1 + 0.7,
    };
    let fsync = CallStats {
        count: 10_000,
        errors: 1,
        bytes: 0,
        time_s: 2.0 / 3.0,
    };
    Evidence {
        syscalls: Some([("fsync".to_owned(), fsync)].into_iter().collect()),
        cache: Cache {
            dirtied_bytes: Some(u64::MAX),
            ..Cache::default()
        },
        device: Some(
            DeviceCounts {
                data: request,
                flushes: 20_000,
                ..DeviceCounts::default()
            }
            .into(),
        ),
        device_after_exit: Some(DeviceRange::default()),
        faults: Faults {
            minor: Some(7),
            major: None,
        },
        on_cpu_s: Some(0.25),
        blocked_s: None,
        lost_events: 3,
        missing: vec![Gap::new(
            Missing::Stratum(Stratum::Blocked),
            Reason::Error("not permitted".into()),
        )],
    }
}

fn rows() -> Vec<BufferingRow> {
    let seen = Row {
        case: Case {
            mode: Mode::Fsync,
            size_bytes: 1,
            count: 10_000,
        },
        target: "host".into(),
        timing: timing(),
        evidence: evidence(),
        interference: Interference {
            steal_s: Some(0.01),
            ..Interference::default()
        },
        notes: vec!["a note".into()],
    };
    let unseen = Row {
        case: Case {
            mode: Mode::GroupFsync,
            size_bytes: 100_000,
            count: 1,
        },
        timing: None,
        evidence: Evidence::default(),
        ..seen.clone()
    };
    let memory = Memory {
        dirty_bytes: 4096,
        device_pages_bytes: Some(8192),
        ..Memory::default()
    };
    let change = MemoryChange {
        before: Memory::default(),
        after: memory,
    };
    vec![
        BufferingRow::new(seen, Some(change)),
        BufferingRow::new(unseen, None),
    ]
}

fn runtime() -> RuntimeBuffer {
    let call = |name: &str, pieces: &[u64]| RuntimeCall {
        name: name.into(),
        pieces_bytes: pieces.to_vec(),
        returned_bytes: pieces.iter().sum(),
    };
    RuntimeBuffer::from_calls(
        ("Ruby".into(), "3.2.0".into(), "IO#write".into()),
        vec![call("write", &[11])],
        vec![call("writev", &[7168, 1024]), call("write", &[2048])],
        &[call("writev", &[8191, 1]), call("write", &[100])],
    )
}

fn result() -> LabResult {
    let step = |durable_bytes| Step {
        action: "write 1".into(),
        written_bytes: 3,
        visible_bytes: 3,
        durable_bytes,
    };
    LabResult {
        schema: SCHEMA.into(),
        environment: Environment {
            machine: "vda-2cpu-79c2".into(),
            kernel: "6.18.0".into(),
            cpus: 2,
            cpu_model: None,
            memory_bytes: 8 << 30,
            virtualization: None,
            target: target(),
            backend: Backend::Ebpf,
            iostrata_version: "0.1.0".into(),
            ways: Vec::new(),
        },
        parts: Vec::new(),
        experiments: vec![Experiment::Buffering(BufferingResult {
            question: QUESTION.into(),
            targets: vec![MeasuredTarget {
                name: "host".into(),
                image: false,
                storage: target(),
            }],
            rows: rows(),
            own: Seen {
                timelines: vec![Timeline {
                    mode: Mode::Flush,
                    target: "host".into(),
                    size_bytes: 3,
                    steps: vec![step(Some(0)), step(None)],
                }],
                runtimes: vec![runtime()],
            },
            answers: vec![Answer {
                claim: "a claim".into(),
                verdict: Verdict::Inconclusive,
                because: "a reason".into(),
                rows: vec![1, 2],
                row_ids: vec!["buffering/flush/1/10/host".into(), "another".into()],
                machine: Some("web1".into()),
            }],
            settings: None,
            caveats: vec!["a caveat".into()],
            missing: vec![Gap::new(
                Missing::Language {
                    name: "Java".into(),
                },
                Reason::NotInstalled("java".into()),
            )],
            method: Method {
                timing_runs: (5, 9),
                warm_up_runs: 1,
                own: OwnCost {
                    own_cost_ns: Some(0.3),
                },
                interrupted: true,
                planned_rows: 3,
            },
        })],
    }
}

#[test]
fn a_saved_result_reads_back_equal() {
    let result = result();
    let text = serde_json::to_string(&result).unwrap();
    assert_eq!(serde_json::from_str::<LabResult>(&text).unwrap(), result);
    let pretty = serde_json::to_string_pretty(&result).unwrap();
    assert_eq!(serde_json::from_str::<LabResult>(&pretty).unwrap(), result);
}

/// Names and shapes of the contract, where serde attributes determine them.
#[test]
fn the_json_has_the_names_of_the_contract() {
    let json = serde_json::to_value(result()).unwrap();
    let at = |pointer: &str| json.pointer(pointer).unwrap_or(&Value::Null).clone();
    let experiment = "/experiments/0";
    assert_eq!(at("/schema"), json!("iostrata.lab/1"));
    assert_eq!(at("/environment/backend"), json!("ebpf"));
    for (place, value) in [
        ("/id", json!("buffering")),
        ("/targets/0/filesystem", json!("ext4")),
        (
            "/rows/0/case",
            json!({"mode": "fsync", "size_bytes": 1, "count": 10_000}),
        ),
        ("/rows/0/per_write/flushes", json!(2.0)),
        ("/rows/0/evidence/cache/dirtied_bytes", json!(u64::MAX)),
        ("/rows/1/case/mode", json!("group_fsync")),
        ("/rows/1/timing", Value::Null),
        ("/rows/1/evidence/syscalls", Value::Null),
        ("/runtimes/0/buffer_bytes", json!(8192)),
        ("/runtimes/0/overflow_call", json!("writev [7168, 1024]")),
        ("/answers/0/verdict", json!("inconclusive")),
        ("/timelines/0/steps/1/durable_bytes", Value::Null),
        ("/method/timing_runs", json!([5, 9])),
    ] {
        assert_eq!(at(&format!("{experiment}{place}")), value, "{place}");
    }
    assert!(
        json.pointer("/experiments/0/rows/1/timing").is_some(),
        "null, not absent"
    );
}
