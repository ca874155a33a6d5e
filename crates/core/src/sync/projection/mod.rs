//! Rates on other devices: a projection from the requests that one sync makes here and the
//! latencies of a device.
//!
//! The model is the simplest that the flushes of a file system demand: requests of one
//! cause are sent together and waited for once, causes come one after the other, and
//! each flush is awaited on its own. It leaves out what the processor needs, the
//! transfer time of large requests, and requests of others.

mod devices;

use serde::{Deserialize, Serialize};

use super::{PerSync, SyncResult, SyncRow, Write};
pub use devices::{DEVICES, Device, DeviceError, parse_device};

/// Requests of a cause below this many per sync are no part of every sync: it is
/// not waited for.
const EVERY_OTHER: f64 = 0.5;

/// Latencies of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "DeviceFigures"))]
pub struct Figures {
    pub name: String,
    /// Completion of one write of 4 KiB with no other request in flight, seconds.
    pub write_s: f64,
    /// Completion of one flush after such a write, seconds. 0 for a device without a
    /// volatile cache: the kernel sends it none.
    pub flush_s: f64,
    /// Most requests a second, where the device is limited to a number.
    pub iops: Option<f64>,
    /// Where the figures come from.
    pub source: String,
    /// Assumptions that are not in the source.
    pub assumption: Option<String>,
}

/// Latencies measured on one target, by direct writes of 4 KiB with and without a
/// sync after each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Calibration {
    /// Target it was measured on.
    pub target: String,
    /// Median time of a direct write, seconds.
    pub write_s: f64,
    /// Median time that a sync adds to it, seconds.
    pub flush_s: f64,
    /// Writes of either kind.
    pub samples: u64,
}

/// A rate that a device would give. **Not measured.**
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Projection {
    pub device: Figures,
    /// Row whose requests were taken, 1-based.
    pub row: usize,
    pub syncs_per_s: f64,
    /// What was measured on that device; only for a projection of the measured
    /// device itself, as a check of the model.
    pub measured_per_s: Option<f64>,
    /// Projected over measured rate, less 1.
    pub error: Option<f64>,
}

impl Calibration {
    /// The target's own device as a device to project.
    fn figures(&self) -> Figures {
        Figures {
            name: format!("this device ({})", self.target),
            write_s: self.write_s,
            flush_s: self.flush_s,
            iops: None,
            source: "measured here: direct writes of 4 KiB, with and without fdatasync".to_owned(),
            assumption: None,
        }
    }
}

impl Figures {
    /// Syncs a second of one writer whose syncs make these requests; `None` when they
    /// were not seen, or take no time at all.
    fn syncs_per_s(&self, per_sync: &PerSync) -> Option<f64> {
        let flushes = per_sync.requests.flushes?;
        let writes = per_sync.requests.each().into_iter();
        let writes = writes.filter(|(cause, _)| cause.is_write());
        let writes = writes.map(|(_, each)| each);
        let writes = writes.collect::<Option<Vec<f64>>>()?;
        let waits = writes.iter().map(|each| match *each {
            each if each >= 1.0 => 1.0,
            each if each >= EVERY_OTHER => each,
            _ => 0.0,
        });
        let time_s = waits.sum::<f64>() * self.write_s + flushes * self.flush_s;
        let requests: f64 = writes.iter().sum();
        let limit = self.iops.filter(|_| requests > 0.0);
        let limit = limit.map_or(f64::INFINITY, |iops| iops / requests);
        (time_s > 0.0).then(|| (1.0 / time_s).min(limit))
    }
}

/// A device's figures from median times of a direct write alone and with a sync.
pub fn calibrated(target: &str, write_s: f64, synced_s: f64, samples: u64) -> Calibration {
    Calibration {
        target: target.to_owned(),
        write_s,
        // Inside the noise a sync seems to save time.
        flush_s: (synced_s - write_s).max(0.0),
        samples,
    }
}

/// The largest error of a projection's check: with a larger one, nothing is projected to other
/// devices.
const LIMIT: f64 = 0.3;

/// By how much the projection of a row's own device misses, where that is more than 30 %: then
/// what other devices would give is withheld.
pub fn withheld(projections: &[Projection], row: usize) -> Option<f64> {
    let mut checks = projections.iter().filter(|one| one.row == row);
    checks.find_map(|one| one.error.filter(|error| error.abs() > LIMIT))
}

/// Projects each target's first row of one appending writer to every device, and,
/// as a check, every row of one writer to the device it was measured on. Where the check misses, the
/// row is not projected to others.
pub fn projections(result: &SyncResult, devices: &[Figures]) -> Vec<Projection> {
    let mut all = Vec::new();
    for target in &result.targets {
        let lone = |row: &&(usize, &SyncRow)| row.1.row.case.writers == 1;
        let of_target = |row: &(usize, &SyncRow)| row.1.row.target == target.name;
        let rows: Vec<(usize, &SyncRow)> = result.numbered().filter(of_target).collect();
        let mut calibrations = result.own.calibrations.iter();
        let own = calibrations.find(|calibration| calibration.target == target.name);
        if let Some(own) = own {
            let checks = rows.iter().filter(lone);
            all.extend(checks.filter_map(|row| project(&own.figures(), *row, true)));
        }
        let first = rows
            .iter()
            .filter(lone)
            .find(|(_, row)| row.row.case.write == Write::Append);
        let first = first.filter(|(row, _)| withheld(&all, *row).is_none());
        let others = devices.iter();
        all.extend(first.iter().flat_map(|row| {
            others
                .clone()
                .filter_map(|device| project(device, **row, false))
        }));
    }
    all
}

fn project(device: &Figures, (row, of): (usize, &SyncRow), check: bool) -> Option<Projection> {
    if of.disturbance().is_some() {
        return None;
    }
    let syncs_per_s = device.syncs_per_s(&of.per_sync)?;
    let measured_per_s = of.syncs_per_s.filter(|_| check);
    Some(Projection {
        device: device.clone(),
        row,
        syncs_per_s,
        measured_per_s,
        error: measured_per_s.map(|measured| syncs_per_s / measured - 1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::answers::fixture::{made, result};
    use super::*;
    use crate::evidence::RequestsPer;
    use crate::sync::SyncCall;
    use proptest::prelude::*;

    fn device(write_us: f64, flush_us: f64, iops: Option<f64>) -> Figures {
        Figures {
            name: "made".to_owned(),
            write_s: write_us * 1e-6,
            flush_s: flush_us * 1e-6,
            iops,
            source: "by hand".to_owned(),
            assumption: None,
        }
    }

    fn sync(requests: [f64; 6]) -> PerSync {
        let [data, journal, commit, metadata, unknown, flushes] = requests.map(Some);
        PerSync {
            requests: RequestsPer {
                data,
                journal,
                commit,
                metadata,
                unknown,
                flushes,
            },
            ..PerSync::default()
        }
    }

    #[test]
    fn every_cause_and_every_flush_is_waited_for() {
        // ext4: data, journal, commit, two flushes: 3 * 100 + 2 * 350 µs.
        let rate = device(100.0, 350.0, None).syncs_per_s(&sync([1.0, 1.0, 1.0, 0.0, 0.0, 2.0]));
        assert!(rate.is_some_and(|rate| (rate - 1000.0).abs() < 1e-6));
        // btrfs: seven metadata writes go together; rare causes are nobody's wait.
        let rate = device(100.0, 350.0, None).syncs_per_s(&sync([1.0, 0.01, 1.0, 7.0, 0.0, 2.0]));
        assert!(rate.is_some_and(|rate| (rate - 1000.0).abs() < 1e-6));
    }

    #[test]
    fn a_limit_on_requests_counts_writes_and_not_flushes() {
        let ext4 = sync([1.0, 1.0, 1.0, 0.0, 0.0, 2.0]);
        let rate = device(10.0, 0.0, Some(3000.0)).syncs_per_s(&ext4);
        assert!(rate.is_some_and(|rate| (rate - 1000.0).abs() < 1e-6));
    }

    #[test]
    fn what_was_not_seen_is_not_projected() {
        assert_eq!(
            device(1.0, 1.0, None).syncs_per_s(&PerSync::default()),
            None
        );
        let nothing = sync([0.0; 6]);
        assert_eq!(device(1.0, 1.0, None).syncs_per_s(&nothing), None);
    }

    /// The article's disk: 8.2 ms of seek and 4.16 ms of half a turn for each of two
    /// flushes allow some 40 syncs a second; it saw 24 to 30.
    #[test]
    fn the_articles_disk() {
        let disk = DEVICES
            .iter()
            .find(|device| device.name == "hdd-7200")
            .unwrap();
        let rate = disk
            .figures()
            .syncs_per_s(&sync([1.0, 1.0, 1.0, 0.0, 0.0, 2.0]));
        assert!(
            rate.is_some_and(|rate| (24.0..45.0).contains(&rate)),
            "{rate:?}"
        );
    }

    #[test]
    fn the_measured_device_is_a_check_and_the_others_are_not() {
        let made = vec![
            made(SyncCall::Fsync, Write::Append)
                .asking([1, 1, 1, 0, 2])
                .timed(&[250.0; 5]),
            made(SyncCall::Fsync, Write::Append)
                .asking([1, 0, 0, 0, 1])
                .writers(2)
                .timed(&[250.0; 5]),
        ];
        let mut result = result(made);
        result.own.calibrations = vec![calibrated("host", 20e-6, 90e-6, 1000)];
        let all = projections(&result, &[device(100.0, 350.0, None)]);
        // 3 * 20 + 2 * 70 µs = 200 µs are 5,000 a second; 4,000 were measured.
        assert_eq!(all.len(), 2, "two writers are not projected");
        assert!((all[0].syncs_per_s - 5000.0).abs() < 1e-6, "{all:?}");
        assert!(
            all[0]
                .error
                .is_some_and(|error| (error - 0.25).abs() < 1e-9)
        );
        assert_eq!((all[1].measured_per_s, all[1].error), (None, None));
    }

    #[test]
    fn a_projection_whose_check_misses_is_withheld() {
        let all = |measured_us: f64| {
            let row = made(SyncCall::Fsync, Write::Append).asking([1, 1, 1, 0, 2]);
            let mut result = result(vec![row.timed(&[measured_us; 5])]);
            result.own.calibrations = vec![calibrated("host", 20e-6, 90e-6, 1000)];
            projections(&result, &[device(100.0, 350.0, None)])
        };
        // 5,000 a second are projected; 4,000 and 3,800 were measured.
        assert_eq!(all(250.0).len(), 2);
        let missed = all(1e6 / 3800.0);
        assert_eq!(missed.len(), 1, "{missed:?}");
        let error = withheld(&missed, missed[0].row).unwrap();
        assert!((error - 5000.0 / 3800.0 + 1.0).abs() < 1e-9);
    }

    #[test]
    fn requests_of_others_are_not_projected() {
        let made = |others| {
            vec![
                made(SyncCall::Fsync, Write::Append)
                    .asking([1, 1, 1, 0, 2])
                    .among(others),
            ]
        };
        let devices = [device(100.0, 350.0, None)];
        assert_eq!(projections(&result(made(0)), &devices).len(), 1);
        assert!(projections(&result(made(900)), &devices).is_empty());
    }

    #[test]
    fn a_sync_that_saves_time_is_noise() {
        assert!(calibrated("host", 50e-6, 40e-6, 10).flush_s <= 0.0);
    }

    proptest! {
        #[test]
        fn a_slower_device_is_never_faster(
            requests in proptest::array::uniform6(0.0_f64..9.0),
            write_us in 1.0_f64..1e5,
            flush_us in 0.0_f64..1e5,
            more in 1.0_f64..10.0,
        ) {
            let quick = device(write_us, flush_us, None).syncs_per_s(&sync(requests));
            let slow = device(write_us * more, flush_us * more, None).syncs_per_s(&sync(requests));
            prop_assert_eq!(quick.is_some(), slow.is_some());
            prop_assert!(quick.zip(slow).is_none_or(|(quick, slow)| slow <= quick));
        }
    }
}
