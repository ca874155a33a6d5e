//! Column groups of tables.

/// Columns that tables show together. A field may be in several, and a table may show several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// The first table of each lab row's figures: times and rates.
    Times,
    /// The second: the work of the kernel and the device.
    Counts,
    /// The same case on every file system: the columns before [`Group::Shared`] ...
    Compared,
    /// ... the columns that the second table repeats ...
    Shared,
    /// ... and the columns after it.
    Cost,
    /// The columns after [`Group::Shared`] in the second table.
    Unpaid,
    /// Percentiles of the single operations.
    Latencies,
    /// Parser compared with cache.
    Parsing,
    /// An observed run second by second.
    Seconds,

    Calls,
    /// A program's requests on a file, in short ...
    Above,
    /// ... and in full.
    AboveInFull,
    /// The work of page cache and device for a file, in short ...
    Below,
    /// ... and in full.
    BelowInFull,
    /// The identity of a process ...
    Process,
    /// ... or a thread ...
    Thread,
    /// ... its name ...
    Name,
    /// ... and its work.
    Task,

    /// For a comparison, in a page and in a comment.
    Both,
    /// In a page only.
    Page,
    /// In a comment only.
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
