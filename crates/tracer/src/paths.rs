//! Paths as bytes, without file system access.

/// Removes `.`, `..` and doubled slashes from an absolute path. Symbolic links stay: the part after
/// a `..` that follows one may be elsewhere.
pub(crate) fn normal(path: &[u8]) -> Vec<u8> {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    [b"/", names.join(&b'/').as_slice()].concat()
}

/// The path after `from` was renamed to `to`; `None` when it does not lie below `from`.
pub(crate) fn moved(path: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(from)?;
    (rest.is_empty() || rest.starts_with(b"/")).then(|| [to, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_doubled_slashes_go() {
        assert_eq!(normal(b"/a/./b//c/../d"), b"/a/b/d");
        assert_eq!(normal(b"/../.."), b"/");
        assert_eq!(normal(b"/a/\xff"), b"/a/\xff");
    }

    #[test]
    fn only_what_lies_below_moves() {
        assert_eq!(moved(b"/a/b", b"/a", b"/c"), Some(b"/c/b".to_vec()));
        assert_eq!(moved(b"/a", b"/a", b"/c"), Some(b"/c".to_vec()));
        assert_eq!(moved(b"/ab", b"/a", b"/c"), None);
    }
}
