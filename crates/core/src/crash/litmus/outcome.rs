//! Outcomes as text: `f=a*2500+0*1596`.

use super::log::ROOT;
use crate::record::{Body, Contents, Source, Tree};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    Directory,
    /// A file: runs of equal bytes, each with its length.
    File(Vec<(u8, u64)>),
    /// Anything else.
    Other,
}

/// Paths in order, each with what is there. A directory ends with `/`; a file has its runs of equal bytes as
/// `a*2500`, zero bytes as `0*1596`.
pub fn outcome<P: AsRef<str>>(all: &[(P, Left)]) -> String {
    if all.is_empty() {
        return "no file".to_owned();
    }
    let each = all.iter().map(|(path, left)| {
        let path = path.as_ref();
        match left {
            Left::Directory => format!("{path}/"),
            Left::File(runs) => format!("{path}={}", contents(runs)),
            Left::Other => format!("{path}=?"),
        }
    });
    each.collect::<Vec<_>>().join(" ")
}

/// The runs of equal bytes of a file.
pub fn runs(bytes: &[u8]) -> Vec<(u8, u64)> {
    let runs = bytes.chunk_by(|one, other| one == other);
    runs.map(|run| (run[0], run.len() as u64)).collect()
}

fn contents(runs: &[(u8, u64)]) -> String {
    if runs.is_empty() {
        return "empty".to_owned();
    }
    let runs = runs.iter().map(|(byte, bytes)| match byte {
        0 => format!("0*{bytes}"),
        byte if byte.is_ascii_alphabetic() => format!("{}*{bytes}", char::from(*byte)),
        _ => format!("?*{bytes}"),
    });
    runs.collect::<Vec<_>>().join("+")
}

pub(super) fn files(tree: &Tree, paths: &[&str]) -> String {
    let mut all = Vec::new();
    for path in paths {
        let mut names = path.split('/').map(str::as_bytes);
        let node = names.try_fold(ROOT, |at, name| tree.entry(at, name));
        if let Some(body) = node.and_then(|node| tree.node(node)).map(|node| &node.body) {
            all.push((*path, left(body)));
        }
    }
    outcome(&all)
}

/// What a node of such a log is.
pub(in crate::crash) fn left(body: &Body) -> Left {
    match body {
        Body::Directory(_) => Left::Directory,
        Body::File(contents) => Left::File(runs_of(contents)),
        _ => Left::Other,
    }
}

fn runs_of(contents: &Contents) -> Vec<(u8, u64)> {
    let mut runs: Vec<(u8, u64)> = Vec::new();
    let mut add = |byte: u8, bytes: u64| match runs.last_mut() {
        _ if bytes == 0 => {}
        Some((last, sum)) if *last == byte => *sum += bytes,
        _ => runs.push((byte, bytes)),
    };
    let mut at = 0;
    for (offset, extent) in contents.extents() {
        add(0, offset - at);
        let letter = match extent.source {
            Source::Stored { chunk, .. } => u8::try_from(chunk).unwrap_or(b'?'),
            _ => b'?',
        };
        add(letter, extent.bytes);
        at = offset + extent.bytes;
    }
    add(0, contents.size_bytes() - at);
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_written_in_full() {
        let file = |bytes: &[u8]| Left::File(runs(bytes));
        let all = [
            ("A", Left::Directory),
            ("A/f", file(b"")),
            ("g", file(b"aab\0\0\0")),
            ("h", file(b"\x01\x01")),
            ("p", Left::Other),
        ];
        assert_eq!(outcome(&all), "A/ A/f=empty g=a*2+b*1+0*3 h=?*2 p=?");
        assert_eq!(outcome::<&str>(&[]), "no file");
    }
}
