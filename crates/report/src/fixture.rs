//! Parts of results that tests build by hand and share.

use iostrata_core::environment::{Backend, Device, Environment, Storage};
use iostrata_core::evidence::{DeviceCounts, RequestCount};
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::lab::{Experiment, Interference, LabResult, MeasuredTarget, Row, SCHEMA};
use iostrata_core::timing::{Sample, Timing};

/// A gap with any words: only those that come from elsewhere can be any.
pub(crate) fn gap(what: impl Into<String>, why: impl Into<String>) -> Gap {
    let what = Missing::File { path: what.into() };
    Gap::new(what, Reason::Error(why.into()))
}

/// A disk of which only the name is known.
pub(crate) fn disk(name: &str) -> Device {
    Device {
        name: name.to_owned(),
        model: None,
        rotational: None,
        write_cache: None,
        fua: None,
        scheduler: None,
    }
}

/// ext4 with a journal.
pub(crate) fn storage(path: &str, mount_options: &str, devices: Vec<Device>) -> Storage {
    Storage {
        path: path.to_owned(),
        filesystem: "ext4".to_owned(),
        mount_options: mount_options.to_owned(),
        journal: Some(true),
        devices,
    }
}

pub(crate) fn measured(name: &str, image: bool, storage: Storage) -> MeasuredTarget {
    MeasuredTarget {
        name: name.to_owned(),
        image,
        storage,
    }
}

/// A machine with two CPUs whose kernel is observed.
pub(crate) fn environment(kernel: &str, memory_gib: u64, target: Storage) -> Environment {
    Environment {
        machine: "vda-2cpu-79c2".to_owned(),
        kernel: kernel.to_owned(),
        cpus: 2,
        cpu_model: None,
        memory_bytes: memory_gib << 30,
        virtualization: None,
        target,
        backend: Backend::Ebpf,
        iostrata_version: "0.1.0".to_owned(),
        ways: Vec::new(),
    }
}

/// Runs with these seconds, and their CPU time in user and kernel mode.
pub(crate) fn timing(times_s: &[f64], cpu_s: impl Fn(f64) -> (f64, f64)) -> Timing {
    let samples = times_s.iter().map(|real_s| {
        let (user_s, system_s) = cpu_s(*real_s);
        Sample {
            real_s: *real_s,
            user_s,
            system_s,
        }
    });
    Timing::from_samples(&samples.collect::<Vec<_>>()).unwrap()
}

/// A row of an undisturbed run that was not observed.
pub(crate) fn row<C>(case: C, target: &str, timing: Timing) -> Row<C> {
    Row {
        case,
        target: target.to_owned(),
        timing: Some(timing),
        evidence: iostrata_core::evidence::Evidence::default(),
        interference: Interference {
            steal_s: Some(0.0),
            other_cpu_s: Some(0.0),
            other_requests: Some(0),
        },
        notes: Vec::new(),
    }
}

pub(crate) fn requests(count: u64, bytes: u64) -> RequestCount {
    RequestCount {
        count,
        bytes,
        time_s: 0.0,
    }
}

/// Data, journal, commit, metadata requests of 4096 bytes, and flushes, for each of `records`.
pub(crate) fn asking(records: u64, per_record: [u64; 5]) -> DeviceCounts {
    let [data, journal, commit, metadata] = [0, 1, 2, 3].map(|cause| per_record[cause] * records);
    DeviceCounts {
        data: requests(data, data * 4096),
        journal: requests(journal, journal * 4096),
        commit: requests(commit, commit * 4096),
        metadata: requests(metadata, metadata * 4096),
        flushes: per_record[4] * records,
        ..DeviceCounts::default()
    }
}

pub(crate) fn lab(environment: Environment, experiment: Experiment) -> LabResult {
    LabResult {
        schema: SCHEMA.to_owned(),
        environment,
        parts: Vec::new(),
        experiments: vec![experiment],
    }
}
