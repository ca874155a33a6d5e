//! Code that a program generates at run time: no file has unwind tables for it.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// `add $n, %rsp; ret`, with `n` in the fourth byte (Intel SDM, volume 2: ADD, RET).
const LEAVES: [u8; 3] = [0x48, 0x83, 0xc4];
const RETURNS: u8 = 0xc3;

/// Maximum number of remembered addresses.
const MOST_KNOWN: usize = 1 << 14;

#[derive(Debug)]
pub(super) struct MadeCode {
    memory: Option<File>,
    known: HashMap<u64, Option<u64>>,
}

impl MadeCode {
    pub(super) fn of(process: u32) -> Self {
        Self {
            memory: File::open(format!("/proc/{process}/mem")).ok(),
            known: HashMap::new(),
        }
    }

    /// Stack bytes that a function releases before it returns, if that is all that follows this
    /// return address. The trampolines of Python's perf support are like that
    /// (`Python/asm_trampoline.S`), which keep no frame pointer.
    pub(super) fn put_away_bytes(&mut self, return_address: u64) -> Option<u64> {
        let memory = self.memory.as_ref()?;
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        *self.known.entry(return_address).or_insert_with(|| {
            let mut code = [0; 5];
            memory.read_exact_at(&mut code, return_address).ok()?;
            put_away(code)
        })
    }
}

fn put_away(code: [u8; 5]) -> Option<u64> {
    let [start @ .., bytes, last] = code;
    // The operand is signed, and a multiple of a register's 8 bytes.
    (start == LEAVES && last == RETURNS && bytes < 128 && bytes % 8 == 0).then_some(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_puts_its_frame_away_is_known_by_its_code() {
        assert_eq!(put_away([0x48, 0x83, 0xc4, 0x08, 0xc3]), Some(8));
        assert_eq!(put_away([0x48, 0x83, 0xc4, 0x07, 0xc3]), None);
        assert_eq!(put_away([0x48, 0x83, 0xc4, 0xf8, 0xc3]), None, "negative");
        assert_eq!(put_away([0x5d, 0xc3, 0x90, 0x90, 0x90]), None);
    }

    #[test]
    fn code_is_read_from_the_process_and_remembered() {
        static CODE: [u8; 5] = [0x48, 0x83, 0xc4, 0x18, 0xc3];
        let mut made = MadeCode::of(std::process::id());
        let address = CODE.as_ptr() as u64;
        assert_eq!(made.put_away_bytes(address), Some(24));
        assert_eq!(made.put_away_bytes(8), None, "nothing is mapped there");
        assert_eq!(made.known.len(), 2);
        assert_eq!(MadeCode::of(u32::MAX).put_away_bytes(address), None);
    }
}
