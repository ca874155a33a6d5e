//! The call of a kernel function that no helper replaces: `bpf_rdonly_cast`.
//!
//! It turns any address into a typed pointer, which a program then reads with plain loads. Without
//! it each field needs a call of `bpf_probe_read_kernel`, and these calls cost more than everything
//! else that a program does at a system call. Aya does not resolve kernel functions, so
//! `bpf/read.h` calls a helper that does not exist, and this file rewrites these calls.

use aya::Btf;
use aya_obj::btf::BtfKind;

/// The kernel's function.
pub(super) const FUNCTION: &str = "bpf_rdonly_cast";

/// `RDONLY_CAST` in `bpf/read.h`.
const PLACEHOLDER: i32 = 0x696f_7374;
/// `BPF_JMP | BPF_CALL` (include/uapi/linux/bpf.h).
const CALL: u8 = 0x85;
/// `BPF_PSEUDO_KFUNC_CALL`, in the upper half of the register byte: `imm` is then the type of the
/// function (include/uapi/linux/bpf.h).
const OF_KERNEL: u8 = 2 << 4;

/// `struct bpf_insn` as stored in an object.
fn call(registers: u8, number: i32) -> [u8; 8] {
    let [a, b, c, d] = number.to_ne_bytes();
    [CALL, registers, 0, 0, a, b, c, d]
}

/// The object with these calls replaced by calls of the kernel's function; `None` where the kernel
/// lacks it.
pub(super) fn resolve(object: &[u8], kernel: &Btf) -> Option<Vec<u8>> {
    let function = kernel.id_by_type_name_kind(FUNCTION, BtfKind::Func);
    let function = i32::try_from(function.ok()?).ok()?;
    Some(rewrite(object, function))
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
