//! The operation log of a random program, rebuilt, is the tree that the program left.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use iostrata_core::record::{Begin, Check, Completeness, Limits};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::rebuild::rebuild;
use iostrata_tracer::ptrace::{Session, Stops};
use iostrata_tracer::record::{Recorded, Recording};

use crate::ground::Ground;
use crate::run::{Seeds, open_go, words_of};

/// The differences between the ptrace log of a run and the files that the run left.
pub(crate) fn by_stops(ground: &Ground, seeds: Seeds, stops: Stops) -> Vec<String> {
    let (mut command, go) = words_of(ground, seeds);
    command.push("recorded".into());
    let scratch = tempfile::tempdir_in(ground.scratch.path()).expect("a directory");
    let log = scratch.path().join("log");
    let begin = Begin {
        command: Vec::new(),
        directory: b"/".to_vec(),
        started_ns: 0,
        reads: false,
    };
    let recording = Recording::create(&log, &begin).expect("a log");
    let going = open_go(go);
    // Not the test's own output: that may be a file, which the program would then write.
    let quietly = ["sh", "-c", "exec \"$0\" \"$@\" > /dev/null"].map(OsString::from);
    let command: Vec<OsString> = quietly.into_iter().chain(command).collect();
    let session = Session::record(&command, stops, recording).expect("a program");
    let outcome = session.wait().expect("it has ended");
    going.join().expect("the FIFO was opened");
    assert!(outcome.status.expect("how it ended").success(), "{seeds:?}");
    let recorded = outcome.recorded.expect("a log");
    let recorded = recorded.finish().expect("its end");
    let mut found = doubts(&recorded);
    let again = scratch.path().join("again");
    match rebuild(&log, &again, Limits::default(), &Interrupt::never()) {
        Ok(_) => {
            for dir in [&ground.dir, &ground.other] {
                found.extend(differences(dir, &again, seeds));
            }
        }
        Err(error) => found.push(error.to_string()),
    }
    found
}

fn doubts(recorded: &Recorded) -> Vec<String> {
    let gaps = match &recorded.completeness {
        Completeness::Complete => &[][..],
        Completeness::Incomplete { because } => because,
    };
    let mut found: Vec<String> = gaps.iter().map(|gap| format!("{gap:?}")).collect();
    if !matches!(recorded.check, Check::Compared { differing: 0, .. }) {
        found.push(format!("{:?}", recorded.check));
    }
    found
}

/// The log lacks the contents of files of the lower layer, which existed before.
fn differences(dir: &Path, again: &Path, seeds: Seeds) -> Vec<String> {
    let rebuilt = again.join(dir.strip_prefix("/").expect("an absolute path"));
    let runs = seeds.first..seeds.first + seeds.count;
    let different = runs.flat_map(|seed| {
        let compared = Command::new("diff")
            .args(["--recursive", "--no-dereference", "--exclude=below"])
            .arg(dir.join(seed.to_string()))
            .arg(rebuilt.join(seed.to_string()))
            .output()
            .expect("diff");
        let text = [compared.stdout, compared.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    different.collect()
}
