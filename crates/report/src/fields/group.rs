//! Column groups of tables.

/// Columns that tables show together. A field may be in several, and a table may show several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// The first table of each lab row's figures: times and rates.
    Times,
    /// The second: what the kernel and the device did.
    Counts,
    /// The same case on every file system: what stands before [`Group::Shared`] ...
    Compared,
    /// ... what stands there as well as in the second table ...
    Shared,
    /// ... and what stands behind it.
    Cost,
    /// What stands behind [`Group::Shared`] in the second table.
    Unpaid,
    /// Percentiles of the single operations.
    Latencies,
    /// Parser against cache.
    Parsing,
    /// An observed run second by second.
    Seconds,

    /// Calls of a traced run.
    Calls,
    /// What a program asked of a file, in short ...
    Above,
    /// ... and besides.
    AboveInFull,
    /// What page cache and device did for a file, in short ...
    Below,
    /// ... and besides.
    BelowInFull,
    /// What names a process ...
    Process,
    /// ... or a thread ...
    Thread,
    /// ... its name ...
    Name,
    /// ... and what it did.
    Task,

    /// Of a comparison, in a page and in a comment.
    Both,
    /// In a page alone.
    Page,
    /// In a comment alone.
    Comment,
    /// Rounds of one pair of results.
    Rounds,
    /// Pairs of results.
    Pairs,
    /// Counts below the path of their file.
    OfFile,
    /// Both sides of a count.
    Sides,
}
