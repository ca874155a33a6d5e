//! Whether there is room for the files and for those who read them.

use std::fs;

use iostrata_core::bytes;
use iostrata_core::page_cache::{Case, RANDOM_READ_BYTES, Reader};

use super::settings::{copies, needed_bytes, usage};
use crate::error::LabError;
use crate::target::{Target, check_room};

/// Fails before anything is written if a target or the memory could not take the cases.
pub(super) fn check(cases: &[Case], targets: &[Target]) -> Result<(), LabError> {
    if cases.is_empty() || targets.is_empty() {
        return Err(usage(
            "nothing to measure: give at least one state, reader, size and file system",
        ));
    }
    check_room(targets, needed_bytes(cases))?;
    check_memory(cases)
}

/// The file must fit the page cache beside the buffers of the process that reads it:
/// otherwise warm is not to be had.
fn check_memory(cases: &[Case]) -> Result<(), LabError> {
    let buffers = |case: &Case| match case.reader {
        _ if copies(case) => 2 * case.size_bytes,
        Reader::Mmap => 0,
        Reader::PreadRandom => RANDOM_READ_BYTES,
        _ => case.size_bytes,
    };
    let needed = cases
        .iter()
        .map(|case| case.size_bytes.saturating_add(buffers(case)));
    let needed_bytes = needed.max().unwrap_or(0);
    let available = fs::read_to_string("/proc/meminfo")
        .ok()
        .as_deref()
        .and_then(available_bytes);
    match available {
        Some(available) if available < needed_bytes => Err(LabError::NoMemory(format!(
            "not enough memory: the largest case needs {} for the file in the cache and the \
             buffers, and {} are available; choose a smaller --size",
            bytes::short(needed_bytes),
            bytes::short(available)
        ))),
        _ => Ok(()),
    }
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use iostrata_core::page_cache::{Parse, State};

    use super::*;

    #[test]
    fn memory_that_is_not_there_is_refused_before() {
        let huge = Case {
            state: State::Warm,
            reader: Reader::Read,
            size_bytes: 1 << 60,
            parse: Parse::None,
        };
        let error = check_memory(&[huge]).unwrap_err();
        assert!(
            !error.is_usage() && error.to_string().contains("--size"),
            "{error}"
        );
        assert_eq!(
            available_bytes("MemFree: 1 kB\nMemAvailable:   5 kB\n"),
            Some(5120)
        );
        assert_eq!(available_bytes("MemFree: 1 kB\n"), None);
    }
}
