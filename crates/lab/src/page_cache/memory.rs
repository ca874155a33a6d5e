//! Whether there is enough memory for the files and their readers.

use iostrata_core::bytes;
use iostrata_core::page_cache::{Case, RANDOM_READ_BYTES, Reader};
use iostrata_tracer::machine::available_memory_bytes;

use super::settings::copies;
use crate::error::LabError;

/// Fails unless the file fits into the page cache together with the buffers of the reading process:
/// otherwise a warm state is impossible.
pub(super) fn check_memory(cases: &[Case]) -> Result<(), LabError> {
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
    match available_memory_bytes() {
        Some(available) if available < needed_bytes => Err(LabError::NoMemory(format!(
            "not enough memory: the largest case needs {} for the file in the cache and the \
             buffers, and {} are available; choose a smaller --size",
            bytes::short(needed_bytes),
            bytes::short(available)
        ))),
        _ => Ok(()),
    }
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
    }
}
