//! Names of targets. In a result of several machines the machine stands behind the name,
//! `host@web1`, so that rows of two machines never have the same target, nor the same id.

/// Separator of a target and its machine; no other name has one.
pub(super) const AT: char = '@';

/// Name of the target that is the measured directory's own file system.
pub const HOST: &str = "host";

/// The target as the machine's own result names it.
pub fn target_of(name: &str) -> &str {
    name.rsplit_once(AT).map_or(name, |(target, _)| target)
}

/// Each value once, where it comes first.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

/// The machine, in a result of several.
pub fn machine_of(name: &str) -> Option<&str> {
    Some(name.rsplit_once(AT)?.1)
}
