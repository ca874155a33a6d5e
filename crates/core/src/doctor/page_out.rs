//! A kernel that evicts cached pages before memory is short.

/// A DAMON thread that pages out seemingly unused file pages: proactive reclamation
/// (Documentation/mm/damon/design.rst, "DAMON-based Operation Schemes").
#[derive(Debug, Clone, PartialEq)]
pub struct PageOut {
    /// Its name, `kdamond.0`.
    pub thread: String,
    pub scheme: Scheme,
}

/// What is known about the activity of such a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Scheme {
    /// It evicts file pages.
    Files {
        /// How long pages must seem unused, seconds.
        unused_s: f64,
        /// Whether it waits until free memory is below a watermark.
        waits_for_low_memory: bool,
    },
    /// Only root may read its settings.
    Hidden,
}

impl PageOut {
    /// The consequence for measurements.
    pub fn in_words(&self) -> String {
        let thread = &self.thread;
        match self.scheme {
            Scheme::Files {
                unused_s,
                waits_for_low_memory,
            } => {
                let when = if waits_for_low_memory {
                    "when free memory falls below its watermark"
                } else {
                    "regardless of free memory"
                };
                format!(
                    "{thread} (DAMON) evicts file pages from the page cache that seem unused for \
                     {unused_s} s, {when}; it samples one page per region, so recently read pages \
                     may be evicted with their neighbours"
                )
            }
            Scheme::Hidden => format!(
                "{thread} (DAMON) monitors memory use, and may evict file pages that seem unused; \
                 run as root to see whether it does"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_when_pages_go() {
        let of = |scheme| {
            let thread = "kdamond.0".to_owned();
            PageOut { thread, scheme }.in_words()
        };
        let files = |waits_for_low_memory| Scheme::Files {
            unused_s: 30.0,
            waits_for_low_memory,
        };
        assert!(of(files(false)).contains("unused for 30 s, regardless of free memory"));
        assert!(of(files(true)).contains("when free memory falls below"));
        assert!(of(Scheme::Hidden).contains("run as root"));
    }
}
