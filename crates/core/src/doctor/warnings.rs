//! Facts about the storage that affect the meaning of measurements on it.

use super::{Layer, LayerKind, Stack};

/// Sentences about `stack`. `virtual_machine`: the hypervisor provides the disks.
pub fn warnings(stack: &Stack, virtual_machine: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    for layer in &stack.layers {
        let found = [
            loop_cache(layer),
            no_barrier(layer),
            no_journal(layer),
            rotation(layer, virtual_machine),
            flush(layer),
            bio_based(layer),
        ];
        for warning in found.into_iter().flatten() {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    if stack.devices().is_empty() {
        warnings.push(
            "no block device found under this path, so there are no device requests to count"
                .to_owned(),
        );
    }
    warnings
}

fn rotation(layer: &Layer, virtual_machine: bool) -> Option<String> {
    let LayerKind::Disk { bus } = &layer.kind else {
        return None;
    };
    let emulated = virtual_machine || matches!(bus.as_deref(), Some("virtio" | "xen" | "hyper-v"));
    (emulated && layer.queue.as_ref()?.rotational == Some(true)).then(|| {
        format!(
            "{}: rotational=1 is the hypervisor's claim; it says nothing about the hardware",
            layer.name
        )
    })
}

fn flush(layer: &Layer) -> Option<String> {
    let queue = layer.queue.as_ref().filter(|_| layer.charged)?;
    let cached = queue.write_cache.as_deref() == Some("write back");
    (cached && queue.fua == Some(false)).then(|| {
        format!("{}: write-back cache without FUA, so every durable write is paid with a flush of the whole cache", layer.name)
    })
}

fn no_barrier(layer: &Layer) -> Option<String> {
    (layer.mount.as_ref()?.journal.barrier == Some(false)).then(|| {
        format!("{} is mounted without barriers: fsync does not flush the device's cache, and a power cut can lose what it promised", layer.name)
    })
}

fn no_journal(layer: &Layer) -> Option<String> {
    let mount = layer.mount.as_ref()?;
    (layer.name.starts_with("ext") && mount.journal.present == Some(false)).then(|| {
        format!("{} on {} has no journal: a sync writes no journal blocks here, and a crash needs a full fsck", layer.name, mount.source)
    })
}

fn loop_cache(layer: &Layer) -> Option<String> {
    let LayerKind::Loop {
        direct_io: Some(false),
        ..
    } = &layer.kind
    else {
        return None;
    };
    Some(format!(
        "{}: its image is cached a second time by the file system that holds it, and a flush becomes an fsync of the image",
        layer.name
    ))
}

/// The kernel never emits `block_rq_issue` for a bio-based device (block/blk-core.c,
/// `submit_bio_noacct`); with nothing below, nothing counts.
fn bio_based(layer: &Layer) -> Option<String> {
    let leaf = matches!(layer.kind, LayerKind::Disk { .. } | LayerKind::Memory);
    (leaf
        && layer
            .queue
            .as_ref()
            .is_some_and(|queue| !queue.request_based))
    .then(|| {
        format!(
            "{}: its driver does not work with block requests, so none can be counted",
            layer.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{DeviceNumber, Journal, Mount, Queue};

    fn on_disk(queue: Queue, barrier: Option<bool>) -> Stack {
        let journal = Journal {
            present: Some(true),
            barrier,
            ..Journal::default()
        };
        let mount = Mount {
            point: "/".into(),
            root: "/".into(),
            source: "/dev/vda".into(),
            options: "rw".into(),
            journal,
        };
        let device = Some(DeviceNumber {
            major: 254,
            minor: 0,
        });
        let top = Layer {
            depth: 0,
            kind: LayerKind::FileSystem,
            name: "ext4".into(),
            device,
            charged: false,
            size_bytes: None,
            mount: Some(mount),
            queue: None,
            note: None,
        };
        let disk = Layer {
            depth: 1,
            kind: LayerKind::Disk {
                bus: Some("scsi".into()),
            },
            name: "sda".into(),
            charged: queue.request_based,
            mount: None,
            queue: Some(queue),
            ..top.clone()
        };
        Stack {
            layers: vec![top, disk],
        }
    }

    #[test]
    fn a_claim_to_rotate_is_doubted_only_in_a_virtual_machine() {
        let queue = Queue {
            request_based: true,
            rotational: Some(true),
            ..Queue::default()
        };
        assert_eq!(
            warnings(&on_disk(queue.clone(), None), false),
            Vec::<String>::new()
        );
        assert!(warnings(&on_disk(queue, None), true)[0].contains("hypervisor's claim"));
    }

    #[test]
    fn flush_and_barriers_are_said() {
        let queue = Queue {
            request_based: true,
            write_cache: Some("write back".into()),
            fua: Some(false),
            ..Queue::default()
        };
        let found = warnings(&on_disk(queue, Some(false)), false);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("without barriers"));
        assert!(found[1].contains("without FUA"));
    }

    #[test]
    fn a_disk_without_requests_is_named() {
        let found = warnings(&on_disk(Queue::default(), None), false);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("none can be counted"), "{found:?}");
    }
}
