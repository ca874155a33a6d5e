//! The position of resident pages in a file: a strip of characters.

use iostrata_core::cache::{CacheResult, MapRange, ResidencyMap};

use crate::format::{ending, size};
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;

const LEGEND: &str = "█ the whole range is resident, ▁ to ▇ part of it, · none; d some of it is \
    dirty, w some is under write-back";

/// Maximum characters of a line: a power of two, so that lines begin at round offsets.
const LONGEST: usize = 64;

/// Filling levels of a range, from little to nearly all.
const PARTS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];

/// Maps of the files that are not uniform.
pub(super) fn draw(page: &mut Page, result: &CacheResult, most: usize) {
    let maps = result.files.iter().filter_map(|file| {
        let map = file.map.as_ref()?;
        (map.resident_bytes.len() > 1).then_some((&file.path, map))
    });
    let maps: Vec<(&String, &ResidencyMap)> = maps.collect();
    if maps.is_empty() {
        return;
    }
    page.heading(SectionId::Maps, "where in the files");
    page.styled(2, LEGEND, Tone::Quiet);
    for (path, map) in maps.iter().take(most) {
        let place = format!("; one character is {}", size(map.range_bytes));
        let room = page.width().saturating_sub(place.chars().count() + 2);
        page.paragraph(2, &format!("{}{place}", ending(path, room)));
        strip(page, map);
    }
    let hidden = maps.len().saturating_sub(most);
    page.and_more(2, hidden, " maps", "--all-rows shows all");
}

/// Lines of the strip, each with its offset in the file.
fn strip(page: &mut Page, map: &ResidencyMap) {
    let ranges: Vec<MapRange> = map.ranges().collect();
    let places = ranges.iter().map(|range| size(range.start_bytes));
    let places: Vec<String> = places.collect();
    let lead = places.iter().map(|place| place.chars().count());
    let lead = lead.max().unwrap_or(0);
    let column = lead + 6;
    let room = page.width().saturating_sub(column).max(1);
    let length = (1..=LONGEST)
        .rev()
        .find(|length| length.is_power_of_two() && *length <= room)
        .unwrap_or(1);
    for (line, place) in ranges.chunks(length).zip(places.iter().step_by(length)) {
        let characters: String = line.iter().map(character).collect();
        let lead = format!("    {place:>lead$}");
        page.entry(&lead, Tone::Plain, column, &characters);
    }
}

fn character(range: &MapRange) -> char {
    let some = |share: Option<f64>| share.is_some_and(|share| share > 0.0);
    if some(range.writeback) {
        return 'w';
    }
    if some(range.dirty) {
        return 'd';
    }
    match range.resident {
        none if none <= 0.0 => '·',
        all if all >= 1.0 => '█',
        part => {
            let level = PARTS.iter().zip(1_u8..);
            let level = level.take_while(|(_, level)| f64::from(*level) <= part * 8.0);
            level.last().map_or('▁', |(part, _)| *part)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_all_are_only_themselves() {
        let range = |resident, dirty, writeback| MapRange {
            start_bytes: 0,
            length_bytes: 4096,
            resident,
            dirty,
            writeback,
        };
        for (resident, expected) in [
            (0.0, '·'),
            (0.0001, '▁'),
            (0.24, '▁'),
            (0.25, '▂'),
            (0.5, '▄'),
            (0.999, '▇'),
            (1.0, '█'),
        ] {
            assert_eq!(
                character(&range(resident, None, None)),
                expected,
                "{resident}"
            );
        }
        assert_eq!(character(&range(1.0, Some(0.1), Some(0.0))), 'd');
        assert_eq!(character(&range(1.0, Some(0.1), Some(0.1))), 'w');
        assert_eq!(character(&range(1.0, Some(0.0), Some(0.0))), '█');
    }
}
