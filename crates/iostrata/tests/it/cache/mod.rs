//! `iostrata cache` on real file systems, with `fincore` as the witness.

mod evicted;
mod holder;
mod refused;
mod shown;
mod warmed;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{self, ImageKind, Images, Plan, Prepared};
use serde_json::Value;

use crate::place::{Place, run};
use crate::results::valid;

const SCHEMA: &str = "iostrata.cache-1.schema.json";
const PAGE: u64 = 4096;

/// Runs `iostrata cache ARGUMENTS --json - PATH`, and checks the result against the schema.
#[track_caller]
fn cache(place: &Place, arguments: &str, path: &Path, code: i32) -> Value {
    cache_of(place.iostrata("cache"), arguments, path, code)
}

#[track_caller]
fn cache_of(mut command: Command, arguments: &str, path: &Path, code: i32) -> Value {
    command.args(arguments.split_whitespace());
    command.args(["--json", "-"]).arg(path);
    let outcome = run(command).expect(code);
    valid(SCHEMA, &outcome.stdout)
}

/// The row of a file, by the end of its path.
#[track_caller]
fn row<'r>(result: &'r Value, end: &str) -> &'r Value {
    let mut rows = result["files"].as_array().unwrap().iter();
    let named = |row: &&Value| Path::new(row["path"].as_str().unwrap()).ends_with(end);
    rows.find(named)
        .unwrap_or_else(|| panic!("no file {end} in {result}"))
}

/// Kinds of the reasons of a file.
fn kinds(row: &Value) -> Vec<&str> {
    let reasons = row["reasons"].as_array().unwrap().iter();
    reasons.map(|hold| hold["kind"].as_str().unwrap()).collect()
}

/// Resident bytes by another program.
#[track_caller]
fn fincore(path: &Path) -> u64 {
    let mut command = Command::new("fincore");
    command.args(["--bytes", "--noheadings", "--output", "RES"]);
    let output = command.arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse().unwrap()
}

/// Makes a file of so many bytes, on the storage.
fn stored(path: &Path, bytes: usize) -> File {
    fs::write(path, vec![7; bytes]).unwrap();
    let file = File::options().read(true).write(true).open(path).unwrap();
    file.sync_all().unwrap();
    file
}

/// Runs `test` with the file systems in a thread with its own mounts.
pub(crate) fn with_images(place: &Place, kinds: &[ImageKind], test: impl FnOnce(&Prepared) + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mounts = scratch::isolate().unwrap();
            let plan = Plan {
                dir: &place.dir(),
                enter: false,
                host_bytes: 0,
                images: Some(Images {
                    kinds,
                    bytes: 0,
                    mounts: &mounts,
                }),
            };
            let prepared = scratch::prepare(&plan, None, &Interrupt::never()).unwrap();
            test(&prepared);
            assert!(prepared.close().is_empty());
        });
        thread.join().unwrap();
    });
    place.assert_nothing_left();
}
