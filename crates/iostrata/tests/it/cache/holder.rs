//! Processes that hold pages of a file.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Maps a file, reads one page or all, locks them if asked, says so, and waits.
const HOLD: &str = "
import ctypes, mmap, os, sys
path, how = sys.argv[1:]
size = os.path.getsize(path)
m = mmap.mmap(os.open(path, os.O_RDWR), size)
if how == 'page':
    m.madvise(mmap.MADV_RANDOM)
    m[0]
else:
    sum(m[i] for i in range(0, size, 4096))
if how == 'lock':
    libc = ctypes.CDLL(None, use_errno=True)
    start = ctypes.addressof(ctypes.c_char.from_buffer(m))
    assert libc.mlock(ctypes.c_void_p(start), ctypes.c_size_t(size)) == 0, ctypes.get_errno()
print('held', flush=True)
sys.stdin.read()
";

/// Ended when the test ends.
pub(super) struct Holder(Child);

impl Holder {
    /// `how` is `page`, `all` or `lock`.
    #[track_caller]
    pub(super) fn of(path: &Path, how: &str) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", HOLD]).arg(path).arg(how);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = Self(command.spawn().unwrap());
        let mut line = String::new();
        let stdout = holder.0.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        holder
    }

    pub(super) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
