//! A kernel that evicts cached pages before memory is short.

/// A thread of DAMON that pages out file pages which seem unused: proactive reclamation
/// (Documentation/mm/damon/design.rst, "DAMON-based Operation Schemes").
#[derive(Debug, Clone, PartialEq)]
pub struct PageOut {
    /// Its name, `kdamond.0`.
    pub thread: String,
    /// What it does.
    pub scheme: Scheme,
}

/// What is known of the work of such a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Scheme {
    /// It takes file pages.
    Files {
        /// How long they have to seem unused, seconds.
        unused_s: f64,
        /// Whether it waits until free memory is below a mark.
        waits_for_low_memory: bool,
    },
    /// Its settings are root's to read.
    Hidden,
}

impl PageOut {
    /// What follows for who measures.
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
