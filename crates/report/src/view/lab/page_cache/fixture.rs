//! A result made by hand. The figures are round, not measured.

use iostrata_core::environment::Device;
use iostrata_core::evidence::{Cache, DeviceCounts, Evidence, Faults};
use iostrata_core::lab::{Experiment, Interference, LabResult, Method, OwnCost, Row};
use iostrata_core::page_cache::{
    Case, Figures, PageCacheResult, PageCacheRow, Parse, Parsing, Percentiles, QUESTION, Reader,
    SeriesRead, State, answers, figures, parse_lines,
};
use iostrata_core::timing::Timing;

use crate::fixture;

pub(super) const MIB: u64 = 1 << 20;

pub(super) fn timing(times_us: [f64; 5]) -> Timing {
    fixture::timing(&times_us.map(|time_us| time_us / 1e6), |_| (0.0, 0.0))
}

/// Around the microseconds, 1 % to either side.
pub(super) fn around(time_us: f64) -> Timing {
    timing([0.99, 0.995, 1.0, 1.005, 1.01].map(|part| part * time_us))
}

fn evidence(state: State, minor: u64) -> Evidence {
    let fetched = if state == State::Warm { 0 } else { MIB };
    let pages = fetched / 4096;
    Evidence {
        syscalls: None,
        cache: Cache {
            lookups_pages: Some(256),
            missed_pages: Some(pages.min(64)),
            prefetched_pages: Some(pages.saturating_sub(64)),
            dirtied_bytes: Some(0),
            resident_before_bytes: Some(MIB - fetched),
            resident_after_bytes: Some(if state == State::Direct { 0 } else { MIB }),
        },
        device: Some(
            DeviceCounts {
                reads: fixture::requests(fetched / (128 << 10), fetched),
                ..DeviceCounts::default()
            }
            .into(),
        ),
        faults: Faults {
            minor: Some(minor),
            major: Some(0),
        },
        on_cpu_s: Some(100e-6),
        blocked_s: Some(if fetched > 0 { 300e-6 } else { 0.0 }),
        ..Evidence::default()
    }
}

pub(super) fn row(state: State, reader: Reader, parse: Parse, time_us: f64) -> PageCacheRow {
    let minor = if reader == Reader::Read { 260 } else { 4 };
    let parser = parse != Parse::None;
    let case = Case {
        state,
        reader,
        size_bytes: MIB,
        parse,
    };
    let random = reader == Reader::PreadRandom;
    let series = |number: u32, time_us, before, after| SeriesRead {
        number,
        timing: around(time_us),
        storage_read_bytes: Some(MIB - before),
        resident_before_bytes: before,
        resident_after_bytes: after,
    };
    PageCacheRow {
        row: Row {
            evidence: evidence(state, minor),
            interference: Interference::default(),
            ..fixture::row(case, "host", around(time_us))
        },
        asked_state: state,
        not_as_asked: None,
        read_bytes: MIB,
        reading: parser.then(|| around(time_us / 4.0)),
        parsing: parser.then(|| around(time_us * 3.0 / 4.0)),
        memory_copy: (reader == Reader::ReadReused).then(|| around(90.0)),
        latency_s: random.then_some(Percentiles {
            p50: 80e-6,
            p90: 95e-6,
            p99: 130e-6,
            p999: 900e-6,
            max: 2e-3,
            count: 1280,
        }),
        series: match (state, reader, parser) {
            (State::Cold, Reader::Read, false) => vec![
                series(1, time_us, 0, MIB),
                series(2, time_us / 4.0, MIB, MIB),
            ],
            _ => Vec::new(),
        },
        storage_read_bytes: Some(if state == State::Warm { 0 } else { MIB }),
        figures: Figures::default(),
    }
}

/// Cold and warm reads, random ones, and a parser.
pub(super) fn rows() -> Vec<PageCacheRow> {
    vec![
        row(State::Cold, Reader::Read, Parse::None, 1200.0),
        row(State::Cold, Reader::PreadRandom, Parse::None, 21_000.0),
        row(State::Warm, Reader::Read, Parse::None, 300.0),
        row(State::Warm, Reader::ReadReused, Parse::None, 100.0),
        row(State::Cold, Reader::Read, Parse::Json, 12_000.0),
        row(State::Warm, Reader::Read, Parse::Json, 10_000.0),
    ]
}

pub(super) fn result(mut rows: Vec<PageCacheRow>) -> LabResult {
    for (index, figures) in figures(&rows).into_iter().enumerate() {
        rows[index].figures = figures;
    }
    let disk = Device {
        rotational: Some(false),
        ..fixture::disk("nvme0n1")
    };
    let storage = fixture::storage("/data", "rw", vec![disk]);
    let mut measured = PageCacheResult {
        question: QUESTION.to_owned(),
        targets: vec![fixture::measured("host", false, storage.clone())],
        own: Parsing {
            parsing: parse_lines(&rows),
        },
        rows,
        answers: Vec::new(),
        settings: None,
        caveats: Vec::new(),
        missing: Vec::new(),
        method: Method {
            timing_runs: (5, 5),
            warm_up_runs: 6,
            own: OwnCost {
                own_cost_ns: Some(41.0),
            },
            interrupted: false,
            planned_rows: 6,
        },
    };
    measured.answers = answers(&measured);
    let environment = fixture::environment("6.18.0", 8, storage);
    fixture::lab(environment, Experiment::PageCache(measured))
}
