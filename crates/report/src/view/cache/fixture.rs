//! A result built by hand.

use iostrata_core::cache::{
    Action, CacheFile, CacheResult, Cached, Hold, HoldKind, Outcome, Process, ResidencyMap, SCHEMA,
    Skipped, Source, totals,
};
use iostrata_core::environment::Backend;

use crate::fixture;

pub(super) const PAGE: u64 = 4096;

pub(super) fn cached(resident: u64, dirty: u64) -> Cached {
    Cached {
        resident_bytes: resident,
        dirty_bytes: Some(dirty),
        writeback_bytes: Some(0),
        evicted_bytes: Some(0),
        recently_evicted_bytes: Some(0),
    }
}

pub(super) fn file(path: &str, size_bytes: u64, before: Option<Cached>) -> CacheFile {
    CacheFile {
        path: path.to_owned(),
        path_hex: None,
        device: "254:0".to_owned(),
        inode: 12,
        filesystem: "ext4".to_owned(),
        size_bytes,
        allocated_bytes: size_bytes,
        source: before.map_or(Source::None, |_| Source::Cachestat),
        before,
        after: None,
        map: None,
        outcome: before.map_or(Outcome::Unknown, |_| Outcome::Shown),
        reasons: Vec::new(),
    }
}

pub(super) fn result(action: Action, files: Vec<CacheFile>) -> CacheResult {
    let target = fixture::storage("/data", "rw", Vec::new());
    let mut environment = fixture::environment("6.18.1", 8, target);
    environment.backend = Backend::None;
    CacheResult {
        schema: SCHEMA.to_owned(),
        environment,
        action,
        paths: vec!["/data".to_owned()],
        page_bytes: PAGE,
        totals: totals(&files, PAGE),
        files,
        skipped: Skipped::default(),
        interrupted_by: None,
        missing: Vec::new(),
    }
}

/// A partly cached file, a cached one, an empty one, and one with unknown residency.
pub(super) fn shown() -> CacheResult {
    let mut partly = file("/data/big.db", 64 << 20, Some(cached(40 << 20, 1 << 20)));
    let mut resident = vec![1 << 20; 40];
    resident.extend([0; 24]);
    resident[3] = 1 << 19;
    let mut dirty = vec![0; 64];
    dirty[7] = 1 << 20;
    partly.map = Some(ResidencyMap {
        size_bytes: 64 << 20,
        page_bytes: PAGE,
        range_bytes: 1 << 20,
        resident_bytes: resident,
        dirty_bytes: Some(dirty),
        writeback_bytes: Some(vec![0; 64]),
    });
    let mut hidden = file("/data/other\u{1b}[31m", 5000, None);
    hidden.reasons = vec![Hold::new(
        HoldKind::NotTold,
        "cachestat is refused".to_owned(),
    )];
    let mut result = result(
        Action::Show,
        vec![
            partly,
            file("/data/small", 100, Some(cached(4096, 0))),
            file("/data/empty", 0, Some(cached(0, 0))),
            hidden,
        ],
    );
    result.skipped = Skipped {
        symbolic_links: 2,
        hard_links: 1,
        special_files: 1,
        other_file_systems: 0,
    };
    result.missing = vec![fixture::gap(
        "/data/locked",
        "it cannot be opened: Permission denied (os error 13)",
    )];
    result
}

/// One evicted, one that partly stays, one locked.
pub(super) fn evicted() -> CacheResult {
    let mut gone = file("/data/gone", 8192, Some(cached(8192, 0)));
    gone.after = Some(cached(0, 0));
    gone.outcome = Outcome::Done;
    let mut partly = file("/data/mapped.bin", 1 << 20, Some(cached(1 << 20, 0)));
    partly.after = Some(cached(1 << 16, 0));
    partly.outcome = Outcome::Partly;
    let process = Process {
        pid: 4211,
        command: "python3".to_owned(),
        mapped_bytes: Some(4096),
        locked_bytes: Some(0),
    };
    partly.reasons = vec![
        Hold {
            kind: HoldKind::Mapped,
            why: "mapped by process 4211 (python3)".to_owned(),
            bytes: Some(4096),
            processes: vec![process],
        },
        Hold {
            kind: HoldKind::LargeFolio,
            why: "in the same large folios as mapped pages: the kernel evicts whole folios only"
                .to_owned(),
            bytes: Some(61_440),
            processes: Vec::new(),
        },
    ];
    result(Action::Evict, vec![partly, gone])
}
