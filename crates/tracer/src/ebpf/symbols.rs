//! Addresses of the completion functions that show why a bio was created.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd as _;

use aya_obj::generated::{BPF_F_SLEEPABLE, bpf_cmd, bpf_func_id, bpf_prog_type};

use super::program::{load_bare, number_of};
use super::syscall;
use super::wire::END_IOS;

/// Kernel functions, in the order of `enum end_io` in `bpf/wire.h`.
const WANTED: [&str; END_IOS] = [
    "journal_end_buffer_io_sync", // fs/jbd2/commit.c
    "ext4_end_buffer_io_sync",    // fs/ext4/fast_commit.c
    "end_bio_bh_io_sync",         // fs/buffer.c
    "bio_chain_endio",            // block/bio.c
    "xlog_bio_end_io",            // fs/xfs/xfs_log.c
    "xfs_buf_bio_end_io",         // fs/xfs/xfs_buf.c
    "btrfs_end_super_write",      // fs/btrfs/disk-io.c
    "iomap_dio_bio_end_io",       // fs/iomap/direct-io.c
    "mq_flush_data_end_io",       // block/blk-flush.c
];

/// Whether any address is known: the kernel hides all or none.
pub(super) fn known(addresses: &[u64; END_IOS]) -> bool {
    addresses.iter().any(|address| *address != 0)
}

/// Addresses, 0 where unknown. Without `CAP_SYSLOG` the kernel hides them all; a file system that
/// is not loaded has none.
pub(super) fn read() -> [u64; END_IOS] {
    looked_up(&WANTED).unwrap_or_else(|_not_offered| listed())
}

/// The addresses in `/proc/kallsyms`, which has 200,000 lines: reading it takes as long as loading a fifth of the programs.
fn listed() -> [u64; END_IOS] {
    File::open("/proc/kallsyms").map_or([0; END_IOS], |file| parse(BufReader::new(file)))
}

pub(crate) fn parse(mut lines: impl BufRead) -> [u64; END_IOS] {
    let mut found = [0; END_IOS];
    let mut left = WANTED.len();
    let mut line = Vec::with_capacity(128);
    while left > 0 {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if let Some((which, address)) = wanted(&line) {
            found[which] = address;
            left -= 1;
        }
    }
    found
}

/// Index and address, if the line is one of the functions:
/// `ffffffff8171b710 t end_bio_bh_io_sync [module]`.
fn wanted(line: &[u8]) -> Option<(usize, u64)> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (address, kind, symbol) = (fields.next()?, fields.next()?, fields.next()?);
    let which = WANTED.iter().position(|name| *name == symbol)?;
    let is_function = kind.eq_ignore_ascii_case("t");
    Some((which, u64::from_str_radix(address, 16).ok()?)).filter(|_| is_function)
}

/// Since Linux 5.16.
const LOOK_UP: i32 = bpf_func_id::BPF_FUNC_kallsyms_lookup_name as i32;

/// A name with its terminating NUL, as words on the stack.
const NAME_WORDS: usize = 6;
const NAME_BYTES: i16 = 48;

/// `struct bpf_insn`.
fn instruction(code: u8, to: u8, from: u8, offset: i16, number: i32) -> u64 {
    let registers = u64::from(from << 4 | to);
    let (offset, number) = (offset.cast_unsigned(), number.cast_unsigned());
    u64::from(code) | registers << 8 | u64::from(offset) << 16 | u64::from(number) << 32
}

/// The first part of `bpf_attr` for running a program.
#[repr(C)]
#[derive(Default)]
struct Run {
    program: u32,
    unused: [u32; 3],
    data: [u64; 2],
    unused_too: [u32; 2],
    context_bytes: u32,
    context_out_bytes: u32,
    context: u64,
    context_out: u64,
    flags: [u32; 3],
    pad: u32,
}

/// Addresses of functions, 0 for those that the kernel lacks or hides. Fails where the kernel has
/// no such lookup, or a name is too long for it.
fn looked_up(names: &[&str; END_IOS]) -> io::Result<[u64; END_IOS]> {
    let program = look_up(names).ok_or(io::ErrorKind::InvalidInput)?;
    let loaded = load_bare(
        bpf_prog_type::BPF_PROG_TYPE_SYSCALL,
        BPF_F_SLEEPABLE,
        &program,
    )?;
    let mut found = [0_u64; END_IOS];
    let mut run = Run {
        program: number_of(loaded.as_fd()),
        context_bytes: u32::try_from(size_of_val(&found)).unwrap_or(0),
        context: found.as_mut_ptr().expose_provenance() as u64,
        ..Run::default()
    };
    syscall::bpf(bpf_cmd::BPF_PROG_TEST_RUN, &mut run)?;
    Ok(found)
}

/// Register 6 holds the context, 10 the end of the stack: the result lies below it, and the name
/// below the result.
fn look_up(names: &[&str]) -> Option<Vec<u64>> {
    let mut program = vec![instruction(0xbf, 6, 1, 0, 0)];
    for (which, name) in names.iter().enumerate() {
        let mut words = [0_u8; NAME_WORDS * 8];
        // Its end must be included.
        let bytes = name.len() + 1;
        words[..NAME_WORDS * 8 - 1]
            .get_mut(..name.len())?
            .copy_from_slice(name.as_bytes());
        for (word, at) in words.as_chunks::<8>().0.iter().zip(0_i16..) {
            let half = |at: usize| {
                let bytes = word[at..].first_chunk::<4>();
                bytes.map_or(0, |bytes| i32::from_ne_bytes(*bytes))
            };
            program.push(instruction(0x18, 1, 0, 0, half(0)));
            program.push(instruction(0, 0, 0, 0, half(4)));
            program.push(instruction(0x7b, 10, 1, at * 8 - 8 - NAME_BYTES, 0));
        }
        program.extend([
            instruction(0xbf, 1, 10, 0, 0),
            instruction(0x07, 1, 0, 0, -8 - i32::from(NAME_BYTES)),
            instruction(0xb7, 2, 0, 0, i32::try_from(bytes).ok()?),
            instruction(0xb7, 3, 0, 0, 0),
            instruction(0xbf, 4, 10, 0, 0),
            instruction(0x07, 4, 0, 0, -8),
            instruction(0x85, 0, 0, 0, LOOK_UP),
            instruction(0x79, 1, 10, -8, 0),
            instruction(0x7b, 6, 1, i16::try_from(which * 8).ok()?, 0),
        ]);
    }
    program.extend([instruction(0xb7, 0, 0, 0, 0), instruction(0x95, 0, 0, 0, 0)]);
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_functions_of_kernel_and_modules() {
        let text = b"ffffffff8171b710 t end_bio_bh_io_sync\n\
                     ffffffff81000000 d bio_chain_endio\n\
                     ffffffffc0000010 t xlog_bio_end_io\t[xfs]\n";
        let addresses = parse(&text[..]);
        assert_eq!(addresses[2], 0xffff_ffff_8171_b710);
        assert_eq!(addresses[4], 0xffff_ffff_c000_0010);
        assert_eq!(
            addresses[3], 0,
            "a data symbol of that name is not the function"
        );
        assert!(known(&addresses));
    }

    #[test]
    fn the_kernels_look_up_agrees_with_its_list() {
        let found = looked_up(&WANTED).unwrap();
        assert_eq!(found, listed());
        assert!(known(&found));
    }

    #[test]
    fn hidden_addresses_are_unknown() {
        assert!(!known(&parse(
            &b"0000000000000000 t end_bio_bh_io_sync\n"[..]
        )));
    }

    #[test]
    fn a_name_without_room_for_its_end_is_refused() {
        let longest = "x".repeat(NAME_WORDS * 8 - 1);
        assert!(look_up(&[&longest]).is_some());
        assert!(look_up(&[&format!("{longest}x")]).is_none());
    }
}
