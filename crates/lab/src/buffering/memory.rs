//! System memory around a run, as `free -w` divides it.

use std::fs;
use std::path::Path;

use iostrata_core::buffering::Memory;

use crate::engine::residency;

/// Memory now; `None` when `/proc/meminfo` cannot be read.
///
/// `device` is the block device of the file system, whose pages hold metadata. `cachestat`(2)
/// counts them, which the kernel refuses to users who may not write to the device.
pub(super) fn read(device: Option<&Path>) -> Option<Memory> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let device_pages_bytes = device.and_then(resident_bytes);
    Some(Memory {
        device_pages_bytes,
        ..parse(&text)?
    })
}

/// Bytes of a file that are in the page cache; `None` when the kernel does not report them.
pub(super) fn resident_bytes(path: &Path) -> Option<u64> {
    Some(residency(path).ok()?.resident_bytes())
}

fn parse(meminfo: &str) -> Option<Memory> {
    let field = |name: &str| {
        let rest = meminfo
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kib: u64 = rest.trim().strip_suffix(" kB")?.parse().ok()?;
        kib.checked_mul(1024)
    };
    Some(Memory {
        dirty_bytes: field("Dirty")?,
        writeback_bytes: field("Writeback")?,
        buffers_bytes: field("Buffers")?,
        cache_bytes: field("Cached")?.checked_add(field("SReclaimable")?)?,
        device_pages_bytes: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       16 kB\nBuffers:            3 kB\nCached:     20 kB\n\
        SwapCached:     900 kB\nDirty:              4 kB\nWriteback:          5 kB\n\
        WritebackTmp:     800 kB\nSReclaimable:  6 kB\nHugePages_Total:       0\n";

    #[test]
    fn cache_is_cached_and_reclaimable_slab() {
        let expected = Memory {
            dirty_bytes: 4096,
            writeback_bytes: 5120,
            buffers_bytes: 3072,
            cache_bytes: 26 * 1024,
            device_pages_bytes: None,
        };
        assert_eq!(parse(MEMINFO), Some(expected));
    }

    #[test]
    fn an_absent_or_odd_field_makes_the_whole_unknown() {
        assert_eq!(parse(""), None);
        assert_eq!(
            parse(&MEMINFO.replace("Dirty:              4 kB", "Dirty: x kB")),
            None
        );
        assert_eq!(parse(&MEMINFO.replace("SReclaimable", "Other")), None);
    }

    #[test]
    fn what_was_written_is_resident() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, [1; 10_000]).unwrap();
        assert_eq!(resident_bytes(&path), Some(3 * 4096));
        assert!(read(None).is_some_and(|memory| memory.cache_bytes > 0));
    }
}
