//! `lab`, killed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use iostrata_lab::scratch::Scratch;

use crate::ending::{Run, any_signal};
use crate::ground::{OLD, check_files, check_kernel, check_text, is_json};
use crate::place::{Place, entries};
use crate::seeded::Seeded;
use crate::trials::{Fault, Outcome, holds};

/// A little longer than a run takes, with or without images.
const ON_HOST: Duration = Duration::from_secs(3);
const ON_IMAGES: Duration = Duration::from_secs(5);

/// On the file system of the directory.
pub(crate) fn on_host(seeded: &mut Seeded) -> Outcome {
    let options = [
        "--fs host --mode flush,fsync --size 1 --count 50",
        "--fs host --mode fsync --size 64KiB --count 100",
    ];
    killed(seeded, &options, ON_HOST)
}

/// On file systems that it makes.
pub(crate) fn on_images(seeded: &mut Seeded) -> Outcome {
    let options = [
        "--fs ext4 --mode flush --size 1 --count 20",
        "--fs xfs --mode fsync --size 1 --count 20",
        "--fs btrfs --mode flush --size 1 --count 20",
        "--fs host,ext4,xfs,btrfs --mode flush --size 1 --count 20",
    ];
    killed(seeded, &options, ON_IMAGES)
}

fn killed(seeded: &mut Seeded, options: &[&str], longest: Duration) -> Outcome {
    let place = Place::new();
    let result = place.path("result.json");
    fs::write(&result, OLD).unwrap();
    let options = seeded.one_of(options);
    let command = place.iostrata(&format!("lab --quick {options} --json ../result.json"));
    let mut run = Run::start(command);
    let moment = seeded.shorter_than(longest);
    if run.goes_on_for(moment) {
        run.send(any_signal(seeded));
    }
    let ended = run.end()?;
    let end = ended.judge()?;
    check_kernel(&place)?;
    check_text(&result, ended.is_success(), |text| {
        let is_cut = || String::from_utf8_lossy(text).contains("\"interrupted\": true");
        is_json(text) && !(ended.is_success() && is_cut())
    })?;
    // SIGKILL alone leaves its scratch directory, which the next run removes.
    let is_scratch = |path: &Path| ended.was_killed() && path.starts_with(place.dir());
    let left = check_files(&place, &[], is_scratch)?;
    if left.is_empty() {
        return Ok(end);
    }
    drop(Scratch::create(&place.dir(), 0).unwrap());
    let left = entries(&place.dir());
    holds(left.is_empty(), Fault::Left, || {
        format!("the next run leaves {left:?}")
    })?;
    Ok("killed; the next run removed a directory")
}
