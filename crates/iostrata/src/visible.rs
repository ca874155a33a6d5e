//! Exact output for a file, on a terminal: the terminal must not act on what names hold.

use std::io::{self, Write};

use iostrata_report::is_printable;

/// Passes on text with every character visible: control characters but line breaks and tabs, and those that change the
/// order of a line, as escapes; bytes that are no UTF-8 as `\xNN`.
#[derive(Debug)]
pub(crate) struct Visible<W: Write> {
    to: W,
    /// The begin of a character whose rest has not been written yet.
    begun: Vec<u8>,
}

impl<W: Write> Visible<W> {
    pub(crate) fn new(to: W) -> Self {
        Self {
            to,
            begun: Vec::new(),
        }
    }

    /// Writes the rest, and gives up the writer.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.begun);
        self.to.write_all(escaped_bytes(&rest).as_bytes())?;
        self.to.flush()
    }
}

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.begun);
        let mut shown = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for char in chunk.valid().chars() {
                if is_printable(char) || matches!(char, '\n' | '\t') {
                    shown.push(char);
                } else {
                    shown.extend(char.escape_default());
                }
            }
            if chunks.peek().is_none() && is_incomplete(chunk.invalid()) {
                self.begun = chunk.invalid().to_vec();
            } else {
                shown.push_str(&escaped_bytes(chunk.invalid()));
            }
        }
        self.to.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Whether more bytes may make it a character.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn escaped_bytes(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_however_it_is_cut() {
        let text = "a\tü\n\u{1b}]0;x\u{7}\r\u{7f}\u{9b}\u{202e}漢\u{1f600}\0";
        let expected = "a\tü\n\\u{1b}]0;x\\u{7}\\r\\u{7f}\\u{9b}\\u{202e}漢😀\\u{0}\\xff\\xe6\\xbc";
        let all = [text.as_bytes(), b"\xff\xe6\xbc"].concat();
        for size in 1..=all.len() {
            let mut written = Vec::new();
            let mut visible = Visible::new(&mut written);
            for piece in all.chunks(size) {
                visible.write_all(piece).unwrap();
            }
            visible.finish().unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected, "{size}");
        }
    }
}
