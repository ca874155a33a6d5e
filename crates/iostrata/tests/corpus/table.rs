//! What a line of the corpus is, and all of its lines.

use crate::{
    drawn, held_out, safe, unsafe_archives, unsafe_databases, unsafe_publications, unsafe_updates,
};

/// Any durability rule, where the program was drawn before a rule was known to find it.
pub(crate) const ANY: &str = "";

/// What a crash does to a program's data, and why we say so.
pub(crate) enum Verdict {
    /// A crash can lose or damage something: a durability rule has to name this file.
    Unsafe {
        /// The rule.
        rule: &'static str,
        /// How the path of the file ends that it has to name.
        file: &'static str,
    },
    /// A crash loses nothing that anybody counts on: no durability rule may speak louder than `low`.
    Safe,
    /// A crash can lose something, and no rule says so yet: mended, the case becomes `Unsafe`.
    Missed,
    /// A crash loses nothing, and a rule still says that it does: mended, the case becomes `Safe`.
    Accused,
}

/// One program, with its verdict argued.
pub(crate) struct Case {
    /// A name for it, unique.
    pub(crate) name: &'static str,
    /// A script of `sh -e` that runs unobserved in an empty directory.
    pub(crate) prepare: &'static str,
    /// The script that is observed there. `py` runs Debian's Python; `$WORKLOADS` has the programs
    /// built from `workloads/corpus`.
    pub(crate) run: &'static str,
    /// What a crash does.
    pub(crate) verdict: Verdict,
    /// Which crash leaves what, on which file system, and by which manual page.
    pub(crate) because: &'static str,
}

/// Every case.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    argued().chain(drawn::CASES).chain(held_out::CASES)
}

/// Those that rules were written for.
pub(crate) fn argued() -> impl Iterator<Item = &'static Case> {
    [
        unsafe_updates::CASES,
        unsafe_archives::CASES,
        unsafe_databases::CASES,
        unsafe_publications::CASES,
        safe::CASES,
    ]
    .into_iter()
    .flatten()
}
