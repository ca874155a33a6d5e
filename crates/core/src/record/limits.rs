//! Limits for reading an operation log.
//!
//! A log can refer to the same payload any number of times, and is compressed: a kilobyte can
//! expand to terabytes.

/// Bounds of what one reader, and what is made of a log, takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that the log expands to: payload each time that it is referred to, and paths.
    pub expanded_bytes: u64,
    /// Memory for what is kept of the log, bytes: a tree, names, and how recordings ended.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// A minute or so of work, and the memory of ten million extents or names.
    fn default() -> Self {
        Self {
            expanded_bytes: 64 << 30,
            memory_bytes: 768 << 20,
        }
    }
}

/// A log came to more than its [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// It expands to more.
    #[error("it expands to more than the limit of {limit_bytes} bytes of payload and paths")]
    Expanded {
        /// [`Limits::expanded_bytes`].
        limit_bytes: u64,
    },
    /// It takes more memory.
    #[error("its contents need more than the limit of {limit_bytes} bytes of memory")]
    Memory {
        /// [`Limits::memory_bytes`].
        limit_bytes: u64,
    },
}

impl Limits {
    /// Fails when so much is more than may be kept.
    ///
    /// # Errors
    /// When it is.
    pub fn check_memory(&self, bytes: u64) -> Result<(), Exceeded> {
        let limit_bytes = self.memory_bytes;
        if bytes > limit_bytes {
            return Err(Exceeded::Memory { limit_bytes });
        }
        Ok(())
    }

    /// The same of what a log expands to.
    ///
    /// # Errors
    /// When it is more.
    pub fn check_expanded(&self, bytes: u64) -> Result<(), Exceeded> {
        let limit_bytes = self.expanded_bytes;
        if bytes > limit_bytes {
            return Err(Exceeded::Expanded { limit_bytes });
        }
        Ok(())
    }
}
