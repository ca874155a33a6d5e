//! Creates the program's process so that it is traced before its first call.
#![expect(
    unsafe_code,
    reason = "a child between fork and exec may only make system calls"
)]

use std::ffi::{CString, OsString};
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::ptr;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::set_no_new_privs;

use super::request::{self, Tid};
use crate::kernel::filter::Filter;
use crate::kernel::{close_descriptors, wait_for_byte};
use crate::permission::caller;
use crate::program::{StartError, find};

/// The arguments of `execve(2)`, built before the fork.
#[derive(Debug)]
struct Image {
    path: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    image: Image,
}

/// A process that is traced before it becomes the program.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: Tid,
    path: PathBuf,
    failed: PipeReader,
}

impl Program {
    /// Finds the executable for `command`, its name and arguments.
    pub(super) fn find(command: &[OsString]) -> Result<Self, StartError> {
        let not_found = || StartError::NotFound {
            program: command.first().cloned().unwrap_or_default(),
        };
        let name = command.first().ok_or_else(not_found)?;
        let path = find(name, std::env::var_os("PATH"))?;
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_has_nul| not_found());
        let variables = std::env::vars_os();
        let variables = variables.map(|(name, value)| [name, value].join("=".as_ref()));
        let image = Image {
            path: text(path.as_os_str().as_bytes())?,
            arguments: command
                .iter()
                .map(|word| text(word.as_bytes()))
                .collect::<Result<_, _>>()?,
            environment: variables
                .map(|variable| text(&variable.into_vec()))
                .collect::<Result<_, _>>()?,
        };
        Ok(Self { path, image })
    }

    /// Creates the process, traces it and lets it become the program. `options` are those of the
    /// tracer. Call it on the tracing thread.
    pub(super) fn start(self, filter: Option<&Filter>, options: i32) -> io::Result<Started> {
        let (waits, mut go) = io::pipe()?;
        let (mut failed, tells) = io::pipe()?;
        let pointers = |words: &[CString]| -> Vec<*const libc::c_char> {
            let words = words.iter().map(|word| word.as_ptr());
            words.chain([ptr::null()]).collect()
        };
        let arguments = pointers(&self.image.arguments);
        let environment = pointers(&self.image.environment);
        let child = Child {
            path: self.image.path.as_ptr(),
            arguments: arguments.as_ptr(),
            environment: environment.as_ptr(),
            waits: waits.as_raw_fd(),
            go: go.as_raw_fd(),
            tells: tells.as_raw_fd(),
            held_back: caller::must_hold_back(),
            filter,
        };
        let pid = fork(|| child.run())?;
        drop((waits, tells));
        // Once interrupted, it stops at its calls from then on, also at execve(2). Behind a filter
        // it does so anyway.
        let ready = failed.read_exact(&mut [0]);
        let seized = ready.and_then(|()| request::seize(pid, options));
        let seized = seized.and_then(|()| match filter {
            Some(_) => Ok(()),
            None => request::interrupt(pid),
        });
        if let Err(error) = seized {
            // The end that says go is closed: the child ends by itself.
            drop(go);
            drop(reap(pid));
            return Err(error);
        }
        go.write_all(&[1])?;
        Ok(Started {
            pid,
            path: self.path,
            failed,
        })
    }
}

impl Started {
    /// Why the process did not become the program, if it did not. Valid after its end.
    pub(super) fn why_not(mut self) -> Option<StartError> {
        let mut errno = [0; 4];
        self.failed.read_exact(&mut errno).ok()?;
        Some(StartError::NotExecutable {
            path: self.path,
            source: io::Error::from_raw_os_error(i32::from_ne_bytes(errno)),
        })
    }
}

/// The child's data; pointers into the parent's memory, of which it has a copy.
struct Child<'a> {
    path: *const libc::c_char,
    arguments: *const *const libc::c_char,
    environment: *const *const libc::c_char,
    waits: RawFd,
    go: RawFd,
    tells: RawFd,
    held_back: bool,
    filter: Option<&'a Filter>,
}

impl Child<'_> {
    /// Says that it can be traced, waits for go and becomes the program; otherwise reports the reason.
    fn run(&self) -> i32 {
        close(self.go);
        // The copy of a program with file capabilities may be traced by nobody without CAP_SYS_PTRACE, until it says so
        // (ptrace_may_access, kernel/ptrace.c). Another process would still need all of its capabilities.
        let traceable = set_dumpable_behavior(DumpableBehavior::Dumpable);
        let raises = self.held_back && set_no_new_privs(true).is_err();
        if traceable.is_err() || raises || !self.tell(&[1]) || !self.may_go() {
            return 125;
        }
        let error = match self.filter.map_or(Ok(()), Filter::install) {
            Ok(()) => {
                restore_signals();
                self.execute()
            }
            Err(error) => error.raw_os_error().unwrap_or(libc::EPERM),
        };
        self.tell(&error.to_ne_bytes());
        125
    }

    /// Whether all of it was written: a pipe takes so little at once.
    fn tell(&self, bytes: &[u8]) -> bool {
        // SAFETY: the buffer is live and has so many bytes.
        let written = unsafe { libc::write(self.tells, bytes.as_ptr().cast(), bytes.len()) };
        usize::try_from(written) == Ok(bytes.len())
    }

    fn may_go(&self) -> bool {
        wait_for_byte(self.waits, &mut 0) == 1
    }

    fn execute(&self) -> i32 {
        // SAFETY: all are arrays and strings in the form of execve(2), each terminated.
        unsafe { libc::execve(self.path, self.arguments, self.environment) };
        io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO)
    }
}

/// The Rust runtime ignores SIGPIPE, which programs do not expect, and a thread may have
/// blocked signals.
fn restore_signals() {
    // SAFETY: SIGPIPE exists and SIG_DFL is no handler of this program.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` fills the whole set.
    unsafe { libc::sigemptyset(none.as_mut_ptr()) };
    // SAFETY: the set was filled above.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()) };
}

/// A child that ends when the other end of `quiet` is closed, by any means. It holds no other
/// descriptor, so that it keeps no pipe open.
pub(super) fn bell() -> io::Result<(Tid, PipeWriter)> {
    let (quiet, writer) = io::pipe()?;
    let fd = quiet.as_raw_fd();
    let pid = fork(|| {
        keep_only(fd);
        wait_for_byte(0, &mut 0);
        0
    })?;
    Ok((pid, writer))
}

/// Moves `fd` to 0 and closes all others.
fn keep_only(fd: RawFd) {
    // SAFETY: between fork and exit the child has only this thread; nothing uses descriptor 0.
    unsafe { libc::dup2(fd, 0) };
    close_descriptors(1, u32::MAX);
}

/// Waits for a child of this thread.
pub(super) fn reap(pid: Tid) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid)
        .map_err(|_too_large| io::Error::from_raw_os_error(libc::ECHILD))?;
    // SAFETY: without a place for the status the kernel writes nothing.
    let reaped = unsafe { libc::waitpid(pid, ptr::null_mut(), libc::__WALL) };
    if reaped == pid {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Forks; the child runs `child`, which may make system calls only, and exits with its code.
fn fork(child: impl FnOnce() -> i32) -> io::Result<Tid> {
    // SAFETY: the child makes system calls only, on memory that is a copy of its parent's.
    match unsafe { libc::fork() } {
        0 => {
            let code = child();
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(code) }
        }
        pid => Tid::try_from(pid).map_err(|_failed| io::Error::last_os_error()),
    }
}

fn close(fd: RawFd) {
    // SAFETY: the child's copy, which nothing else uses in it.
    unsafe { libc::close(fd) };
}
