//! Litmus programs on real file systems: what crashes left of them.

mod perform;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use iostrata_core::crash::Shown;
use iostrata_core::crash::litmus::{Left, Litmus, Seen, outcome, runs};
use iostrata_tracer::clock::now_ns;
use iostrata_tracer::record::Presser;

use super::crew::Recovered;
use super::explore::{ExploreBudget, explore};
use super::record::{Recording, Setting, record};
use super::{BlockError, Foundation, Room};
use crate::device::Server;
use crate::scratch::ImageKind;
use perform::{give, perform};

/// A litmus program, and a file system that has what it finds.
#[derive(Debug)]
pub struct LitmusTest {
    litmus: &'static Litmus,
    foundation: Foundation,
}

impl LitmusTest {
    pub fn prepare(
        room: &Room<'_>,
        kind: ImageKind,
        litmus: &'static Litmus,
    ) -> Result<Self, BlockError> {
        let foundation = Foundation::make(room, kind, None, |work| {
            give(&litmus.given, work).map_err(BlockError::io("write what a litmus program finds"))
        })?;
        Ok(Self { litmus, foundation })
    }

    /// Runs the program with its device recorded, and recovers what crashes could have left. Adds that to what was
    /// shown before.
    pub fn run(
        &self,
        room: &Room<'_>,
        server: &Server,
        setting: Setting,
        budget: ExploreBudget,
        shown: &mut Shown,
    ) -> Result<(), BlockError> {
        let begun = Instant::now();
        let ended_ns = Cell::new(u64::MAX);
        let recording = record(room, server, &self.foundation, setting, |work, press| {
            let ran = run_in(self.litmus, work, press);
            ended_ns.set(now_ns());
            ran.map_err(BlockError::io(format!("run {}", self.litmus.name)))
        })?;
        self.explore(room, &recording, (ended_ns.get(), budget), shown)?;
        shown.seconds += begun.elapsed().as_secs_f64();
        Ok(())
    }

    fn explore(
        &self,
        room: &Room<'_>,
        recording: &Recording,
        (ended_ns, budget): (u64, ExploreBudget),
        shown: &mut Shown,
    ) -> Result<(), BlockError> {
        if let Some(cut) = recording.cut {
            let cut = io::Error::other(cut.reason().text());
            return Err(BlockError::io("record a litmus program")(cut));
        }
        let pressure = recording.setting.pressure;
        // Several threads look.
        let found = Mutex::new(BTreeSet::new());
        let add = |files: String, ended: bool| {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.insert(Seen { files, ended });
        };
        let told_at = |now_ns| usize::from(now_ns >= ended_ns);
        let look = |recovered: Recovered<'_>, told: usize| -> Result<Option<String>, BlockError> {
            let files = files(recovered.work, &self.litmus.looks_at);
            add(
                files.map_err(BlockError::io("read a recovered file"))?,
                told > 0,
            );
            Ok(None)
        };
        let (explored, ended) = explore(room.site(), recording, budget, told_at, look, |_| ());
        ended?;
        // What cannot be mounted or read is an outcome that no model allows.
        for failure in explored.failures {
            add(failure.message, failure.told > 0);
        }
        for seen in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
            shown.outcomes.entry(seen).or_default().insert(pressure);
        }
        shown.images += explored.images;
        shown.sampled_epochs += explored.sampled_epochs;
        shown.skipped_epochs += explored.skipped_epochs;
        Ok(())
    }
}

fn run_in(litmus: &Litmus, work: &Path, press: Option<&Path>) -> io::Result<()> {
    let mut presser = press.map(Presser::open).transpose()?;
    perform(&litmus.calls, work, || {
        presser.as_mut().map_or(Ok(()), Presser::press)
    })
}

/// What a recovered directory has at these paths.
fn files(work: &Path, paths: &[&'static str]) -> io::Result<String> {
    let mut all = Vec::new();
    for path in paths {
        let place = work.join(path);
        let meta = match fs::symlink_metadata(&place) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let left = if meta.is_dir() {
            Left::Directory
        } else if meta.is_file() {
            Left::File(runs(&fs::read(&place)?))
        } else {
            Left::Other
        };
        all.push((*path, left));
    }
    Ok(outcome(&all))
}
