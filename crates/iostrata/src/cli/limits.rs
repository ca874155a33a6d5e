//! Limits for reading an operation log.

use clap::Args;
use iostrata_core::bytes;
use iostrata_core::record::Limits;

#[derive(Debug, Clone, Args)]
pub(crate) struct LogLimits {
    /// Most bytes that an operation log may expand to, counting payload each time it is referenced,
    /// and paths
    #[arg(long, value_name = "SIZE", default_value = "64GiB", value_parser = bytes::parse)]
    pub(crate) log_expands: u64,

    /// Most memory for reading an operation log
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
