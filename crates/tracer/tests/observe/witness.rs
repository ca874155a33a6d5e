//! The observer agrees with tools that count by other means.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use iostrata_core::observe::Stream;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::kernel::cachestat;
use std::os::fd::AsFd as _;

use crate::session::{observe, workload};
use crate::undisturbed::undisturbed;

/// Calls by name as `strace -f -c` counts them.
fn strace(program: &Path, arguments: &[&str], dir: &Path) -> BTreeMap<String, u64> {
    let summary = dir.join("summary");
    let status = Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&summary)
        .arg(program)
        .args(arguments)
        .status()
        .unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(&summary).unwrap();
    // "% time seconds usecs/call calls [errors] syscall"
    let rows = text
        .lines()
        .skip(2)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|fields| {
        fields.len() >= 5 && !fields[0].starts_with('-') && fields.last() != Some(&"total")
    })
    .map(|fields| {
        (
            (*fields.last().unwrap()).to_owned(),
            fields[3].parse().unwrap(),
        )
    })
    .collect()
}

#[test]
fn agrees_with_strace_on_every_call_of_a_process_tree() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let program = workload("tree");
    let arguments = [dir.path().to_str().unwrap(), "4", "8", "250", "100"];
    let witness = strace(&program, &arguments, dir.path());

    let mut observer = EbpfObserver::open().unwrap();
    let (seen, status) = observe(
        &mut observer,
        Stream::default(),
        Command::new(&program).args(arguments),
        || (),
    );
    assert!(status.success());
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    for row in seen.raw.syscalls.unwrap() {
        *counted.entry(row.name.to_owned()).or_default() += row.count;
    }
    assert_eq!(witness["pwrite64"], 4 * 8 * 250);
    // How often threads wait for each other and how malloc grows its arenas depends on timing.
    let depends_on_timing = ["futex", "mmap", "munmap", "mprotect", "madvise", "brk"];
    let fixed = |calls: BTreeMap<String, u64>| -> BTreeMap<String, u64> {
        calls
            .into_iter()
            .filter(|(name, _)| !depends_on_timing.contains(&name.as_str()))
            .collect()
    };
    // The blocked shell contributes only the execve, which strace counts too.
    assert_eq!(fixed(counted), fixed(witness));
}

#[test]
fn agrees_with_strace_on_synced_writes() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let program = workload("append");
    let file = dir.path().join("f");
    let arguments = [file.to_str().unwrap(), "321", "1000", "fdatasync"];
    let witness = strace(&program, &arguments, dir.path());
    let mut observer = EbpfObserver::open().unwrap();
    let (seen, _) = observe(
        &mut observer,
        Stream::default(),
        Command::new(&program).args(arguments),
        || (),
    );
    let rows = seen.raw.syscalls.unwrap();
    for name in ["write", "fdatasync"] {
        let ours: u64 = rows
            .iter()
            .filter(|row| row.name == name)
            .map(|row| row.count)
            .sum();
        assert_eq!(ours, witness[name], "{name}");
        assert_eq!(ours, 321, "{name}");
    }
}

#[test]
fn residency_agrees_with_fincore() {
    undisturbed(|| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![7_u8; 300 * 4096]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        rustix::fs::fsync(&file).unwrap();
        // Half of it is evicted, so that the figure is neither zero nor everything.
        let half = std::num::NonZeroU64::new(150 * 4096);
        rustix::fs::fadvise(&file, 0, half, rustix::fs::Advice::DontNeed).unwrap();

        let ours = cachestat(file.as_fd(), 0..u64::MAX).unwrap().cached_pages;
        let fincore = Command::new("fincore")
            .args(["--bytes", "--noheadings", "-o", "PAGES"])
            .arg(&path)
            .output()
            .unwrap();
        let theirs: u64 = String::from_utf8(fincore.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        assert_eq!(ours, theirs);
    });
}
