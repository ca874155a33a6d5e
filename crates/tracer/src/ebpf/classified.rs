//! Checks the table of all calls against the kernel's lists and against the code for each class.

use std::collections::BTreeSet;

use iostrata_core::op::FileId;
use iostrata_core::trace::calls::{Counted, Effect, Following, GROUPS, Group, group};

use super::calls::{all, call_names, meaning, name, paths_of, told_by};
use super::history::{Named, Resolved};
use super::names::Place;
use super::told;
use super::wire::{FileKey, StepEvent, call};
use crate::decode;

const FILE: FileId = FileId {
    device: 5,
    inode: 6,
    generation: 7,
};
const ARGUMENTS: [u64; 5] = [1, 1, 4, 1, 1];

fn class(name: &str) -> &'static Group {
    group(name).unwrap_or_else(|| panic!("{name} has no class"))
}

/// By a name that `call_names` has; numbers are the kernel side's.
fn resolved(call: &str) -> Resolved {
    let nr = (0..1_400).find(|nr| name(*nr) == call);
    let key = FileKey {
        inode: 6,
        device: 5,
        generation: 7,
    };
    Resolved {
        event: StepEvent {
            kind: 4,
            nr: nr.expect("a counted call"),
            process: 1,
            thread: 1,
            entered_ns: 1,
            left_ns: 2,
            result: 0,
            file: key,
            argument: ARGUMENTS,
            mode: 0,
            flags: 0,
            base: [FileKey::default(); 2],
            bytes: [0; 2],
            open_file: 1,
            inode_mode: 0,
            extra: 0,
            request: 0,
        },
        file: Some(FILE),
        first: Some(named("/a")),
        second: Some(named("/b")),
        second_text: b"b".to_vec(),
        node: Some(FILE),
        other: None,
        inode: None,
        extra: Vec::new(),
    }
}

fn named(path: &str) -> Named {
    Named {
        path: path.into(),
        place: Some(Place {
            directory: FILE,
            name: path.trim_start_matches('/').into(),
        }),
    }
}

#[test]
fn every_call_is_classified_and_nothing_else() {
    let calls: BTreeSet<&str> = call_names().collect();
    for name in &calls {
        class(name);
    }
    if cfg!(target_arch = "x86_64") {
        for name in GROUPS.iter().flat_map(Group::names) {
            assert!(calls.contains(name), "{name} is no call");
        }
    }
}

/// Calls that the running kernel has and the library's list lacks.
#[cfg(target_arch = "x86_64")]
#[test]
fn every_call_of_this_kernel_is_classified() {
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap();
    let entries = symbols.lines().filter_map(|line| {
        let symbol = line.split_whitespace().nth(2)?;
        symbol.strip_prefix("__x64_sys_")
    });
    let mut seen = 0;
    for entry in entries.filter(|entry| !is_of_others(entry)) {
        // The kernel names these differently from their numbers (syscall_64.tbl).
        let name = match entry {
            "newstat" => "stat",
            "newfstat" => "fstat",
            "newlstat" => "lstat",
            "newuname" => "uname",
            "sendfile64" => "sendfile",
            "umount" => "umount2",
            other => other,
        };
        class(name);
        seen += 1;
    }
    assert!(seen > 300, "only {seen} system calls in /proc/kallsyms");
}

/// Entries without a number for 64-bit programs: entries for 32-bit programs, for other
/// architectures, and parts that the compiler split off.
#[cfg(target_arch = "x86_64")]
fn is_of_others(entry: &str) -> bool {
    const OTHERS: &[&str] = &[
        "fadvise64_64",
        "fstatfs64",
        "gethostname",
        "ipc",
        "llseek",
        "mmap_pgoff",
        "ni_syscall",
        "nice",
        "oldumount",
        "olduname",
        "pciconfig_iobase",
        "pciconfig_read",
        "pciconfig_write",
        "recv",
        "rtas",
        "s390_ipc",
        "s390_pci_mmio_read",
        "s390_pci_mmio_write",
        "send",
        "sgetmask",
        "signal",
        "sigpending",
        "sigprocmask",
        "sigsuspend",
        "socketcall",
        "spu_create",
        "spu_run",
        "ssetmask",
        "statfs64",
        "stime",
        "subpage_prot",
        "sync_file_range2",
        "vm86",
        "vm86old",
        "waitpid",
    ];
    let is_older = ["16", "32"].iter().any(|end| entry.ends_with(end));
    is_older
        || entry.starts_with("ia32_")
        || entry.starts_with("old_")
        || entry.contains('.')
        || OTHERS.contains(&entry)
}

#[test]
fn every_operation_of_this_kernels_io_uring_has_a_name() {
    let ring = io_uring::IoUring::new(2).unwrap();
    let mut probe = io_uring::Probe::new();
    ring.submitter().register_probe(&mut probe).unwrap();
    let mut supported = 0;
    for opcode in (0..=u8::MAX).filter(|opcode| probe.is_supported(*opcode)) {
        supported += 1;
        assert_ne!(
            told::ring_name(opcode.into()),
            "io_uring.unknown",
            "{opcode}"
        );
    }
    assert!(supported > 10);
}

#[test]
fn calls_are_counted_where_their_class_says() {
    const DESCRIPTOR: u32 =
        call::FD_FIRST | call::FD_RETURNED | call::FD_THIRD | call::FD_FIFTH | call::NODE;
    for number in all() {
        let (class, meaning) = (class(number.name()), meaning(number));
        let at_file = class.counted == Counted::AtFile;
        assert_eq!(at_file, meaning & DESCRIPTOR != 0, "{number}");
        let has = |bits| meaning & bits == bits;
        match class.effect {
            Effect::Reads => assert!(has(call::READS | call::MOVES) && !has(call::WRITES)),
            Effect::Writes | Effect::Copies => {
                assert!(has(call::WRITES | call::MOVES), "{number}");
            }
            Effect::Opens => assert!(has(call::FD_RETURNED), "{number}"),
            Effect::Closes => assert!(has(call::CLOSES), "{number}"),
            Effect::Names => assert_ne!(paths_of(number), 0, "{number}"),
            _ => assert!(!has(call::MOVES) && !has(call::WRITES), "{number}"),
        }
        assert_eq!(told_by(number) != 0, has(call::TOLD), "{number}");
    }
}

/// A class is a promise: a followed call makes a step, and a logged call makes a change.
#[test]
fn what_is_followed_is_what_the_class_says() {
    for number in all() {
        let meaning = meaning(number);
        let followed = !matches!(
            class(number.name()).following,
            Following::NotNeeded | Following::Neither(_)
        );
        // The first moves pages of a file that was mapped before, which the history has. The others
        // write to pipes, which have no pages.
        if !["remap_file_pages", "tee", "vmsplice"].contains(&number.name()) {
            let is_step = meaning & (call::STEP | call::WRITES) != 0;
            assert_eq!(followed, is_step, "{number}");
        }
    }
    for name in call_names() {
        let class = class(name);
        let by_run = matches!(class.effect, Effect::Writes | Effect::Copies)
            || name.starts_with("aio.")
            || name == "io_uring.fsync";
        if by_run || name == "remap_file_pages" || class.following == Following::NotNeeded {
            continue;
        }
        let is_step = decode::event(&mut resolved(name).into()).is_some();
        let has_change = decode::logged(&mut resolved(name).into()).is_some();
        match class.following {
            Following::Both => assert!(is_step && has_change, "{name}"),
            Following::HistoryOnly(_) => assert!(is_step && !has_change, "{name}"),
            Following::Neither(_) => assert!(!has_change, "{name}"),
            Following::NotNeeded => {}
        }
    }
}
