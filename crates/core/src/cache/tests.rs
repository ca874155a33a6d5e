use super::*;

fn file(size_bytes: u64, before: Option<Cached>, outcome: Outcome) -> CacheFile {
    CacheFile {
        path: "f".to_owned(),
        path_hex: None,
        device: "254:0".to_owned(),
        inode: 12,
        filesystem: "ext4".to_owned(),
        size_bytes,
        allocated_bytes: 0,
        source: before.map_or(Source::None, |_| Source::Cachestat),
        before,
        after: None,
        map: None,
        outcome,
        reasons: Vec::new(),
    }
}

fn cached(resident_bytes: u64, dirty_bytes: Option<u64>) -> Cached {
    Cached {
        resident_bytes,
        dirty_bytes,
        ..Cached::default()
    }
}

#[test]
fn unknown_files_are_counted_and_in_no_sum() {
    let files = [
        file(5000, Some(cached(8192, Some(4096))), Outcome::Shown),
        file(1, Some(cached(4096, Some(0))), Outcome::Partly),
        file(10, None, Outcome::Unknown),
    ];
    let sums = totals(&files, 4096);
    assert_eq!(
        (sums.files, sums.unknown_files, sums.failed_files),
        (3, 1, 1)
    );
    assert_eq!((sums.size_bytes, sums.known_bytes), (5011, 12_288));
    assert_eq!(sums.before, Some(cached(12_288, Some(4096))));
    assert_eq!(sums.after, None);
    assert_eq!(totals(&[], 4096).before, None);
}

#[test]
fn what_one_file_does_not_tell_is_not_told_of_all() {
    let files = [
        file(1, Some(cached(4096, Some(4096))), Outcome::Shown),
        file(1, Some(cached(4096, None)), Outcome::Shown),
    ];
    assert_eq!(totals(&files, 4096).before, Some(cached(8192, None)));
}

#[test]
fn ranges_are_whole_pages_and_cover_the_file() {
    for (size, ranges, bytes) in [
        (0, 128, 4096),
        (1, 128, 4096),
        (4096 * 128, 128, 4096),
        (4096 * 128 + 1, 128, 8192),
        (1 << 40, 64, 1 << 34),
        (10_000, 1, 12_288),
    ] {
        assert_eq!(
            ResidencyMap::range_bytes(size, 4096, ranges),
            bytes,
            "{size}"
        );
    }
}

#[test]
fn shares_are_of_the_pages_of_a_range() {
    // 5 pages and a byte, in ranges of 2 pages: the last has 2 pages, one of them begun.
    let map = ResidencyMap {
        size_bytes: 5 * 4096 + 1,
        page_bytes: 4096,
        range_bytes: 8192,
        resident_bytes: vec![8192, 0, 4096],
        dirty_bytes: Some(vec![4096, 0, 0]),
        writeback_bytes: None,
    };
    let ranges: Vec<MapRange> = map.ranges().collect();
    let seen: Vec<_> = ranges
        .iter()
        .map(|range| {
            (
                range.start_bytes,
                range.length_bytes,
                range.resident,
                range.dirty,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (0, 8192, 1.0, Some(0.5)),
            (8192, 8192, 0.0, Some(0.0)),
            (16_384, 4097, 0.5, Some(0.0)),
        ]
    );
    assert!(ranges.iter().all(|range| range.writeback.is_none()));
}

#[test]
fn a_damaged_map_has_ranges_all_the_same() {
    let map = ResidencyMap {
        size_bytes: 1,
        page_bytes: 0,
        range_bytes: 0,
        resident_bytes: vec![u64::MAX, 7],
        dirty_bytes: Some(vec![]),
        writeback_bytes: None,
    };
    let shares: Vec<_> = map
        .ranges()
        .map(|range| (range.resident, range.dirty))
        .collect();
    assert_eq!(shares, [(1.0, None), (1.0, None)]);
}
