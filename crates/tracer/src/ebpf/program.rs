//! One program of an object: loading it, attaching it, running it.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::take;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use aya_obj::Function;
use aya_obj::generated::bpf_attach_type::{
    BPF_TRACE_FENTRY, BPF_TRACE_FEXIT, BPF_TRACE_ITER, BPF_TRACE_RAW_TP,
};
use aya_obj::generated::{bpf_cmd, bpf_prog_type};

use super::syscall;
use crate::signals;

/// `BPF_LOG_LEVEL1` and `BPF_LOG_STATS`, `include/linux/bpf_verifier.h`.
const LOG_LEVEL: u32 = 1 | 4;
/// `BPF_OBJ_NAME_LEN`, with the NUL that ends it.
pub(super) const NAME_BYTES: usize = 16;

/// The verifier's log: its first length, and the largest that the kernel takes (`u32::MAX >> 8` before
/// Linux 5.19, kernel/bpf/verifier.c).
const LOG_BYTES: usize = 100 << 10;
const MOST_LOG_BYTES: usize = 0x00ff_ffff;

/// How often an interrupted verification is begun anew, each time after a longer pause: 190 ms in all.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// Where a program is attached, by the kernel's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Tracepoint(u32),
    /// Looked up by name, when the program is attached.
    Raw,
    Entry(u32),
    Exit(u32),
    Iterator(u32),
}

impl Place {
    /// Type of the program, type of its attachment, and the type it is attached to.
    fn numbers(self) -> (u32, u32, u32) {
        let tracing = bpf_prog_type::BPF_PROG_TYPE_TRACING as u32;
        match self {
            Self::Tracepoint(on) => (tracing, BPF_TRACE_RAW_TP as u32, on),
            Self::Raw => (bpf_prog_type::BPF_PROG_TYPE_RAW_TRACEPOINT as u32, 0, 0),
            Self::Entry(on) => (tracing, BPF_TRACE_FENTRY as u32, on),
            Self::Exit(on) => (tracing, BPF_TRACE_FEXIT as u32, on),
            Self::Iterator(on) => (tracing, BPF_TRACE_ITER as u32, on),
        }
    }
}

/// Whether the verifier says why it refuses a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Log {
    None,
    IfRefused,
}

pub(super) struct Program {
    pub(super) name: [u8; NAME_BYTES],
    pub(super) license: CString,
    pub(super) function: Function,
    /// The object's types, in the kernel.
    pub(super) types: Option<Arc<OwnedFd>>,
    /// Set once it is loaded.
    loaded: Option<OwnedFd>,
}

/// The part of `bpf_attr` for loading a program.
#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel: u32,
    flags: u32,
    name: [u8; NAME_BYTES],
    interface: u32,
    attachment: u32,
    types: u32,
    function_bytes: u32,
    functions: u64,
    function_count: u32,
    line_bytes: u32,
    lines: u64,
    line_count: u32,
    attached_to: u32,
}

/// The part of `bpf_attr` for attaching a program to what it was loaded for.
#[repr(C)]
#[derive(Default)]
struct Open {
    name: u64,
    program: u32,
    pad: u32,
}

/// The part of `bpf_attr` for an iterator's link.
#[repr(C)]
#[derive(Default)]
struct Link {
    program: u32,
    target: u32,
    attachment: u32,
    flags: u32,
}

/// The part of `bpf_attr` for an iterator.
#[repr(C)]
#[derive(Default)]
struct Iterate {
    link: u32,
    flags: u32,
}

impl Program {
    pub(super) fn new(
        name: &str,
        license: CString,
        function: Function,
        types: Option<Arc<OwnedFd>>,
    ) -> Self {
        Self {
            name: short(name),
            license,
            function,
            types,
            loaded: None,
        }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.loaded.as_ref().map(AsFd::as_fd)
    }

    /// Loads it, unless that is done. Fails with the kernel's error, and the verifier's log if it is wanted;
    /// also if the user has asked meanwhile to end.
    pub(super) fn load(&mut self, place: Place, wanted: Log) -> Result<(), String> {
        if self.loaded.is_some() {
            return Ok(());
        }
        if let Some(signal) = signals::pending() {
            return Err(format!("interrupted by signal {signal}"));
        }
        // The verifier takes longer where it keeps a log.
        let mut log = Vec::new();
        let mut loaded = self.load_patiently(place, &mut log);
        while let Err(error) = &loaded
            && wanted == Log::IfRefused
            && (log.is_empty() || error.raw_os_error() == Some(libc::ENOSPC))
            && log.len() < MOST_LOG_BYTES
        {
            let bytes = (log.len() * 10).clamp(LOG_BYTES, MOST_LOG_BYTES);
            log = vec![0; bytes];
            loaded = self.load_patiently(place, &mut log);
        }
        self.loaded = Some(loaded.map_err(|error| {
            let end = log.iter().position(|byte| *byte == 0);
            let log = String::from_utf8_lossy(&log[..end.unwrap_or(log.len())]);
            format!("the BPF_PROG_LOAD syscall returned {error}. Verifier output: {log}")
        })?);
        // The kernel has it now.
        let function = &mut self.function;
        drop(take(&mut function.instructions));
        drop(take(&mut function.func_info));
        drop(take(&mut function.line_info));
        Ok(())
    }

    /// The verifier gives up at a signal (`do_check`, kernel/bpf/verifier.c), and at work that another task has left
    /// for this one. Signals are for other threads meanwhile.
    fn load_patiently(&self, place: Place, log: &mut [u8]) -> io::Result<OwnedFd> {
        let _left_to_others = signals::Held::all()?;
        for attempt in 0..ATTEMPTS {
            match self.load_with(place, log) {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => sleep(PAUSE * attempt),
                other => return other,
            }
        }
        self.load_with(place, log)
    }

    fn load_with(&self, place: Place, log: &mut [u8]) -> io::Result<OwnedFd> {
        let (kind, attachment, attached_to) = place.numbers();
        let of = &self.function;
        let functions = of.func_info.func_info_bytes();
        let mut load = Load {
            kind,
            count: number(of.instructions.len()),
            instructions: of.instructions.as_ptr().expose_provenance() as u64,
            license: self.license.as_ptr().expose_provenance() as u64,
            name: self.name,
            attachment,
            attached_to,
            ..Load::default()
        };
        if let Some(types) = &self.types {
            load.types = number_of(types.as_fd());
            load.function_bytes = number(of.func_info_rec_size);
            load.functions = functions.as_ptr().expose_provenance() as u64;
            load.function_count = number(of.func_info.len());
        }
        // Only a log shows lines of the source.
        let lines = if log.is_empty() {
            Vec::new()
        } else {
            of.line_info.line_info_bytes()
        };
        if !log.is_empty() {
            load.log_level = LOG_LEVEL;
            load.log_bytes = number(log.len());
            load.log = log.as_mut_ptr().expose_provenance() as u64;
        }
        if !lines.is_empty() && self.types.is_some() {
            load.line_bytes = number(of.line_info_rec_size);
            load.lines = lines.as_ptr().expose_provenance() as u64;
            load.line_count = number(of.line_info.len());
        }
        syscall::create(bpf_cmd::BPF_PROG_LOAD, &mut load)
    }

    /// Attaches it to what it was loaded for, or to the tracepoint of this name. It is detached when
    /// the descriptor is closed.
    pub(super) fn attach(&self, name: Option<&CStr>) -> io::Result<OwnedFd> {
        let mut open = Open {
            name: name.map_or(0, |name| name.as_ptr().expose_provenance() as u64),
            program: number_of(self.fd().ok_or(io::ErrorKind::NotFound)?),
            pad: 0,
        };
        syscall::create(bpf_cmd::BPF_RAW_TRACEPOINT_OPEN, &mut open)
    }

    /// A file whose reader runs the iterator.
    pub(super) fn iterate(&self) -> io::Result<File> {
        let mut link = Link {
            program: number_of(self.fd().ok_or(io::ErrorKind::NotFound)?),
            attachment: BPF_TRACE_ITER as u32,
            ..Link::default()
        };
        let link = syscall::create(bpf_cmd::BPF_LINK_CREATE, &mut link)?;
        let mut iterate = Iterate {
            link: number_of(link.as_fd()),
            flags: 0,
        };
        Ok(syscall::create(bpf_cmd::BPF_ITER_CREATE, &mut iterate)?.into())
    }
}

/// Loads instructions that need no maps and no types.
pub(super) fn load_bare(
    kind: bpf_prog_type,
    flags: u32,
    instructions: &[u64],
) -> io::Result<OwnedFd> {
    let mut load = Load {
        kind: kind as u32,
        flags,
        count: number(instructions.len()),
        instructions: instructions.as_ptr().expose_provenance() as u64,
        license: c"GPL".as_ptr().expose_provenance() as u64,
        ..Load::default()
    };
    syscall::create(bpf_cmd::BPF_PROG_LOAD, &mut load)
}

/// Whether the kernel takes the smallest of all programs: `r0 = 0; exit`.
pub(super) fn takes_any() -> bool {
    load_bare(bpf_prog_type::BPF_PROG_TYPE_SOCKET_FILTER, 0, &[0xb7, 0x95]).is_ok()
}

/// A name as the kernel keeps it.
pub(super) fn short(name: &str) -> [u8; NAME_BYTES] {
    let mut short = [0; NAME_BYTES];
    let bytes = name.bytes().take(NAME_BYTES - 1);
    short
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = from);
    short
}

pub(super) fn number_of(fd: BorrowedFd<'_>) -> u32 {
    u32::try_from(fd.as_raw_fd()).unwrap_or(0)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
