//! Byte-wise I/O through the C library's `FILE`, as C programs do it.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::NonNull;

use libc::{FILE, c_int};

// unlocked_stdio(3). The libc crate lacks both. They are functions here: optimised C code uses
// their inline form from <bits/stdio.h>, which avoids a call for each byte.
unsafe extern "C" {
    fn getc_unlocked(stream: *mut FILE) -> c_int;
    fn putc_unlocked(byte: c_int, stream: *mut FILE) -> c_int;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdioMode {
    Read,
    /// `"w"`: created if missing, truncated if it exists.
    Write,
}

/// An open `FILE` with the C library's default buffer. [`close`](Self::close) it to learn whether
/// all bytes were written.
#[derive(Debug)]
pub struct Stdio {
    // Not `Send`, so no other thread uses it and the unlocked functions are allowed.
    stream: NonNull<FILE>,
}

impl Stdio {
    /// `fopen(3)`. Fails as `open(2)` does, and with `InvalidInput` for a path with a 0 byte.
    pub fn open(path: &Path, mode: StdioMode) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mode = match mode {
            StdioMode::Read => c"re",
            StdioMode::Write => c"we",
        };
        // SAFETY: both are strings that end with 0 and are read during the call only.
        let stream = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
        let stream = NonNull::new(stream).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { stream })
    }

    /// `fgetc(3)`, which takes and releases the stream's lock. `None` at the end of the file.
    pub fn getc(&mut self) -> io::Result<Option<u8>> {
        // SAFETY: the stream is open until drop.
        let answer = unsafe { libc::fgetc(self.stream.as_ptr()) };
        self.byte(answer)
    }

    /// `getc_unlocked(3)`. `None` at the end of the file.
    pub fn getc_unlocked(&mut self) -> io::Result<Option<u8>> {
        // SAFETY: the stream is open until drop, and only this thread has it.
        let answer = unsafe { getc_unlocked(self.stream.as_ptr()) };
        self.byte(answer)
    }

    /// `fputc(3)`, which takes and releases the stream's lock.
    pub fn putc(&mut self, byte: u8) -> io::Result<()> {
        // SAFETY: the stream is open until drop.
        written(unsafe { libc::fputc(c_int::from(byte), self.stream.as_ptr()) })
    }

    /// `putc_unlocked(3)`.
    pub fn putc_unlocked(&mut self, byte: u8) -> io::Result<()> {
        // SAFETY: the stream is open until drop, and only this thread has it.
        written(unsafe { putc_unlocked(c_int::from(byte), self.stream.as_ptr()) })
    }

    /// `fflush(3)`: passes the buffered bytes to the kernel.
    pub fn flush(&mut self) -> io::Result<()> {
        // SAFETY: the stream is open until drop.
        written(unsafe { libc::fflush(self.stream.as_ptr()) })
    }

    /// `fclose(3)`, which writes the buffered bytes and reports a failure to do so.
    pub fn close(self) -> io::Result<()> {
        let stream = self.stream;
        std::mem::forget(self);
        // SAFETY: the stream is open, and nothing uses it after the line above.
        written(unsafe { libc::fclose(stream.as_ptr()) })
    }

    /// `EOF` is the end of the file or an error; only the stream knows which (`ferror(3)`).
    #[inline]
    fn byte(&self, answer: c_int) -> io::Result<Option<u8>> {
        if let Ok(byte) = u8::try_from(answer) {
            return Ok(Some(byte));
        }
        let cause = io::Error::last_os_error();
        // SAFETY: the stream is open until drop.
        if unsafe { libc::ferror(self.stream.as_ptr()) } == 0 {
            Ok(None)
        } else {
            Err(cause)
        }
    }
}

#[inline]
fn written(answer: c_int) -> io::Result<()> {
    if answer == libc::EOF {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

impl AsFd for Stdio {
    /// For `fsync` after [`Stdio::flush`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the stream is open until drop.
        let fd = unsafe { libc::fileno(self.stream.as_ptr()) };
        // SAFETY: the stream owns the descriptor, and both live as long as the borrow.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        // Callers that need the result call `close`. SAFETY: the stream is open and never used
        // again.
        unsafe { libc::fclose(self.stream.as_ptr()) };
    }
}

/// Copies to the end of `from`, byte by byte with `fgetc` and `fputc`. Returns the bytes copied;
/// the last of them are in the buffer of `to` until it is flushed or closed.
pub fn copy_by_fgetc(from: &mut Stdio, to: &mut Stdio) -> io::Result<u64> {
    let mut bytes = 0;
    while let Some(byte) = from.getc()? {
        to.putc(byte)?;
        bytes += 1;
    }
    Ok(bytes)
}

/// As [`copy_by_fgetc`], with `getc_unlocked` and `putc_unlocked`.
pub fn copy_by_getc_unlocked(from: &mut Stdio, to: &mut Stdio) -> io::Result<u64> {
    let mut bytes = 0;
    while let Some(byte) = from.getc_unlocked()? {
        to.putc_unlocked(byte)?;
        bytes += 1;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    type Copy = fn(&mut Stdio, &mut Stdio) -> io::Result<u64>;
    const COPIES: [Copy; 2] = [copy_by_fgetc, copy_by_getc_unlocked];

    #[test]
    fn copies_every_byte_value() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        // 0xFF is not EOF, and the length is not a multiple of any buffer size.
        let contents: Vec<u8> = (0..=255).cycle().take(100_003).collect();
        for (contents, copy) in [(&contents[..], COPIES[0]), (&contents, COPIES[1])]
            .into_iter()
            .chain(COPIES.map(|copy| (&b""[..], copy)))
        {
            fs::write(&from, contents).unwrap();
            let mut source = Stdio::open(&from, StdioMode::Read).unwrap();
            let mut target = Stdio::open(&to, StdioMode::Write).unwrap();
            let copied = copy(&mut source, &mut target).unwrap();
            assert_eq!(copied, contents.len() as u64);
            target.close().unwrap();
            source.close().unwrap();
            assert_eq!(fs::read(&to).unwrap(), contents);
        }
    }

    #[test]
    fn a_flush_hands_over_what_the_buffer_held() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("to");
        let mut target = Stdio::open(&path, StdioMode::Write).unwrap();
        target.putc(b'x').unwrap();
        target.putc_unlocked(b'y').unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        target.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"xy");
        rustix::fs::fsync(target.as_fd()).unwrap();
    }

    #[test]
    fn errors_are_not_the_end_of_the_file() {
        let error = Stdio::open("/no/such".as_ref(), StdioMode::Read).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        let error = Stdio::open("a\0b".as_ref(), StdioMode::Read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let mut directory = Stdio::open("/".as_ref(), StdioMode::Read).unwrap();
        for error in [directory.getc(), directory.getc_unlocked()] {
            assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EISDIR));
        }
        let mut full = Stdio::open("/dev/full".as_ref(), StdioMode::Write).unwrap();
        full.putc(b'x').unwrap();
        let error = full.close().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    }
}
