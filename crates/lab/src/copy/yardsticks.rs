//! The machine's limits: copying memory, touching it, the device alone, a program start.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use iostrata_core::copy::{CACHED_BYTES, DIRECT_ALIGNMENT_BYTES, Measure};
use iostrata_tracer::kernel::AlignedBuffer;
use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use super::methods::{open_direct, start_and_end};
use crate::engine::{Failure, Job, Stopwatch, Task, Work, XorShift};

/// Bytes submitted to the device at a time: the kernel splits them into concurrent requests.
const DEVICE_STEP_BYTES: usize = 16 << 20;

/// Contents of writes to the device.
const DEVICE_SEED: u64 = 0xde_71_ce;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct YardstickJob {
    pub measure: Measure,
    /// Bytes moved or touched.
    pub size_bytes: u64,
    /// The file that is read or created; empty if there is none.
    pub path: OsString,
}

pub(crate) struct YardstickTask {
    measure: Measure,
    size: usize,
    path: PathBuf,
    memory: [AlignedBuffer; 2],
}

impl YardstickTask {
    fn copy(&mut self) {
        let [from, to] = &mut self.memory;
        let mut left = self.size;
        while left > 0 {
            let step = left.min(from.len());
            to[..step].copy_from_slice(&black_box(&from)[..step]);
            black_box(&to);
            left -= step;
        }
    }

    fn touch(&self) -> io::Result<()> {
        let mut fresh = AlignedBuffer::fresh(self.size)?;
        let page = iostrata_tracer::kernel::page_size();
        for byte in fresh.iter_mut().step_by(page) {
            *byte = 1;
        }
        black_box(&fresh);
        Ok(())
    }

    fn write(&self) -> io::Result<()> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .custom_flags(OFlag::O_DIRECT.bits())
            .open(&self.path)?;
        let [buffer, _] = &self.memory;
        let block = usize::try_from(DIRECT_ALIGNMENT_BYTES).unwrap_or(4096);
        let mut offset = 0;
        while offset < self.size {
            let step = (self.size - offset).min(buffer.len());
            file.write_all_at(&buffer[..step.next_multiple_of(block)], offset as u64)?;
            offset += step;
        }
        file.sync_data()
    }

    fn read(&mut self) -> io::Result<()> {
        let file: File = open_direct(&self.path)?;
        let [buffer, _] = &mut self.memory;
        let mut offset = 0;
        while offset < self.size {
            match file.read_at(buffer, offset as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                bytes => offset += bytes,
            }
        }
        Ok(())
    }
}

impl Job for YardstickJob {
    const NAME: &'static str = "yardstick";
    type Report = Work;
}

impl Task for YardstickTask {
    type Job = YardstickJob;

    /// Allocates and touches the memory.
    fn prepare(job: YardstickJob) -> Result<Self, Failure> {
        let no_memory = |error| Failure::from_io("get memory for a yardstick", &error);
        let size = usize::try_from(job.size_bytes)
            .map_err(|_too_large| Failure::memory(job.size_bytes, None))?;
        let [first, second] = match job.measure {
            Measure::MemoryCopy => [size, size],
            Measure::CachedCopy => [usize::try_from(CACHED_BYTES / 2).unwrap_or(1 << 15); 2],
            Measure::DeviceWrite | Measure::DeviceRead => [size.clamp(1, DEVICE_STEP_BYTES), 1],
            Measure::FreshMemory | Measure::ProgramStart => [1, 1],
        };
        let block = usize::try_from(DIRECT_ALIGNMENT_BYTES).unwrap_or(4096);
        let touched = |bytes: usize| AlignedBuffer::touched(bytes.next_multiple_of(block));
        let mut memory = [
            touched(first).map_err(no_memory)?,
            touched(second).map_err(no_memory)?,
        ];
        if job.measure == Measure::DeviceWrite {
            XorShift::new(DEVICE_SEED).fill(&mut memory[0]);
        }
        Ok(Self {
            measure: job.measure,
            size,
            path: job.path.into(),
            memory,
        })
    }

    fn go(&mut self) -> Result<Work, Failure> {
        let watch = Stopwatch::start()?;
        let failed = |doing: &str, path: &PathBuf, error: &io::Error| {
            Failure::from_io(&format!("{doing} {} with O_DIRECT", path.display()), error)
        };
        match self.measure {
            Measure::MemoryCopy | Measure::CachedCopy => self.copy(),
            Measure::FreshMemory => self
                .touch()
                .map_err(|error| Failure::from_io("get new memory", &error))?,
            Measure::DeviceWrite => self
                .write()
                .map_err(|error| failed("write", &self.path, &error))?,
            Measure::DeviceRead => self
                .read()
                .map_err(|error| failed("read", &self.path, &error))?,
            Measure::ProgramStart => start_and_end()?,
        }
        watch.stop()
    }
}
