//! Reads arguments that a traced program passed by address.
#![expect(
    unsafe_code,
    reason = "another process's memory is read by its addresses"
)]

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::request::Tid;

/// The longest path that a call accepts, with its NUL (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;

/// A NUL-terminated string, without the NUL; `None` when it cannot be read.
///
/// Reads up to page ends, since the next page may be unmapped.
pub(super) fn string(tid: Tid, address: u64) -> Option<Vec<u8>> {
    let page = crate::kernel::page_size();
    let mut at = usize::try_from(address).ok().filter(|at| *at != 0)?;
    let mut text = Vec::new();
    while text.len() < LONGEST_PATH {
        let mut part = [0; 256];
        let room = part.len().min(page - at % page);
        let bytes = read(tid, at, &mut part[..room]).ok()?;
        let part = part.get(..bytes).filter(|part| !part.is_empty())?;
        if let Some(end) = part.iter().position(|byte| *byte == 0) {
            text.extend_from_slice(&part[..end]);
            return Some(text);
        }
        text.extend_from_slice(part);
        at = at.checked_add(bytes)?;
    }
    None
}

pub(super) fn word(tid: Tid, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    let at = usize::try_from(address).ok()?;
    let read = read(tid, at, &mut bytes).ok()?;
    (read == bytes.len()).then(|| u64::from_ne_bytes(bytes))
}

pub(super) fn words<const N: usize>(tid: Tid, address: u64) -> Option<[u64; N]> {
    let mut bytes = [[0; 8]; N];
    let at = usize::try_from(address).ok()?;
    let read = read(tid, at, bytes.as_flattened_mut()).ok()?;
    (read == N * 8).then(|| bytes.map(u64::from_ne_bytes))
}

/// Appends up to `bytes` to `into`. Returns how many were read.
pub(super) fn append(tid: Tid, address: u64, into: &mut Vec<u8>, bytes: usize) -> usize {
    let before = into.len();
    into.resize(before + bytes, 0);
    let at = usize::try_from(address).ok();
    let had = at.and_then(|at| read(tid, at, &mut into[before..]).ok());
    let had = had.unwrap_or(0);
    into.truncate(before + had);
    had
}

pub(super) fn set_word(tid: Tid, address: u64, word: u64) -> io::Result<()> {
    let mut bytes = word.to_ne_bytes();
    let at = usize::try_from(address)
        .map_err(|_too_large| io::Error::from_raw_os_error(libc::EFAULT))?;
    let (local, remote) = vectors(at, &mut bytes);
    // SAFETY: `local` is a live buffer of its length, which is only read; the other address belongs
    // to the other process, and the kernel checks it.
    let written =
        unsafe { libc::process_vm_writev(pid(tid)?, &raw const local, 1, &raw const remote, 1, 0) };
    match count(written) {
        Err(error) if is_filtered(&error) => memory_of(tid, true)?.write_all_at(&bytes, at as u64),
        written => written.map(drop),
    }
}

fn read(tid: Tid, at: usize, into: &mut [u8]) -> io::Result<usize> {
    let (local, remote) = vectors(at, into);
    // SAFETY: `local` is a live buffer of its length; the other address belongs to the other
    // process, and the kernel checks it.
    let read =
        unsafe { libc::process_vm_readv(pid(tid)?, &raw const local, 1, &raw const remote, 1, 0) };
    match count(read) {
        Err(error) if is_filtered(&error) => memory_of(tid, false)?.read_at(into, at as u64),
        read => read,
    }
}

/// Whether a filter of system calls refuses the call itself, as Docker's did without
/// `CAP_SYS_PTRACE` until version 23: a tracer may still read its program's memory in `/proc`
/// (`mm_access`, kernel/fork.c).
fn is_filtered(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

fn memory_of(tid: Tid, writes: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(!writes).write(writes);
    options.open(format!("/proc/{tid}/mem"))
}

fn vectors(at: usize, buffer: &mut [u8]) -> (libc::iovec, libc::iovec) {
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(at),
        iov_len: buffer.len(),
    };
    (local, remote)
}

fn pid(tid: Tid) -> io::Result<libc::pid_t> {
    libc::pid_t::try_from(tid).map_err(|_too_large| io::Error::from_raw_os_error(libc::ESRCH))
}

fn count(outcome: isize) -> io::Result<usize> {
    usize::try_from(outcome).map_err(|_negative| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_words_are_read_and_written() {
        let me = std::process::id();
        // Longer than one part, so that parts are joined.
        let text = [vec![b'x'; 700], vec![0]].concat();
        let read = string(me, text.as_ptr().addr() as u64).unwrap();
        assert_eq!(read, vec![b'x'; 700]);
        assert_eq!(string(me, 0), None);
        assert_eq!(string(me, 8), None, "an address that is not mapped");
        let mut value = 5_u64;
        let address = (&raw mut *std::hint::black_box(&mut value)).addr() as u64;
        assert_eq!(word(me, address), Some(5));
        set_word(me, address, 6).unwrap();
        assert_eq!(word(me, address), Some(6));
        let three = std::hint::black_box([7_u64, 8, 9]);
        assert_eq!(words(me, three.as_ptr().addr() as u64), Some([7, 8, 9]));
        assert_eq!(words::<2>(me, 8), None);
    }
}
