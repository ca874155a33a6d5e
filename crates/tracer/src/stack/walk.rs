//! Walks from a mount down through its devices, layer by layer.

use std::path::Path;

use iostrata_core::doctor::{self, Layer, LayerKind, Stack};

use super::block::{self, Block, queue_of};
use super::mountinfo::{Mount, Mounts};
use super::{Roots, journal, mount_id, overlay};

/// Deeper stacks are cut: no kernel nests block devices this far.
const DEEPEST: u32 = 24;

/// Whether the layer carries the traffic of the file system in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charge {
    /// Requests on the next request-based device are counted.
    Next,
    /// They were counted above: lower layers repeat them.
    Done,
}

pub(super) struct Walk<'a> {
    roots: &'a Roots,
    mounts: &'a Mounts,
    layers: Vec<Layer>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(roots: &'a Roots, mounts: &'a Mounts) -> Self {
        Self {
            roots,
            mounts,
            layers: Vec::new(),
        }
    }

    pub(super) fn layers_under(mut self, mount: &Mount) -> Stack {
        self.file_system(mount, 0, Charge::Next, None);
        Stack {
            layers: self.layers,
        }
    }

    /// From a block device on.
    pub(super) fn layers_of(mut self, block: &Block) -> Stack {
        self.block(block, 0, Charge::Next, None);
        Stack {
            layers: self.layers,
        }
    }

    fn file_system(&mut self, mount: &Mount, depth: u32, charge: Charge, note: Option<String>) {
        let block = mount
            .on_block_device()
            .then(|| block::by_number(self.roots, mount.device))
            .flatten();
        let journal = journal::of(
            mount,
            block.as_ref().map(|block| block.name.as_str()),
            self.roots,
        );
        let log_device = journal.log_device.clone();
        self.layers.push(Layer {
            depth,
            kind: LayerKind::FileSystem,
            name: mount.kind.clone(),
            device: mount.on_block_device().then_some(mount.device),
            charged: false,
            size_bytes: None,
            mount: Some(doctor::Mount {
                point: mount.point.to_string_lossy().into_owned(),
                root: mount.root.to_string_lossy().into_owned(),
                source: mount.source.to_string_lossy().into_owned(),
                options: mount.all_options(),
                journal,
            }),
            queue: None,
            note,
        });
        if depth > DEEPEST {
            return;
        }
        let at = self.layers.len() - 1;
        let without = if let Some(block) = block {
            self.block(&block, depth + 1, charge, None);
            None
        } else if mount.on_block_device() {
            Some("its block device is not in sysfs".to_owned())
        } else if mount.kind == "overlay" {
            self.overlay(mount, depth, charge)
        } else {
            self.members(mount, depth, charge)
        };
        self.add_note(at, without);
        self.named(log_device.as_deref(), depth, charge, "holds the log");
        for device in mount.superblock_values("rtdev") {
            self.named(
                block::name_of(Path::new(&device)).as_deref(),
                depth,
                charge,
                "holds the realtime section",
            );
        }
    }

    fn add_note(&mut self, at: usize, text: Option<String>) {
        if let (Some(layer), Some(text)) = (self.layers.get_mut(at), text) {
            layer.note = Some(
                layer
                    .note
                    .take()
                    .map_or_else(|| text.clone(), |note| format!("{note}; {text}")),
            );
        }
    }

    fn named(&mut self, name: Option<&str>, depth: u32, charge: Charge, role: &str) {
        if let Some(block) = name.and_then(|name| block::by_name(self.roots, name)) {
            self.block(&block, depth + 1, charge, Some(role.to_owned()));
        }
    }

    /// Upper, then each lower file system once: containers stack dozens of lower directories of one
    /// file system.
    fn overlay(&mut self, mount: &Mount, depth: u32, charge: Charge) -> Option<String> {
        let branches = overlay::branches(mount);
        let mut seen = Vec::new();
        let mut hidden = 0;
        for branch in &branches {
            let reachable = branch
                .directory
                .is_absolute()
                .then(|| mount_id(&branch.directory))
                .flatten();
            let Some(below) =
                reachable.and_then(|id| self.mounts.holding(&branch.directory, Some(id)))
            else {
                hidden += 1;
                continue;
            };
            if !seen.contains(&below.device) {
                seen.push(below.device);
                let below = below.clone();
                self.file_system(
                    &below,
                    depth + 1,
                    charge,
                    Some(format!("{} {}", branch.role, branch.directory.display())),
                );
            }
        }
        (hidden > 0).then(|| {
            format!(
                "{hidden} of its {} directories cannot be reached from here, \
                                      so their storage is unknown",
                branches.len()
            )
        })
    }

    /// File systems with an anonymous device number: several devices or none.
    fn members(&mut self, mount: &Mount, depth: u32, charge: Charge) -> Option<String> {
        let members = block::members(self.roots, &mount.kind, &mount.source);
        for member in &members {
            self.block(member, depth + 1, charge, None);
        }
        members
            .is_empty()
            .then(|| block::no_device(&mount.kind).to_owned())
    }

    fn block(&mut self, block: &Block, depth: u32, charge: Charge, note: Option<String>) {
        let queue = (!block.is_partition()).then(|| queue_of(block));
        let request_based = queue.as_ref().is_some_and(|queue| queue.request_based);
        let charged = charge == Charge::Next && request_based;
        let below = if charged { Charge::Done } else { charge };
        self.layers.push(Layer {
            depth,
            kind: block.kind(),
            name: block.name.clone(),
            device: Some(block.number),
            charged,
            size_bytes: block.size_bytes(),
            mount: None,
            queue,
            note: joined(note, block.note()),
        });
        if depth > DEEPEST {
            return;
        }
        if let Some(file) = block.backing_file() {
            self.image(&file, depth, below);
        }
        for lower in block.lower(self.roots) {
            self.block(&lower, depth + 1, below, None);
        }
    }

    /// The file system that holds a loop device's image. The directory determines it where the
    /// image itself is deleted, as in `/path (deleted)`.
    fn image(&mut self, file: &Path, depth: u32, charge: Charge) {
        let reachable = file.ancestors().find_map(mount_id);
        match self.mounts.holding(file, reachable).cloned() {
            Some(mount) => self.file_system(&mount, depth + 1, charge, None),
            None => self.add_note(
                self.layers.len() - 1,
                Some("the file system of its image is not visible from here".to_owned()),
            ),
        }
    }
}

fn joined(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
    }
}
