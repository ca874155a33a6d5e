//! The position of transfers in their file, where a program uses several files in turn.

use std::process::Command;

use iostrata_core::observe::Stream;
use iostrata_core::trace::Shape;
use iostrata_tracer::ebpf::{EbpfObserver, Limits};

use crate::session::observe;

const COPIES: u64 = 24;
const BYTES: u64 = 200;

/// The shapes of one call.
fn shapes(call: &str, program: &mut Command) -> Vec<Shape> {
    let mut observer = EbpfObserver::with_limits(Limits::trace()).expect("eBPF");
    let (seen, status) = observe(&mut observer, Stream::default(), program, || ());
    assert!(status.success());
    let rows = seen.raw.syscalls.into_iter().flatten();
    let of_call = rows.filter(|row| row.name == call);
    of_call.filter_map(|row| row.shape).map(|it| *it).collect()
}

/// For any inode number, which determines the slot of a call's sum.
#[test]
fn a_copy_byte_by_byte_is_sequential() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let copies = format!(
        "cd $0; for i in $(seq {COPIES}); do dd if=/dev/zero of=$i bs=1 count={BYTES} status=none; done"
    );
    let mut program = Command::new("sh");
    program.arg("-c").arg(copies).arg(dir.path());
    let written = shapes("write", &mut program);
    assert_eq!(written.len() as u64, COPIES);
    for shape in written {
        let known = (shape.pairs, shape.sequential);
        assert_eq!(known, (BYTES - 1, BYTES - 1), "{shape:?}");
    }
}

#[test]
fn calls_in_turn_on_one_file_know_where_each_ended() {
    const TURNS: &str = "import os, sys
os.chdir(sys.argv[1])
file = os.open('file', os.O_RDWR | os.O_CREAT)
for turn in range(100):
    os.lseek(file, 0, os.SEEK_END)
    os.write(file, b'x')
    os.fstat(file)
    os.pread(file, 1, turn)
    os.pwrite(file, b'y', turn)
    os.fdatasync(file)";
    for call in ["write", "pread64", "pwrite64"] {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut program = Command::new("python3");
        program.args(["-c", TURNS]).arg(dir.path());
        let known: Vec<(u64, u64)> = shapes(call, &mut program)
            .iter()
            .filter(|shape| shape.pairs > 50)
            .map(|shape| (shape.pairs, shape.sequential))
            .collect();
        assert_eq!(known, [(99, 99)], "{call}");
    }
}
