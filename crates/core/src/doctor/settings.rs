//! Kernel and device settings as text.

use crate::bytes::short;

use super::{Queue, Setting, Stack};

/// `/proc/sys/vm/dirty_*`. Of each pair the value that is not 0 counts.
/// Source: Documentation/admin-guide/sysctl/vm.rst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WritebackSettings {
    /// `dirty_background_ratio`, per cent of available memory.
    pub background_ratio: Option<u64>,
    /// `dirty_background_bytes`.
    pub background_bytes: Option<u64>,
    /// `dirty_ratio`, per cent of available memory.
    pub ratio: Option<u64>,
    /// `dirty_bytes`.
    pub bytes: Option<u64>,
    /// `dirty_expire_centisecs`.
    pub expire_centisecs: Option<u64>,
    /// `dirty_writeback_centisecs`.
    pub writeback_centisecs: Option<u64>,
    /// `MemAvailable` of `/proc/meminfo`, approximately the base of the ratios.
    pub available_bytes: Option<u64>,
}

/// The settings that decide when bytes written under `stack` reach a device.
pub fn settings(stack: &Stack, writeback: &WritebackSettings) -> Vec<Setting> {
    let mut settings = Vec::new();
    settings.extend(threshold(
        ("vm.dirty_background_bytes", writeback.background_bytes),
        ("vm.dirty_background_ratio", writeback.background_ratio),
        writeback.available_bytes,
        "the kernel starts background write-back",
    ));
    settings.extend(threshold(
        ("vm.dirty_bytes", writeback.bytes),
        ("vm.dirty_ratio", writeback.ratio),
        writeback.available_bytes,
        "the kernel throttles writing programs",
    ));
    settings.extend(writeback.expire_centisecs.map(|value| {
        let meaning = "a dirty page is written back after at most this time, plus one wake-up";
        seconds("vm.dirty_expire_centisecs", value, meaning)
    }));
    settings.extend(writeback.writeback_centisecs.map(|value| {
        let meaning = match value {
            0 => "periodic write-back is off: old dirty pages stay until memory pressure or a sync",
            _ => "the flusher threads wake this often to write old dirty pages",
        };
        seconds("vm.dirty_writeback_centisecs", value, meaning)
    }));
    let mut seen = Vec::new();
    for layer in stack.layers.iter().filter(|layer| layer.charged) {
        if let Some(queue) = &layer.queue
            && !seen.contains(&layer.name.as_str())
        {
            seen.push(&layer.name);
            settings.extend(of_queue(&layer.name, queue));
        }
    }
    settings
}

fn threshold(
    bytes: (&str, Option<u64>),
    ratio: (&str, Option<u64>),
    available_bytes: Option<u64>,
    does: &str,
) -> Option<Setting> {
    if let Some(limit) = bytes.1.filter(|limit| *limit > 0) {
        let meaning = format!("above this {does}");
        return Some(setting(bytes.0, short(limit), meaning));
    }
    let percent = ratio.1?;
    let about = available_bytes.map_or_else(String::new, |bytes| {
        let share = u128::from(bytes) * u128::from(percent) / 100;
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        format!(", now about {}", short(share))
    });
    let meaning = format!("above this share of the available memory{about}, {does}");
    Some(setting(ratio.0, format!("{percent} %"), meaning))
}

fn seconds(name: &str, centisecs: u64, meaning: &str) -> Setting {
    setting(name, format!("{} s", centisecs as f64 / 100.0), meaning)
}

fn of_queue(disk: &str, queue: &Queue) -> Vec<Setting> {
    let of = |what: &str| format!("{disk} {what}");
    let mut settings = Vec::new();
    if let Some(cache) = &queue.write_cache {
        let meaning = match (cache.as_str(), queue.fua) {
            ("write back", Some(true)) => {
                "completed writes may be lost in a power cut until a flush, unless sent with FUA"
            }
            ("write back", _) => "completed writes may be lost in a power cut until a flush",
            _ => "completed writes are durable: the kernel sends no flushes",
        };
        settings.push(setting(&of("write_cache"), cache, meaning));
    }
    if let Some(fua) = queue.fua {
        let meaning = if fua {
            "a single write can be made durable without flushing the whole cache"
        } else {
            "the kernel turns a forced-unit-access write into a write and a flush"
        };
        let value = if fua { "yes" } else { "no" };
        settings.push(setting(&of("fua"), value, meaning));
    }
    settings.extend(queue.scheduler.as_ref().map(|name| {
        let meaning = if name == "none" {
            "requests go to the driver in arrival order"
        } else {
            "requests may be merged and reordered"
        };
        setting(&of("scheduler"), name, meaning)
    }));
    settings.extend(queue.read_ahead_bytes.map(|bytes| {
        let meaning = "sequential reads read ahead up to this much";
        setting(
            &of("read_ahead_kb"),
            format!("{} KiB", bytes >> 10),
            meaning,
        )
    }));
    settings.extend(queue.nr_requests.map(|count| {
        let meaning = "requests a hardware queue holds before submitters block";
        setting(&of("nr_requests"), count.to_string(), meaning)
    }));
    settings
}

fn setting(name: &str, value: impl Into<String>, meaning: impl Into<String>) -> Setting {
    Setting {
        name: name.to_owned(),
        value: value.into(),
        meaning: meaning.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_win_over_the_ratio() {
        let writeback = WritebackSettings {
            background_ratio: Some(10),
            background_bytes: Some(0),
            ratio: Some(20),
            bytes: Some(1 << 26),
            available_bytes: Some(1000 << 20),
            ..WritebackSettings::default()
        };
        let settings = settings(&Stack::default(), &writeback);
        let values: Vec<(&str, &str)> = settings
            .iter()
            .map(|s| (s.name.as_str(), s.value.as_str()))
            .collect();
        assert_eq!(
            values,
            [
                ("vm.dirty_background_ratio", "10 %"),
                ("vm.dirty_bytes", "64.0 MiB"),
            ]
        );
        assert!(
            settings[0].meaning.contains("now about 100.0 MiB,"),
            "{}",
            settings[0].meaning
        );
    }

    #[test]
    fn unread_settings_are_left_out() {
        assert_eq!(
            settings(&Stack::default(), &WritebackSettings::default()),
            []
        );
    }
}
