//! Hashes of what files hold, by segments: of a state that is unlike another in one page, one segment is read.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read};
use std::sync::LazyLock;

use super::{Digest, Held};
use crate::record::{Body, Contents, Source};

const SEGMENT_BYTES: u64 = 64 << 10;

/// Makes the hash of a file of those of its segments, but for the ones that are zeros.
#[derive(Default)]
struct FileHasher(blake3::Hasher);

impl FileHasher {
    fn segment(&mut self, number: u64, digest: &Digest) {
        self.0.update(&number.to_le_bytes());
        self.0.update(digest);
    }

    fn finish(mut self, size_bytes: u64) -> Digest {
        self.0.update(&size_bytes.to_le_bytes());
        *self.0.finalize().as_bytes()
    }
}

/// Whether so many zeros have this hash.
pub(in crate::crash) fn is_zeros(digest: &Digest, size_bytes: u64) -> bool {
    *digest == FileHasher::default().finish(size_bytes)
}

/// What a file holds, read to its end.
///
/// # Errors
/// When it cannot be read.
pub fn read_held(mut file: impl Read) -> io::Result<Held> {
    let mut whole = FileHasher::default();
    let mut bytes = Vec::new();
    let mut size_bytes = 0;
    for number in 0.. {
        bytes.clear();
        let count = file.by_ref().take(SEGMENT_BYTES).read_to_end(&mut bytes)?;
        size_bytes += count as u64;
        if bytes.iter().any(|byte| *byte != 0) {
            whole.segment(number, blake3::hash(&bytes).as_bytes());
        }
        if (count as u64) < SEGMENT_BYTES {
            break;
        }
    }
    let digest = whole.finish(size_bytes);
    Ok(Held::Bytes { digest, size_bytes })
}

/// Hashes of contents of a log.
#[derive(Debug)]
pub struct Hashes<D> {
    /// The hash of bytes, zeros where the log has none.
    digest: D,
    /// Of segments, by where their bytes are; `None` of zeros.
    read: HashMap<u64, Option<Digest>>,
}

impl<D, E> Hashes<D>
where
    D: FnMut(&Contents) -> Result<Digest, E>,
{
    /// `digest` hashes the bytes of contents, with zeros where the log has none.
    pub fn new(digest: D) -> Self {
        Self {
            digest,
            read: HashMap::new(),
        }
    }

    pub(super) fn held(&mut self, body: &Body) -> Result<Held, E> {
        Ok(match body {
            Body::File(contents) => Held::Bytes {
                digest: self.of(contents)?,
                size_bytes: contents.size_bytes(),
            },
            Body::Symlink(target) => Held::Symlink(target.clone().unwrap_or_default()),
            Body::Directory(_) | Body::Special { .. } => Held::Other,
        })
    }

    /// What a file holds.
    ///
    /// # Errors
    /// When `digest` fails.
    pub fn of(&mut self, contents: &Contents) -> Result<Digest, E> {
        let mut whole = FileHasher::default();
        for (number, place) in segments(contents) {
            let digest = if let Some(known) = self.read.get(&place) {
                *known
            } else {
                let from = number * SEGMENT_BYTES;
                let part = contents.range(from, from + SEGMENT_BYTES);
                let digest = (self.digest)(&part)?;
                let digest = (digest != zeros(part.size_bytes())).then_some(digest);
                self.read.insert(place, digest);
                digest
            };
            if let Some(digest) = digest {
                whole.segment(number, &digest);
            }
        }
        Ok(whole.finish(contents.size_bytes()))
    }

    /// Whether the first bytes that the log has of a file are zeros, or it has none.
    pub(super) fn begins_with_zeros(&mut self, contents: &Contents) -> Result<bool, E> {
        let Some(first) = contents.extents().find_map(|(_, extent)| extent.payload()) else {
            return Ok(true);
        };
        let first = Contents::of(&first.part(0, first.bytes().min(4096)));
        let digest = self.of(&first)?;
        Ok(is_zeros(&digest, first.size_bytes()))
    }
}

fn zeros(bytes: u64) -> Digest {
    static SEGMENT: LazyLock<Digest> = LazyLock::new(|| hash_of_zeros(SEGMENT_BYTES));
    if bytes == SEGMENT_BYTES {
        *SEGMENT
    } else {
        hash_of_zeros(bytes)
    }
}

fn hash_of_zeros(bytes: u64) -> Digest {
    let mut hasher = blake3::Hasher::new();
    let mut zeros = io::repeat(0).take(bytes);
    drop(hasher.update_reader(&mut zeros)); // it cannot fail
    *hasher.finalize().as_bytes()
}

/// The segments of which the log has bytes, with a hash of where it has them.
fn segments(contents: &Contents) -> Vec<(u64, u64)> {
    let size_bytes = contents.size_bytes();
    let mut segments: Vec<(u64, DefaultHasher)> = Vec::new();
    let stored = contents
        .extents()
        .filter(|(_, extent)| matches!(extent.source, Source::Stored { .. }));
    for (offset, extent) in stored {
        let end = offset.saturating_add(extent.bytes).min(size_bytes);
        let mut at = offset;
        while at < end {
            let number = at / SEGMENT_BYTES;
            let stop = end.min((number + 1) * SEGMENT_BYTES);
            let mut hasher = match segments.pop_if(|(last, _)| *last == number) {
                Some((_, hasher)) => hasher,
                None => DefaultHasher::new(),
            };
            (at - number * SEGMENT_BYTES, stop - at).hash(&mut hasher);
            extent.source.further(at - offset).hash(&mut hasher);
            segments.push((number, hasher));
            at = stop;
        }
    }
    let of_segment = |(number, mut hasher): (u64, DefaultHasher)| {
        let bytes = size_bytes - number * SEGMENT_BYTES;
        bytes.min(SEGMENT_BYTES).hash(&mut hasher);
        (number, hasher.finish())
    };
    segments.into_iter().map(of_segment).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::record::{Payload, Piece};

    /// The bytes of a log: those of each chunk are different.
    fn byte(chunk: u64, at: u64) -> u8 {
        (chunk * 7 + at / 4096).to_le_bytes()[0]
    }

    fn bytes(contents: &Contents) -> Vec<u8> {
        let mut all = vec![0; length(contents.size_bytes())];
        for (offset, extent) in contents.extents() {
            if let Source::Stored { chunk, at } = extent.source {
                let own = all[length(offset)..].iter_mut().take(length(extent.bytes));
                for (slot, at) in own.zip(u64::from(at)..) {
                    *slot = byte(chunk, at);
                }
            }
        }
        all
    }

    fn length(bytes: u64) -> usize {
        usize::try_from(bytes).unwrap()
    }

    fn plain(contents: &Contents) -> Digest {
        *blake3::hash(&bytes(contents)).as_bytes()
    }

    fn hashes() -> Hashes<impl FnMut(&Contents) -> Result<Digest, Infallible>> {
        Hashes::new(|contents: &Contents| Ok(plain(contents)))
    }

    fn written(writes: &[(u64, u64, u32)], size_bytes: u64) -> Contents {
        let mut contents = Contents::default();
        for &(offset, chunk, bytes) in writes {
            let pieces = vec![Piece::Stored {
                chunk,
                at: 0,
                bytes,
            }];
            contents.place(offset, &Payload { pieces }).unwrap();
        }
        contents.set_length(size_bytes).unwrap();
        contents
    }

    #[test]
    fn a_page_that_changed_costs_one_segment() {
        let read = Cell::new(0);
        let mut hashes = Hashes::new(|contents: &Contents| {
            read.set(read.get() + contents.size_bytes());
            Ok::<_, Infallible>(plain(contents))
        });
        let whole = [(0, 1, 16 << 20)];
        let first = hashes.of(&written(&whole, 16 << 20)).unwrap();
        assert_eq!(read.replace(0), 16 << 20);
        let torn = written(&[whole[0], (5 << 20, 2, 4096)], 16 << 20);
        assert_ne!(hashes.of(&torn).unwrap(), first);
        assert_eq!(read.replace(0), SEGMENT_BYTES);
        assert_eq!(hashes.of(&written(&whole, 16 << 20)).unwrap(), first);
        assert_eq!(read.get(), 0);
    }

    #[test]
    fn zeros_are_zeros_however_they_came() {
        let mut hashes = hashes();
        // Chunk 0 begins with a page of zeros.
        let stored = hashes.of(&written(&[(8192, 0, 4096)], 1 << 40)).unwrap();
        assert!(is_zeros(&stored, 1 << 40));
        assert!(!is_zeros(&stored, 1 << 39));
        let other = hashes.of(&written(&[(8192, 0, 4097)], 1 << 40)).unwrap();
        assert!(!is_zeros(&other, 1 << 40));
    }

    proptest! {
        #[test]
        fn a_log_and_a_disk_agree(
            writes in prop::collection::vec((0..400_000_u64, 0..4_u64, 1..150_000_u32), 0..6),
            size_bytes in 0..400_000_u64,
        ) {
            let mut contents = written(&writes, size_bytes);
            contents.cut_at_end();
            let digest = hashes().of(&contents).unwrap();
            let held = read_held(bytes(&contents).as_slice()).unwrap();
            prop_assert_eq!(held, Held::Bytes { digest, size_bytes });
        }
    }
}
