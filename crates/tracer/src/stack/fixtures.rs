//! Stacks that this machine does not have, as made-up `/proc` and `/sys` trees.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use iostrata_core::FileId;
use iostrata_core::doctor::{LayerKind, Stack};
use tempfile::TempDir;

use super::Roots;
use super::mountinfo::Mounts;
use super::walk::Walk;

impl Roots {
    /// A directory with these files, used instead of the kernel's.
    pub(crate) fn with(files: &[(&str, &str)]) -> (TempDir, Self) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let roots = Self {
            proc: directory.path().join("proc"),
            sys: directory.path().join("sys"),
        };
        (directory, roots)
    }
}

struct Machine {
    directory: TempDir,
    roots: Roots,
}

impl Machine {
    fn new(mountinfo: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: directory.path().join("proc"),
            sys: directory.path().join("sys"),
        };
        let machine = Self { directory, roots };
        machine.write("proc/thread-self/mountinfo", mountinfo);
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A block device at `sys/devices/PATH`.
    fn device(&self, path: &str, number: &str, request_based: bool) -> &Self {
        let (at, name) = (
            format!("sys/devices/{path}"),
            Path::new(path).file_name().unwrap(),
        );
        self.write(&format!("{at}/dev"), &format!("{number}\n"));
        self.write(&format!("{at}/size"), "2048\n");
        if request_based {
            self.write(&format!("{at}/mq/0/cpu_list"), "0\n");
        }
        for (class, link) in [
            ("sys/class/block", name.to_str().unwrap()),
            ("sys/dev/block", number),
        ] {
            let class = self.directory.path().join(class);
            fs::create_dir_all(&class).unwrap();
            symlink(self.directory.path().join(&at), class.join(link)).unwrap();
        }
        self
    }

    fn partition(&self, path: &str, number: &str) -> &Self {
        self.device(path, number, false)
            .write(&format!("sys/devices/{path}/partition"), "1\n");
        self
    }

    fn stack(&self, path: &str) -> Stack {
        let mounts = Mounts::read(&self.roots).unwrap();
        let mount = mounts.holding(Path::new(path), None).unwrap();
        Walk::new(&self.roots, &mounts).layers_under(mount)
    }
}

fn names(stack: &Stack) -> Vec<(u32, &str)> {
    stack
        .layers
        .iter()
        .map(|layer| (layer.depth, layer.name.as_str()))
        .collect()
}

const fn disk(major: u32, minor: u32) -> u32 {
    major << 20 | minor
}

#[test]
fn lvm_on_raid_on_partitions_charges_the_disks() {
    let machine = Machine::new("1 0 253:0 / / rw,relatime - xfs /dev/mapper/vg-root rw\n");
    machine
        .device("pci0/ata1/host0/block/sda", "8:0", true)
        .partition("pci0/ata1/host0/block/sda/sda1", "8:1")
        .device("pci0/ata2/host1/block/sdb", "8:16", true)
        .partition("pci0/ata2/host1/block/sdb/sdb1", "8:17")
        .device("virtual/block/md0", "9:0", false)
        .device("virtual/block/dm-0", "253:0", false);
    machine.write("sys/devices/virtual/block/md0/md/level", "raid1\n");
    machine.write("sys/devices/virtual/block/dm-0/dm/name", "vg-root\n");
    machine.write("sys/devices/virtual/block/dm-0/dm/uuid", "LVM-abc\n");
    for part in ["dm-0/slaves/md0", "md0/slaves/sda1", "md0/slaves/sdb1"] {
        machine.write(&format!("sys/devices/virtual/block/{part}/dev"), "");
    }
    let stack = machine.stack("/srv/data");
    assert_eq!(
        names(&stack),
        [
            (0, "xfs"),
            (1, "dm-0"),
            (2, "md0"),
            (3, "sda1"),
            (4, "sda"),
            (3, "sdb1"),
            (4, "sdb")
        ]
    );
    assert_eq!(stack.charged_disks(), [disk(8, 0), disk(8, 16)]);
    assert_eq!(stack.layers[1].note.as_deref(), Some("LVM volume vg-root"));
    assert_eq!(stack.layers[2].note.as_deref(), Some("raid1"));
    assert_eq!(stack.layers[2].kind, LayerKind::Raid);
    assert_eq!(stack.target("/".into()).journal, Some(true));
}

#[test]
fn request_based_multipath_is_charged_itself() {
    let machine = Machine::new("1 0 253:3 / / rw - ext4 /dev/mapper/mpatha rw\n");
    machine
        .device("pci0/host0/block/sda", "8:0", true)
        .device("virtual/block/dm-3", "253:3", true);
    machine.write("sys/devices/virtual/block/dm-3/dm/uuid", "mpath-x\n");
    machine.write("sys/devices/virtual/block/dm-3/slaves/sda/dev", "");
    assert_eq!(machine.stack("/").charged_disks(), [disk(253, 3)]);
}

#[test]
fn loop_image_repeats_the_traffic_of_the_disk_below() {
    let machine = Machine::new(
        "1 0 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n2 1 7:0 / /mnt/image rw - ext4 /dev/loop0 rw,nobarrier\n",
    );
    machine
        .device("pci0/nvme/nvme0/nvme0n1", "259:0", true)
        .partition("pci0/nvme/nvme0/nvme0n1/nvme0n1p2", "259:2")
        .device("virtual/block/loop0", "7:0", true);
    machine.write(
        "sys/devices/virtual/block/loop0/loop/backing_file",
        "/no such place/a\nb.img\n",
    );
    machine.write("sys/devices/virtual/block/loop0/loop/dio", "1\n");
    machine.write("sys/fs/ext4/loop0/journal_task", "77\n");
    machine.write("proc/77/comm", "jbd2/loop0-8\n");
    machine.write(
        "proc/fs/ext4/loop0/options",
        "rw\nnobarrier\ndata=writeback\n",
    );
    machine.write("sys/fs/ext4/nvme0n1p2/journal_task", "<none>\n");
    let stack = machine.stack("/mnt/image/x");
    assert_eq!(
        names(&stack),
        [
            (0, "ext4"),
            (1, "loop0"),
            (2, "ext4"),
            (3, "nvme0n1p2"),
            (4, "nvme0n1")
        ]
    );
    assert_eq!(stack.charged_disks(), [disk(7, 0)]);
    let backing_file = "/no such place/a\nb.img".to_owned();
    assert_eq!(
        stack.layers[1].kind,
        LayerKind::Loop {
            backing_file,
            direct_io: Some(true)
        }
    );
    let journals: Vec<_> = [0, 2]
        .map(|at| stack.layers[at].mount.as_ref().unwrap().journal.clone())
        .into();
    assert_eq!(journals[0].present, Some(true));
    assert_eq!(journals[0].data_mode.as_deref(), Some("writeback"));
    assert_eq!(journals[0].barrier, Some(false));
    assert_eq!(journals[0].log_device, None);
    assert_eq!(journals[1].present, Some(false));
    assert_eq!(
        stack.target("/".into()).mount_options,
        "rw,nobarrier,data=writeback"
    );
}

#[test]
fn a_journal_on_its_own_device_is_charged_too() {
    let machine = Machine::new(
        "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 8:16 / /x rw - xfs /dev/sdb rw,logdev=/dev/sdl\n",
    );
    machine
        .device("a/sda", "8:0", true)
        .device("b/sdb", "8:16", true)
        .device("c/sdl", "8:32", true);
    machine.write("sys/fs/ext4/sda/journal_task", "9\n");
    machine.write("proc/9/comm", "jbd2/sdl\n");
    assert_eq!(
        machine.stack("/").charged_disks(),
        [disk(8, 0), disk(8, 32)]
    );
    let xfs = machine.stack("/x");
    assert_eq!(xfs.charged_disks(), [disk(8, 16), disk(8, 32)]);
    assert_eq!(xfs.layers[2].note.as_deref(), Some("holds the log"));
}

#[test]
fn btrfs_charges_all_members() {
    let machine = Machine::new("1 0 0:39 /@home /home rw - btrfs /dev/sdb rw,subvol=/@home\n");
    machine
        .device("a/sda", "8:0", true)
        .device("b/sdb", "8:16", true)
        .device("c/sdc", "8:32", true);
    for member in [
        "one/devices/sda",
        "one/devices/sdb",
        "two/devices/sdc",
        "features/raid1c34",
    ] {
        machine.write(&format!("sys/fs/btrfs/{member}"), "");
    }
    let stack = machine.stack("/home/me");
    assert_eq!(
        stack.charged_disks(),
        [FileId::kernel_device(8, 0), FileId::kernel_device(8, 16)]
    );
    assert_eq!(stack.target("/".into()).journal, Some(false));
}

#[test]
fn file_systems_without_a_device_say_so() {
    let machine = Machine::new(
        "1 0 0:5 / / rw - tmpfs none rw\n2 1 0:6 / /n rw - nfs4 server:/x rw\n3 1 0:7 / /f rw - fuse.sshfs me@x: rw\n4 1 8:9 / /gone rw - ext4 /dev/sda9 rw\n",
    );
    let note = |path| machine.stack(path).layers[0].note.clone().unwrap();
    assert!(note("/").contains("memory"));
    assert!(note("/n").contains("server"));
    assert!(note("/f").contains("program"));
    assert!(note("/gone").contains("not in sysfs"));
    assert!(machine.stack("/n").charged_disks().is_empty());
    assert_eq!(machine.stack("/").target("/".into()).journal, None);
}

#[test]
fn an_overlay_with_unreachable_branches_says_so() {
    let machine = Machine::new(
        "1 0 0:5 / / rw - overlay overlay rw,lowerdir=l/A:l/B,upperdir=/no/such/upper\n",
    );
    let stack = machine.stack("/");
    assert!(
        stack.layers[0]
            .note
            .as_deref()
            .unwrap()
            .starts_with("3 of its 3 directories"),
        "{stack:?}"
    );
}
