//! Filters of system calls: classic BPF for `seccomp(2)`, written by hand.
use std::io;

// Offsets in struct seccomp_data (include/uapi/linux/seccomp.h).
pub(crate) const NUMBER_AT: u32 = 0;
pub(crate) const ARCHITECTURE_AT: u32 = 4;

/// `AUDIT_ARCH_*` of this architecture (include/uapi/linux/audit.h).
#[cfg(target_arch = "x86_64")]
pub(crate) const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(crate) const ARCHITECTURE: u32 = 0xc000_00b7;

/// Bit in the number of an x32 call (`__X32_SYSCALL_BIT`, arch/x86/include/uapi/asm/unistd.h).
/// Calls of other architectures never have it.
pub(crate) const X32: u32 = 0x4000_0000;

/// The low half of an argument.
pub(crate) const fn argument_at(index: u32) -> u32 {
    16 + index * 8
}

// include/uapi/linux/bpf_common.h: BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K,
// BPF_JMP | BPF_JSET | BPF_K and BPF_RET | BPF_K.
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

#[derive(Debug, Clone)]
pub(crate) struct Filter(pub(crate) Vec<libc::sock_filter>);

impl Filter {
    /// Installs it in the calling thread permanently: it survives `execve` and applies to all
    /// descendants. Without `CAP_SYS_ADMIN` the kernel requires that programs lose the ability to
    /// gain privileges. Makes system calls only, so it may run between `fork` and `exec`.
    pub(crate) fn install(&self) -> io::Result<()> {
        match self.set() {
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
                rustix::thread::set_no_new_privs(true)?;
                self.set()
            }
            outcome => outcome,
        }
    }

    /// As [`install`](Self::install), where it is known that it may.
    pub(crate) fn set(&self) -> io::Result<()> {
        let len = u16::try_from(self.0.len())
            .map_err(|_too_long| io::Error::from_raw_os_error(libc::EINVAL))?;
        let program = libc::sock_fprog {
            len,
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: the kernel reads `len` instructions, which outlive the call.
        super::outcome(unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            )
        })
    }
}

pub(crate) fn load(at: u32) -> libc::sock_filter {
    instruction(LOAD, 0, 0, at)
}

/// Skips `yes` instructions when the loaded word is `value`, otherwise `no`.
pub(crate) fn if_equal(value: u32, yes: u8, no: u8) -> libc::sock_filter {
    instruction(JUMP_IF_EQUAL, yes, no, value)
}

/// Skips `yes` instructions when the loaded word has one of these bits, otherwise `no`.
pub(crate) fn if_set(bits: u32, yes: u8, no: u8) -> libc::sock_filter {
    instruction(JUMP_IF_SET, yes, no, bits)
}

pub(crate) fn answer(action: u32) -> libc::sock_filter {
    instruction(RETURN, 0, 0, action)
}

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Filter {
        /// The verdict about a call, computed as in the kernel's interpreter (kernel/bpf/core.c): jumps are
        /// relative to the next instruction.
        pub(crate) fn verdict(&self, architecture: u32, number: u32, arguments: [u32; 6]) -> u32 {
            let Self(code) = self;
            let (mut at, mut word) = (0, 0);
            loop {
                let now = code[at];
                at += 1;
                match now.code {
                    LOAD => {
                        word = match now.k {
                            NUMBER_AT => number,
                            ARCHITECTURE_AT => architecture,
                            argument => arguments[(argument as usize - 16) / 8],
                        }
                    }
                    JUMP_IF_EQUAL => {
                        at += usize::from(if word == now.k { now.jt } else { now.jf });
                    }
                    JUMP_IF_SET => {
                        at += usize::from(if word & now.k != 0 { now.jt } else { now.jf });
                    }
                    RETURN => return now.k,
                    other => panic!("code {other:#x}"),
                }
            }
        }
    }
}
