//! The reads themselves, as the workload process does them.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{self, IoSliceMut};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use iostrata_core::page_cache::{Case, Parse, RANDOM_READ_BYTES, Reader, State};
use iostrata_core::timing::seconds;
use iostrata_tracer::kernel::{AlignedBuffer, Mapping, Ring};
use nix::fcntl::OFlag;
use rustix::io::{ReadWriteFlags, preadv2};
use serde::{Deserialize, Serialize};

use super::parser::{parse, sum_of_words};
use super::random::{Latencies, offsets, read_randomly};
use crate::engine::{Failure, Job, Stopwatch, Task, Work, monotonic_ns};

/// Requests of `io_uring` in flight.
const RING_DEPTH: u32 = 8;

const RING_REQUEST_BYTES: usize = 128 << 10;

/// Reads with `O_DIRECT` consist of whole blocks of at most this size (open(2)).
const DIRECT_BLOCK_BYTES: u64 = 4096;

/// `RWF_DONTCACHE` of include/uapi/linux/fs.h (Linux 6.14), which rustix lacks.
pub(super) const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// Reads a file, one step for each `go`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadFileJob {
    /// The reader. The state decides how the file is opened and read; the parent has brought it
    /// into that state before it sends `go`.
    pub case: Case,
    pub path: OsString,
    /// Number of reads of `pread_random`.
    pub random_reads: u64,
    /// The work of each `go`.
    pub steps: Vec<FileStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStep {
    /// Opens, reads, parses and closes the file.
    Read,
    /// Copies as many bytes as the file has from memory to memory.
    Copy,
    /// The loop of `pread_random` around a read that does nothing.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadFileReport {
    /// Times and faults of the whole step.
    pub work: Work,
    /// Bytes read, or copied.
    pub read_bytes: u64,
    /// Seconds from before the open until the bytes were there, or with a parser, until they were
    /// parsed.
    pub reading_s: Option<f64>,
    pub parsing_s: Option<f64>,
    /// Bytes fetched from storage for this process (`read_bytes` of `/proc/self/io`); `None` where
    /// the kernel does not count them.
    pub storage_read_bytes: Option<u64>,
    /// Latencies of the single reads of `pread_random`: nanoseconds and count.
    pub latencies: Vec<(u64, u64)>,
}

/// A file ready to be read: memory allocated, file not open yet.
pub(crate) struct ReadFileTask {
    job: ReadFileJob,
    path: PathBuf,
    /// Memory that has been touched; empty for readers that allocate new memory each time.
    buffer: AlignedBuffer,
    /// The destination of the copy; empty if none is made.
    copy: AlignedBuffer,
    offsets: Vec<u64>,
    ring: Option<Ring>,
    done: usize,
}

#[derive(Default)]
struct Got {
    bytes: u64,
    /// When the bytes were there, and when they were parsed.
    parsed_ns: Option<(u64, u64)>,
    latencies: Vec<(u64, u64)>,
}

impl ReadFileTask {
    fn read(&mut self) -> Result<ReadFileReport, Failure> {
        let fetched_before = storage_read_bytes();
        let watch = Stopwatch::start()?;
        let started_ns = monotonic_ns();
        let got = self.read_once();
        let got = got.map_err(Failure::at("read", &self.path))?;
        let work = watch.stop()?;
        let fetched = storage_read_bytes().zip(fetched_before);
        let elapsed_s = |from: u64, to: u64| seconds(to.saturating_sub(from));
        Ok(ReadFileReport {
            work,
            read_bytes: got.bytes,
            reading_s: got.parsed_ns.map(|(there, _)| elapsed_s(started_ns, there)),
            parsing_s: got
                .parsed_ns
                .map(|(there, parsed)| elapsed_s(there, parsed)),
            storage_read_bytes: fetched.map(|(after, before)| after.saturating_sub(before)),
            latencies: got.latencies,
        })
    }

    fn read_once(&mut self) -> io::Result<Got> {
        let case = self.job.case;
        let file = self.open()?;
        match case.reader {
            Reader::Read => {
                let mut fresh = AlignedBuffer::fresh(self.whole_len())?;
                let bytes = read_whole(&file, &mut fresh, &case)?;
                parsed(bytes, case.parse)
            }
            Reader::ReadReused => {
                let bytes = read_whole(&file, &mut self.buffer, &case)?;
                parsed(bytes, case.parse)
            }
            Reader::Mmap => {
                let mapping = Mapping::of(&file)?;
                let bytes = mapping.as_slice();
                black_box(sum_of_words(bytes));
                complete(bytes.len() as u64, case.size_bytes)
            }
            Reader::PreadRandom => self.read_randomly(&file),
            Reader::IoUring => self.read_through_ring(&file),
        }
    }

    fn open(&self) -> io::Result<File> {
        let flags = match self.job.case.state {
            State::Direct => OFlag::O_DIRECT,
            _ => OFlag::empty(),
        };
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags(flags.bits())
            .open(&self.path)
    }

    /// The file's length in whole blocks, as `O_DIRECT` reads them.
    fn whole_len(&self) -> usize {
        let whole = self
            .job
            .case
            .size_bytes
            .next_multiple_of(DIRECT_BLOCK_BYTES);
        usize::try_from(whole).unwrap_or(usize::MAX)
    }

    fn read_randomly(&mut self, file: &File) -> io::Result<Got> {
        let case = self.job.case;
        let mut latencies = Latencies::new();
        let mut bytes = 0;
        let buffer = &mut self.buffer;
        read_randomly(&self.offsets, &mut latencies, |offset| {
            let wanted = RANDOM_READ_BYTES.min(case.size_bytes - offset);
            let got = read_some(file, buffer, offset, &case)? as u64;
            bytes += got;
            complete(got, wanted).map(drop)
        })?;
        Ok(Got {
            bytes,
            latencies: latencies.counts(),
            ..Got::default()
        })
    }

    fn read_through_ring(&mut self, file: &File) -> io::Result<Got> {
        let size = self.job.case.size_bytes;
        let len = usize::try_from(size).unwrap_or(usize::MAX);
        let ring = self.ring.as_mut().ok_or(io::ErrorKind::Unsupported)?;
        let buffer = &mut self.buffer[..len];
        ring.read_exact_at(file.as_fd(), buffer, 0, RING_REQUEST_BYTES)?;
        complete(size, size)
    }

    fn copy(&mut self) -> Result<ReadFileReport, Failure> {
        let watch = Stopwatch::start()?;
        self.copy.copy_from_slice(&self.buffer);
        black_box(&*self.copy);
        Ok(only(watch.stop()?, self.copy.len() as u64))
    }

    fn nothing(&mut self) -> Result<ReadFileReport, Failure> {
        let mut latencies = Latencies::new();
        let watch = Stopwatch::start()?;
        let error = |error| Failure::from_io("read nothing", &error);
        read_randomly(&self.offsets, &mut latencies, |offset| {
            black_box(offset);
            Ok(())
        })
        .map_err(error)?;
        Ok(only(watch.stop()?, 0))
    }
}

impl Job for ReadFileJob {
    const NAME: &'static str = "read_file";
    type Report = ReadFileReport;
}

impl Task for ReadFileTask {
    type Job = ReadFileJob;

    /// Allocates memory and draws the offsets.
    fn prepare(job: ReadFileJob) -> Result<Self, Failure> {
        let case = job.case;
        let memory = |bytes: u64| {
            let error = |error| Failure::from_io(&format!("take {bytes} bytes of memory"), &error);
            let Ok(length) = usize::try_from(bytes) else {
                return Err(Failure::memory(bytes, None));
            };
            AlignedBuffer::touched(length).map_err(error)
        };
        let whole = case.size_bytes.next_multiple_of(DIRECT_BLOCK_BYTES);
        let copies = job.steps.contains(&FileStep::Copy);
        let buffer = match case.reader {
            Reader::ReadReused | Reader::IoUring => whole,
            Reader::PreadRandom => RANDOM_READ_BYTES,
            Reader::Read | Reader::Mmap if copies => whole,
            Reader::Read | Reader::Mmap => 0,
        };
        let ring =
            match case.reader {
                Reader::IoUring => Some(Ring::open(RING_DEPTH).map_err(|error| {
                    Failure::from_io("set up io_uring", &io::Error::other(error))
                })?),
                _ => None,
            };
        let random_reads = match case.reader {
            Reader::PreadRandom => job.random_reads,
            _ => 0,
        };
        Ok(Self {
            path: PathBuf::from(&job.path),
            buffer: memory(buffer)?,
            copy: memory(if copies { whole } else { 0 })?,
            offsets: offsets(case.size_bytes, RANDOM_READ_BYTES, random_reads),
            ring,
            done: 0,
            job,
        })
    }

    fn go(&mut self) -> Result<ReadFileReport, Failure> {
        let step = self.job.steps.get(self.done).copied();
        self.done += 1;
        match step {
            Some(FileStep::Read) => self.read(),
            Some(FileStep::Copy) => self.copy(),
            Some(FileStep::Nothing) => self.nothing(),
            None => Err(Failure::job("all steps are done")),
        }
    }
}

fn only(work: Work, read_bytes: u64) -> ReadFileReport {
    ReadFileReport {
        work,
        read_bytes,
        reading_s: None,
        parsing_s: None,
        storage_read_bytes: None,
        latencies: Vec::new(),
    }
}

/// Reads until all bytes of the file are there.
fn read_whole<'b>(file: &File, buffer: &'b mut [u8], case: &Case) -> io::Result<&'b [u8]> {
    let size = usize::try_from(case.size_bytes).unwrap_or(usize::MAX);
    let mut filled = 0;
    while filled < size {
        let rest = &mut buffer[filled..];
        match read_some(file, rest, filled as u64, case)? {
            0 => break,
            got => filled += got,
        }
    }
    complete(filled as u64, case.size_bytes)?;
    Ok(&buffer[..size])
}

/// One system call: `read` for sequential reads, `pread` for others.
fn read_some(file: &File, buffer: &mut [u8], offset: u64, case: &Case) -> io::Result<usize> {
    loop {
        let outcome = match (case.state, case.reader) {
            (State::Dontcache, _) => {
                preadv2(file, &mut [IoSliceMut::new(buffer)], offset, DONTCACHE)
            }
            (_, Reader::PreadRandom) => rustix::io::pread(file, &mut *buffer, offset),
            _ => rustix::io::read(file, &mut *buffer),
        };
        match outcome {
            Err(rustix::io::Errno::INTR) => {}
            outcome => return Ok(outcome?),
        }
    }
}

fn parsed(bytes: &[u8], what: Parse) -> io::Result<Got> {
    if what == Parse::None {
        return complete(bytes.len() as u64, bytes.len() as u64);
    }
    let there_ns = monotonic_ns();
    black_box(parse(what, bytes)?);
    Ok(Got {
        bytes: bytes.len() as u64,
        parsed_ns: Some((there_ns, monotonic_ns())),
        ..Got::default()
    })
}

/// A file shorter than it was created was changed by another process.
fn complete(bytes: u64, wanted: u64) -> io::Result<Got> {
    if bytes != wanted {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Got {
        bytes,
        ..Got::default()
    })
}

/// `read_bytes` of `/proc/self/io`: bytes that this process caused to be fetched from storage
/// (`task_io_account_read`, called by `submit_bio`).
fn storage_read_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(
        state: State,
        reader: Reader,
        parse: Parse,
        contents: &[u8],
    ) -> (tempfile::TempDir, ReadFileTask) {
        // Not every tmpfs supports O_DIRECT and RWF_DONTCACHE.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("f");
        fs::write(&path, contents).unwrap();
        let job = ReadFileJob {
            case: Case {
                state,
                reader,
                size_bytes: contents.len() as u64,
                parse,
            },
            path: path.into(),
            random_reads: 7,
            steps: vec![FileStep::Read, FileStep::Copy, FileStep::Nothing],
        };
        (dir, ReadFileTask::prepare(job).unwrap())
    }

    #[test]
    fn every_reader_reads_all_of_it() {
        let contents = vec![7; 40_960];
        for state in State::ASKED {
            for reader in Reader::ALL {
                let (_dir, mut task) = task(state, reader, Parse::None, &contents);
                if task.job.case.impossible().is_some() {
                    continue;
                }
                let report = task.go().unwrap();
                let due = match reader {
                    Reader::PreadRandom => 7 * 4096,
                    _ => 40_960,
                };
                assert_eq!(report.read_bytes, due, "{state:?} {reader:?}");
                let operations: u64 = report.latencies.iter().map(|(_, count)| count).sum();
                assert_eq!(operations, if due == 40_960 { 0 } else { 7 });
                assert_eq!((report.reading_s, report.parsing_s), (None, None));
            }
        }
    }

    #[test]
    fn sizes_that_are_no_pages_are_read_to_the_byte() {
        for state in State::ASKED {
            for reader in [Reader::Read, Reader::ReadReused, Reader::PreadRandom] {
                let (_dir, mut task) = task(state, reader, Parse::None, &[7; 5001]);
                assert_eq!(task.go().unwrap().read_bytes, 5001, "{state:?} {reader:?}");
            }
        }
    }

    #[test]
    fn a_parser_has_its_own_time() {
        let (_dir, mut task) = task(State::Warm, Reader::Read, Parse::Lines, b"a\nb\n");
        let report = task.go().unwrap();
        let (reading, parsing) = (report.reading_s.unwrap(), report.parsing_s.unwrap());
        assert!(reading + parsing <= report.work.sample.real_s);
    }

    #[test]
    fn what_is_no_json_is_an_error_and_so_is_a_short_file() {
        let (_dir, mut task) = task(State::Warm, Reader::Read, Parse::Json, b"[1,");
        assert!(task.go().is_err());
        let (dir, mut task) = self::task(State::Warm, Reader::Read, Parse::None, b"1234");
        fs::write(dir.path().join("f"), b"1").unwrap();
        assert!(task.go().is_err());
    }

    #[test]
    fn steps_follow_each_other() {
        let (_dir, mut task) = task(State::Warm, Reader::ReadReused, Parse::None, &[7; 5000]);
        task.go().unwrap();
        assert_eq!(task.go().unwrap().read_bytes, 8192);
        assert_eq!(task.copy[..5000], [7; 5000]);
        assert_eq!(task.go().unwrap().read_bytes, 0);
        assert!(task.go().is_err());
    }
}
