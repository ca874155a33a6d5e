//! `lab buffering` from end to end, observed by eBPF, on a fresh ext4.

use iostrata_core::buffering::{BufferingResult, Mode};
use iostrata_core::gap::Reason;
use iostrata_lab::buffering::Selection;
use iostrata_lab::engine::{Silent, StoppingRule};
use iostrata_lab::experiment::run;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{Image, ImageKind, Images, Plan, isolate, prepare};
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::target::Target;
use iostrata_report::words;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::stack::{Roots, inspect};

use crate::places::launcher;
use crate::undisturbed::undisturbed;

const RECORDS: u64 = 20;

fn target(image: &Image) -> Target {
    let stack = inspect(image.path(), &Roots::default()).unwrap();
    Target {
        name: image.kind().name().to_owned(),
        dir: image.path().to_owned(),
        image: true,
        backing_cached: false,
        disks: stack.charged_disks(),
        device_path: Some(image.device().path().to_owned()),
        storage: stack.target(image.path().display().to_string()),
    }
}

fn observed_run(modes: &[Mode]) -> BufferingResult {
    let mounts = isolate().unwrap();
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let images = Images {
        kinds: &[ImageKind::Ext4],
        bytes: 64 << 20,
        mounts: &mounts,
    };
    let plan = Plan {
        dir: dir.path(),
        enter: false,
        host_bytes: 64 << 20,
        images: Some(images),
    };
    let prepared = prepare(&plan, None, &Interrupt::never()).unwrap();
    let selection = Selection {
        modes: modes.to_vec(),
        sizes_bytes: vec![1],
        count: Some(RECORDS),
        effort: Effort::Quick,
    };
    let settings = RunSettings {
        stopping: StoppingRule {
            min_runs: 1,
            max_runs: 1,
            target_width: 0.1,
            budget_s: 10.0,
        },
        effort: selection.effort,
        scratch: prepared.host().to_owned(),
        launcher: launcher(),
        virtualization: None,
        unobserved_because: Reason::Error(String::new()),
    };
    let targets: Vec<Target> = prepared.images().iter().map(target).collect();
    let mut observer = EbpfObserver::open().unwrap();
    let result = run(
        &selection.plan().unwrap(),
        &settings,
        &targets,
        Some(&mut observer),
        &mut Silent,
        &|| false,
    )
    .unwrap();
    assert!(prepared.close().is_empty(), "everything is removed");
    of!(Buffering, result)
}

#[test]
fn every_layer_is_counted_and_charged_to_the_case() {
    undisturbed(|| {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("eBPF and loop devices need root");
            return;
        }
        let modes = [Mode::Buffered, Mode::Fsync, Mode::RwfDsync];
        let result = observed_run(&modes);
        for (row, mode) in result.rows.iter().zip(modes) {
            let evidence = &row.row.evidence;
            assert_eq!((row.row.case.mode, evidence.lost_events), (mode, 0));
            let odd = |note: &&String| note.contains("were counted");
            assert_eq!(
                row.row.notes.iter().find(odd),
                None,
                "the calls are the expected ones"
            );
            assert!(
                !evidence.syscalls.as_ref().unwrap().contains_key("read"),
                "the pipe is not the case's"
            );
            assert!(
                row.memory
                    .unwrap()
                    .after
                    .device_pages_bytes
                    .is_some_and(|bytes| bytes > 0)
            );
            let device = evidence.exact_device().unwrap();
            let seen = (device.data.count, device.journal.count, device.commit.count);
            if mode == Mode::Buffered {
                assert_eq!(
                    (seen, device.flushes),
                    ((0, 0, 0), 0),
                    "nothing while it ran"
                );
                assert_eq!(evidence.exact_device_after_exit().unwrap().data.count, 1);
            } else {
                // One data block, one journal write and one commit block per sync, with a flush
                // before the commit block and one after it.
                assert_eq!(seen, (RECORDS, RECORDS, RECORDS), "{mode:?}");
                assert!(device.flushes >= 2 * RECORDS, "{} flushes", device.flushes);
            }
        }
        check_timelines(&result);
        check_runtimes(&result);
    });
}

fn check_timelines(result: &BufferingResult) {
    let durable = |mode: Mode| {
        let timeline = result
            .own
            .timelines
            .iter()
            .find(|timeline| timeline.mode == mode)
            .unwrap();
        timeline
            .steps
            .iter()
            .map(|step| step.durable_bytes.unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(durable(Mode::Buffered), [0; 6]);
    assert_eq!(durable(Mode::Fsync), [0, 3000, 6000, 9000, 12_000, 12_000]);
    assert_eq!(
        durable(Mode::RwfDsync),
        [0, 3000, 6000, 9000, 12_000, 12_000]
    );
}

fn check_runtimes(result: &BufferingResult) {
    // Every machine that builds this has a C compiler, and this one has Python.
    for (name, bytes) in [("C stdio", Some(4096)), ("Python", None)] {
        let row = result
            .own
            .runtimes
            .iter()
            .find(|row| row.runtime == name)
            .unwrap();
        let three: Vec<(&str, u64)> = row
            .three_writes
            .iter()
            .map(|call| (call.name.as_str(), call.returned_bytes))
            .collect();
        assert_eq!(three, [("write", 11)], "{name}");
        assert_eq!(
            row.ten_kib
                .iter()
                .map(|call| call.returned_bytes)
                .sum::<u64>(),
            10_240
        );
        assert!(row.buffer_bytes.is_some() && (bytes.is_none() || row.buffer_bytes == bytes));
        assert!(!row.version.is_empty());
    }
    assert!(
        result
            .missing
            .iter()
            .any(|gap| words::missing(&gap.what).to_string() == "Go"
                && words::reason(&gap.why).to_string().contains("quick"))
    );
}
