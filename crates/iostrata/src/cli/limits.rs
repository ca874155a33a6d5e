//! What reading an operation log may come to.

use clap::Args;
use iostrata_core::bytes;
use iostrata_core::record::Limits;

#[derive(Debug, Clone, Args)]
pub(crate) struct LogLimits {
    /// Bytes that an operation log may expand to: payload each time it is referred to, and paths
    #[arg(long, value_name = "SIZE", default_value = "64GiB", value_parser = bytes::parse)]
    pub(crate) log_expands: u64,

    /// Memory that an operation log may take while it is read
    #[arg(long, value_name = "SIZE", default_value = "768MiB", value_parser = bytes::parse)]
    pub(crate) log_memory: u64,
}

impl LogLimits {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            expanded_bytes: self.log_expands,
            memory_bytes: self.log_memory,
        }
    }
}
