//! Kernels that refuse a system call.

use std::process::Command;

pub(crate) const EPERM: i32 = 1;
pub(crate) const ENOSYS: i32 = 38;

/// A system call that is refused.
#[derive(Clone, Copy)]
pub(crate) struct Refused {
    number: u32,
    /// With this first argument only.
    first: Option<u32>,
}

/// `cachestat(2)`.
pub(crate) const CACHESTAT: Refused = Refused {
    number: 451,
    first: None,
};

/// `ptrace(2)`.
pub(crate) const PTRACE: Refused = Refused {
    number: 101,
    first: None,
};

/// `close_range(2)`, which Linux has since 5.9.
pub(crate) const CLOSE_RANGE: Refused = Refused {
    number: 436,
    first: None,
};

/// `bpf(2)`, as by the profile that container engines have by default, and by kernels without it.
pub(crate) const EBPF: Refused = Refused {
    number: 321,
    first: None,
};

/// The same with `BPF_PROG_LOAD`.
pub(crate) const LOADING_PROGRAMS: Refused = Refused {
    number: 321,
    first: Some(5),
};

/// A classic BPF filter for seccomp(2): loads number and first argument, compares them, and
/// answers with the error.
const FILTER: &str = "
import ctypes, os, struct, sys
error, number, first = map(int, sys.argv[1:4])
program = sys.argv[4:]
load, equal, answer = 0x20, 0x15, 0x06
code = [(load, 0, 0, 0), (equal, 0, 3 if first >= 0 else 1, number)]
if first >= 0:
    code += [(load, 0, 0, 16), (equal, 0, 1, first)]
code += [(answer, 0, 0, 0x50000 | error), (answer, 0, 0, 0x7fff0000)]
lines = len(code)
code = b''.join(struct.pack('HBBI', *line) for line in code)
memory = ctypes.create_string_buffer(code)
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_void_p)]
filter = Program(lines, ctypes.addressof(memory))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(filter), 0, 0) == 0, ctypes.get_errno()
os.execvp(program[0], program)
";

/// The program on a kernel that answers the call with the error. Directory and environment are
/// those of the tests.
pub(crate) fn refusing(call: Refused, error: i32, program: &Command) -> Command {
    let mut command = Command::new("python3");
    let first = call.first.map_or(-1, i64::from);
    command.args(["-c", FILTER, &error.to_string()]);
    command.args([call.number.to_string(), first.to_string()]);
    command.arg(program.get_program()).args(program.get_args());
    command
}
