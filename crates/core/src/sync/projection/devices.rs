//! The classes of devices, with the source of every figure.

use super::Figures;

/// A device of the built-in table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Device {
    /// Name on the command line and in tables.
    pub name: &'static str,
    pub class: &'static str,
    /// One write of 4 KiB, microseconds.
    pub write_us: f64,
    /// One flush, microseconds.
    pub flush_us: f64,
    /// Most requests a second, where the provider limits them.
    pub iops: Option<f64>,
    /// Where the figures come from.
    pub source: &'static str,
    pub assumption: Option<&'static str>,
}

impl Device {
    /// Its figures, for a projection.
    pub fn figures(&self) -> Figures {
        Figures {
            name: self.name.to_owned(),
            write_s: self.write_us * 1e-6,
            flush_s: self.flush_us * 1e-6,
            iops: self.iops,
            source: self.source.to_owned(),
            assumption: self.assumption.map(str::to_owned),
        }
    }
}

pub const DEVICES: [Device; 8] = [
    Device {
        name: "hdd-7200",
        class: "disk of 7,200 rpm with its write cache on",
        write_us: 100.0,
        flush_us: 12_360.0,
        iops: None,
        source: "Western Digital, Ultrastar DC HC310 OEM specification, 4.5.1: average seek for \
                 writes 8.2 ms, average rotational latency 4.16 ms \
                 (manualshive.com/en/manual/western-digital/ultrastar-dc-hc310/961649?page=23)",
        assumption: Some(
            "a write into the cache takes 0.1 ms, a flush one average seek and half a turn",
        ),
    },
    Device {
        name: "sata-ssd",
        class: "SATA SSD without power-loss protection",
        write_us: 52.0,
        flush_us: 3500.0,
        iops: None,
        source: "P. Zaitsev, Percona blog, 18 July 2018: 3.5 ms for a single-threaded fsync on a \
                 consumer SSD (percona.com/blog/2018/07/18/\
                 why-consumer-ssd-reviews-are-useless-for-database-performance-use-case)",
        assumption: Some(
            "that drive is a Samsung 960 PRO (NVMe): a SATA drive is assumed to flush no faster; \
             the write latency is that of sata-ssd-plp",
        ),
    },
    Device {
        name: "sata-ssd-plp",
        class: "SATA SSD with power-loss protection",
        write_us: 52.0,
        flush_us: 36.0,
        iops: None,
        source: "Intel SSD DC S4500/S4600 product specification: typical latency of random writes \
                 52 µs, of sequential writes 36 µs; enhanced power-loss data protection \
                 (manualzz.com/doc/48879893)",
        assumption: Some("a flush has nothing to do and takes as long as the shortest command"),
    },
    Device {
        name: "nvme-consumer",
        class: "NVMe SSD without power-loss protection",
        write_us: 20.0,
        flush_us: 1623.0,
        iops: None,
        source: "T. Poder, 27 May 2025, pg_test_fsync on a Samsung 990 PRO: 8 kB and fdatasync \
                 1,643 µs (tanelpoder.com/posts/using-pg-test-fsync-for-testing-low-latency-writes)",
        assumption: Some("20 µs of it are the write, as on nvme-enterprise"),
    },
    Device {
        name: "nvme-enterprise",
        class: "NVMe SSD with power-loss protection",
        write_us: 20.0,
        flush_us: 0.0,
        iops: None,
        source: "Lenovo product guide of the Intel P4500: latency of random writes 20 µs; T. \
                 Poder (see nvme-consumer): a Micron 7400 reports `write through`, so the kernel \
                 sends no flush",
        assumption: None,
    },
    Device {
        name: "gp3",
        class: "Amazon EBS gp3, default settings",
        write_us: 1000.0,
        flush_us: 0.0,
        iops: Some(3000.0),
        source: "Amazon EBS User Guide, General Purpose SSD volumes: single-digit millisecond \
                 latency, 3,000 IOPS included \
                 (docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html)",
        assumption: Some("1 ms, the lower end; no flush is sent, as for a disk without a cache"),
    },
    Device {
        name: "io2",
        class: "Amazon EBS io2 Block Express",
        write_us: 500.0,
        flush_us: 0.0,
        iops: Some(64_000.0),
        source: "Amazon EBS User Guide, EBS optimization: average latency under 500 µs for 16 KiB \
                 (docs.aws.amazon.com/ebs/latest/userguide/ebs-optimization.html)",
        assumption: Some(
            "500 µs, the upper end; 64,000 IOPS provisioned; no flush is sent, as for a disk \
             without a cache",
        ),
    },
    Device {
        name: "pd-ssd",
        class: "Google Cloud SSD persistent disk",
        write_us: 1000.0,
        flush_us: 0.0,
        iops: None,
        source: "Google Cloud, Configure disks to meet performance requirements: designed for \
                 single-digit millisecond latencies (cloud.google.com/compute/docs/disks/performance)",
        assumption: Some("1 ms, the lower end; no flush is sent, as for a disk without a cache"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_a_name_of_its_own_and_a_source() {
        for (index, device) in DEVICES.iter().enumerate() {
            assert!(
                !DEVICES[..index]
                    .iter()
                    .any(|other| other.name == device.name)
            );
            assert!(device.source.contains('.') && device.write_us > 0.0);
            assert!(!device.name.contains('='), "{}", device.name);
        }
    }
}
