//! `lab`, killed.

use std::fs;
use std::time::Duration;

use crate::ending::{Run, any_signal};
use crate::ground::{OLD, check_files, check_kernel, check_text, is_json, wait_for_the_guard};
use crate::place::Place;
use crate::seeded::Seeded;
use crate::trials::Outcome;

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
    // After SIGKILL the scratch directory is removed by the process that watches over it.
    if ended.was_killed() {
        wait_for_the_guard(&place);
    }
    check_files(&place, &[], |_| false)?;
    Ok(end)
}
