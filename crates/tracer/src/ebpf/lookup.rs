//! Addresses of kernel functions through the kernel's own lookup: `/proc/kallsyms` has 200,000
//! lines, and reading it takes as long as loading a fifth of the programs.

use std::io;
use std::os::fd::AsFd as _;

use aya_obj::generated::{BPF_F_SLEEPABLE, bpf_cmd, bpf_func_id, bpf_prog_type};

use super::program::{load_bare, number_of};
use super::syscall;
use super::wire::END_IOS;

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
pub(super) fn addresses(names: &[&str; END_IOS]) -> io::Result<[u64; END_IOS]> {
    let program = program(names).ok_or(io::ErrorKind::InvalidInput)?;
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
fn program(names: &[&str]) -> Option<Vec<u64>> {
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
    fn a_name_without_room_for_its_end_is_refused() {
        let longest = "x".repeat(NAME_WORDS * 8 - 1);
        assert!(program(&[&longest]).is_some());
        assert!(program(&[&format!("{longest}x")]).is_none());
    }
}
