//! Attacks by a program, or by the author of its files, on the process that reads them: each case
//! runs in a process of its own limited to 1 GiB of memory.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use iostrata_core::op::FileId;
use iostrata_core::trace::SiteRow;

use super::budget::{Budget, Exceeded};
use super::demangle::tests::bomb;
use super::maps::Mapping;
use super::module::Modules;
use super::perf_map::PerfMap;
use super::{Registers, Sample, Sites};
use crate::mutation;

const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const PROGBITS: u32 = 1;

/// Does the work in a process with 1 GiB: exceeding it ends the process.
fn limited(test: &str, work: impl FnOnce(&Path)) {
    mutation::limited(&format!("sites::hostile::{test}"), |_| {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        work(directory.path());
    });
}

/// Four bytes of a file.
fn word(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap().to_le_bytes()
}

struct Section {
    name: &'static str,
    kind: u32,
    /// The number of its string table.
    link: u64,
    bytes: Vec<u8>,
    /// The values of its header.
    size: u64,
}

fn section(name: &'static str, kind: u32, bytes: Vec<u8>) -> Section {
    Section {
        name,
        kind,
        link: 0,
        size: bytes.len() as u64,
        bytes,
    }
}

/// A program for x86-64 whose code lies at 0 to 0x10000. A size beyond the actual bytes becomes a
/// hole at the end.
fn elf(path: &Path, sections: &[Section]) {
    let mut names = b"\0".to_vec();
    let mut data = Vec::new();
    let mut headers = vec![0_u8; 64];
    let mut end = 0;
    for section in sections {
        let offset = 0x1000 + data.len() as u64;
        data.extend(&section.bytes);
        data.resize(data.len().next_multiple_of(16), 0);
        end = end.max(offset + section.size);
        headers.extend(word(names.len()));
        headers.extend(section.kind.to_le_bytes());
        for word in [2, 0, offset, section.size, section.link, 8] {
            headers.extend(u64::to_le_bytes(word));
        }
        headers.extend(if section.kind == SYMTAB { 24_u64 } else { 0 }.to_le_bytes());
        names.extend(section.name.as_bytes());
        names.push(0);
    }
    let names_at = 0x1000 + data.len() as u64;
    headers.extend(word(names.len()));
    names.extend(b".shstrtab\0");
    headers.extend(STRTAB.to_le_bytes());
    for word in [0, 0, names_at, names.len() as u64, 0, 1, 0] {
        headers.extend(u64::to_le_bytes(word));
    }
    let headers_at = names_at + names.len() as u64;
    let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    head.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    for word in [0, 64, headers_at] {
        head.extend(u64::to_le_bytes(word));
    }
    head.extend([0; 4]);
    let count = u16::try_from(sections.len() + 2).unwrap();
    for half in [64, 56, 1, 64, count, count - 1] {
        head.extend(u16::to_le_bytes(half));
    }
    // PT_LOAD, readable and executable.
    head.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for word in [0, 0, 0, 0x10000, 0x10000, 0x1000] {
        head.extend(u64::to_le_bytes(word));
    }
    head.resize(0x1000, 0);
    let file = File::create(path).unwrap();
    file.write_all_at(&head, 0).unwrap();
    file.write_all_at(&data, 0x1000).unwrap();
    file.write_all_at(&names, names_at).unwrap();
    file.write_all_at(&headers, headers_at).unwrap();
    file.set_len(end.max(headers_at + headers.len() as u64).max(0x20000))
        .unwrap();
}

/// A function with this name at 0x100 to 0x200.
fn with_symbol(path: &Path, name: &str) {
    let mut symbols = vec![0; 24];
    symbols.extend([1, 0, 0, 0, 0x12, 0, 1, 0]);
    symbols.extend(0x100_u64.to_le_bytes());
    symbols.extend(0x100_u64.to_le_bytes());
    let table = Section {
        link: 2,
        ..section(".symtab", SYMTAB, symbols)
    };
    let names = [b"\0", name.as_bytes(), b"\0"].concat();
    elf(path, &[table, section(".strtab", STRTAB, names)]);
}

/// A symbol table that is a hole.
fn with_hole(path: &Path, size: u64) {
    let table = Section {
        link: 1,
        size,
        ..section(".symtab", SYMTAB, Vec::new())
    };
    elf(path, &[section(".strtab", STRTAB, vec![0]), table]);
}

fn mapping(path: &Path) -> Mapping {
    Mapping {
        start: 0x10000,
        end: 0x20000,
        offset: 0,
        device: "0:0".to_owned(),
        inode: std::fs::metadata(path).unwrap().ino(),
        name: path.as_os_str().as_encoded_bytes().to_vec(),
    }
}

fn minutes() -> Arc<Budget> {
    Arc::new(Budget::of(Duration::from_mins(10), 256 << 20))
}

/// The name of the function at 0x180 of a file.
fn name_in(path: &Path, budget: &Arc<Budget>) -> Result<Option<Arc<str>>, Option<Exceeded>> {
    let mut modules = Modules::within(Arc::clone(budget));
    let found = modules.find(u32::MAX, &mapping(path))?;
    let mut symbols = modules.all[found.index].names(&[0x180], budget);
    match symbols.exceeded {
        Some(exceeded) => Err(Some(exceeded)),
        None => Ok(symbols.names.remove(&0x180)),
    }
}

#[test]
fn a_symbol_that_stands_for_gigabytes_has_a_short_name() {
    limited(
        "a_symbol_that_stands_for_gigabytes_has_a_short_name",
        |directory| {
            let path = directory.join("bomb");
            with_symbol(&path, &bomb(30));
            let name = name_in(&path, &minutes()).unwrap().unwrap();
            assert!(
                name.starts_with("f<A") || name.starts_with("void f<A"),
                "{name}"
            );
            assert!(name.ends_with('…') && name.len() < 2_000, "{name}");
            with_symbol(&path, "plain");
            assert_eq!(name_in(&path, &minutes()), Ok(Some("plain".into())));
        },
    );
}

#[test]
fn section_headers_without_end_are_not_read() {
    limited("section_headers_without_end_are_not_read", |directory| {
        let path = directory.join("headers");
        for headers in [1_000_000_u64, 20_000_000] {
            elf(&path, &[]);
            let file = File::options().write(true).open(&path).unwrap();
            // e_shoff; e_shnum 0: the number is the size of section 0 (elf(5)).
            file.write_all_at(&0x20000_u64.to_le_bytes(), 0x28).unwrap();
            file.write_all_at(&[0, 0, 1, 0], 0x3c).unwrap();
            file.write_all_at(&headers.to_le_bytes(), 0x20000 + 0x20)
                .unwrap();
            file.set_len(0x20000 + 64 * headers).unwrap();
            let few = Arc::new(Budget::of(Duration::from_mins(10), 32 << 20));
            assert_eq!(name_in(&path, &few), Err(Some(Exceeded::Memory)));
        }
    });
}

#[test]
fn a_sparse_table_of_symbols_is_not_read() {
    limited("a_sparse_table_of_symbols_is_not_read", |directory| {
        let path = directory.join("hole");
        with_hole(&path, 3 << 30);
        assert_eq!(name_in(&path, &minutes()), Err(Some(Exceeded::Memory)));
        let none = Arc::new(Budget::of(Duration::ZERO, 256 << 20));
        with_hole(&path, 24 << 22);
        assert_eq!(
            none.timed(|| name_in(&path, &none)),
            Err(Some(Exceeded::Time))
        );
    });
}

#[test]
fn many_files_share_one_budget() {
    limited("many_files_share_one_budget", |directory| {
        let budget = minutes();
        let mut modules = Modules::within(Arc::clone(&budget));
        for number in 0..24 {
            let path = directory.join(number.to_string());
            with_hole(&path, 24 << 22);
            let found = modules.find(u32::MAX, &mapping(&path)).ok().unwrap();
            assert_eq!(found.index, number, "what each takes is given back");
        }
        let symbols = modules.all[23].names(&[0x180], &budget);
        assert_eq!(symbols.exceeded, None);
        // Unwind tables stay.
        let mut exceeded = None;
        for number in 40..80 {
            let path = directory.join(number.to_string());
            let table = Section {
                size: 50 << 20,
                ..section(".eh_frame", PROGBITS, Vec::new())
            };
            elf(&path, &[table]);
            exceeded = modules.find(u32::MAX, &mapping(&path)).err().flatten();
        }
        assert_eq!(exceeded, Some(Exceeded::Memory));
    });
}

#[test]
fn a_perf_map_is_read_line_by_line() {
    limited("a_perf_map_is_read_line_by_line", |directory| {
        let path = directory.join("map");
        let names = |budget: &Budget| {
            let map = PerfMap::Open(File::open(&path).unwrap());
            budget.timed(|| map.names(&[0x10], SystemTime::UNIX_EPOCH, budget))
        };
        let file = File::create(&path).unwrap();
        file.set_len(1 << 30).unwrap();
        (&file).write_all(b"10 1 first\n").unwrap();
        assert_eq!(names(&minutes()), (vec![Some("first".into())], None));
        let long = format!("10 1 {}\n", "x".repeat(10_000)).repeat(100);
        std::fs::write(&path, long).unwrap();
        let (long, _) = names(&minutes());
        assert!(long[0].as_ref().is_some_and(|name| name.len() < 2_000));
        let none = Budget::of(Duration::ZERO, 0);
        assert_eq!(names(&none), (vec![None], Some(Exceeded::Time)));
    });
}

/// One function with an unwind table whose canonical frame address is this expression.
fn with_frame(path: &Path, expression: &[u8], rule: &[u8]) {
    let mut cie = vec![0, 0, 0, 0, 1];
    cie.extend(b"zR\0");
    cie.extend([1, 0x78, 16, 1, 0, 0, 0, 0, 0]);
    let mut table = word(cie.len()).to_vec();
    table.extend(&cie);
    let mut fde = word(table.len() + 4).to_vec();
    fde.extend(0_u64.to_le_bytes());
    fde.extend(0x10000_u64.to_le_bytes());
    // DW_CFA_def_cfa_expression.
    fde.extend([0, 0x0f, u8::try_from(expression.len()).unwrap()]);
    fde.extend(expression);
    fde.extend(rule);
    fde.resize(fde.len().next_multiple_of(4), 0);
    table.extend(word(fde.len()));
    table.extend(fde);
    table.extend([0; 4]);
    elf(path, &[section(".eh_frame", PROGBITS, table)]);
}

/// Makes a program execute a file's bytes, and samples its stacks.
fn sites_of(path: &Path, patience: Duration) -> Vec<SiteRow> {
    let mut sites = Sites {
        patience,
        ..Sites::default()
    };
    let mapped = Mapped::of(path);
    for _ in 0..3 {
        sites.add(&Sample {
            call: "write",
            file: FileId {
                device: 1,
                inode: 2,
                generation: 0,
            },
            ended: None,
            process: std::process::id(),
            parent: 1,
            execs: 1,
            spent_ns: 5,
            registers: Registers {
                ip: mapped.0 as u64 + 0x100,
                sp: 0x7000_0000,
                bp: 0x7000_0000,
                stack: &[0; 64],
            },
        });
    }
    sites.finish()
}

/// Executable memory of this process mapped from a file.
struct Mapped(*mut std::ffi::c_void);

const MAPPED_BYTES: usize = 0x10000;

#[expect(unsafe_code, reason = "the file is mapped as a loader does it")]
impl Mapped {
    fn of(path: &Path) -> Self {
        use rustix::mm::{MapFlags, ProtFlags, mmap};

        let protection = ProtFlags::READ | ProtFlags::EXEC;
        let file = File::open(path).unwrap();
        let address = std::ptr::null_mut();
        // SAFETY: the kernel chooses the address, and nothing reads the memory.
        let start = unsafe {
            mmap(
                address,
                MAPPED_BYTES,
                protection,
                MapFlags::PRIVATE,
                file,
                0,
            )
        };
        Self(start.unwrap())
    }
}

#[expect(unsafe_code, reason = "what was mapped is unmapped")]
impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it.
        unsafe { rustix::mm::munmap(self.0, MAPPED_BYTES) }.unwrap();
    }
}

#[test]
fn an_unwind_table_may_go_in_a_circle_or_nowhere() {
    limited(
        "an_unwind_table_may_go_in_a_circle_or_nowhere",
        |directory| {
            let path: PathBuf = directory.join("table");
            // DW_OP_lit16 as the frame's address; the return address lies 8 before (DW_CFA_offset).
            with_frame(&path, &[0x40], &[0x90, 1]);
            let rows = sites_of(&path, Duration::from_mins(10));
            assert_eq!(*rows[0].stack, ["table+0x100"], "{rows:?}");
            // DW_OP_lit0, and a return address in an unknown register (DW_CFA_register).
            with_frame(&path, &[0x30], &[0x09, 16, 3]);
            let rows = sites_of(&path, Duration::from_mins(10));
            let why = rows[0].why_not.clone().unwrap();
            assert!(
                why.starts_with("not resolved: unwinding a stack"),
                "{rows:?}"
            );
            assert_eq!((rows.len(), rows[0].samples), (1, 3));
            // DW_OP_skip to itself.
            with_frame(&path, &[0x2f, 0xfd, 0xff], &[0x90, 1]);
            let rows = sites_of(&path, Duration::from_secs(1));
            let why = rows[0].why_not.clone().unwrap();
            assert_eq!(why, "not resolved: unwinding the stacks did not end");
            assert_eq!((rows.len(), rows[0].samples, rows[0].time_ns), (1, 3, 15));
        },
    );
}
