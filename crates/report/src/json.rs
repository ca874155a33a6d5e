//! Results as JSON: as they are saved and read again.
//!
//! The code that does this is made once, here: it is most of what the command line would
//! otherwise be compiled from.

use iostrata_core::cache::CacheResult;
use iostrata_core::compare::Comparison;
use iostrata_core::doctor::DoctorResult;
use iostrata_core::lab::LabResult;
use iostrata_core::trace::TraceResult;
use serde_json::Result;

/// A result that is saved as JSON.
pub trait Json: Sized {
    /// The text of a file, with its last newline.
    fn to_json(&self) -> Result<String>;

    /// The result in the bytes of a file.
    fn from_json(bytes: &[u8]) -> Result<Self>;
}

macro_rules! json {
    ($($result:ty: $write:path;)*) => {
        $(impl Json for $result {
            fn to_json(&self) -> Result<String> {
                $write(self).map(|text| text + "\n")
            }

            fn from_json(bytes: &[u8]) -> Result<Self> {
                serde_json::from_slice(bytes)
            }
        })*
    };
}

json! {
    LabResult: serde_json::to_string_pretty;
    DoctorResult: serde_json::to_string_pretty;
    Comparison: serde_json::to_string_pretty;
    // On one line: they have as many rows as a program has files.
    TraceResult: serde_json::to_string;
    CacheResult: serde_json::to_string;
}
