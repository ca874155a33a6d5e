use iostrata_core::cache::ResidencyMap;
use iostrata_core::evidence::Cause;
use iostrata_core::trace::Timeline;
use iostrata_core::trace::timeline::{CallSeries, Purpose, RequestSeries};

use super::*;
use crate::view::table::Cell;
use crate::view::trace::fixture::{empty, full};

const BUFFERING: &str = include_str!("../../../tests/browser/saved/buffering.json");
const PAGE_CACHE: &str = include_str!("../../../tests/browser/saved/page-cache.json");
const SYNC: &str = include_str!("../../../tests/browser/saved/sync.json");
const ATIME: &str = include_str!("../../../tests/browser/saved/atime.json");
const COPY: &str = include_str!("../../../tests/browser/saved/copy.json");

fn lab_result(saved: &str) -> LabResult {
    serde_json::from_str(saved).unwrap()
}

fn experiment(saved: &str) -> Experiment {
    lab_result(saved).experiments.remove(0)
}

/// `title / label: values`, a line each.
fn outline(drawing: &dots::Dots) -> Vec<String> {
    let mut lines = Vec::new();
    for line in drawing.lines() {
        let dots = line.iter();
        let dots: Vec<String> = dots
            .map(|dot| format!("{}={}", drawing.series[dot.series], dot.value))
            .collect();
        let (group, label) = (&line[0].group, &line[0].label);
        lines.push(format!("{group} / {label}: {}", dots.join(" ")));
    }
    lines
}

#[test]
fn copies_stand_beside_their_limits() {
    let Experiment::Copy(result) = experiment(COPY) else {
        panic!("a copy result");
    };
    let drawing = lab::copy(&result);
    let lines = outline(&drawing);
    assert_eq!(lines.len(), 16);
    let group = "4 MiB, warm source, on host / ";
    assert_eq!(lines[0], format!("{group}fgetc_fputc: copied=0.235574198"));
    assert_eq!(
        lines[4],
        format!("{group}read_write 64 KiB: copied=0.001822968")
    );
    let dot = drawing.lines()[14][0];
    assert_eq!(dot.label, "direct 1 MiB");
    assert_eq!(dot.interval, (0.006_994_39, 0.023_276_806));
    assert_eq!(
        dot.words,
        "row 15 · direct 1 MiB on host: 16.0 ms (range: 6.99 ms–23.3 ms)"
    );
    let limit = dot.limit.as_ref().unwrap();
    assert!((limit.0 - 0.005_820_556).abs() < 1e-12);
    assert_eq!(
        limit.1,
        "limit of direct 1 MiB: device write alone 5.82 ms, 36 % of the row's time"
    );
}

#[test]
fn records_stand_by_mode_and_file_system() {
    let Experiment::Buffering(result) = experiment(BUFFERING) else {
        panic!("a buffering result");
    };
    let lines = outline(&lab::buffering(&result));
    assert_eq!(lines.len(), 12);
    assert_eq!(lines[2], "200 × 1 B on host / fsync: median=0.267356848");
    assert!(
        lines[6].starts_with("200 × 1 B on ext4 / buffered: "),
        "{}",
        lines[6]
    );
}

#[test]
fn states_of_one_reader_share_a_line() {
    let Experiment::PageCache(result) = experiment(PAGE_CACHE) else {
        panic!("a page-cache result");
    };
    let lines = outline(&lab::page_cache(&result));
    // Two sizes, five readers: 34 values on 10 lines.
    assert_eq!(lines.len(), 10);
    let start = "64 KiB / mmap: cold=0.000866246 warm=0.000250244";
    assert_eq!(lines[2], start);
}

#[test]
fn rates_latencies_and_seconds_of_syncs() {
    let Experiment::Sync(result) = experiment(SYNC) else {
        panic!("a sync result");
    };
    let rates = lab::sync_rates(&result);
    assert_eq!(
        outline(&rates),
        [
            "on ext4 / fsync append 1 KiB: median=144.51756047657557",
            "on ext4 / fdatasync append 1 KiB: median=91.05992422320922"
        ]
    );
    assert_eq!(
        rates.ends().unwrap(),
        "Least: row 2 · fdatasync append 1 KiB on ext4: 91.1 syncs/s (range: 78.2–470). \
         Most: row 1 · fsync append 1 KiB on ext4: 145 syncs/s (range: 67.8–306)."
    );
    let latencies = lab::sync_latencies(&result);
    let counts = latencies.iter();
    let counts: Vec<u64> = counts
        .map(|lane| lane.bars.iter().map(|bar| bar.count).sum())
        .collect();
    assert_eq!(counts, [110, 100], "every sync is in a bar");
    assert_eq!(
        latencies[0].words(),
        "fsync append 1 KiB on ext4: p50 5.83 ms, p90 18.6 ms, max 30.1 ms."
    );
    let seconds = lab::sync_seconds(&result);
    assert_eq!(seconds.len(), 1, "one second is no series");
    assert_eq!(
        seconds[0].words,
        "Row 1, fsync append 1 KiB on ext4: not steady, on average 363 syncs/s."
    );
    let lanes = &seconds[0].lanes.each;
    let labels: Vec<&str> = lanes.iter().map(|lane| lane.label.as_str()).collect();
    let expected = [
        "syncs/s",
        "data/s",
        "journal/s",
        "commit/s",
        "metadata/s",
        "flushes/s",
    ];
    assert_eq!(labels, expected);
    // 857 flushes in 1.001169946 s.
    let flushes = lanes[5].values[0].unwrap();
    assert!((flushes - 855.998_5).abs() < 1e-3, "{flushes}");
}

#[test]
fn requests_that_were_not_seen_are_no_zeros() {
    let Experiment::Sync(mut result) = experiment(SYNC) else {
        panic!("a sync result");
    };
    for second in &mut result.rows[0].series.seconds {
        second.requests.data = None;
    }
    let seconds = lab::sync_seconds(&result);
    assert_eq!(seconds[0].lanes.each[1].values, [None, None, None]);
}

#[test]
fn charts_stand_where_their_figures_are() {
    let places = |charts: Vec<Chart>| -> Vec<(String, String)> {
        let charts = charts.into_iter();
        charts
            .map(|chart| (chart.id, chart.after.part.name()))
            .collect()
    };
    let of = |saved| places(of_lab(&lab_result(saved)));
    let place = |id: &str, part: &str| (id.to_owned(), part.to_owned());
    assert_eq!(of(BUFFERING), [place("buffering", "rows")]);
    assert_eq!(of(PAGE_CACHE), [place("page-cache", "rows")]);
    assert_eq!(of(COPY), [place("copy", "rows")]);
    let sync = [
        place("sync-rates", "rows"),
        place("latencies", "rows"),
        place("seconds-1", "seconds"),
    ];
    assert_eq!(of(SYNC), sync);
    assert_eq!(of(ATIME), []);
    let trace = [place("strata", "bytes"), place("timeline", "over-time")];
    assert_eq!(places(of_trace(&full())), trace);
    assert_eq!(places(of_trace(&empty())), []);
}

#[test]
fn bytes_go_down_and_come_up() {
    let ways = trace::ways(&full());
    let times: Vec<&str> = ways
        .iter()
        .flat_map(|way| way.arrows.iter().map(|arrow| arrow.times.as_str()))
        .collect();
    // 3,698,688 and 14,794,752 for 31 KiB (31,744); 12 MiB for 12 MiB.
    assert_eq!(times, ["×117", "×466", "—", "×1.00"]);
    let device = ways[0].strata[2].parts.as_ref().unwrap();
    let causes: Vec<(&str, u64)> = device.iter().map(|part| (part.name, part.bytes)).collect();
    let expected = [
        ("data", 3_698_688),
        ("journal", 7_397_376),
        ("commit", 3_698_688),
    ];
    assert_eq!(causes, expected);
}

#[test]
fn strata_that_were_not_seen_are_unknown() {
    let mut result = full();
    result.bytes.dirtied_bytes = None;
    result.bytes.device_written_bytes = None;
    result.evidence.device = None;
    let way = &trace::ways(&result)[0];
    let seen: Vec<bool> = way
        .strata
        .iter()
        .map(|stratum| stratum.parts.is_some())
        .collect();
    assert_eq!(seen, [true, false, false]);
    assert!(way.arrows.iter().all(|arrow| arrow.times == Cell::NotSeen));
    assert_eq!(
        way.words(),
        "Written: bytes from program to device: application 31.0\u{a0}KiB, page cache n/a, device \
         n/a."
    );
}

#[test]
fn direct_writes_have_no_share_of_nothing() {
    let mut result = full();
    result.bytes.written_bytes = 0;
    let way = &trace::ways(&result)[0];
    assert!(
        way.arrows
            .iter()
            .all(|arrow| arrow.times == Cell::NotApplicable)
    );
}

#[test]
fn calls_stand_over_requests() {
    let timeline = Timeline {
        bucket_s: 0.5,
        calls: vec![CallSeries {
            group: Purpose::Write,
            counts: vec![3, 0],
            bytes: vec![12, 0],
            time_s: vec![0.1, 0.0],
        }],
        requests: Some(vec![RequestSeries {
            cause: Cause::Journal,
            counts: vec![0, 2],
            bytes: vec![0, 8192],
        }]),
        flushes: Some(vec![0, 1]),
        shared: false,
    };
    let mut result = full();
    result.timeline = Some(timeline);
    let lanes = trace::over_time(&result).each;
    let lanes: Vec<_> = lanes
        .into_iter()
        .map(|lane| (lane.group, lane.label, lane.values))
        .collect();
    let lane =
        |title, label: &str, values: [f64; 2]| (title, label.to_owned(), values.map(Some).to_vec());
    let expected = [
        lane("calls on files", "write", [3.0, 0.0]),
        lane("device requests", "journal", [0.0, 2.0]),
        lane("device requests", "flushes", [0.0, 1.0]),
    ];
    assert_eq!(lanes, expected);
}

#[test]
fn a_timeline_without_requests_says_so() {
    let timeline = Timeline {
        bucket_s: 0.5,
        calls: vec![CallSeries {
            group: Purpose::Read,
            counts: vec![1, 1],
            bytes: vec![1, 1],
            time_s: vec![0.1, 0.1],
        }],
        requests: None,
        flushes: None,
        shared: false,
    };
    let mut result = full();
    result.timeline = Some(timeline);
    let lanes = trace::over_time(&result).each;
    assert_eq!(lanes.len(), 2);
    assert_eq!(lanes[1].values, [None, None]);
    assert_eq!(lanes[1].group, "device requests");
}

#[test]
fn only_files_whose_pages_are_known_have_a_strip() {
    let mut result = full();
    let map = |size_bytes| ResidencyMap {
        size_bytes,
        page_bytes: 4096,
        range_bytes: 4096,
        resident_bytes: vec![4096, 0],
        dirty_bytes: None,
        writeback_bytes: None,
    };
    result.files[0].residency = Some(map(8192));
    result.files[1].residency = Some(map(0));
    let strips = trace::residency(&result);
    assert_eq!(strips.len(), 1);
    assert_eq!(strips[0].path, result.files[0].path);
    let charts = of_trace(&result);
    let residency = charts.iter().find(|chart| chart.id == "residency").unwrap();
    assert_eq!(residency.after.part, SectionId::Files);
    assert_eq!(residency.tables[0].rows(), 2);
}

#[test]
fn a_file_that_is_the_same_all_through_is_not_drawn() {
    let mut result = full();
    result.files[0].residency = Some(ResidencyMap {
        size_bytes: 8192,
        page_bytes: 4096,
        range_bytes: 4096,
        resident_bytes: vec![4096, 4096],
        dirty_bytes: Some(vec![0, 0]),
        writeback_bytes: None,
    });
    let charts = of_trace(&result);
    assert!(charts.iter().all(|chart| chart.id != "residency"));
}
