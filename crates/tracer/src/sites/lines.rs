//! Lines of a text that another program wrote, read one at a time with bounded length.

use std::io::{self, BufRead};

/// The lines of a text, without their ends; lines longer than `most` are skipped.
pub(super) struct Lines<R> {
    from: R,
    most: usize,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn of(from: R, most: usize) -> Self {
        Self {
            from,
            most,
            line: Vec::new(),
        }
    }

    /// The next line; an empty one for each that is too long. `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut is_too_long = false;
        let mut is_there = false;
        loop {
            let ready = match self.from.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                ready => ready?,
            };
            if ready.is_empty() {
                break;
            }
            is_there = true;
            let end = ready.iter().position(|byte| *byte == b'\n');
            let part = &ready[..end.unwrap_or(ready.len())];
            is_too_long |= self.line.len() + part.len() > self.most;
            if is_too_long {
                self.line.clear();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.from.consume(used);
            if end.is_some() {
                break;
            }
        }
        Ok(is_there.then_some(&self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_passed_over() {
        let text = b"one\n\nlonger than that\ntwo\nend";
        let mut lines = Lines::of(io::BufReader::with_capacity(2, &text[..]), 5);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(String::from_utf8(line.to_vec()).unwrap());
        }
        assert_eq!(all, ["one", "", "", "two", "end"]);
    }
}
