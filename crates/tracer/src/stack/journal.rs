//! Whether the file system has a journal, and how it treats data.

use std::path::Path;

use iostrata_core::doctor::Journal;

use super::mountinfo::Mount;
use super::{Roots, block};

/// The journal of a mounted file system on the block device named `device`.
pub(super) fn of(mount: &Mount, device: Option<&str>, roots: &Roots) -> Journal {
    match (mount.kind.as_str(), device) {
        ("ext2" | "ext3" | "ext4", Some(device)) => ext4(device, roots),
        ("xfs", _) => xfs(mount),
        ("btrfs", _) => btrfs(mount),
        _ => Journal {
            explanation: "not known to iostrata".to_owned(),
            ..Journal::default()
        },
    }
}

fn ext4(device: &str, roots: &Roots) -> Journal {
    let of_kernel = roots.proc.join("fs/ext4").join(device);
    let options = Roots::read(&of_kernel.join("options")).unwrap_or_default();
    let options: Vec<&str> = options.lines().collect();
    let task = Roots::read(&roots.sys.join("fs/ext4").join(device).join("journal_task"));
    // Source: fs/ext4/sysfs.c `journal_task_show`; fs/jbd2/journal.c
    // `jbd2_journal_init_inode`, which names an internal journal DEVICE-INODE.
    let present = match task.as_deref() {
        Some("<none>") => Some(false),
        Some(_) => Some(true),
        None => roots
            .proc
            .join("fs/jbd2")
            .join(format!("{device}-8"))
            .exists()
            .then_some(true),
    };
    let data_mode = options
        .iter()
        .find_map(|option| option.strip_prefix("data="))
        .map(str::to_owned);
    let data_mode = data_mode.filter(|_| present == Some(true));
    let fast_commit = present
        .filter(|_| fast_commits(&options, &of_kernel))
        .filter(|there| *there);
    let log_device = task.and_then(|task| external_journal(&task, device, roots));
    let explanation = match (present, data_mode.as_deref()) {
        (Some(false), _) => "no journal",
        (Some(true), Some("ordered")) => {
            "metadata journal; data is written before the commit that refers to it"
        }
        (Some(true), Some("writeback")) => "metadata journal; data is written at any time",
        (Some(true), Some("journal")) => "metadata and data journal: everything is written twice",
        (Some(true), _) => "journal",
        (None, _) => "sysfs and procfs do not show whether there is a journal",
    };
    Journal {
        present,
        data_mode,
        barrier: barrier(&options),
        fast_commit,
        log_device,
        explanation: explanation.to_owned(),
    }
}

fn barrier(options: &[&str]) -> Option<bool> {
    let off = options
        .iter()
        .any(|option| matches!(*option, "nobarrier" | "barrier=0"));
    let on = options
        .iter()
        .any(|option| matches!(*option, "barrier" | "barrier=1"));
    (off || on).then_some(!off)
}

/// Fast commits show only on kernels with `CONFIG_EXT4_DEBUG`, as the option that forces them
/// (fs/ext4/super.c, `ext4_mount_opts`), or once one was made.
fn fast_commits(options: &[&str], of_kernel: &Path) -> bool {
    let made = Roots::read(&of_kernel.join("fc_info")).unwrap_or_default();
    let commits = made.lines().find_map(|line| line.strip_suffix(" commits"));
    options.contains(&"fc_debug_force") || commits.is_some_and(|count| count.trim() != "0")
}

/// The thread of a journal on a separate device is named after that device alone, without an inode
/// number.
fn external_journal(task: &str, device: &str, roots: &Roots) -> Option<String> {
    let comm = Roots::read(&roots.proc.join(task).join("comm"))?;
    let journal = comm.strip_prefix("jbd2/")?;
    (!journal.starts_with(&format!("{device}-")) && block::by_name(roots, journal).is_some())
        .then(|| journal.to_owned())
}

fn xfs(mount: &Mount) -> Journal {
    let log = mount.superblock_values("logdev");
    let log_device = log.first().and_then(|node| block::name_of(Path::new(node)));
    let explanation = match log_device {
        Some(_) => "metadata log, on a separate device",
        None => "metadata log inside the file system",
    };
    Journal {
        present: Some(true),
        // The option was removed in Linux 4.19: xfs always flushes.
        barrier: Some(true),
        log_device,
        explanation: explanation.to_owned(),
        ..Journal::default()
    }
}

fn btrfs(mount: &Mount) -> Journal {
    let options = mount.all_options();
    let has = |wanted: &str| options.split(',').any(|option| option == wanted);
    let explanation = if has("notreelog") {
        "no journal: copy-on-write; notreelog makes every fsync a full commit"
    } else {
        "no journal: copy-on-write, with a log tree for fsync"
    };
    Journal {
        present: Some(false),
        barrier: Some(!has("nobarrier")),
        explanation: explanation.to_owned(),
        ..Journal::default()
    }
}
