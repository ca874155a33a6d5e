use iostrata_core::doctor::{DeviceNumber, Journal, Mount, SCHEMA};
use iostrata_core::environment::Backend;

use super::*;
use crate::terminal::doctor as draw;

fn layer(depth: u32, kind: LayerKind, name: &str) -> Layer {
    Layer {
        depth,
        kind,
        name: name.to_owned(),
        device: None,
        charged: false,
        size_bytes: None,
        mount: None,
        queue: None,
        note: None,
    }
}

fn mount(point: &str, root: &str, journal: Journal) -> Mount {
    let options = "rw,relatime".to_owned();
    Mount {
        point: point.to_owned(),
        root: root.to_owned(),
        source: "/dev/x".to_owned(),
        options,
        journal,
    }
}

/// ext4 in an image on a disk's second partition.
fn stack() -> Stack {
    let ordered = Journal {
        present: Some(true),
        data_mode: Some("ordered".to_owned()),
        barrier: Some(true),
        explanation: "metadata journal".to_owned(),
        ..Journal::default()
    };
    let none = Journal {
        present: Some(false),
        explanation: "no journal".to_owned(),
        ..Journal::default()
    };
    let image = LayerKind::Loop {
        backing_file: "/srv/a\nb.img".to_owned(),
        direct_io: Some(true),
    };
    let queue = Queue {
        model: Some("Fast 9000".to_owned()),
        request_based: true,
        rotational: Some(false),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        discard_granularity_bytes: Some(0),
        ..Queue::default()
    };
    Stack {
        layers: vec![
            Layer {
                mount: Some(mount("/mnt/x", "/sub", ordered)),
                ..layer(0, LayerKind::FileSystem, "ext4")
            },
            Layer {
                charged: true,
                size_bytes: Some(64 << 20),
                device: Some(DeviceNumber { major: 7, minor: 0 }),
                ..layer(1, image, "loop0")
            },
            Layer {
                mount: Some(mount("/", "/", none)),
                ..layer(2, LayerKind::FileSystem, "ext4")
            },
            layer(3, LayerKind::Partition, "nvme0n1p2"),
            Layer {
                queue: Some(queue),
                ..layer(
                    4,
                    LayerKind::Disk {
                        bus: Some("nvme".to_owned()),
                    },
                    "nvme0n1",
                )
            },
        ],
    }
}

fn ability(kind: AbilityKind, name: &str, why: &str, remedy: Option<&str>) -> Ability {
    Ability {
        kind,
        name: name.to_owned(),
        available: remedy.is_none(),
        why: why.to_owned(),
        remedy: remedy.map(str::to_owned),
        command: None,
    }
}

fn result() -> DoctorResult {
    let stack = stack();
    let setting = |name: &str, value: &str, meaning: &str| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        meaning: meaning.to_owned(),
    };
    DoctorResult {
        schema: SCHEMA.to_owned(),
        environment: Environment {
            machine: "vda-2cpu-79c2".to_owned(),
            kernel: "6.18.0".to_owned(),
            cpus: 2,
            cpu_model: None,
            memory_bytes: 24 << 30,
            virtualization: Some("virtual machine (KVM)".to_owned()),
            target: stack.target("/mnt/x".to_owned()),
            backend: Backend::Ebpf,
            iostrata_version: "0.1.0".to_owned(),
            ways: Vec::new(),
        },
        stack,
        settings: vec![
            setting("vm.dirty_ratio", "20 %", "above this share of the available memory the \
                                               kernel throttles writing programs"),
            setting("loop0 fua", "no", "the kernel turns a forced-unit-access write into a write \
                                        and a flush"),
        ],
        abilities: vec![
            ability(AbilityKind::See, "system calls", "available", None),
            ability(AbilityKind::See, "page cache", "tp_btf/mm_filemap_get_pages: not in this kernel", Some("needs Linux 6.12")),
            ability(AbilityKind::Use, "io_uring", "available", None),
        ],
        warnings: vec!["nvme0n1: write-back cache without FUA, so every durable write is paid with a flush of the whole cache".to_owned()],
    }
}

#[test]
fn eighty_columns() {
    insta::assert_snapshot!(draw(&result(), 80), @r"
    /mnt/x: ext4 with a journal (data=ordered) on loop0, ultimately on nvme0n1
    kernel 6.18.0 · 2 CPUs · 24.0 GiB memory · virtual machine (KVM)

    storage, from the file system to the device
      ext4             its directory /sub mounted at /mnt/x · rw,relatime · metadata
                       journal · fsync flushes the device's cache
        loop0          image /srv/a\nb.img, opened with O_DIRECT · 64.0 MiB ·
                       requests are counted here
          ext4         mounted at / · rw,relatime · no journal
            nvme0n1p2  partition
              nvme0n1  Fast 9000, nvme disk · 512 B logical, 4096 B physical
                       blocks · rotational=0 · no discard

    settings and their meaning
      vm.dirty_ratio  20 %  above this share of the available memory the kernel
                            throttles writing programs
      loop0 fua       no    the kernel turns a forced-unit-access write into a write
                            and a flush

    caveats
      - nvme0n1: write-back cache without FUA, so every durable write is paid with a
        flush of the whole cache

    can see     system calls  available

    cannot see  page cache    tp_btf/mm_filemap_get_pages: not in this kernel
                              → needs Linux 6.12

    can use     io_uring      available
    ");
}

#[test]
fn no_device_is_the_answer() {
    let mut result = result();
    let note = Some("no block device: its contents are in memory".to_owned());
    let mount = Some(mount("/dev/shm", "/", Journal::default()));
    result.stack = Stack {
        layers: vec![Layer {
            note,
            mount,
            ..layer(0, LayerKind::FileSystem, "tmpfs")
        }],
    };
    let text = draw(&result, 100);
    assert_eq!(
        text.lines().next(),
        Some("/mnt/x: tmpfs; no block device: its contents are in memory")
    );
}

#[test]
fn lines_fit_where_words_allow() {
    for width in [60, 80, 100] {
        let text = draw(&result(), width);
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(width), "{longest:?} in\n{text}");
    }
}

#[test]
fn a_terminal_never_gets_a_control_character() {
    let mut result = result();
    result.environment.target.path = "/a\u{1b}[2Jb".to_owned();
    let text = draw(&result, 80);
    assert!(text.starts_with("/a\\u{1b}[2Jb: "), "{text}");
    assert!(text.chars().all(|char| char == '\n' || !char.is_control()));
}
