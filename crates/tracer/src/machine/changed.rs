//! Kernel files with damaged contents: `doctor` reports what it can.

use std::fs;
use std::os::unix::fs::symlink;

use iostrata_core::op::FileId;

use super::*;
use crate::ebpf::symbols;
use crate::mutation::{changed, inputs, limited, steps};
use crate::record::mapping::area_at;

const MOUNTS: &str = "1 0 253:0 / / rw,relatime shared:1 - ext4 /dev/mapper/vg-root rw,data=ordered\n\
                      2 1 7:0 / /mnt/image rw - xfs /dev/loop0 rw,logdev=/dev/sda\n\
                      3 1 0:40 / /mnt/over rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/c\\0402\n\
                      4 1 0:41 /sub /mnt/b rw - btrfs /dev/sda rw,ssd,subvolid=5\n";

/// Each file with a possible text.
const FILES: [(&str, &str); 40] = [
    ("proc/thread-self/mountinfo", MOUNTS),
    (
        "proc/thread-self/status",
        "CapPrm:\tffff\nCapEff:\t000000c000000000\n",
    ),
    (
        "proc/meminfo",
        "MemTotal:       24684096 kB\nMemAvailable:   20000000 kB\n",
    ),
    (
        "proc/cpuinfo",
        "processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n",
    ),
    (
        "proc/kallsyms",
        "ffffffff8171b710 t end_bio_bh_io_sync\nffffffffc0000010 t xlog_bio_end_io\t[xfs]\n",
    ),
    ("proc/1/cgroup", "0::/kubepods/pod1\n"),
    ("proc/sys/vm/dirty_background_ratio", "10\n"),
    ("proc/sys/vm/dirty_background_bytes", "0\n"),
    ("proc/sys/vm/dirty_ratio", "20\n"),
    ("proc/sys/vm/dirty_expire_centisecs", "3000\n"),
    ("proc/sys/vm/dirty_writeback_centisecs", "500\n"),
    ("proc/sys/kernel/perf_event_paranoid", "2\n"),
    ("proc/sys/kernel/kptr_restrict", "1\n"),
    ("proc/sys/kernel/unprivileged_bpf_disabled", "2\n"),
    ("proc/sys/kernel/yama/ptrace_scope", "1\n"),
    (
        "proc/fs/ext4/dm-0/options",
        "rw\nnobarrier\ndata=writeback\n",
    ),
    ("proc/fs/ext4/dm-0/fc_info", "fc stats:\n12 commits\n"),
    ("proc/77/comm", "jbd2/dm-0-8\n"),
    (
        "proc/77/stat",
        "77 (kdamond.0) I 2 0 0 0 -1 2129984 0 0 0 0 0 1573",
    ),
    ("sys/fs/ext4/dm-0/journal_task", "77\n"),
    (
        "sys/kernel/security/lockdown",
        "none [integrity] confidentiality\n",
    ),
    ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
    ("sys/class/dmi/id/product_name", "Standard PC\n"),
    ("sys/devices/sda/dev", "8:0\n"),
    ("sys/devices/sda/size", "2048\n"),
    ("sys/devices/sda/mq/0/cpu_list", "0\n"),
    ("sys/devices/sda/queue/rotational", "1\n"),
    ("sys/devices/sda/queue/write_cache", "write back\n"),
    ("sys/devices/sda/queue/fua", "1\n"),
    (
        "sys/devices/sda/queue/scheduler",
        "none [mq-deadline] kyber\n",
    ),
    ("sys/devices/sda/queue/nr_requests", "256\n"),
    ("sys/devices/sda/queue/read_ahead_kb", "128\n"),
    ("sys/devices/sda/queue/logical_block_size", "512\n"),
    ("sys/devices/sda/device/model", "Disk of 1 TB\n"),
    ("sys/devices/dm-0/dev", "253:0\n"),
    ("sys/devices/dm-0/size", "1024\n"),
    ("sys/devices/dm-0/dm/uuid", "LVM-abc\n"),
    ("sys/devices/loop0/dev", "7:0\n"),
    ("sys/devices/loop0/loop/backing_file", "/srv/a\nb.img\n"),
    ("sys/kernel/mm/damon/admin/kdamonds/0/pid", "77\n"),
];

/// Entries with a directory of their own in sysfs, and their number.
const DEVICES: [(&str, &str); 3] = [("sda", "8:0"), ("dm-0", "253:0"), ("loop0", "7:0")];

fn write(directory: &Path, path: &str, bytes: &[u8]) {
    let path = directory.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn tree(directory: &Path) -> Roots {
    for (path, text) in FILES {
        write(directory, path, text.as_bytes());
    }
    let damon = "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0";
    for (path, text) in [
        ("operations", "paddr"),
        ("monitoring_attrs/intervals/aggr_us", "5000000"),
        ("schemes/0/action", "pageout"),
        ("schemes/0/access_pattern/age/min", "6"),
        ("schemes/0/watermarks/metric", "none"),
    ] {
        write(directory, &format!("{damon}/{path}"), text.as_bytes());
    }
    write(directory, "sys/devices/dm-0/slaves/sda/dev", b"");
    for (name, number) in DEVICES {
        for (class, link) in [("sys/class/block", name), ("sys/dev/block", number)] {
            let class = directory.join(class);
            fs::create_dir_all(&class).unwrap();
            let device = directory.join("sys/devices").join(name);
            symlink(device, class.join(link)).unwrap();
        }
    }
    Roots {
        proc: directory.join("proc"),
        sys: directory.join("sys"),
    }
}

/// Everything that `doctor` and the heads of results report.
fn told(roots: &Roots) -> usize {
    let mut layers = 0;
    let abilities = permission::abilities(roots, &Known::default());
    for (major, minor) in [(253, 0), (7, 0), (0, 40)] {
        let Some(stack) = stack::under(FileId::kernel_device(major, minor), roots) else {
            continue;
        };
        layers += stack.layers.len();
        let environment = describe(Path::new("/"), Backend::None, &stack, roots);
        let result = DoctorResult {
            schema: doctor::SCHEMA.to_owned(),
            settings: doctor::settings(&stack, &writeback(roots)),
            abilities: abilities.clone(),
            warnings: doctor::warnings(&stack, true),
            environment,
            stack,
        };
        serde_json::to_string(&result).unwrap();
    }
    for scheme in page_outs(roots) {
        layers += scheme.in_words().len();
    }
    layers
}

#[test]
fn files_of_the_kernel_that_were_changed() {
    limited(
        "machine::changed::files_of_the_kernel_that_were_changed",
        |watch| {
            let directory = tempfile::tempdir_in("/dev/shm").unwrap();
            let roots = tree(directory.path());
            assert!(told(&roots) > 8, "layers and words of all");
            inputs(|random| {
                let (path, text) = FILES[random.below(FILES.len())];
                let input = changed(text.as_bytes(), &steps(random));
                fs::write(directory.path().join(path), &input).unwrap();
                watch.input(|| told(&roots));
                fs::write(directory.path().join(path), text).unwrap();
            });
        },
    );
}

#[test]
fn symbols_and_maps_that_were_changed() {
    let symbols = fs::read("/proc/kallsyms").unwrap_or_default();
    let symbols = [FILES[4].1.as_bytes(), &symbols[..symbols.len().min(4000)]].concat();
    let maps = fs::read("/proc/self/maps").unwrap();
    limited(
        "machine::changed::symbols_and_maps_that_were_changed",
        |watch| {
            inputs(|random| {
                let steps = steps(random);
                let (symbols, maps) = (changed(&symbols, &steps), changed(&maps, &steps));
                watch.input(|| {
                    symbols::parse(&symbols[..]);
                    let maps = String::from_utf8_lossy(&maps);
                    area_at(&maps, 0x7f00_0000_0000);
                    area_at(&maps, u64::MAX);
                });
            });
        },
    );
}
