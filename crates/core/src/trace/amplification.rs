//! Bytes that the device wrote per byte that calls wrote, where that is meaningful.

use super::TraceResult;

impl TraceResult {
    /// Bytes that the device wrote per byte that calls wrote. `None` unless both concern the same
    /// bytes: the device's writes are known exactly, most of what the run dirtied was written while
    /// it ran, and nothing else was written as file contents.
    ///
    /// A program that never syncs leaves its bytes to write-back; meanwhile the device writes
    /// earlier bytes of others, unrelated to its own.
    pub fn amplification(&self) -> Option<f64> {
        let bytes = &self.bytes;
        let device = self.evidence.device?;
        let (written, dirtied) = (bytes.written_bytes, bytes.dirtied_bytes?);
        let dirty = bytes.dirty_at_exit_bytes?;
        let left = dirtied.saturating_sub(dirty);
        // A folio is dirtied as a whole, but only its dirty blocks are written.
        let is_written = dirty <= dirtied / 10 && device.data.bytes >= left.min(written) / 2;
        // Direct I/O dirties no page.
        let is_its_own = device.data.bytes <= dirtied.saturating_add(written);
        // Stores to a mapping are not bytes of calls.
        let is_mapped = self.files.iter().any(|file| {
            let history = file.history.as_deref();
            history.is_some_and(|history| history.mapped_to_write.is_any())
        });
        let is_known = self.other_calls == 0 && written > 0 && device.data.bytes > 0;
        (is_known && is_written && is_its_own && !is_mapped).then(|| {
            bytes
                .device_written_bytes
                .map(|all| all as f64 / written as f64)
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{DeviceCounts, DeviceRange, RequestCount};
    use crate::trace::fixture;
    use crate::trace::{Descent, FileHistory, Happened};

    /// 1,000 bytes written by calls, one page, and a journal of two.
    fn synced() -> TraceResult {
        let request = |count, bytes| RequestCount {
            count,
            bytes,
            time_s: 0.0,
        };
        let mut run = fixture::result();
        run.evidence.device = Some(DeviceCounts {
            data: request(1, 4096),
            journal: request(1, 8192),
            ..DeviceCounts::default()
        });
        run.bytes = Descent {
            written_bytes: 1000,
            dirtied_bytes: Some(4096),
            device_written_bytes: Some(12_288),
            dirty_at_exit_bytes: Some(0),
            ..Descent::default()
        };
        run
    }

    #[test]
    fn what_was_synced_is_amplified() {
        assert_eq!(synced().amplification(), Some(12.288));
    }

    #[test]
    fn bytes_of_others_are_no_amplification() {
        let mut shared = synced();
        let device = shared.evidence.device.take().unwrap();
        shared.evidence.device_shared = Some(Box::new(DeviceRange {
            at_least: DeviceCounts::default(),
            at_most: device,
        }));
        assert_eq!(shared.amplification(), None, "a range");
        let mut earlier = synced();
        if let Some(device) = &mut earlier.evidence.device {
            device.data.bytes = 1_321_000;
        }
        earlier.bytes.device_written_bytes = Some(1_321_000);
        assert_eq!(earlier.amplification(), None, "more than it made dirty");
    }

    #[test]
    fn what_is_still_dirty_or_was_removed_is_no_amplification() {
        let mut unpaid = synced();
        unpaid.bytes.dirty_at_exit_bytes = Some(4096);
        assert_eq!(unpaid.amplification(), None);
        let mut removed = synced();
        if let Some(device) = &mut removed.evidence.device {
            device.data = RequestCount::default();
        }
        assert_eq!(removed.amplification(), None, "metadata alone");
    }

    #[test]
    fn stores_to_a_mapping_are_no_writes() {
        let mut mapped = synced();
        let mut file = fixture::file("/srv/map");
        file.history = Some(Box::new(FileHistory {
            mapped_to_write: Happened {
                count: 1,
                ..Happened::default()
            },
            ..FileHistory::default()
        }));
        mapped.files = vec![file];
        assert_eq!(mapped.amplification(), None);
    }
}
