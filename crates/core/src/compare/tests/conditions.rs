//! Conditions that differ.

use super::*;
use crate::compare::Weight;

/// The differing conditions after `change` was applied to the second of two equal results.
fn differing(change: impl FnOnce(&mut LabResult)) -> Vec<(String, Weight)> {
    let base = result(vec![row(Mode::Flush, 1, &[1.0, 1.0])]);
    let mut new = base.clone();
    change(&mut new);
    let comparison = compared(&base, &new);
    let conditions = comparison.conditions.into_iter();
    conditions.map(|one| (one.what, one.weight)).collect()
}

fn storage(result: &mut LabResult) -> &mut Storage {
    match &mut result.experiments[0] {
        Experiment::Buffering(buffering) => &mut buffering.targets[0].storage,
        _ => unreachable!("made by `result`"),
    }
}

#[test]
fn each_is_named() {
    let machine = |what: &str| vec![(what.to_owned(), Weight::Machine)];
    assert_eq!(
        differing(|new| new.environment.kernel = "6.19.0".to_owned()),
        machine("kernel")
    );
    assert_eq!(differing(|new| new.environment.cpus = 4), machine("CPUs"));
    assert_eq!(
        differing(|new| new.environment.memory_bytes = 8 << 30),
        machine("memory")
    );
    let found = differing(|new| new.environment.virtualization = Some("KVM".to_owned()));
    assert_eq!(found, machine("virtualization"));
    let found = differing(|new| storage(new).filesystem = "xfs".to_owned());
    assert_eq!(found, machine("file system of host"));
    let found = differing(|new| storage(new).mount_options = "rw".to_owned());
    assert_eq!(found, machine("mount options of host"));
    let found = differing(|new| storage(new).journal = None);
    assert_eq!(found, machine("journal of host"));
    let found = differing(|new| storage(new).devices[0].model = Some("disk".to_owned()));
    assert_eq!(found, machine("devices of host"));
    let found = differing(|new| storage(new).devices[0].scheduler = Some("bfq".to_owned()));
    assert_eq!(found, machine("devices of host"));
    let found = differing(|new| new.environment.backend = Backend::None);
    assert_eq!(found, [("back end".to_owned(), Weight::Settings)]);
    let found = differing(|new| new.environment.iostrata_version = "0.2.0".to_owned());
    assert_eq!(found, [("iostrata".to_owned(), Weight::Note)]);
}

#[test]
fn settings_and_interruptions_of_the_experiment() {
    let found = differing(|new| {
        let Experiment::Buffering(buffering) = &mut new.experiments[0] else {
            unreachable!("made by `result`")
        };
        buffering.method.timing_runs = (5, 9);
        buffering.method.interrupted = true;
    });
    assert_eq!(
        found,
        [
            ("timing runs of buffering".to_owned(), Weight::Settings),
            ("run of buffering".to_owned(), Weight::Note)
        ]
    );
}

#[test]
fn the_path_the_loop_device_and_a_little_memory_do_not_matter() {
    let found = differing(|new| {
        new.environment.memory_bytes -= 64 << 20;
        new.environment.target.path = "/elsewhere".to_owned();
        storage(new).path = "/elsewhere".to_owned();
    });
    assert!(found.is_empty(), "{found:?}");
    let mut base = result(vec![row(Mode::Flush, 1, &[1.0, 1.0])]);
    storage(&mut base).devices[0].name = "loop3".to_owned();
    let mut new = base.clone();
    storage(&mut new).devices[0].name = "loop11".to_owned();
    assert!(compared(&base, &new).conditions.is_empty());
    storage(&mut new).devices[0].name = "loopy".to_owned();
    assert_eq!(compared(&base, &new).conditions.len(), 1);
}
