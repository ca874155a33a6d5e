//! Operation logs of runs that were disturbed.

use std::fs::File;
use std::path::Path;

use iostrata_core::record::{Completeness, ReadError, Reader};

use crate::trials::{Failure, Fault, holds};

/// A log that is there can be read up to its end, or up to where it was cut off. One that says that
/// it is complete has its end.
pub(crate) fn check(
    path: &Path,
    was_killed: bool,
    what: &dyn Fn() -> String,
) -> Result<(), Failure> {
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let cut_off = |error: ReadError| match error {
        ReadError::Truncated { .. } | ReadError::NotALog if was_killed => Ok(false),
        error => Err(Failure::new(Fault::Half, format!("{error}: {}", what()))),
    };
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return cut_off(error).map(drop),
    };
    let is_whole = loop {
        match reader.next_entry() {
            Ok(Some(_)) => {}
            Ok(None) => break true,
            Err(error) => break cut_off(error)?,
        }
    };
    let says_whole = matches!(reader.completeness(), Completeness::Complete);
    holds(is_whole || !says_whole, Fault::Code, || {
        format!("a log that was cut off is complete: {}", what())
    })
}
