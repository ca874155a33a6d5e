//! The call of a kernel function that no helper replaces: `bpf_rdonly_cast`.
//!
//! It turns any address into a typed pointer, which a program then reads with plain loads. Without
//! it each field needs a call of `bpf_probe_read_kernel`, and these calls cost more than everything
//! else that a program does at a system call. Aya does not resolve kernel functions, so
//! `bpf/read.h` calls a helper that does not exist, and this file rewrites these calls. It also
//! writes the types' ids, which the function is given, into the instructions: Aya could only do so
//! if it was given all the kernel's types.

use std::collections::HashMap;

use object::{Object as _, ObjectSection as _};

use super::needed::{Index, flavourless};
use super::types::{Types, word};

/// The kernel's function.
pub(super) const FUNCTION: &str = "bpf_rdonly_cast";

/// `RDONLY_CAST` in `bpf/read.h`.
const PLACEHOLDER: i32 = 0x696f_7374;
/// `BPF_JMP | BPF_CALL` (include/uapi/linux/bpf.h).
const CALL: u8 = 0x85;
/// `BPF_PSEUDO_KFUNC_CALL`, in the upper half of the register byte: `imm` is then the type of the
/// function (include/uapi/linux/bpf.h).
const OF_KERNEL: u8 = 2 << 4;
/// `BPF_CORE_TYPE_ID_TARGET` of `enum bpf_core_relo_kind` (include/uapi/linux/bpf.h).
const ID_OF_KERNEL_TYPE: u32 = 7;
/// Bytes of `struct btf_ext_info_sec` before its records (`tools/lib/bpf/libbpf_internal.h`).
const HEAD_BYTES: usize = 8;

/// `struct bpf_insn` as stored in an object.
fn call(registers: u8, number: i32) -> [u8; 8] {
    let [a, b, c, d] = number.to_ne_bytes();
    [CALL, registers, 0, 0, a, b, c, d]
}

/// The object with these calls replaced by calls of the kernel's function; `None` where the kernel
/// lacks it, or has several structures of one name.
pub(super) fn resolve(object: &[u8], kernel: &Types) -> Option<Vec<u8>> {
    let function = i32::try_from(kernel.function?).ok()?;
    let mut resolved = rewrite(object, function);
    write_ids(&mut resolved, &kernel.ids)?;
    Some(resolved)
}

/// Writes the ids of types into the instructions that need them, and takes these relocations out of
/// the object. Types that the kernel lacks keep theirs.
fn write_ids(resolved: &mut [u8], ids: &HashMap<Vec<u8>, Option<u32>>) -> Option<()> {
    let own = resolved.to_vec();
    let object = object::File::parse(own.as_slice()).ok()?;
    let index = Index::of(object.section_by_name(".BTF")?.data().ok()?)?;
    let (of_extension, _) = object.section_by_name(".BTF.ext")?.file_range()?;
    let extension = usize::try_from(of_extension).ok()?;
    let field = |at: usize| usize::try_from(word(&own, at)?).ok();
    // `struct btf_ext_header`, `tools/lib/bpf/libbpf_internal.h`: offsets are from its end.
    let from = extension + field(extension + 4)? + field(extension + 24)?;
    let end = from + field(extension + 28)?;
    let record_bytes = field(from)?;
    let (mut read, mut write) = (from + 4, from + 4);
    while read < end {
        let section = object.section_by_name_bytes(index.text(word(&own, read)?))?;
        let (start, _) = section.file_range()?;
        let start = usize::try_from(start).ok()?;
        let (head, count) = (write, field(read + 4)?);
        resolved.copy_within(read..read + HEAD_BYTES, write);
        (read, write) = (read + HEAD_BYTES, write + HEAD_BYTES);
        let mut kept = 0_u32;
        for _ in 0..count {
            let is_id = word(&own, read + 12)? == ID_OF_KERNEL_TYPE;
            let name = flavourless(index.name(field(read + 4)?));
            if let Some(id) = ids.get(name).filter(|_| is_id) {
                let id = (*id)?;
                // The lower half of a 64-bit constant; the upper half is 0.
                let at = start + field(read)? + 4;
                resolved
                    .get_mut(at..at + 4)?
                    .copy_from_slice(&id.to_ne_bytes());
            } else {
                resolved.copy_within(read..read + record_bytes, write);
                write += record_bytes;
                kept += 1;
            }
            read += record_bytes;
        }
        resolved
            .get_mut(head + 4..head + 8)?
            .copy_from_slice(&kept.to_ne_bytes());
    }
    let left = u32::try_from(write - from).ok()?;
    resolved
        .get_mut(extension + 28..extension + 32)?
        .copy_from_slice(&left.to_ne_bytes());
    Some(())
}

/// Instructions are 8 bytes each, aligned to 8 bytes in a section, and so in the object.
fn rewrite(object: &[u8], function: i32) -> Vec<u8> {
    let mut rewritten = object.to_vec();
    let (from, to) = (call(0, PLACEHOLDER), call(OF_KERNEL, function));
    let (instructions, _) = rewritten.as_chunks_mut::<8>();
    for instruction in instructions {
        if *instruction == from {
            *instruction = to;
        }
    }
    rewritten
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_calls_of_the_function() {
        let exit = [0x95, 0, 0, 0, 0, 0, 0, 0];
        let object = [call(0, PLACEHOLDER), exit, call(0, 5)].concat();
        let expected = [
            [0x85, 0x20, 0, 0, 0x39, 0x30, 0, 0],
            exit,
            [0x85, 0, 0, 0, 5, 0, 0, 0],
        ];
        assert_eq!(rewrite(&object, 12345), expected.concat());
    }

    #[test]
    fn what_is_not_at_an_instruction_stays() {
        let mut object = vec![0; 4];
        object.extend(call(0, PLACEHOLDER));
        object.extend([0; 4]);
        assert_eq!(rewrite(&object, 7), object);
    }
}
