//! Input and output of several runs: each must find and do the same.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::trace::FileKind;
use rustix::fs::{SeekFrom, fstat, seek};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio;

/// Standard input and output of a program: by default those of iostrata, for one that runs once.
#[derive(Debug, Default)]
pub(in super::super) struct Streams {
    /// Offset of standard input at the start of each run, if it is a file.
    input_at: Option<u64>,
    /// The file that receives the output instead.
    nowhere: Option<File>,
}

impl Streams {
    /// Each of several runs finds and does the same. Input that can be read only once is replaced by an empty file, and
    /// the user sees a message.
    pub(super) fn of_several(show_output: bool) -> io::Result<(Self, Option<Gap>)> {
        let (input_at, gap) = input()?;
        let nowhere = (!show_output).then(nowhere).transpose()?;
        Ok((Self { input_at, nowhere }, gap))
    }

    pub(in super::super) fn discarded() -> io::Result<Self> {
        Ok(Self {
            input_at: None,
            nowhere: Some(nowhere()?),
        })
    }

    pub(in super::super) fn again(&self) -> io::Result<Self> {
        Ok(Self {
            input_at: self.input_at,
            nowhere: self.nowhere.as_ref().map(File::try_clone).transpose()?,
        })
    }

    /// Prepares a process: its input is at the start, and its output is redirected.
    pub(in super::super) fn around<T>(&self, start: impl FnOnce() -> T) -> io::Result<T> {
        self.rewind()?;
        let Some(nowhere) = &self.nowhere else {
            return Ok(start());
        };
        let _elsewhere = Elsewhere::begin(nowhere, Some(nowhere))?;
        Ok(start())
    }

    /// The same, with standard output in a file.
    pub(super) fn printing_to<T>(&self, output: &File, start: impl FnOnce() -> T) -> io::Result<T> {
        self.rewind()?;
        let _elsewhere = Elsewhere::begin(output, None)?;
        Ok(start())
    }

    fn rewind(&self) -> io::Result<()> {
        if let Some(start) = self.input_at {
            seek(stdio::stdin(), SeekFrom::Start(start))?;
        }
        Ok(())
    }
}

fn nowhere() -> io::Result<File> {
    OpenOptions::new().write(true).open("/dev/null")
}

/// A file is read by each run from its current offset. Anything else can be read by one run only.
fn input() -> io::Result<(Option<u64>, Option<Gap>)> {
    let stdin = stdio::stdin();
    let kind = fstat(stdin).map(|found| FileKind::from_mode(found.st_mode));
    if let Ok(FileKind::Regular) = kind {
        let start = seek(stdin, SeekFrom::Current(0))?;
        return Ok((Some(start), None));
    }
    stdio::dup2_stdin(File::open("/dev/null")?)?;
    let is_one_runs = matches!(kind, Ok(FileKind::Pipe | FileKind::Socket));
    let gap = is_one_runs.then(|| Gap::new(Missing::StandardInput, Reason::PipeEmptied));
    Ok((None, gap))
}

/// While it lives, this process and its children print elsewhere.
struct Elsewhere {
    output: OwnedFd,
    error: Option<OwnedFd>,
}

impl Elsewhere {
    fn begin(output: impl AsFd, error: Option<&File>) -> io::Result<Self> {
        let kept = Self {
            output: fcntl_dupfd_cloexec(stdio::stdout(), 3)?,
            error: match error {
                Some(_) => Some(fcntl_dupfd_cloexec(stdio::stderr(), 3)?),
                None => None,
            },
        };
        stdio::dup2_stdout(output)?;
        if let Some(error) = error {
            stdio::dup2_stderr(error)?;
        }
        Ok(kept)
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // Both are descriptors of this process, duplicates of the original ones.
        let _ = stdio::dup2_stdout(&self.output);
        if let Some(error) = &self.error {
            let _ = stdio::dup2_stderr(error);
        }
    }
}
