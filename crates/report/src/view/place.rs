//! The machine and the storage of a result in a few words.

use iostrata_core::Environment;
use iostrata_core::environment::{Backend, Storage, Way};
use iostrata_core::noun::counted;

use super::page::SEPARATOR;
use crate::format::{in_line, join, size};

/// `kernel 6.18 · 2 CPUs · 24.0 GiB memory · virtual machine`.
pub(super) fn machine(environment: &Environment) -> String {
    let mut words = vec![
        format!("kernel {}", in_line(&environment.kernel)),
        counted(u64::from(environment.cpus), "CPU"),
        format!("{} memory", size(environment.memory_bytes)),
    ];
    let kind = environment.virtualization.as_deref();
    words.extend(kind.map(|kind| in_line(kind).into_owned()));
    words.extend(unusual(&environment.ways));
    words.join(SEPARATOR)
}

/// `page cache by the functions filemap_fault`: what is not observed by tracepoints alone.
pub(super) fn unusual(ways: &[Way]) -> impl Iterator<Item = String> {
    let unusual = ways.iter().filter(|way| !way.is_usual());
    unusual.map(|way| format!("{} by {}", way.what, way.by))
}

pub(super) fn observed(backend: Backend) -> &'static str {
    match backend {
        Backend::Ebpf => "observed by eBPF",
        Backend::Ptrace => "observed by ptrace",
        Backend::None => "not observed",
    }
}

/// ` on loop3 → vda`: the devices under a file system.
pub(super) fn below(storage: &Storage) -> String {
    let devices = storage.devices.iter();
    let devices = join(devices.map(|device| in_line(&device.name)), " → ");
    if storage.devices.is_empty() {
        ", no block device seen".to_owned()
    } else {
        format!(" on {devices}")
    }
}

/// `ext4 (journal, data=ordered)`.
pub(super) fn file_system(storage: &Storage) -> String {
    let name = in_line(&storage.filesystem);
    let mode = storage
        .mount_options
        .split(',')
        .find(|option| option.starts_with("data="))
        .map(in_line);
    match (name.as_ref(), storage.journal, mode) {
        ("btrfs", ..) => "btrfs (copy-on-write)".to_owned(),
        ("xfs", Some(true), _) => "xfs (log)".to_owned(),
        (_, Some(true), Some(mode)) => format!("{name} (journal, {mode})"),
        (_, Some(true), None) => format!("{name} (journal)"),
        (_, Some(false), _) => format!("{name} (no journal)"),
        (_, None, _) => name.to_string(),
    }
}
