//! The built-in table of devices, with the source of every figure, and a device as typed: a name of the table, or
//! its figures.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Figures;

/// A device of the built-in table.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Device {
    /// Name on the command line and in tables.
    pub name: &'static str,
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

pub static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("devices.json")).expect("tests read the devices")
});

/// Why a text is unknown device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// Neither a name nor figures.
    #[error(
        "unknown device {name:?}; give one of {}, or figures such as write_us=20,flush_us=800",
        known()
    )]
    Unknown { name: String },
    #[error("unknown key {key:?}; a device has iops, write_us and flush_us")]
    Key { key: String },
    #[error("{key} is given twice")]
    Twice { key: &'static str },
    /// No number, or one that makes no sense.
    #[error("{key}={value}: it is not a {} number", if *.key == "flush_us" { "finite" } else { "finite positive" })]
    Value {
        key: &'static str,
        /// The text after `=`.
        value: String,
    },
    /// A figure that cannot be done without.
    #[error(
        "{missing} is missing: give write_us or iops, and flush_us (0 without a volatile cache)"
    )]
    Missing { missing: &'static str },
}

const KEYS: [&str; 3] = ["iops", "write_us", "flush_us"];

fn known() -> String {
    let names: Vec<&str> = DEVICES.iter().map(|device| device.name).collect();
    names.join(", ")
}

/// Parses `nvme-consumer`, or `iops=…,write_us=…,flush_us=…`. Without `write_us` a
/// write takes `1 / iops`, as with one request at a time.
pub fn parse_device(text: &str) -> Result<Figures, DeviceError> {
    if let Some(device) = DEVICES.iter().find(|device| device.name == text) {
        return Ok(device.figures());
    }
    if !text.contains('=') {
        return Err(DeviceError::Unknown {
            name: text.to_owned(),
        });
    }
    let [iops, write_us, flush_us] = figures(text)?;
    let write_us = write_us.or(iops.map(|iops| 1e6 / iops));
    let missing = |missing| DeviceError::Missing { missing };
    Ok(Figures {
        name: text.to_owned(),
        write_s: write_us.ok_or(missing("write_us"))? * 1e-6,
        flush_s: flush_us.ok_or(missing("flush_us"))? * 1e-6,
        iops,
        source: "given on the command line".to_owned(),
        assumption: None,
    })
}

/// The figures in the order of [`KEYS`].
fn figures(text: &str) -> Result<[Option<f64>; 3], DeviceError> {
    let mut found = [None; 3];
    for part in text.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let (key, place) = KEYS
            .into_iter()
            .zip(&mut found)
            .find(|(known, _)| *known == key.trim())
            .ok_or_else(|| DeviceError::Key {
                key: key.to_owned(),
            })?;
        let number: Option<f64> = value.trim().parse().ok();
        let sensible = |number: &f64| {
            number.is_finite() && (*number > 0.0 || (key == "flush_us" && *number >= 0.0))
        };
        let number = number.filter(sensible).ok_or_else(|| DeviceError::Value {
            key,
            value: value.to_owned(),
        })?;
        if place.replace(number).is_some() {
            return Err(DeviceError::Twice { key });
        }
    }
    Ok(found)
}

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

    #[test]
    fn names_and_figures() {
        assert_eq!(parse_device("gp3").unwrap().iops, Some(3000.0));
        let own = parse_device("write_us=20, flush_us=800").unwrap();
        assert!((own.write_s - 20e-6).abs() < 1e-12 && (own.flush_s - 800e-6).abs() < 1e-12);
        let own = parse_device("iops=200,flush_us=0").unwrap();
        assert!((own.write_s - 5e-3).abs() < 1e-12);
        assert_eq!(own.iops, Some(200.0));
    }

    #[test]
    fn nonsense_is_told_with_a_remedy() {
        for (text, word) in [
            ("ramdisk", "hdd-7200, sata-ssd"),
            ("", "unknown device"),
            ("speed=3", "iops, write_us and flush_us"),
            ("write_us=1,write_us=2,flush_us=0", "twice"),
            ("write_us=fast,flush_us=0", "positive number"),
            ("write_us=-1,flush_us=0", "positive number"),
            ("write_us=0,flush_us=0", "positive number"),
            ("write_us=inf,flush_us=0", "positive number"),
            ("write_us=1,flush_us=-2", "not a finite number"),
            ("write_us=1", "flush_us is missing"),
            ("flush_us=1", "write_us is missing"),
            ("write_us=1,flush_us", "not a finite number"),
            ("write_us=1,flush_us=1,", "unknown key"),
        ] {
            let error = parse_device(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
