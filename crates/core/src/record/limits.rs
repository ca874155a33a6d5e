//! Limits for reading an operation log.
//!
//! A log can refer to the same payload any number of times, and is compressed: a kilobyte can
//! expand to terabytes.

/// Bounds for a reader of a log, and for what is built from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that the log expands to: payload, each time it is referred to, and paths.
    pub expanded_bytes: u64,
    /// Memory for data kept from the log, bytes: a tree, names, and the ends of recordings.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// About a minute of work, and the memory of ten million extents or names.
    fn default() -> Self {
        Self {
            expanded_bytes: 64 << 30,
            memory_bytes: 768 << 20,
        }
    }
}

/// A log exceeded its [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// It expands to more bytes.
    #[error("it expands to more than the limit of {limit_bytes} bytes of payload and paths")]
    Expanded { limit_bytes: u64 },
    /// It takes more memory.
    #[error("its contents need more than the limit of {limit_bytes} bytes of memory")]
    Memory { limit_bytes: u64 },
}

impl Limits {
    /// Fails when this much memory exceeds the limit.
    ///
    /// # Errors
    /// When it does.
    pub fn check_memory(&self, bytes: u64) -> Result<(), Exceeded> {
        let limit_bytes = self.memory_bytes;
        if bytes > limit_bytes {
            return Err(Exceeded::Memory { limit_bytes });
        }
        Ok(())
    }

    /// The same for expanded bytes.
    ///
    /// # Errors
    /// When they exceed the limit.
    pub fn check_expanded(&self, bytes: u64) -> Result<(), Exceeded> {
        let limit_bytes = self.expanded_bytes;
        if bytes > limit_bytes {
            return Err(Exceeded::Expanded { limit_bytes });
        }
        Ok(())
    }
}
