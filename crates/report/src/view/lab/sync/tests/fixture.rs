//! A result made by hand: three cases on two file systems, one of them observed second
//! by second, and one percentile without enough samples.

use iostrata_core::doctor::Setting;
use iostrata_core::environment::{Device, Storage};
use iostrata_core::evidence::{DeviceCounts, Evidence, RequestsPer};
use iostrata_core::lab::{Experiment, LabResult, MeasuredTarget, Method};
use iostrata_core::sync::{
    Bucket, Case, Counted, DEVICES, Latency, Projected, QUESTION, Second, SyncCall, SyncResult,
    SyncRow, Write, answers, calibrated, projections,
};

use crate::fixture;

const SYNCS: u64 = 1000;

fn target(name: &str, image: bool, journal: bool, disks: &[&str]) -> MeasuredTarget {
    let disk = |name: &&str| Device {
        rotational: Some(true),
        write_cache: Some("write back".to_owned()),
        fua: Some(false),
        scheduler: Some("mq-deadline".to_owned()),
        ..fixture::disk(name)
    };
    let storage = Storage {
        journal: Some(journal),
        ..fixture::storage("/data", "rw,relatime", disks.iter().map(disk).collect())
    };
    fixture::measured(name, image, storage)
}

fn asking(per_sync: [u64; 5]) -> Evidence {
    Evidence {
        device: Some(
            DeviceCounts {
                flush_time_s: 0.04 * per_sync[4] as f64,
                ..fixture::asking(SYNCS, per_sync)
            }
            .into(),
        ),
        ..Evidence::default()
    }
}

fn row(target: &str, case: Case, times_us: [f64; 5], evidence: Evidence) -> SyncRow {
    let times_s = times_us.map(|time_us| time_us * 1e-6 * SYNCS as f64);
    let timing = fixture::timing(&times_s, |_| (0.001, 0.02));
    let mut row = fixture::row(case, target, timing);
    row.evidence = evidence;
    row.interference.other_cpu_s = Some(0.5);
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
        requests: RequestsPer {
            data: Some(syncs),
            journal: Some(0),
            commit: Some(0),
            metadata: Some(syncs + 3),
            unknown: Some(0),
            flushes: Some(syncs),
        },
    }
}

fn rows() -> Vec<SyncRow> {
    let overwrite = Case {
        call: SyncCall::Fdatasync,
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
        vec!["noisy: after 5 runs the interval spans 12 % of the median".to_owned()];
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
        own: Projected {
            calibrations: vec![
                calibrated("host", 24e-6, 60e-6, 1000),
                calibrated("ext4", 40e-6, 90e-6, 1000),
            ],
            projections: Vec::new(),
        },
        answers: Vec::new(),
        settings: Some(vec![
            setting("vm.dirty_background_ratio", "10 %"),
            setting("vm.dirty_expire_centisecs", "30 s"),
            setting("vda scheduler", "mq-deadline"),
        ]),
        caveats: vec!["host is shared: requests of others are among them".to_owned()],
        missing: Vec::new(),
        method: Method {
            timing_runs: (5, 9),
            warm_up_runs: 6,
            own: (),
            interrupted: false,
            planned_rows: 6,
        },
    };
    let devices = [DEVICES[0].figures(), DEVICES[5].figures()];
    sync.own.projections = projections(&sync, &devices);
    sync.answers = answers(&sync);
    let mut environment = fixture::environment("6.18.0", 8, sync.targets[0].storage.clone());
    environment.virtualization = Some("virtual machine (KVM)".to_owned());
    environment.iostrata_version = "0.0.0".to_owned();
    fixture::lab(environment, Experiment::Sync(sync))
}

/// The only experiment.
pub(super) fn sync(result: &mut LabResult) -> &mut SyncResult {
    let Experiment::Sync(sync) = &mut result.experiments[0] else {
        panic!("another experiment")
    };
    sync
}
