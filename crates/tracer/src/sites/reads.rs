//! Parts of a file, read on demand, within the budget; and the lines of a text, of a limited length.
//!
//! Nothing is mapped, and parts already read stay unchanged: a file that is changed or truncated
//! meanwhile is read in part. So a table's stated size takes no memory until it is drawn.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use object::ReadRef;

use super::budget::{Budget, Exceeded, Held};

/// Maximum length of a symbol's name; a longer one counts as none.
const LONGEST_TEXT: usize = 4096;

/// Bytes read at a time while searching the end of a text.
const PIECE: usize = 256;

/// Memory of a part besides its bytes.
const PART_BYTES: u64 = 96;

/// Blocks double in size: there are never more than 2^40 parts.
const BLOCKS: usize = 40;

type Block = Box<[OnceCell<Box<[u8]>>]>;

#[derive(Debug)]
pub(super) struct Reads {
    file: File,
    length: u64,
    budget: Arc<Budget>,
    held: RefCell<Vec<Held>>,
    /// The parts read so far. Block `n` has room for 2^n parts.
    blocks: [OnceCell<Block>; BLOCKS],
    count: Cell<usize>,
    /// By offset and length; `None` for a text.
    known: RefCell<HashMap<(u64, Option<u64>), usize>>,
    exceeded: Cell<Option<Exceeded>>,
}

impl Reads {
    pub(super) fn of(file: File, budget: &Arc<Budget>) -> io::Result<Self> {
        Ok(Self {
            length: file.metadata()?.len(),
            file,
            budget: Arc::clone(budget),
            held: RefCell::default(),
            blocks: [const { OnceCell::new() }; BLOCKS],
            count: Cell::new(0),
            known: RefCell::default(),
            exceeded: Cell::new(None),
        })
    }

    pub(super) fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded.get()
    }

    /// Notes the exhausted resource.
    pub(super) fn may<T>(&self, can: Result<T, Exceeded>) -> Result<T, ()> {
        can.map_err(|exceeded| self.exceeded.set(Some(exceeded)))
    }

    pub(super) fn into_file(self) -> File {
        self.file
    }

    fn part(&self, number: usize) -> Option<&[u8]> {
        let (block, place) = place(number);
        let part = self.blocks.get(block)?.get()?.get(place)?.get()?;
        Some(part)
    }

    /// Stores a part, whose memory was drawn.
    fn keep(&self, key: (u64, Option<u64>), part: Vec<u8>) -> Result<&[u8], ()> {
        let number = self.count.get();
        let (block, place) = place(number);
        let block = self.blocks.get(block).ok_or(())?.get_or_init(|| {
            let empty = || OnceCell::new();
            std::iter::repeat_with(empty).take(1 << block).collect()
        });
        let kept = block.get(place).ok_or(())?;
        let kept = kept.get_or_init(|| part.into_boxed_slice());
        self.count.set(number + 1);
        self.known.borrow_mut().insert(key, number);
        Ok(kept)
    }

    fn draw(&self, bytes: u64) -> Result<(), ()> {
        self.may(self.budget.check())?;
        let held = self.may(self.budget.hold(bytes.saturating_add(PART_BYTES)))?;
        let mut all = self.held.borrow_mut();
        match all.first_mut() {
            Some(first) => first.join(held),
            None => all.push(held),
        }
        Ok(())
    }
}

/// Block, and position in it.
fn place(number: usize) -> (usize, usize) {
    let block = (number + 1).ilog2() as usize;
    (block, number + 1 - (1 << block))
}

impl<'data> ReadRef<'data> for &'data Reads {
    fn len(self) -> Result<u64, ()> {
        Ok(self.length)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'data [u8], ()> {
        if size == 0 {
            return Ok(&[]);
        }
        if offset.checked_add(size).ok_or(())? > self.length {
            return Err(());
        }
        let key = (offset, Some(size));
        if let Some(number) = self.known.borrow().get(&key) {
            return self.part(*number).ok_or(());
        }
        self.draw(size)?;
        let mut part = vec![0; usize::try_from(size).map_err(drop)?];
        self.file.read_exact_at(&mut part, offset).map_err(drop)?;
        self.keep(key, part)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'data [u8], ()> {
        let key = (range.start, None);
        if let Some(number) = self.known.borrow().get(&key) {
            return self.part(*number).ok_or(());
        }
        let end = range.end.min(self.length);
        let most = usize::try_from(end.saturating_sub(range.start)).map_err(drop)?;
        let most = most.min(LONGEST_TEXT);
        let mut text = Vec::new();
        while text.len() < most {
            let had = text.len();
            text.resize((had + PIECE).min(most), 0);
            let at = range.start.checked_add(had as u64).ok_or(())?;
            self.file
                .read_exact_at(&mut text[had..], at)
                .map_err(drop)?;
            if let Some(found) = text[had..].iter().position(|byte| *byte == delimiter) {
                text.truncate(had + found);
                self.draw(text.len() as u64)?;
                return self.keep(key, text);
            }
        }
        Err(())
    }
}

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
    use std::time::Duration;

    use super::*;

    fn reads(bytes: &[u8], most: u64) -> (Reads, tempfile::NamedTempFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let budget = Arc::new(Budget::of(Duration::from_hours(1), most));
        let opened = File::open(file.path()).unwrap();
        (Reads::of(opened, &budget).unwrap(), file)
    }

    #[test]
    fn parts_are_read_once_and_drawn() {
        let (reads, file) = reads(b"abc\0def", 3 * PART_BYTES);
        assert_eq!((&reads).read_bytes_at(1, 2), Ok(&b"bc"[..]));
        assert_eq!((&reads).read_bytes_at_until(0..7, 0), Ok(&b"abc"[..]));
        std::fs::write(file.path(), "ABC\0DEF").unwrap();
        assert_eq!((&reads).read_bytes_at(1, 2), Ok(&b"bc"[..]));
        assert_eq!((&reads).read_bytes_at_until(4..7, 0), Err(()), "no end");
        assert_eq!(reads.exceeded(), None);
        assert_eq!((&reads).read_bytes_at(0, 7), Err(()));
        assert_eq!(reads.exceeded(), Some(Exceeded::Memory));
    }

    #[test]
    fn a_file_that_shrinks_is_no_accident() {
        let (reads, file) = reads(&[7; 10_000], 1 << 20);
        file.as_file().set_len(10).unwrap();
        assert_eq!((&reads).read_bytes_at(0, 5_000), Err(()));
        assert_eq!((&reads).read_bytes_at(9_999, 2), Err(()));
        assert_eq!((&reads).read_bytes_at(u64::MAX, 2), Err(()));
        assert_eq!((&reads).read_bytes_at(0, 10), Ok(&[7; 10][..]));
    }

    #[test]
    fn many_parts_stay_where_they_are() {
        let bytes: Vec<u8> = (0..=255).collect();
        let (reads, _file) = reads(&bytes, 1 << 20);
        let first = (&reads).read_bytes_at(0, 1).unwrap();
        for at in 0..256 {
            let byte = u8::try_from(at).unwrap();
            assert_eq!((&reads).read_bytes_at(at, 1), Ok(&[byte][..]));
        }
        assert_eq!(first, [0]);
    }

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
