//! Tests with real files, and with a kernel that refuses.

use super::*;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd as _;
use std::thread;

fn contents(len: usize) -> Vec<u8> {
    // 251 is prime: no two blocks of a power of two are the same.
    (0..=250).cycle().take(len).collect()
}

fn file_of(contents: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    fs::write(file.path(), contents).unwrap();
    file
}

fn buffers(count: usize, len_bytes: usize) -> Vec<AlignedBuffer> {
    (0..count)
        .map(|_| AlignedBuffer::fresh(len_bytes).unwrap())
        .collect()
}

#[test]
fn one_read_is_as_pread() {
    let contents = contents(10_000);
    let file = file_of(&contents);
    let mut ring = Ring::open(1).unwrap();
    let mut buffer = [0; 4096];
    let mut read = |offset| {
        let bytes = ring.read_at(file.as_file().as_fd(), &mut buffer, offset);
        buffer[..bytes.unwrap()].to_vec()
    };
    assert_eq!(read(1), contents[1..4097]);
    assert_eq!(read(8192), contents[8192..], "short at the end");
    assert_eq!(read(10_000), b"");
}

#[test]
fn many_requests_fill_one_buffer_in_order() {
    let contents = contents(100_003);
    let file = file_of(&contents);
    let mut ring = Ring::open(8).unwrap();
    for request_bytes in [1000, 4096, 1 << 20] {
        let mut buffer = vec![0; 100_000];
        let fd = file.as_file().as_fd();
        ring.read_exact_at(fd, &mut buffer, 3, request_bytes)
            .unwrap();
        assert!(buffer == contents[3..], "{request_bytes}");
    }
    ring.read_exact_at(file.as_file().as_fd(), &mut [], 0, 4096)
        .unwrap();
}

#[test]
fn copies_files_of_any_length() {
    let mut ring = Ring::open(4).unwrap();
    // The last case has more parts than buffers, and more buffers than the ring's depth.
    for len in [0, 1, 4096, 100_003] {
        let contents = contents(len);
        let (from, to) = (file_of(&contents), file_of(b""));
        let (source, target) = (from.as_file().as_fd(), to.as_file().as_fd());
        ring.copy(source, target, len as u64, &mut buffers(6, 4096))
            .unwrap();
        assert!(fs::read(to.path()).unwrap() == contents, "{len}");
    }
}

#[test]
fn the_end_of_the_file_is_an_error_that_names_it_and_the_ring_stays_usable() {
    let contents = contents(9000);
    let (from, to) = (file_of(&contents), file_of(b""));
    let (source, target) = (from.as_file().as_fd(), to.as_file().as_fd());
    let mut ring = Ring::open(4).unwrap();
    let mut buffer = vec![0; 100_000];
    let error = ring
        .read_exact_at(source, &mut buffer, 0, 4096)
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    let error = ring
        .copy(source, target, 9001, &mut buffers(1, 4096))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file ended at byte 9000, more was to be read"
    );
    ring.read_exact_at(source, &mut buffer[..9000], 0, 4096)
        .unwrap();
    assert!(buffer[..9000] == contents);
}

#[test]
fn the_kernels_errors_are_passed_on_and_the_ring_stays_usable() {
    let contents = contents(100_000);
    let from = file_of(&contents);
    let source = from.as_file().as_fd();
    let mut ring = Ring::open(4).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let read_only = File::open(from.path()).unwrap();
    for (target, errno) in [(&full, libc::ENOSPC), (&read_only, libc::EBADF)] {
        let error = ring
            .copy(source, target.as_fd(), 100_000, &mut buffers(4, 4096))
            .unwrap_err();
        assert_eq!(error.raw_os_error(), Some(errno));
    }
    let error = ring.read_at(full.as_fd(), &mut [0], 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    assert_eq!(ring.read_at(source, &mut [0; 8], 0).unwrap(), 8);
}

#[test]
fn refuses_sizes_that_make_no_progress() {
    let file = file_of(b"x");
    let fd = file.as_file().as_fd();
    let mut ring = Ring::open(1).unwrap();
    let outcomes = [
        ring.read_exact_at(fd, &mut [0], 0, 0),
        ring.copy(fd, fd, 1, &mut []),
        ring.copy(fd, fd, 1, &mut buffers(1, 0)),
    ];
    for outcome in outcomes {
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
    assert!(matches!(Ring::open(0), Err(RingError::Io(_))));
}

#[test]
fn a_refused_setup_names_the_cause_and_the_remedy() {
    let refused = |errno| {
        thread::spawn(move || {
            refuse_io_uring(errno);
            Ring::open(1).err().unwrap()
        })
        .join()
        .unwrap()
    };
    let error = refused(libc::EPERM);
    assert!(matches!(error, RingError::NotPermitted(_)), "{error}");
    assert!(error.to_string().contains("kernel.io_uring_disabled"));
    let error = refused(libc::ENOSYS);
    assert!(matches!(error, RingError::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("CONFIG_IO_URING"));
}

/// Makes `io_uring_setup` fail with `errno` for the calling thread, as a container does.
fn refuse_io_uring(errno: i32) {
    let step = |code, jt, jf, k| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt,
        jf,
        k,
    };
    let number = u32::try_from(libc::SYS_io_uring_setup).unwrap();
    let error = libc::SECCOMP_RET_ERRNO | errno.cast_unsigned();
    let mut steps = [
        // The call's number is the first word of struct seccomp_data.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, error),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: u16::try_from(steps.len()).unwrap(),
        filter: steps.as_mut_ptr(),
    };
    rustix::thread::set_no_new_privs(true).unwrap();
    // SAFETY: the kernel copies the filter, which outlives the call.
    let outcome = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            std::ptr::from_ref(&program),
        )
    };
    assert_eq!(outcome, 0, "{}", io::Error::last_os_error());
}
