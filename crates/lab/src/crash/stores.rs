//! What stores to a mapping changed: what a log has of a mapping is all that it held.

use std::io::{Read, Seek};
use std::ops::Range;

use iostrata_core::record::{Contents, Reader};

/// The page cache writes whole pages.
const PAGE_BYTES: usize = 4096;

/// Read at once; of both contents.
const WINDOW_BYTES: u64 = 1 << 20;

/// The ranges, bytes, in which the first contents are not the second, at most one for each page: from the first byte that
/// differs to the last. Bytes that are not known differ.
pub(super) fn differing<R: Read + Seek>(
    reader: &mut Reader<R>,
    before: &Contents,
    after: &Contents,
) -> Vec<Range<u64>> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < after.size_bytes() {
        let end = (at + WINDOW_BYTES).min(after.size_bytes());
        let [old, new] = [before, after].map(|contents| contents.range(at, end));
        if !old.extents().eq(new.extents()) || old.size_bytes() < new.size_bytes() {
            match bytes(reader, &old).zip(bytes(reader, &new)) {
                Some((old, new)) => all.extend(pages(at, &old, &new)),
                None => all.push(at..end),
            }
        }
        at = end;
    }
    all
}

/// Of bytes that begin at `begin`, those of each page that differ.
fn pages(begin: u64, old: &[u8], new: &[u8]) -> Vec<Range<u64>> {
    let mut all = Vec::new();
    for (page, from) in new.chunks(PAGE_BYTES).zip((0..).step_by(PAGE_BYTES)) {
        let differs = |place: &usize| old.get(from + place) != page.get(*place);
        let mut places = 0..page.len();
        let first = places.clone().find(differs);
        if let Some((first, last)) = first.zip(places.rfind(differs)) {
            let within = |place: usize| begin + (from + place) as u64;
            all.push(within(first)..within(last) + 1);
        }
    }
    all
}

/// The bytes of contents that are all known.
fn bytes<R: Read + Seek>(reader: &mut Reader<R>, contents: &Contents) -> Option<Vec<u8>> {
    if contents.unknown_bytes() != (0, 0) {
        return None;
    }
    let mut all = vec![0; usize::try_from(contents.size_bytes()).ok()?];
    for (offset, extent) in contents.extents() {
        let from = usize::try_from(offset).ok()?;
        let read = reader.payload_bytes(&extent.payload()?).ok()?;
        all.get_mut(from..from + read.len())?.copy_from_slice(&read);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_range_from_its_first_byte_that_differs_to_its_last() {
        let old = vec![0; 3 * PAGE_BYTES];
        let mut new = old.clone();
        assert_eq!(pages(0, &old, &new), []);
        for place in [5, 9, 4095, 8192] {
            new[place] = 1;
        }
        let wanted = [65_536 + 5..65_536 + 4096, 65_536 + 8192..65_536 + 8193];
        assert_eq!(pages(65_536, &old, &new), wanted);
        // What was not there differs, also where it is zero.
        assert_eq!(
            pages(0, &old[..8190], &new[..8192]).last(),
            Some(&(8190..8192))
        );
    }
}
