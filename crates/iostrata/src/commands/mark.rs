//! `iostrata mark`: a time in a program's run, by a name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use iostrata_core::crash::MARKS;
use rustix::io::{FdFlags, dup2, fcntl_dupfd_cloexec, fcntl_setfd};

use crate::cli::Mark;
use crate::error::Failure;

/// The descriptor that marks are written to, a name in each line.
pub(crate) const VARIABLE: &str = "IOSTRATA_MARK";

const DESCRIPTOR: i32 = 8;

/// A number that programs seldom give to something else, and which `>&$IOSTRATA_MARK` needs in a POSIX shell: one digit (POSIX, Shell Command Language, 2.7).
static RESERVED: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Keeps a descriptor for marks, before others have the low ones.
pub(crate) fn reserve() -> io::Result<()> {
    let reserved = fcntl_dupfd_cloexec(File::open("/dev/null")?, DESCRIPTOR)?;
    *RESERVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(reserved);
    Ok(())
}

/// The file that a program marks times in. What is started while this is there has it open.
pub(crate) struct Marks(Option<OwnedFd>);

impl Marks {
    pub(crate) fn descriptor(&self) -> String {
        let number = self.0.as_ref().map(|marks| marks.as_raw_fd().to_string());
        number.unwrap_or_default()
    }
}

impl Drop for Marks {
    /// The number is for the next program; nothing else that is started has it.
    fn drop(&mut self) {
        if let Some(marks) = self.0.take()
            && fcntl_setfd(&marks, FdFlags::CLOEXEC).is_ok()
        {
            *RESERVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(marks);
        }
    }
}

pub(crate) fn open(path: &Path) -> io::Result<Marks> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let reserved = RESERVED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let mut descriptor = match reserved {
        Some(reserved) => reserved,
        None => file.try_clone()?.into(),
    };
    dup2(&file, &mut descriptor)?;
    Ok(Marks(Some(descriptor)))
}

pub(crate) fn run(options: &Mark) -> Result<(), Failure> {
    if options.name.is_empty() || options.name.contains(char::is_control) {
        return Err(Failure::usage("the name of a mark is one line of text"));
    }
    let Ok(descriptor) = std::env::var(VARIABLE) else {
        return Ok(());
    };
    let path = format!("/proc/self/fd/{descriptor}");
    let file = fs::read_link(&path);
    if !file.is_ok_and(|file| file.ends_with(MARKS)) {
        return Err(Failure::Cannot(format!(
            "descriptor {descriptor} of {VARIABLE} was closed, or leads to another file now; leave it open, and use another number \
             for other files"
        )));
    }
    let opened = OpenOptions::new().append(true).open(path);
    let line = format!("{}\n", options.name);
    let marked = opened.and_then(|mut marks| marks.write_all(line.as_bytes()));
    marked.map_err(|error| Failure::Cannot(format!("cannot write the mark: {error}")))
}
