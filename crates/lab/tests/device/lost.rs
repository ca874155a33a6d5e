//! A server that ends during a run: what it had logged is explored, and the recording says that it is not all.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::time::Duration;

use iostrata_core::crash::block::Pressure;
use iostrata_lab::crash::block::{BlockError, Foundation, Room, Setting, record};
use iostrata_lab::device::Cut;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{ImageKind, isolate};
use iostrata_tracer::clock::now_ns;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};

use crate::wait::until;
use crate::{is_root, start_server};

/// For direct I/O.
#[repr(align(4096))]
struct Page([u8; 4096]);

fn kill(id: u32) {
    let pid = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    // Its parent waits for it later.
    until(|| {
        let state = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        if state.contains(") Z ") {
            Ok(())
        } else {
            Err(state)
        }
    });
}

#[test]
fn the_last_epoch_ends_with_the_last_request_that_was_logged() {
    if !is_root() {
        return;
    }
    let server = start_server();
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().to_owned();
    let work = move || {
        let mounts = isolate().unwrap();
        let interrupt = Interrupt::never();
        let room = Room {
            directory: &at,
            mounts: &mounts,
            interrupt: &interrupt,
        };
        let foundation = Foundation::make(&room, ImageKind::Ext4, None, |work| {
            fs::write(work.join("f"), [b'a'; 4096]).map_err(BlockError::io("write"))
        });
        let setting = Setting {
            pressure: Pressure::None,
            delay: Duration::ZERO,
        };
        let lost_ns = Cell::new(0);
        let recording = record(&room, &server, &foundation.unwrap(), setting, |work, _| {
            let mut options = File::options();
            let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap();
            let file = options.read(true).write(true).custom_flags(direct);
            let file = file.open(work.join("f")).unwrap();
            // The device has it, and no flush.
            file.write_all_at(&Page([b'b'; 4096]).0, 0).unwrap();
            // The server logs what it has answered, and only then does what is asked for next.
            file.read_exact_at(&mut Page([0; 4096]).0, 0).unwrap();
            kill(server.id());
            lost_ns.set(now_ns());
            file.sync_all().unwrap_err();
            Ok::<(), BlockError>(())
        });
        let recording = recording.unwrap();
        assert_eq!(recording.cut, Some(Cut::NoServer));
        let last = recording.epochs.last().unwrap();
        assert_eq!(last.blocks.len(), 1);
        assert!(last.ended_ns < lost_ns.get(), "{last:?} {lost_ns:?}");
    };
    std::thread::spawn(work).join().unwrap();
}
