//! Which of the observed events belong to the case.

use iostrata_core::evidence::{Cache, Charge, Evidence, RawEvidence, assemble, foreign_requests};
use iostrata_core::gap::{Gap, Missing, Stratum};

use crate::engine::KernelFile;
use crate::target::Target;

/// The evidence of one case that used `files`, and the number of requests from others.
///
/// Calls and pages are attributed by file: the workload process also communicates with its parent,
/// and calls without a file are its own housekeeping. On a shared disk, requests are attributed by
/// file; on an image created for the run all requests belong to the case, including those for
/// metadata that a file system keeps in internal inodes.
pub(crate) fn evidence(
    raw: &RawEvidence,
    target: &Target,
    files: &[KernelFile],
) -> (Evidence, Option<u64>) {
    let identities = files.iter().map(|file| as_observed(raw, target, *file));
    let by_file = Charge {
        disks: target.disks.clone(),
        files: Some(identities.collect()),
        unnamed_calls: false,
    };
    let by_disk = Charge {
        files: None,
        ..by_file.clone()
    };
    let requests = if target.image { &by_disk } else { &by_file };
    let mut evidence = assemble(raw, &by_file);
    if target.image {
        let whole = assemble(raw, &by_disk);
        (evidence.device, evidence.device_after_exit) = (whole.device, whole.device_after_exit);
    }
    let mut foreign = foreign_requests(raw, requests);
    if let Some(why) = target.unchargeable() {
        (evidence.device, evidence.device_after_exit, foreign) = (None, None, None);
        evidence
            .missing
            .push(Gap::new(Missing::Stratum(Stratum::Device), why));
    }
    if let Some(why) = target.unknown_cache() {
        evidence.cache = Cache::default();
        evidence.missing.push(Gap::new(Missing::CacheEvents, why));
    }
    (evidence, foreign)
}

/// The device and the inode under which the file is counted: on overlayfs those of a layer, of
/// which the file system reports only the inode number.
fn as_observed(raw: &RawEvidence, target: &Target, file: KernelFile) -> (u32, u64) {
    let own = (file.device, file.inode);
    if target.storage.filesystem != "overlay" {
        return own;
    }
    let rows = raw.syscalls.iter().flatten().filter_map(|row| row.file);
    let mut devices: Vec<u32> = rows
        .filter(|seen| seen.inode == file.inode)
        .map(|seen| seen.device)
        .collect();
    devices.sort_unstable();
    devices.dedup();
    match devices[..] {
        [device] => (device, file.inode),
        _ => own,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use iostrata_core::FileId;
    use iostrata_core::environment;
    use iostrata_core::evidence::{BlockRow, Cause, Phase, SyscallRow};

    use super::*;

    const FILE: FileId = FileId {
        device: 39,
        inode: 257,
        generation: 1,
    };
    const TREE: FileId = FileId {
        device: 39,
        inode: 1,
        generation: 1,
    };
    const PIPE: FileId = FileId {
        device: 12,
        inode: 900,
        generation: 0,
    };

    pub(crate) fn target(filesystem: &str, image: bool, disks: &[u32]) -> Target {
        Target {
            name: "t".to_owned(),
            dir: "/t".into(),
            image,
            backing_cached: false,
            disks: disks.to_vec(),
            device_path: None,
            storage: environment::Storage {
                path: "/t".to_owned(),
                filesystem: filesystem.to_owned(),
                mount_options: "rw".to_owned(),
                journal: None,
                devices: vec![],
            },
        }
    }

    fn request(cause: Cause, file: Option<FileId>) -> BlockRow {
        BlockRow {
            disk: 7,
            phase: Phase::Running,
            cause,
            file,
            submitter: iostrata_core::evidence::Submitter::Unknown,
            pages: iostrata_core::evidence::Pages::default(),
            count: 1,
            bytes: 4096,
            time_ns: 0,
        }
    }

    fn raw() -> RawEvidence {
        let write = |file| SyscallRow {
            name: "write",
            file: Some(file),
            count: 1,
            errors: 0,
            returned: 10,
            time_ns: 0,
            blocked_ns: 0,
            alone_ns: 0,
            histogram: vec![],
            shape: None,
            span_ns: None,
            is_source: false,
        };
        RawEvidence {
            syscalls: Some(vec![write(FILE), write(PIPE)]),
            block: Some(vec![
                request(Cause::Data, Some(FILE)),
                request(Cause::Metadata, Some(TREE)),
            ]),
            ..RawEvidence::default()
        }
    }

    fn charged(target: &Target) -> (Evidence, Option<u64>) {
        let file = KernelFile {
            device: FILE.device,
            inode: FILE.inode,
        };
        evidence(&raw(), target, &[file])
    }

    #[test]
    fn the_pipe_to_the_parent_is_never_charged() {
        for image in [true, false] {
            let (evidence, _) = charged(&target("btrfs", image, &[7]));
            assert_eq!(evidence.syscalls.unwrap().get("write").unwrap().count, 1);
        }
    }

    #[test]
    fn on_an_image_every_request_is_the_cases() {
        let (evidence, foreign) = charged(&target("btrfs", true, &[7]));
        assert_eq!(evidence.exact_device().unwrap().metadata.count, 1);
        assert_eq!(foreign, Some(0));
        let (evidence, foreign) = charged(&target("btrfs", false, &[7]));
        assert_eq!(evidence.exact_device().unwrap().metadata.count, 0);
        assert_eq!(foreign, Some(1));
    }

    #[test]
    fn a_file_of_an_overlay_is_counted_at_its_layer() {
        let calls = |device| {
            let file = KernelFile {
                device,
                inode: FILE.inode,
            };
            let (evidence, _) = evidence(&raw(), &target("overlay", false, &[7]), &[file]);
            evidence.syscalls.unwrap().get("write").map(|row| row.count)
        };
        assert_eq!(calls(99), Some(1), "the device is the overlay's");
        assert_eq!(calls(FILE.device), Some(1));
    }

    #[test]
    fn unknown_disks_are_unknown_requests_but_memory_has_none() {
        for (filesystem, disks) in [("ext4", &[][..]), ("overlay", &[7])] {
            let (evidence, foreign) = charged(&target(filesystem, false, disks));
            assert_eq!((evidence.device, foreign), (None, None), "{filesystem}");
            let device = Missing::Stratum(Stratum::Device);
            assert_eq!(evidence.missing[0].what, device);
        }
        let (evidence, _) = charged(&target("overlay", false, &[7]));
        assert_eq!(
            evidence.cache,
            Cache::default(),
            "the pages are another file's"
        );
        let (evidence, _) = charged(&target("tmpfs", false, &[]));
        assert_eq!(
            evidence.exact_device().map(|device| device.writes().count),
            Some(0)
        );
    }
}
