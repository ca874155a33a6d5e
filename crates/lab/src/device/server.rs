//! The process that serves devices, and how it learns of them.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fuser::{Config, Session, SessionACL};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::disk::Disk;
use super::image::DiskImage;
use super::log::{RequestLog, Writer};
use crate::engine::Launcher;

/// With each device come its connection to the kernel, its contents, and its log.
const DESCRIPTORS: usize = 3;

/// How long devices are served whose user is gone: their file systems are unmounted in that time. A process that
/// keeps one busy gets errors after it.
const GRACE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// The process that serves devices; it ends with this value.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// `None` at its end.
    told: Option<UnixStream>,
}

impl Server {
    /// Starts a program that calls [`server_main`]. Call it before
    /// [`isolate`](crate::scratch::isolate): a server in the namespace of a mount keeps that alive.
    pub fn start(launcher: &Launcher) -> io::Result<Self> {
        let (told, hears) = UnixStream::pair()?;
        let child = launcher
            .command()
            // Ctrl-C must not reach it before the file systems are unmounted.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(hears)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            child,
            told: Some(told),
        })
    }

    /// Serves a device from now on, until its FUSE file system is unmounted.
    pub(super) fn serve(
        &self,
        fuse: BorrowedFd<'_>,
        image: &DiskImage,
        log: &RequestLog,
        delay: Duration,
    ) -> io::Result<()> {
        let Some(told) = &self.told else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let descriptors = [fuse, image.as_fd(), log.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        let message = delay_ns.to_le_bytes();
        let message = [IoSlice::new(&message)];
        sendmsg(told, &message, &mut ancillary, SendFlags::empty())?;
        Ok(())
    }

    /// Has devices answer without delay: the user has asked for an end, and everything waits for them.
    pub(crate) fn hurry(&self) {
        if let Some(mut told) = self.told.as_ref() {
            // Without its server a device fails, which is noticed there.
            drop(told.write_all(&[0]));
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.told.take());
        // It has nothing to serve any more, or waits a little for it.
        drop(self.child.wait());
    }
}

/// The work of the serving process: takes devices from its standard input until that ends.
pub fn server_main() {
    // What it writes may be what frees memory (PR_SET_IO_FLUSHER(2const)); not everybody may ask for it.
    _ = rustix::process::configure_io_flusher_behavior(true);
    let input = io::stdin();
    let mut sessions = Vec::new();
    let hurries = Arc::default();
    while let Ok(Some(served)) = next_device(input.as_fd(), &hurries) {
        sessions.extend(served);
    }
    let begun = Instant::now();
    while sessions.iter().any(|session| !session.is_finished()) && begun.elapsed() < GRACE {
        thread::sleep(PAUSE);
    }
}

/// Serves the next device; `None` at the end. A device that is not served is one that its user finds not connected. What
/// comes without a device is a request to hurry.
fn next_device(
    input: BorrowedFd<'_>,
    hurries: &Arc<AtomicBool>,
) -> io::Result<Option<Vec<JoinHandle<()>>>> {
    let mut message = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        input,
        &mut [IoSliceMut::new(&mut message)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut descriptors: Vec<OwnedFd> = Vec::new();
    for part in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = part {
            descriptors.extend(sent);
        }
    }
    let Ok([fuse, image, log]) = <[OwnedFd; DESCRIPTORS]>::try_from(descriptors) else {
        hurries.store(true, Ordering::Relaxed);
        return Ok(Some(Vec::new()));
    };
    let disk = Disk {
        image: DiskImage::from_file(File::from(image))?,
        log: Mutex::new(Writer::new(File::from(log))),
        delay: Duration::from_nanos(u64::from_le_bytes(message)),
        hurries: Arc::clone(hurries),
    };
    let session = thread::Builder::new().name("device".to_owned());
    let session = session.spawn(move || serve(disk, fuse));
    Ok(Some(session.into_iter().collect()))
}

/// One thread: the order of requests is that of their arrival. An error ends the connection, which the file system on
/// the device sees.
fn serve(disk: Disk, fuse: OwnedFd) {
    let _awake = Awake::hold();
    if let Ok(session) = Session::from_fd(disk, fuse, SessionACL::Owner, Config::default()) {
        drop(session.run());
    }
}

/// `Documentation/power/pm_qos_interface.rst`
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Each request passes through several threads, and each of them wakes the next. A CPU that polls for work is there at
/// once; one that is halted has to be woken by an interrupt, which in a virtual machine takes longer than the request.
///
/// CPUs poll as long as it exists, also those of other programs. The kernel ends that with the last descriptor, however
/// the process ends.
#[derive(Debug)]
struct Awake {
    _latency: Option<File>,
}

impl Awake {
    /// Asks for a latency of 0 µs, which all governors of cpuidle take for polling (`haltpoll_select`,
    /// drivers/cpuidle/governors/haltpoll.c). Where the kernel has no cpuidle, or refuses, CPUs are halted as ever: that
    /// is slower, and no different.
    fn hold() -> Self {
        let file = OpenOptions::new().write(true).open(LATENCY);
        let held = file.and_then(|mut file| file.write_all(&0_i32.to_ne_bytes()).map(|()| file));
        Self {
            _latency: held.ok(),
        }
    }
}
