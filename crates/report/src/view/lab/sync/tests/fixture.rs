//! A result made by hand: three cases on two file systems, one of them observed second
//! by second, and one percentile without enough samples.

use iostrata_core::doctor::Setting;
use iostrata_core::environment::{Backend, Device, Environment, Target};
use iostrata_core::evidence::{DeviceCounts, Evidence, RequestCount};
use iostrata_core::lab::{Experiment, Interference, LabResult, MeasuredTarget, Row, SCHEMA};
use iostrata_core::sync::{
    Bucket, Call, Case, Counted, DEVICES, Latency, Method, QUESTION, Second, SyncResult, SyncRow,
    Write, answers, calibrated, projections,
};
use iostrata_core::timing::{Sample, Timing};

const SYNCS: u64 = 1000;

fn target(name: &str, image: bool, journal: bool, disks: &[&str]) -> MeasuredTarget {
    let disk = |name: &&str| Device {
        name: (*name).to_owned(),
        model: None,
        rotational: Some(true),
        write_cache: Some("write back".to_owned()),
        fua: Some(false),
        scheduler: Some("mq-deadline".to_owned()),
    };
    MeasuredTarget {
        name: name.to_owned(),
        image,
        storage: Target {
            path: "/data".to_owned(),
            filesystem: "ext4".to_owned(),
            mount_options: "rw,relatime".to_owned(),
            journal: Some(journal),
            devices: disks.iter().map(disk).collect(),
        },
    }
}

/// Data, journal, commit, metadata requests of 4096 bytes, and flushes, per sync.
fn asking(per_sync: [u64; 5]) -> Evidence {
    let [data, journal, commit, metadata, flushes] = per_sync;
    let request = |each: u64| RequestCount {
        count: each * SYNCS,
        bytes: each * SYNCS * 4096,
        time_s: 0.0,
    };
    Evidence {
        device: Some(DeviceCounts {
            data: request(data),
            journal: request(journal),
            commit: request(commit),
            metadata: request(metadata),
            flushes: flushes * SYNCS,
            flush_time_s: 0.04 * flushes as f64,
            ..DeviceCounts::default()
        }),
        ..Evidence::default()
    }
}

fn row(target: &str, case: Case, times_us: [f64; 5], evidence: Evidence) -> SyncRow {
    let samples = times_us.map(|time_us| Sample {
        real_s: time_us * 1e-6 * SYNCS as f64,
        user_s: 0.001,
        system_s: 0.02,
    });
    let row = Row {
        case,
        target: target.to_owned(),
        timing: Timing::from_samples(&samples),
        evidence,
        interference: Interference {
            steal_s: Some(0.0),
            other_cpu_s: Some(0.5),
            other_requests: Some(0),
        },
        notes: Vec::new(),
    };
    let bucket = |(upto_us, count): (u64, u64)| Bucket {
        upto_ns: upto_us * 1000,
        count,
    };
    let buckets = [(70, 3000), (90, 1800), (150, 180), (900, 20)].map(bucket);
    let counted = Counted {
        syncs_per_run: SYNCS,
        latency: Latency::from_buckets(buckets.to_vec(), 880_000),
        observed_syncs: SYNCS,
        seconds: Vec::new(),
    };
    SyncRow::new(row, counted)
}

fn second(syncs: u64) -> Second {
    Second {
        lasted_s: 1.0,
        syncs,
        data: Some(syncs),
        journal: Some(0),
        commit: Some(0),
        metadata: Some(syncs + 3),
        flushes: Some(syncs),
    }
}

fn rows() -> Vec<SyncRow> {
    let overwrite = Case {
        call: Call::Fdatasync,
        write: Write::Overwrite,
        ..Case::ARTICLE
    };
    let eight = Case {
        writers: 8,
        ..Case::ARTICLE
    };
    let slow = [70.0, 70.5, 71.0, 70.2, 72.0];
    let fast = [45.0, 45.2, 44.8, 45.1, 46.0];
    let journal = [310.0, 312.0, 305.0, 311.0, 309.0];
    let mut rows = vec![
        row("host", Case::ARTICLE, slow, asking([1, 0, 0, 1, 1])),
        row("host", overwrite, fast, asking([1, 0, 0, 0, 1])),
        row("host", eight, [30.0; 5], asking([1, 0, 0, 1, 1])),
        row("ext4", Case::ARTICLE, journal, asking([1, 1, 1, 0, 2])),
        row("ext4", overwrite, slow, asking([1, 0, 0, 0, 1])),
        row("ext4", eight, [120.0; 5], asking([1, 1, 1, 0, 2])),
    ];
    let seconds = [9100, 13_000, 13_100, 12_900].map(second).to_vec();
    rows[0].series = iostrata_core::sync::Series::of(seconds);
    rows[1].row.notes =
        vec!["after 5 runs the interval is still 12 % of the median wide".to_owned()];
    rows
}

/// The whole result, with the answers and projections that follow from its rows.
pub(super) fn result() -> LabResult {
    let setting = |name: &str, value: &str| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        meaning: "made by hand".to_owned(),
    };
    let mut sync = SyncResult {
        question: QUESTION.to_owned(),
        targets: vec![
            target("host", false, false, &["vda"]),
            target("ext4", true, true, &["loop0", "vda"]),
        ],
        rows: rows(),
        calibrations: vec![
            calibrated("host", 24e-6, 60e-6, 1000),
            calibrated("ext4", 40e-6, 90e-6, 1000),
        ],
        projections: Vec::new(),
        answers: Vec::new(),
        settings: vec![
            setting("vm.dirty_background_ratio", "10 %"),
            setting("vm.dirty_expire_centisecs", "30 s"),
            setting("vda scheduler", "mq-deadline"),
        ],
        caveats: vec!["host is shared: requests of others are among them".to_owned()],
        missing: Vec::new(),
        method: Method {
            timing_runs: (5, 9),
            warm_up_runs: 6,
            interrupted: false,
            planned_rows: 6,
        },
    };
    let devices = [DEVICES[0].figures(), DEVICES[5].figures()];
    sync.projections = projections(&sync, &devices);
    sync.answers = answers(&sync);
    LabResult {
        schema: SCHEMA.to_owned(),
        environment: Environment {
            kernel: "6.18.0".to_owned(),
            cpus: 2,
            memory_bytes: 8 << 30,
            virtualization: Some("virtual machine (KVM)".to_owned()),
            target: sync.targets[0].storage.clone(),
            backend: Backend::Ebpf,
            iostrata_version: "0.0.0".to_owned(),
            ways: Vec::new(),
        },
        experiments: vec![Experiment::Sync(sync)],
    }
}

/// The only experiment.
pub(super) fn sync(result: &mut LabResult) -> &mut SyncResult {
    let Experiment::Sync(sync) = &mut result.experiments[0] else {
        panic!("another experiment")
    };
    sync
}
