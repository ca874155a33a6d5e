//! The system calls of every mode, counted by strace, compared with the computed ones.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::places::workload_program;
use iostrata_core::buffering::{Case, Mode};
use iostrata_lab::buffering::WriteJob;
use iostrata_lab::buffering::expected_calls;
use iostrata_lab::engine::Launcher;

/// Calls that a mode may make on its file.
const CALLS: &str = "write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync,sync_file_range,msync";

fn traced(case: Case, dir: &Path) -> BTreeMap<String, (u64, u64)> {
    let (path, log) = (dir.join("f"), dir.join("log"));
    let arguments: Vec<OsString> = vec![
        "-f".into(),
        "-e".into(),
        format!("trace={CALLS}").into(),
        "-P".into(),
        path.clone().into(),
        "-o".into(),
        log.clone().into(),
        workload_program().into(),
    ];
    let job = WriteJob {
        case,
        path: Some(path.clone().into()),
    };
    let mut workload = Launcher::program("strace", arguments)
        .start(&job, &|| false)
        .unwrap();
    // The preparation syncs the new file once.
    let prepared = count(&fs::read_to_string(&log).unwrap());
    assert_eq!(prepared, BTreeMap::from([("fsync".to_owned(), (1, 0))]));
    workload.go(&|| false).unwrap();
    workload.exit().unwrap();
    let mut calls = count(&fs::read_to_string(&log).unwrap());
    let fsyncs = calls.get_mut("fsync").unwrap();
    fsyncs.0 -= 1;
    if fsyncs.0 == 0 {
        calls.remove("fsync");
    }
    assert_eq!(
        fs::metadata(&path).unwrap().len(),
        case.size_bytes * case.count
    );
    fs::remove_file(path).unwrap();
    calls
}

/// Calls and returned bytes by name, from lines such as `12 write(3, ...) = 10`.
fn count(log: &str) -> BTreeMap<String, (u64, u64)> {
    let mut calls = BTreeMap::new();
    for line in log.lines().filter(|line| line.contains('(')) {
        let name = line
            .split('(')
            .next()
            .unwrap()
            .split_whitespace()
            .last()
            .unwrap();
        let returned: u64 = line.rsplit("= ").next().unwrap().trim().parse().unwrap();
        let sum: &mut (u64, u64) = calls.entry(name.to_owned()).or_default();
        *sum = (sum.0 + 1, sum.1 + returned);
    }
    calls
}

#[test]
fn every_mode_makes_exactly_the_expected_calls() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    for mode in Mode::ALL {
        for (size_bytes, count) in [(1, 250), (3000, 205), (8192, 3), (100_000, 7)] {
            let case = Case {
                mode,
                size_bytes,
                count,
            };
            let expected: BTreeMap<String, (u64, u64)> = expected_calls(&case)
                .into_iter()
                .map(|(name, calls)| (name.to_owned(), calls))
                .collect();
            assert_eq!(traced(case, dir.path()), expected, "{case:?}");
        }
    }
}

#[test]
fn the_open_flags_are_those_of_the_mode() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    for (mode, flag) in [
        (Mode::OSync, Some("O_SYNC")),
        (Mode::ODsync, Some("O_DSYNC")),
        (Mode::Fsync, None),
    ] {
        let (path, log) = (dir.path().join(mode.as_str()), dir.path().join("log"));
        let arguments: [OsString; 6] = [
            "-e".into(),
            "trace=openat".into(),
            "-o".into(),
            log.clone().into(),
            "--".into(),
            workload_program().into(),
        ];
        let case = Case {
            mode,
            size_bytes: 1,
            count: 1,
        };
        let job = WriteJob {
            case,
            path: Some(path.clone().into()),
        };
        let workload = Launcher::program("strace", arguments)
            .start(&job, &|| false)
            .unwrap();
        workload.exit().unwrap();
        let log = fs::read_to_string(log).unwrap();
        let open = log
            .lines()
            .find(|line| line.contains(path.to_str().unwrap()))
            .unwrap();
        let flags: Vec<&str> = open
            .split([',', '|', ' '])
            .filter(|flag| flag.ends_with("SYNC"))
            .collect();
        assert_eq!(flags, flag.into_iter().collect::<Vec<_>>(), "{open}");
    }
}
