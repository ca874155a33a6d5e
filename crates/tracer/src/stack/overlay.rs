//! The directories of an overlay.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use super::mountinfo::Mount;

/// One directory of an overlay.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// `upper directory` or `lower directory`.
    pub(super) role: &'static str,
    pub(super) directory: PathBuf,
}

/// The upper directory, which receives the writes, then the lower ones from the top. Source:
/// Documentation/filesystems/overlayfs.rst; since Linux 6.8 the lower ones can also be given one by
/// one as `lowerdir+` and `datadir+`.
pub(super) fn branches(mount: &Mount) -> Vec<Branch> {
    let upper = mount
        .superblock_values("upperdir")
        .into_iter()
        .map(|value| branch("upper directory", value));
    let joined = mount
        .superblock_values("lowerdir")
        .into_iter()
        .flat_map(|value| split_colons(value.as_bytes()));
    let single = ["lowerdir+", "datadir+"]
        .into_iter()
        .flat_map(|name| mount.superblock_values(name));
    upper
        .chain(
            joined
                .chain(single)
                .map(|value| branch("lower directory", value)),
        )
        .collect()
}

fn branch(role: &'static str, value: OsString) -> Branch {
    Branch {
        role,
        directory: PathBuf::from(value),
    }
}

/// Splits at colons; `\:` is a colon of the path. `::` starts data-only layers.
fn split_colons(list: &[u8]) -> Vec<OsString> {
    let mut parts = vec![Vec::new()];
    let mut bytes = list.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b':' => parts.push(Vec::new()),
            b'\\' => parts
                .last_mut()
                .map_or((), |part| part.push(bytes.next().unwrap_or(b'\\'))),
            other => parts.last_mut().map_or((), |part| part.push(other)),
        }
    }
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(OsString::from_vec)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_inside_paths_are_escaped() {
        assert_eq!(split_colons(br"/a\:b:/c::/data"), ["/a:b", "/c", "/data"]);
    }
}
