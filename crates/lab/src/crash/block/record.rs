//! A run on a file system whose device is recorded.

use std::ffi::CStr;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_core::crash::block::{Epoch, Journal, Pressure, epochs};
use iostrata_tracer::clock::now_ns;
use iostrata_tracer::record::Presser;
use rustix::fs::fsync;

use super::BlockError;
use super::foundation::{Foundation, Room, WORK, mount_at, sync};
use crate::device::{Cut, DiskImage, Recorder, RequestLog, Server};
use crate::interrupt::Interrupt;
use crate::scratch::ImageKind;

#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Who else commits.
    pub pressure: Pressure,
    /// Time that each request of the device takes.
    pub delay: Duration,
}

/// The file that is synced after each change, beside the program's directory.
const PRESSER: &str = "presser";

/// A commit comes a second after the change with `commit=1`; one more second for a loaded machine.
const TIMER_WAIT: Duration = Duration::from_millis(2_200);

/// How many bytes of a disk tell where its journal is.
const BEGIN_BYTES: usize = 4096;

const PAUSE: Duration = Duration::from_millis(20);

/// As often as `commit=1` commits.
const TIMER: Duration = Duration::from_secs(1);

/// [`with_timer`], for the result.
const STAND_IN: &str = "another file is changed and synced every second in place of the timer, which xfs has for the \
                        whole machine (fs.xfs.xfssyncd_centisecs)";

/// What a device got during a run.
#[derive(Debug)]
pub struct Recording {
    pub kind: ImageKind,
    pub setting: Setting,
    /// Options of the mount besides the file system's defaults.
    pub mount_options: String,
    /// What was on the device before the run, all of it durable.
    pub base: DiskImage,
    /// The requests during the run, and until everything was written after it.
    pub epochs: Vec<Epoch>,
    pub log: RequestLog,
    /// Why the log lacks the last requests, if it does.
    pub cut: Option<Cut>,
    /// What was done in place of a timer, in words.
    pub stands_in: Option<&'static str>,
}

impl Recording {
    /// Where the journal of an ext4 is.
    pub(super) fn journal(&self) -> Option<Journal> {
        let mut begin = [0; BEGIN_BYTES];
        let read = self.base.read(&mut begin, 0);
        read.ok().and_then(|()| Journal::of(&begin))
    }
}

/// Mounts a copy of the foundation on a recorded device and lets `run` work in the program's directory. With
/// [`Pressure::Fsync`] and [`Pressure::Commit`] it is also given the path of a file for a [`Presser`], to be
/// synced after each change.
pub fn record<E: From<BlockError>>(
    room: &Room<'_>,
    server: &Server,
    foundation: &Foundation,
    setting: Setting,
    run: impl FnOnce(&Path, Option<&Path>) -> Result<(), E>,
) -> Result<Recording, E> {
    let (over, is_over) = mpsc::channel::<()>();
    let interrupt = room.interrupt;
    thread::scope(|scope| {
        // Dropped also by a panic.
        let _over = over;
        if !setting.delay.is_zero() {
            scope.spawn(move || hurry(server, interrupt, &is_over));
        }
        record_at_its_pace(room, server, foundation, setting, run)
    })
}

fn record_at_its_pace<E: From<BlockError>>(
    room: &Room<'_>,
    server: &Server,
    foundation: &Foundation,
    setting: Setting,
    run: impl FnOnce(&Path, Option<&Path>) -> Result<(), E>,
) -> Result<Recording, E> {
    room.interrupt.check().map_err(BlockError::from)?;
    let kind = foundation.kind;
    let in_memory = || BlockError::io("copy a disk in memory");
    let base = foundation.image.copy().map_err(in_memory())?;
    let image = foundation.image.copy().map_err(in_memory())?;
    let served = room.place("device")?;
    let recorder = Recorder::attach(server, &image, setting.delay, &served, room.mounts)
        .map_err(BlockError::from)?;
    let at = room.place("disk")?;
    let options = options(setting.pressure, kind);
    let mounted = mount_at(recorder.device(), kind, &at, options)?;
    sync(&at)?;
    // Whatever was written so far is durable: the device has been flushed.
    fsync(recorder.device()).map_err(BlockError::io("flush the device"))?;
    let begun_ns = now_ns();
    let presser = at.join(PRESSER);
    let presses = matches!(setting.pressure, Pressure::Fsync | Pressure::Commit);
    let press = presses.then_some(presser.as_path());
    let stands_in = setting.pressure == Pressure::Timer && options.is_none();
    let mut ran = None;
    let settled = with_timer(stands_in.then_some(presser.as_path()), || {
        ran = Some(run(&at.join(WORK), press));
        // The last commit comes later.
        match setting.pressure {
            Pressure::Timer => wait(TIMER_WAIT, room.interrupt),
            _ => Ok(()),
        }
    });
    let synced = sync(&at);
    let ended_ns = now_ns();
    // Unmounted before the device goes, whatever happened.
    let disk = mounted.close();
    let (log, device) = recorder.close();
    ran.transpose()?;
    let requests = log
        .requests()
        .map_err(BlockError::io("read the log of the device"))?;
    match settled.and_then(|settled| settled).and(synced) {
        // Without its server a device fails, and so does the file system on it.
        Err(BlockError::Io { .. }) if requests.cut == Some(Cut::NoServer) => {}
        came => came?,
    }
    if let Some(left) = disk.err().or(device) {
        return Err(BlockError::Busy(left).into());
    }
    let requested = requests.all.into_iter();
    let (before, during): (Vec<_>, Vec<_>) = requested
        .filter(|request| request.done_ns <= ended_ns)
        .partition(|request| request.done_ns < begun_ns);
    // What was printed later than the last request of a cut log may be on disk by one that it lacks.
    let ended_ns = match requests.cut {
        Some(_) => during.last().map_or(begun_ns, |last| last.done_ns),
        None => ended_ns,
    };
    for epoch in epochs(&before, begun_ns) {
        for block in &epoch.blocks {
            super::images::apply(&base, &log, block)?;
        }
    }
    let log = log.read_ahead();
    Ok(Recording {
        kind,
        setting,
        mount_options: options.map_or_else(String::new, |options| {
            options.to_string_lossy().into_owned()
        }),
        base,
        epochs: epochs(&during, ended_ns),
        log,
        cut: requests.cut,
        stands_in: stands_in.then_some(STAND_IN),
    })
}

/// Changes and syncs a file every second while something runs. As the timer of xfs does, that writes the log with all
/// changes so far and no data (`xfs_log_worker`, `fs/xfs/xfs_log.c`).
fn with_timer<R>(file: Option<&Path>, run: impl FnOnce() -> R) -> Result<R, BlockError> {
    let Some(file) = file else { return Ok(run()) };
    let mut presser = Presser::open(file).map_err(BlockError::io("make a file to sync"))?;
    let (over, is_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let timer = scope.spawn(move || {
            while is_over.recv_timeout(TIMER) == Err(RecvTimeoutError::Timeout) {
                presser.press()?;
            }
            Ok(())
        });
        let came = run();
        drop(over);
        let pressed: std::io::Result<()> = match timer.join() {
            Ok(pressed) => pressed,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        pressed.map_err(BlockError::io("sync a file every second"))?;
        Ok(came)
    })
}

/// Options of the mount that make it commit. xfs pushes its log by a timer of the whole machine, which is not for a run to
/// set. Without its tree log, btrfs commits the transaction at each fsync: `btrfs_log_inode_parent` (fs/btrfs/tree-log.c)
/// refuses, and `btrfs_sync_file` (fs/btrfs/file.c) commits. Data of other files is not waited for.
fn options(pressure: Pressure, kind: ImageKind) -> Option<&'static CStr> {
    match (pressure, kind) {
        (Pressure::Timer, ImageKind::Xfs) => None,
        (Pressure::Timer, ImageKind::Ext4DataJournal) => Some(c"data=journal,commit=1"),
        (_, ImageKind::Ext4DataJournal) => kind.mount_data(),
        (Pressure::Timer, _) => Some(c"commit=1"),
        (Pressure::Commit, ImageKind::Btrfs) => Some(c"notreelog"),
        _ => None,
    }
}

/// Lets the device be as fast as it can once a signal asks for an end.
fn hurry(server: &Server, interrupt: &Interrupt, is_over: &Receiver<()>) {
    while is_over.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        if interrupt.check().is_err() {
            return server.hurry();
        }
    }
}

fn wait(time: Duration, interrupt: &Interrupt) -> Result<(), BlockError> {
    let begun = Instant::now();
    while begun.elapsed() < time {
        interrupt.check()?;
        thread::sleep(PAUSE);
    }
    Ok(())
}
