//! A disk's request queue, from `/sys/block/DISK/queue`.
//! Source: Documentation/ABI/stable/sysfs-block.

use iostrata_core::doctor::Queue;

use super::Roots;
use super::block::Block;

/// Reads the attributes in sysfs; missing ones are `None`.
pub(super) fn read(block: &Block) -> Queue {
    let text = |name: &str| Roots::read(&block.directory.join("queue").join(name));
    let number = |name: &str| Roots::read_number(&block.directory.join("queue").join(name));
    Queue {
        model: model(block),
        // Only blk-mq has requests, and it creates this directory (block/blk-mq-sysfs.c,
        // `blk_mq_sysfs_register`).
        request_based: block.directory.join("mq").exists(),
        rotational: number("rotational").map(|value| value != 0),
        write_cache: text("write_cache"),
        fua: number("fua").map(|value| value != 0),
        scheduler: text("scheduler").and_then(|list| active_scheduler(&list)),
        logical_block_bytes: number("logical_block_size"),
        physical_block_bytes: number("physical_block_size"),
        nr_requests: number("nr_requests"),
        read_ahead_bytes: number("read_ahead_kb").and_then(|kib| kib.checked_mul(1024)),
        discard_granularity_bytes: number("discard_granularity"),
    }
}

/// The name in brackets; devices without a choice show a bare `none`.
fn active_scheduler(list: &str) -> Option<String> {
    let mut names = list.split_whitespace();
    let bracketed = names
        .clone()
        .find_map(|name| name.strip_prefix('[')?.strip_suffix(']'));
    bracketed.or_else(|| names.next()).map(str::to_owned)
}

/// Model with its vendor. SCSI disks behind libata all report vendor `ATA`; virtio shows a PCI id
/// under that name.
fn model(block: &Block) -> Option<String> {
    let text = |name: &str| {
        Roots::read(&block.directory.join("device").join(name)).filter(|text| !text.is_empty())
    };
    let model = text("model").or_else(|| text("name"))?;
    let vendor = text("vendor").filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"));
    Some(vendor.map_or_else(|| model.clone(), |vendor| format!("{vendor} {model}")))
}

#[cfg(test)]
mod tests {
    use super::active_scheduler;

    #[test]
    fn the_active_scheduler_is_bracketed() {
        assert_eq!(
            active_scheduler("none [mq-deadline] kyber").as_deref(),
            Some("mq-deadline")
        );
        assert_eq!(active_scheduler("none").as_deref(), Some("none"));
        assert_eq!(active_scheduler(""), None);
    }
}
