//! Every method of `lab copy`, as its workload process does it: contents, truncation, failures, and
//! the system calls compared with strace's counts.

use iostrata_core::gap::Reason;
use iostrata_report::words;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_core::copy::{Case, CopyMethod, CopyResult, Destination, Source};
use iostrata_lab::copy::{Buffer, CopyJob, Selection};
use iostrata_lab::engine::{EngineError, FailureKind, Job as _, Silent, StoppingRule};
use iostrata_lab::error::LabError;
use iostrata_lab::experiment::run;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{Image, ImageKind, Images, Plan, isolate, prepare};
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::target::Target;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::stack::{Roots, inspect};

use crate::places::{launcher, target, workload_program};
use crate::undisturbed::undisturbed;

/// Neither whole pages nor whole buffers.
const SIZE_BYTES: u64 = 300_001;

fn never() -> bool {
    false
}

fn case(method: CopyMethod, destination: Destination, durable: bool) -> Case {
    Case {
        method,
        buffer_bytes: method.has_buffer().then_some(8192),
        source: Source::Warm,
        durable,
        size_bytes: SIZE_BYTES,
        destination,
    }
}

fn job(case: Case, dir: &Path) -> CopyJob {
    CopyJob {
        case,
        from: dir.join("from").into(),
        to: dir.join("to").into(),
    }
}

fn source(dir: &Path) -> Vec<u8> {
    let bytes: Vec<u8> = (0..=250).cycle().take(300_001).collect();
    fs::write(dir.join("from"), &bytes).unwrap();
    bytes
}

fn copies(dir: &Path, methods: &[CopyMethod]) {
    let bytes = source(dir);
    for &method in methods {
        for destination in Destination::ALL {
            for durable in [false, true] {
                let to = dir.join("to");
                match destination {
                    Destination::Fresh => drop(fs::remove_file(&to)),
                    // Longer than the source: the rest must be truncated.
                    Destination::Existing => fs::write(&to, vec![9; 400_000]).unwrap(),
                }
                let job = job(case(method, destination, durable), dir);
                let mut workload = launcher().start(&job, &never).unwrap();
                workload
                    .go(&never)
                    .unwrap_or_else(|error| panic!("{method:?} {destination:?}: {error}"));
                workload.exit().unwrap();
                assert!(
                    fs::read(&to).unwrap() == bytes,
                    "{method:?} {destination:?} {durable}"
                );
            }
        }
    }
    fs::remove_file(dir.join("to")).unwrap();
}

fn all_but_reflink() -> Vec<CopyMethod> {
    let methods = CopyMethod::ALL.into_iter();
    methods
        .filter(|method| *method != CopyMethod::Reflink)
        .collect()
}

#[test]
fn every_method_copies_every_byte_and_cuts_a_longer_file() {
    for base in ["/var/tmp", "/dev/shm"] {
        let dir = tempfile::tempdir_in(base).unwrap();
        copies(dir.path(), &all_but_reflink());
    }
}

#[test]
fn every_method_copies_every_byte_on_images() {
    let kinds = [ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs];
    with_images(&kinds, |images| {
        for image in images {
            match image.kind() {
                ImageKind::Ext4 => copies(image.path(), &all_but_reflink()),
                _ => copies(image.path(), &CopyMethod::ALL),
            }
        }
    });
}

#[test]
fn a_reflink_where_there_is_none_is_refused_by_the_kernel() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    source(dir.path());
    let job = job(
        case(CopyMethod::Reflink, Destination::Fresh, false),
        dir.path(),
    );
    let mut workload = launcher().start(&job, &never).unwrap();
    let EngineError::Failed(failure) = workload.go(&never).unwrap_err() else {
        panic!("not a failure of the copy")
    };
    assert_eq!(failure.kind, FailureKind::Unsupported, "{failure}");
}

#[test]
fn a_fresh_copy_goes_over_nothing() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    source(dir.path());
    fs::write(dir.path().join("to"), b"kept").unwrap();
    let job = job(
        case(CopyMethod::Sendfile, Destination::Fresh, false),
        dir.path(),
    );
    let mut workload = launcher().start(&job, &never).unwrap();
    assert!(workload.go(&never).is_err());
    assert_eq!(fs::read(dir.path().join("to")).unwrap(), b"kept");
}

/// Calls by name as `strace -f -c` counts them in a workload process that reads `lines`.
fn strace(dir: &Path, lines: &str) -> BTreeMap<String, u64> {
    let summary = dir.join("summary");
    let mut child = Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&summary)
        .arg(workload_program())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let text = fs::read_to_string(&summary).unwrap();
    // "% time seconds usecs/call calls [errors] syscall"
    let rows = text.lines().skip(2).map(str::split_whitespace);
    rows.map(Iterator::collect::<Vec<_>>)
        .filter(|fields| fields.len() >= 5 && !fields[0].starts_with('-'))
        .filter(|fields| fields.last() != Some(&"total"))
        .map(|fields| {
            let calls = fields[3].parse().unwrap();
            ((*fields.last().unwrap()).to_owned(), calls)
        })
        .collect()
}

/// The calls that a copy adds to a process that only reads its job and ends.
fn witness(case: Case) -> BTreeMap<String, u64> {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    source(dir.path());
    let job = serde_json::json!({"name": CopyJob::NAME, "job": job(case, dir.path())});
    let idle = strace(dir.path(), &format!("{job}\n\"exit\"\n"));
    let mut calls = strace(dir.path(), &format!("{job}\n\"go\"\n\"exit\"\n"));
    for (name, count) in idle {
        let left = calls.entry(name).or_default();
        *left = left.checked_sub(count).unwrap();
    }
    // The report to the parent; both commands came with one read.
    *calls.get_mut("write").unwrap() -= 1;
    calls.remove("getrusage");
    calls.retain(|_, count| *count > 0);
    calls
}

#[test]
fn the_calls_are_those_that_strace_counts() {
    let methods = all_but_reflink();
    let result = host_run(&Selection {
        methods: methods.clone(),
        sources: vec![Source::Warm],
        buffers: vec![Buffer::Bytes(8192)],
        sizes_bytes: vec![SIZE_BYTES],
        ..Selection::default()
    });
    assert_eq!(result.rows.len(), methods.len());
    for row in &result.rows {
        let seen = row.row.evidence.syscalls.as_ref().unwrap();
        let mut seen: BTreeMap<String, u64> = seen
            .iter()
            .map(|(name, call)| (name.clone(), call.count))
            .collect();
        let mut witness = witness(row.row.case);
        if row.row.case.method == CopyMethod::IoUring {
            // The number of completions that one call finds depends on timing.
            let entered = |calls: &mut BTreeMap<String, u64>| calls.remove("io_uring_enter");
            assert!(entered(&mut seen).is_some() && entered(&mut witness).is_some());
        }
        if row.row.case.method == CopyMethod::Cp {
            witness = without_launching(witness);
        }
        assert_eq!(seen, witness, "{:?}", row.row.case.method);
    }
}

/// strace's counts for `cp`, without the calls that start it: searching it in `PATH`, and a pipe
/// for its error messages, which is created, moved into place, read once and closed at three ends.
fn without_launching(mut calls: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    for name in ["clone", "pipe2", "prctl", "recvfrom", "socketpair", "wait4"] {
        assert!(calls.remove(name).is_some(), "{name}");
    }
    for (name, of_pipe) in [("close", 3), ("dup2", 1), ("read", 1)] {
        *calls.get_mut(name).unwrap() -= of_pipe;
    }
    calls.insert("execve".to_owned(), 1);
    calls
}

fn settings(scratch: &Path) -> RunSettings {
    RunSettings {
        stopping: StoppingRule {
            min_runs: 1,
            max_runs: 1,
            target_width: 0.1,
            budget_s: 10.0,
        },
        effort: Effort::Quick,
        scratch: scratch.to_owned(),
        launcher: launcher(),
        virtualization: None,
        unobserved_because: Reason::Error("nobody watches".to_owned()),
    }
}

fn host_run(selection: &Selection) -> CopyResult {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = target("host", dir.path(), "ext4");
    let mut observer = EbpfObserver::open().unwrap();
    let cases = selection.plan().unwrap();
    let settings = settings(dir.path());
    let observer = Some(&mut observer as &mut dyn iostrata_core::observe::Observer);
    let result = run(&cases, &settings, &[place], observer, &mut Silent, &never);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "all removed");
    of!(Copy, result.unwrap())
}

fn with_images(kinds: &[ImageKind], test: impl FnOnce(&[Image])) {
    let mounts = isolate().unwrap();
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let images = Images {
        kinds,
        bytes: 256 << 20,
        mounts: &mounts,
    };
    let plan = Plan {
        dir: dir.path(),
        enter: false,
        host_bytes: 1 << 20,
        images: Some(images),
    };
    let prepared = prepare(&plan, None, &Interrupt::never()).unwrap();
    test(prepared.images());
    assert!(prepared.close().is_empty(), "everything is removed");
}

fn image_target(image: &Image) -> Target {
    let dir = image.path().join("data");
    fs::create_dir(&dir).unwrap();
    let stack = inspect(&dir, &Roots::default()).unwrap();
    Target {
        name: image.kind().name().to_owned(),
        image: true,
        backing_cached: false,
        disks: stack.charged_disks(),
        device_path: Some(image.device().path().to_owned()),
        storage: stack.target(dir.display().to_string()),
        dir,
    }
}

#[test]
fn a_durable_copy_writes_the_file_once_and_a_reflink_nothing() {
    const BYTES: u64 = 8 << 20;
    let methods = vec![
        CopyMethod::ReadWrite,
        CopyMethod::MmapMemcpy,
        CopyMethod::Splice,
        CopyMethod::Direct,
        CopyMethod::Reflink,
    ];
    let selection = Selection {
        methods,
        buffers: vec![Buffer::Bytes(1 << 20)],
        sizes_bytes: vec![BYTES],
        durable: true,
        named_images: true,
        ..Selection::default()
    };
    with_images(&[ImageKind::Xfs, ImageKind::Btrfs], |images| {
        let targets: Vec<Target> = images.iter().map(image_target).collect();
        let mut observer = EbpfObserver::open().unwrap();
        let cases = selection.plan().unwrap();
        let settings = settings(&targets[0].dir);
        let observer = Some(&mut observer as &mut dyn iostrata_core::observe::Observer);
        let result = of!(
            Copy,
            run(&cases, &settings, &targets, observer, &mut Silent, &never).unwrap()
        );
        assert_eq!(result.rows.len(), 2 * 5, "{:?}", result.missing);
        for row in &result.rows {
            let case = row.row.case;
            let expected = if case.method == CopyMethod::Reflink {
                0
            } else {
                BYTES
            };
            let evidence = &row.row.evidence;
            assert_eq!(evidence.lost_events, 0);
            let data = evidence.exact_device().unwrap().data.bytes;
            assert_eq!(data, expected, "{:?} on {}", case.method, row.row.target);
            assert!(row.verified);
        }
    });
}

#[test]
fn a_cold_source_is_read_from_the_device_and_a_warm_one_is_not() {
    undisturbed(|| {
        let selection = Selection {
            methods: vec![CopyMethod::ReadWrite],
            sources: Source::ALL.to_vec(),
            buffers: vec![Buffer::Bytes(1 << 20)],
            sizes_bytes: vec![8 << 20],
            named_images: true,
            ..Selection::default()
        };
        with_images(&[ImageKind::Ext4], |images| {
            let targets: Vec<Target> = images.iter().map(image_target).collect();
            let mut observer = EbpfObserver::open().unwrap();
            let cases = selection.plan().unwrap();
            let settings = settings(&targets[0].dir);
            let observer = Some(&mut observer as &mut dyn iostrata_core::observe::Observer);
            let result = of!(
                Copy,
                run(&cases, &settings, &targets, observer, &mut Silent, &never).unwrap()
            );
            for row in &result.rows {
                let read = row.row.evidence.exact_device().unwrap().reads.bytes;
                let before = row.row.evidence.cache.resident_before_bytes;
                match row.row.case.source {
                    Source::Warm => assert_eq!((read, before), (0, Some(8 << 20))),
                    Source::Cold => {
                        assert!(read >= 8 << 20, "{read}");
                        assert_eq!(before, Some(0));
                    }
                }
            }
        });
    });
}

#[test]
fn a_memory_file_system_is_never_cold_and_says_so() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let selection = Selection {
        methods: vec![CopyMethod::Sendfile, CopyMethod::Reflink],
        sources: Source::ALL.to_vec(),
        sizes_bytes: vec![SIZE_BYTES],
        ..Selection::default()
    };
    let place = target("host", dir.path(), "tmpfs");
    let cases = selection.plan().unwrap();
    let settings = settings(dir.path());
    let result = of!(
        Copy,
        run(&cases, &settings, &[place], None, &mut Silent, &never).unwrap()
    );
    assert_eq!(result.rows.len(), 1);
    let gap = |what: &str| {
        result
            .missing
            .iter()
            .find(|gap| words::missing(&gap.what).to_string() == what)
    };
    let why = &gap("cold source on host").unwrap().why;
    assert!(words::reason(why).to_string().contains("tmpfs"));
    assert!(gap("reflink on host").is_some());
    assert!(gap("kernel evidence").is_some());
    assert!(result.rows[0].figures.calls.is_none(), "unknown is not 0");
}

#[test]
fn an_interruption_keeps_nothing_but_says_so() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let selection = Selection {
        sizes_bytes: vec![SIZE_BYTES],
        ..Selection::default()
    };
    let place = target("host", dir.path(), "ext4");
    let cases = selection.plan().unwrap();
    let settings = settings(dir.path());
    let result = of!(
        Copy,
        run(&cases, &settings, &[place], None, &mut Silent, &|| true).unwrap()
    );
    assert!(result.method.interrupted && result.rows.is_empty());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_full_target_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let selection = Selection {
        sizes_bytes: vec![1 << 60],
        ..Selection::default()
    };
    let place = target("host", dir.path(), "ext4");
    let cases = selection.plan().unwrap();
    let settings = settings(dir.path());
    let error = run(&cases, &settings, &[place], None, &mut Silent, &never).unwrap_err();
    assert!(matches!(error, LabError::NoSpace { .. }), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
