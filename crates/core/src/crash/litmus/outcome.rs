//! Outcomes as text: `f=a*2500+0*1596`.

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// A directory.
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
